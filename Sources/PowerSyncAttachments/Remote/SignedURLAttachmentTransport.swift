public import Foundation
public import PowerSyncClient
public import PowerSyncHTTP

/// Moves files straight between the device and a storage, over URLs that the app's backend signs.
///
/// The app holds no key of the storage: before each transfer it asks its backend, which checks the user's permission and answers
/// with a URL that is good for one file and a few minutes. With a backend that speaks the JSON below, this is all:
///
/// ```swift
/// let transport = SignedURLAttachmentTransport(endpoint: URL(string: "https://api.example.com/attachments/sign")!) {
///     ["Authorization": "Bearer \(try await session.token())"]
/// }
/// let queue = AttachmentQueue(db: db, transport: transport, attachmentsDirectory: directory, watchAttachments: references)
/// ```
///
/// The backend gets a `POST` with a ``SignedURLRequest`` as JSON and answers with status 200 and
///
/// ```json
/// {
///   "url": "https://bucket.s3.eu-central-1.amazonaws.com/5c.jpg?X-Amz-Signature=…",
///   "method": "PUT",
///   "headers": {"x-amz-meta-owner": "7"},
///   "mediaType": "image/jpeg",
///   "size": 48213,
///   "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
/// }
/// ```
///
/// of which only `url` is required. `headers` are sent to the storage (sign them). `size` and `sha256` (hexadecimal or base64) are
/// those that a download must have. Status 404 means that there is no such file, 409 to an upload that the storage has it; every
/// other status is an error with the code ``AttachmentTransferError/Code/backend``.
///
/// When the storage refuses a URL (400, 401 or 403), for example because it expired while the device slept, the backend is asked
/// once again. Everything else is as in ``HTTPAttachmentTransport``.
public struct SignedURLAttachmentTransport: AttachmentTransportAdapter {
    private let transport: HTTPAttachmentTransport

    /// Creates a transport with a closure that asks the backend.
    ///
    /// - Parameters:
    ///   - httpClient: What sends the requests to the storage.
    ///   - resolve: Gives the request for one transfer. It may throw ``AttachmentStorageError``s. Called again when the storage
    ///     refuses what it gave.
    public init(
        httpClient: PowerSyncHTTPClient = .standard,
        resolve: @escaping @Sendable (SignedURLRequest) async throws -> AttachmentHTTPRequest
    ) {
        transport = HTTPAttachmentTransport(
            resolveUpload: { try await resolve(SignedURLRequest(.upload, $0.attachment)) },
            resolveDownload: { try await resolve(SignedURLRequest(.download, $0.attachment)) },
            resolveDelete: { try await resolve(SignedURLRequest(.delete, $0)) },
            httpClient: httpClient
        )
    }

    /// Creates a transport for a backend that speaks the JSON above.
    ///
    /// - Parameters:
    ///   - endpoint: Where the backend signs URLs.
    ///   - httpClient: What sends the requests to backend and storage.
    ///   - headers: Gives the headers for a request to the backend, with the user's credentials.
    public init(
        endpoint: URL,
        httpClient: PowerSyncHTTPClient = .standard,
        headers: @escaping @Sendable () async throws -> [String: String]
    ) {
        let http = AttachmentHTTPClient(httpClient)
        self.init(httpClient: httpClient) { request in
            try await SignedURLAttachmentTransport.ask(endpoint, for: request, http, headers: headers)
        }
    }

    /// Uploads a file.
    public func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        do {
            try await repeatingOnceIfRefused { try await transport.upload(located, progress: progress) }
        } catch AttachmentStorageError.alreadyExists {
            // Files are immutable: an earlier attempt has brought it there.
        }
    }

    /// Downloads to the path, or continues what an earlier attempt left there.
    public func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        try await repeatingOnceIfRefused { try await transport.download(located, progress: progress) }
    }

    /// Deletes a remote file.
    ///
    /// It is no error when there is none.
    public func delete(_ attachment: Attachment) async throws {
        do {
            try await repeatingOnceIfRefused { try await transport.delete(attachment) }
        } catch AttachmentStorageError.notFound {
            // That is what was wanted.
        }
    }

    private func repeatingOnceIfRefused(_ transfer: () async throws -> Void) async throws {
        do {
            try await transfer()
        } catch let error as AttachmentTransferError
            where error.code == .status && [400, 401, 403].contains(error.httpStatus)
        {
            try await transfer()
        }
    }
}
