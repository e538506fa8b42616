import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncClient
import PowerSyncHTTP

extension SignedURLAttachmentTransport {
    /// The answer of the backend.
    private struct Answer: Decodable {
        var url: String
        var method: String?
        var headers: [String: String]?
        var mediaType: String?
        var size: Int64?
        var sha256: String?
    }

    /// Asks an app's backend for one request, in the form that this type documents.
    static func ask(
        _ endpoint: URL,
        for signedURLRequest: SignedURLRequest,
        _ http: AttachmentHTTPClient,
        headers: @Sendable () async throws -> [String: String]
    ) async throws -> AttachmentHTTPRequest {
        var request = HTTPExchangeRequest(.POST, endpoint.absoluteString)
        let fields = try await AttachmentCallPart.named("headers") { try await headers() }
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        request.headers.replaceOrAdd(name: "Content-Type", value: "application/json")
        request.headers.replaceOrAdd(name: "Accept", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(signedURLRequest)))
        let answer = try await http.send(request)
        switch (answer.response.status, signedURLRequest.operation) {
        case (200..<300, _):
            let body = try await http.body(of: answer, to: request)
            return try signedRequest(in: Data(body.readableBytesView), answer, of: request)
        case (404, .download), (404, .delete), (410, .download), (410, .delete):
            throw AttachmentStorageError.notFound
        case (409, .upload):
            throw AttachmentStorageError.alreadyExists
        default:
            throw await http.failure(.backend, of: request, answer)
        }
    }

    private static func signedRequest(
        in body: Data,
        _ sent: AttachmentHTTPAnswer,
        of request: HTTPExchangeRequest
    ) throws -> AttachmentHTTPRequest {
        func malformed(_ what: String, _ error: (any Error)? = nil) -> AttachmentTransferError {
            AttachmentTransferError(
                .unexpectedResponse,
                message: "\(request.target) did not answer with a signed URL\(sent.redirects.note): \(what)",
                httpStatus: sent.response.status,
                underlyingError: error
            )
        }
        let answer: Answer
        do {
            answer = try JSONDecoder().decode(Answer.self, from: body)
        } catch {
            throw malformed("the body is not the JSON that is expected", error)
        }
        guard let url = URL(string: answer.url), ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil
        else { throw malformed("\"url\" is not an http or https URL") }
        var result = AttachmentHTTPRequest(
            url: url,
            method: answer.method,
            headers: answer.headers ?? [:],
            mediaType: answer.mediaType,
            size: answer.size
        )
        if let text = answer.sha256 {
            guard let digest = Data(sha256: text) else { throw malformed("\"sha256\" is not a digest") }
            result.sha256 = digest
        }
        return result
    }
}

extension Data {
    /// A digest of 32 bytes from 64 hexadecimal digits, or from base64.
    fileprivate init?(sha256 text: String) {
        let digits = Array(text.utf8)
        guard digits.count == 64 else {
            guard let data = Data(base64Encoded: text), data.count == 32 else { return nil }
            self = data
            return
        }
        var data = Data()
        for index in stride(from: 0, to: 64, by: 2) {
            let pair = String(decoding: digits[index..<index + 2], as: UTF8.self)
            guard let byte = UInt8(pair, radix: 16), pair.first != "+" else { return nil }
            data.append(byte)
        }
        self = data
    }
}
