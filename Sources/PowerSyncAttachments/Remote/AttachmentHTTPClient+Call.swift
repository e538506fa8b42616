package import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncClient
import PowerSyncHTTP

// Asking a storage something that is no transfer of a file, for storages of other modules.
extension AttachmentHTTPClient {
    /// The most bytes of an answer to a call: 4 MiB.
    private static let callLimit = 4 * 1024 * 1024

    /// What the storage says.
    package struct Answer: Sendable {
        /// The status.
        package let status: Int
        /// The body; its beginning when the status is not one of success.
        package let body: Data
        private let headers: HTTPHeaders
        private let note: String

        fileprivate init(status: Int, body: Data, headers: HTTPHeaders, note: String) {
            self.status = status
            self.body = body
            self.headers = headers
            self.note = note
        }

        /// The first header of a name.
        package func header(_ name: String) -> String? { headers.first(name: name) }

        /// The error that the answer is.
        ///
        /// - Parameter code: What kind of error.
        /// - Returns: The error, with the status and the beginning of the body.
        package func failure(_ code: AttachmentTransferError.Code = .status) -> AttachmentTransferError {
            AttachmentTransferError(
                code,
                message: "\(note) failed with status \(status)",
                httpStatus: status,
                responseText: String(decoding: body.prefix(1024), as: UTF8.self)
            )
        }
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - method: The method, in upper case.
    ///   - target: The URL and the headers.
    ///   - body: The bytes to send; none without.
    /// - Returns: The answer, whatever its status.
    /// - Throws: ``AttachmentTransferError``, `CancellationError`
    package func send(_ method: String, _ target: AttachmentHTTPRequest, body: Data = Data()) async throws -> Answer {
        var request = HTTPExchangeRequest(target, method: HTTPMethod(rawValue: method))
        if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
        let answer = try await send(request)
        let content =
            (200..<300).contains(answer.response.status)
            ? try await self.body(of: answer, to: request, upTo: AttachmentHTTPClient.callLimit)
            : await answer.response.body.beginning(AttachmentHTTPClient.responseLimit)
        return Answer(
            status: answer.response.status,
            body: Data(content.readableBytesView),
            headers: answer.response.headers,
            note: request.target + answer.redirects.note
        )
    }
}
