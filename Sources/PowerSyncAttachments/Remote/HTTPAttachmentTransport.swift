import Foundation
import NIOCore
import NIOHTTP1
public import PowerSyncClient
public import PowerSyncHTTP

/// Moves files between the disk and a storage that is reached over HTTP, without holding them in memory.
///
/// The app says where each file goes; usually its backend signs URLs, for which there is ``SignedURLAttachmentTransport``:
///
/// ```swift
/// let transport = HTTPAttachmentTransport(
///     resolveUpload: { file in AttachmentHTTPRequest(url: try await api.uploadURL(for: file.attachment.filename)) },
///     resolveDownload: { file in AttachmentHTTPRequest(url: try await api.downloadURL(for: file.attachment.filename)) },
///     resolveDelete: { attachment in AttachmentHTTPRequest(url: try await api.deletionURL(for: attachment.filename)) }
/// )
/// ```
///
/// - **Uploads** stream from the disk with a `Content-Length`; `Content-Type` is the attachment's media type.
/// - **Downloads** stream to the disk after the status has been checked. An interrupted download is continued where it stopped
///   (`Range` with `If-Range`) if the storage gives a strong `ETag` or the request has a digest, also after a restart of the app:
///   ``FileManagerStorageAdapter`` keeps what there is for a week.
///   Size (`Content-Length`, `Content-Range`, ``AttachmentHTTPRequest/size``) and SHA-256 digest
///   (``AttachmentHTTPRequest/sha256``, `Repr-Digest`, `Content-Digest`, `x-amz-checksum-sha256`) are checked when they are known; a file
///   that differs is deleted. A file that the disk has no room for is not begun. One download at a time writes to a path, of all
///   processes: another one fails with ``AttachmentTransferError/Code/inProgress``.
/// - **Redirects** of downloads are followed, and those of uploads and deletions that keep the method (307, 308). Another host
///   does not get the app's headers. Errors name the host of the redirect, and say whether it was asked.
/// - A connection on which nothing moves for 60 seconds is given up.
///
/// Status 404 or 410 is ``AttachmentStorageError/notFound`` for downloads and success for deletions. Status 412 to an upload with
/// `If-None-Match` means that the file is there already, which is success. Every other status but 200 to 299 is an
/// ``AttachmentTransferError``. What the closures throw is passed on.
public struct HTTPAttachmentTransport: AttachmentTransportAdapter {
    let http: AttachmentHTTPClient
    let resolveUpload: @Sendable (LocatedAttachment) async throws -> AttachmentHTTPRequest
    let resolveDownload: @Sendable (LocatedAttachment) async throws -> AttachmentHTTPRequest
    private let deleteFile: @Sendable (Attachment) async throws -> Void

    /// Creates a transport that deletes over HTTP as well.
    ///
    /// - Parameters:
    ///   - resolveUpload: Gives the request for an upload.
    ///   - resolveDownload: Gives the request for a download.
    ///   - resolveDelete: Gives the request for a deletion.
    ///   - httpClient: What sends the requests.
    public init(
        resolveUpload: @escaping @Sendable (LocatedAttachment) async throws -> AttachmentHTTPRequest,
        resolveDownload: @escaping @Sendable (LocatedAttachment) async throws -> AttachmentHTTPRequest,
        resolveDelete: @escaping @Sendable (Attachment) async throws -> AttachmentHTTPRequest,
        httpClient: PowerSyncHTTPClient = .standard
    ) {
        let http = AttachmentHTTPClient(httpClient)
        self.http = http
        self.resolveUpload = resolveUpload
        self.resolveDownload = resolveDownload
        deleteFile = { attachment in
            let request = HTTPExchangeRequest(
                try await AttachmentCallPart.named("resolveDelete") { try await resolveDelete(attachment) },
                method: .DELETE
            )
            let answer = try await http.send(request)
            switch answer.response.status {
            case 200..<300, 404, 410: _ = try? await http.body(of: answer, to: request)
            default: throw await http.failure(.status, of: request, answer)
            }
        }
    }

    /// Creates a transport that leaves deletions to the app, for example to a call of its backend.
    ///
    /// - Parameters:
    ///   - resolveUpload: Gives the request for an upload.
    ///   - resolveDownload: Gives the request for a download.
    ///   - httpClient: What sends the requests.
    ///   - deleteFile: Deletes a file.
    public init(
        resolveUpload: @escaping @Sendable (LocatedAttachment) async throws -> AttachmentHTTPRequest,
        resolveDownload: @escaping @Sendable (LocatedAttachment) async throws -> AttachmentHTTPRequest,
        httpClient: PowerSyncHTTPClient = .standard,
        deleteFile: @escaping @Sendable (Attachment) async throws -> Void
    ) {
        http = AttachmentHTTPClient(httpClient)
        self.resolveUpload = resolveUpload
        self.resolveDownload = resolveDownload
        self.deleteFile = { attachment in
            try await AttachmentCallPart.named("deleteFile") { try await deleteFile(attachment) }
        }
    }

    /// Deletes a remote file.
    ///
    /// It is no error when there is none.
    public func delete(_ attachment: Attachment) async throws {
        try await deleteFile(attachment)
    }
}
