public import Foundation
import NIOCore
import NIOHTTP1
public import PowerSyncClient
public import PowerSyncHTTP

/// Uploads parts over URLs that the app's backend signs: the app holds no key of the storage.
///
/// The backend gets a `POST` with an ``AttachmentPartsRequest`` as JSON for each step, and answers with status 200 and JSON:
///
/// | `operation` | The answer |
/// | --- | --- |
/// | `begin` | `{"uploadID":"VXBs…"}` |
/// | `request` | `{"url":"https://…?partNumber=3&uploadId=…","headers":{"x-amz-checksum-sha256":"…"}}`; `method` if it is not `PUT` |
/// | `parts` | `{"parts":[{"number":1,"size":5242880,"etag":"9b2c…","sha256":"…"}]}`, in any order; `sha256` if it is known |
/// | `complete` | `{"isComplete":true}`; `false` when the storage does not have the parts as they are named |
/// | `abort` | anything |
///
/// Status 404 or 410 means that the storage does not know the upload any more, 409 that it has the file; every other status is an error
/// with the code ``AttachmentTransferError/Code/backend``. A backend in Swift answers with ``AttachmentPartsRequest/answer(from:)``.
public struct SignedPartsBackend: AttachmentPartsStorage {
    /// The most bytes of an answer: 10,000 parts have less.
    private static let answerLimit = 4 * 1024 * 1024

    private let endpoint: URL
    private let headers: @Sendable () async throws -> [String: String]
    private let http: AttachmentHTTPClient

    /// Describes a backend.
    ///
    /// - Parameters:
    ///   - endpoint: Where the backend takes the requests.
    ///   - httpClient: What sends them.
    ///   - headers: Gives the headers for a request to the backend, with the user's credentials.
    public init(
        endpoint: URL,
        httpClient: PowerSyncHTTPClient = .standard,
        headers: @escaping @Sendable () async throws -> [String: String]
    ) {
        self.endpoint = endpoint
        self.headers = headers
        http = AttachmentHTTPClient(httpClient)
    }

    /// Begins an upload.
    public func beginUpload(of attachment: Attachment) async throws -> String {
        try await ask(AttachmentPartsRequest(.begin, attachment), for: "\"uploadID\"") { $0.uploadID }
    }

    /// Gives the request that uploads a part.
    public func request(
        for part: AttachmentPart,
        of upload: AttachmentPartsUpload
    ) async throws -> AttachmentHTTPRequest {
        let question = AttachmentPartsRequest(.request, upload.attachment, uploadID: upload.id, part: part)
        return try await ask(question, for: "an http or https \"url\"") { answer in
            guard
                let url = answer.url.flatMap({ URL(string: $0) }), url.host() != nil,
                ["http", "https"].contains(url.scheme?.lowercased())
            else { return nil }
            return AttachmentHTTPRequest(url: url, method: answer.method, headers: answer.headers ?? [:])
        }
    }

    /// The parts that the storage has.
    public func parts(of upload: AttachmentPartsUpload) async throws -> [StoredAttachmentPart] {
        let question = AttachmentPartsRequest(.parts, upload.attachment, uploadID: upload.id)
        return try await ask(question, for: "\"parts\"") { $0.parts }
    }

    /// Makes the file of its parts.
    public func complete(_ upload: AttachmentPartsUpload, parts: [StoredAttachmentPart]) async throws -> Bool {
        let question = AttachmentPartsRequest(.complete, upload.attachment, uploadID: upload.id, parts: parts)
        return try await ask(question, for: "\"isComplete\"") { $0.isComplete }
    }

    /// Removes an upload and its parts.
    public func abort(_ upload: AttachmentPartsUpload) async throws {
        do {
            let question = AttachmentPartsRequest(.abort, upload.attachment, uploadID: upload.id)
            _ = try await ask(question)
        } catch AttachmentStorageError.notFound {
            // That is what was wanted.
        }
    }

    private func ask<Value>(
        _ question: AttachmentPartsRequest,
        for what: String,
        _ value: (AttachmentPartsRequest.Answer) -> Value?
    ) async throws -> Value {
        let (body, request) = try await ask(question)
        guard
            let answer = try? JSONDecoder().decode(AttachmentPartsRequest.Answer.self, from: body),
            let value = value(answer)
        else {
            throw AttachmentTransferError(
                .unexpectedResponse,
                message: "\(request.target) did not answer \"\(question.operation.rawValue)\" with \(what)"
            )
        }
        return value
    }

    private func ask(_ question: AttachmentPartsRequest) async throws -> (Data, HTTPExchangeRequest) {
        var request = HTTPExchangeRequest(.POST, endpoint.absoluteString)
        let fields = try await AttachmentCallPart.named("headers") { try await headers() }
        for (name, value) in fields { request.headers.add(name: name, value: value) }
        request.headers.replaceOrAdd(name: "Content-Type", value: "application/json")
        request.headers.replaceOrAdd(name: "Accept", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(question)))
        let answer = try await http.send(request)
        switch answer.response.status {
        case 200..<300:
            let body = try await http.body(of: answer, to: request, upTo: SignedPartsBackend.answerLimit)
            return (Data(body.readableBytesView), request)
        case 404, 410: throw AttachmentStorageError.notFound
        case 409: throw AttachmentStorageError.alreadyExists
        default: throw await http.failure(.backend, of: request, answer)
        }
    }
}
