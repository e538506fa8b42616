import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncClient
import PowerSyncHTTP
import PowerSyncProtocol

/// The requests of tus 1.0.0.
///
/// ```
/// OPTIONS endpoint                                         204  Tus-Version, Tus-Extension, Tus-Max-Size, Tus-Checksum-Algorithm
/// POST    endpoint  Upload-Length, Upload-Metadata         201  Location
/// HEAD    upload                                           200  Upload-Offset, Upload-Length
/// PATCH   upload    Upload-Offset, Upload-Checksum, bytes  204  Upload-Offset (409: another offset, 460: another digest)
/// DELETE  upload                                           204
/// ```
struct TusServer: Sendable {
    static let version = "1.0.0"

    let endpoint: URL
    let headers: @Sendable () async throws -> [String: String]
    let http: AttachmentHTTPClient

    /// How a part was received.
    enum Received: Equatable {
        /// The server has so many bytes of the file now.
        case upTo(Int64)
        /// The server has another number of bytes than the client thought.
        case elsewhere
        /// The part has not come as it was sent.
        case damaged
    }

    /// Asks what the server can do; one that does not answer that can do nothing more than is required.
    ///
    /// - Returns: Whether it checks SHA-256 digests of parts, and the most bytes that it takes, `nil` for any number.
    func abilities() async throws -> (checksums: Bool, limit: Int64?) {
        let answer = try await http.send(try await request(.OPTIONS, endpoint))
        let headers = answer.response.headers
        _ = await answer.response.body.beginning(AttachmentHTTPClient.responseLimit)
        guard (200..<300).contains(answer.response.status) else { return (false, nil) }
        let words = { (name: String) in
            (headers.first(name: name) ?? "").lowercased().split { ", \t".contains($0) }.map(String.init)
        }
        return (
            words("Tus-Extension").contains("checksum") && words("Tus-Checksum-Algorithm").contains("sha256"),
            headers.first(name: "Tus-Max-Size").flatMap { Int64($0) }
        )
    }

    /// Creates an upload.
    ///
    /// - Returns: Its URL.
    func create(size: Int64, metadata: [String: String]) async throws -> URL {
        var request = try await request(.POST, endpoint)
        request.headers.add(name: "Upload-Length", value: "\(size)")
        if !metadata.isEmpty {
            request.headers.add(name: "Upload-Metadata", value: TusServer.text(of: metadata))
        }
        let answer = try await http.send(request)
        guard answer.response.status == 201 else { throw await http.failure(.status, of: request, answer) }
        let location = answer.response.headers.first(name: "Location")
        _ = try? await http.body(of: answer, to: request)
        guard
            let url = location.flatMap({ URL(string: $0, relativeTo: endpoint)?.absoluteURL }), url.host() != nil,
            ["http", "https"].contains(url.scheme?.lowercased()),
            url.scheme?.lowercased() == "https" || endpoint.scheme?.lowercased() == "http"
        else {
            throw AttachmentTransferError(
                .unexpectedResponse,
                message:
                    "\(request.target) created an upload and did not say where, or at an address that is not encrypted",
                httpStatus: 201
            )
        }
        return url
    }

    /// How many bytes the server has.
    ///
    /// - Throws: ``AttachmentStorageError/notFound`` when it does not know the upload any more.
    func offset(of upload: URL) async throws -> Int64 {
        let request = try await request(.HEAD, upload)
        let answer = try await http.send(request)
        let (status, offset) = (answer.response.status, answer.response.offset)
        if (200..<300).contains(status) { _ = try? await http.body(of: answer, to: request) }
        switch (status, offset) {
        case (200..<300, let offset?): return offset
        case (404, _), (410, _), (403, nil): throw AttachmentStorageError.notFound
        case (423, _): throw locked(request)
        case (200..<300, nil):
            throw AttachmentTransferError(
                .unexpectedResponse,
                message: "\(request.target) did not answer with an Upload-Offset",
                httpStatus: status
            )
        default: throw await http.failure(.status, of: request, answer)
        }
    }

    /// Sends a part.
    ///
    /// - Throws: ``AttachmentStorageError/notFound`` when the server does not know the upload any more.
    func send(
        _ bytes: ByteBuffer,
        at offset: Int64,
        to upload: URL,
        isChecked: Bool,
        _ progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> Received {
        var request = try await request(.PATCH, upload)
        request.headers.replaceOrAdd(name: "Content-Type", value: "application/offset+octet-stream")
        request.headers.add(name: "Upload-Offset", value: "\(offset)")
        if isChecked {
            let digest = FileDigest.sha256(of: bytes).base64EncodedString()
            request.headers.add(name: "Upload-Checksum", value: "sha256 \(digest)")
        }
        request.body = .file(HTTPExchangeFile(part: bytes, progress: progress))
        let answer = try await http.send(request)
        switch answer.response.status {
        case 200..<300:
            let now = answer.response.offset
            _ = try? await http.body(of: answer, to: request)
            guard let now, now > offset, now <= offset + Int64(bytes.readableBytes) else {
                throw AttachmentTransferError(
                    .unexpectedResponse,
                    message:
                        "\(request.target) took \(bytes.readableBytes.counted("byte")) at \(offset) and answered with Upload-Offset "
                        + (now.map { "\($0)" } ?? "nothing"),
                    httpStatus: answer.response.status
                )
            }
            return .upTo(now)
        case 404, 410: throw AttachmentStorageError.notFound
        case 409: return .elsewhere
        case 423: throw locked(request)
        case 460: return .damaged
        default: throw await http.failure(.status, of: request, answer)
        }
    }

    /// Removes an upload.
    ///
    /// No error when there is none, or when the server cannot do that.
    func terminate(_ upload: String) async throws {
        guard let url = URL(string: upload) else { return }
        let request = try await request(.DELETE, url)
        let answer = try await http.send(request)
        switch answer.response.status {
        case 200..<300, 403, 404, 405, 410, 501: _ = await answer.response.body.beginning(1024)
        default: throw await http.failure(.status, of: request, answer)
        }
    }

    /// A request, with the headers of the app if it goes where the endpoint is.
    private func request(_ method: HTTPMethod, _ url: URL) async throws -> HTTPExchangeRequest {
        var fields: [String: String] = [:]
        if url.origin == endpoint.origin {
            fields = try await AttachmentCallPart.named("headers") { try await headers() }
        }
        var request = HTTPExchangeRequest(AttachmentHTTPRequest(url: url, headers: fields), method: method)
        request.headers.replaceOrAdd(name: "Tus-Resumable", value: TusServer.version)
        return request
    }

    private func locked(_ request: HTTPExchangeRequest) -> AttachmentTransferError {
        AttachmentTransferError(.inProgress, message: "\(request.target): another upload of this file is going on")
    }

    /// The pairs as `Upload-Metadata` has them: `filename NWMuanBn,id NWM=`.
    private static func text(of metadata: [String: String]) -> String {
        metadata.sorted { $0.key < $1.key }
            .map { "\($0.key) \(Data($0.value.utf8).base64EncodedString())" }
            .joined(separator: ",")
    }
}

extension HTTPExchangeResponse {
    fileprivate var offset: Int64? {
        headers.first(name: "Upload-Offset").flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}
