public import Foundation
import NIOHTTP1
public import PowerSyncClient
public import PowerSyncHTTP

/// Uploads files to a tus server, and continues an upload where a cut connection or the end of the process has stopped it.
///
/// [tus](https://tus.io/protocols/resumable-upload) 1.0.0 is a protocol for uploads over HTTP that many servers and storages know.
///
/// ```swift
/// let transport = TusAttachmentTransport(
///     endpoint: URL(string: "https://api.example.com/files")!,
///     base: SignedURLAttachmentTransport(endpoint: signing, headers: headers),
///     headers: { ["Authorization": "Bearer \(try await session.token())"] }
/// )
/// ```
///
/// An upload is created with the metadata `id`, `filename`, `filetype` (the media type) and what ``Options/metadata`` gives. Its URL is
/// remembered in a file beside the attachment's (`<file>.upload.pstmp`), so that a later attempt, also one after a restart of the app or
/// with the token of a new sign-in, asks the server how many bytes it has and sends the others. Each part is sent with its SHA-256 digest
/// where the server has the extension `checksum`, and begins where the server says. An upload that the server does not know any more (404,
/// 410; 403 without an offset) begins anew, and so does one that was created at another endpoint (scheme, host, port) or has parts of
/// another size.
///
/// A cut costs at most one part. Downloads and deletions are left to another transport; a deletion first terminates what there is of an
/// upload.
///
/// The app's headers are sent to scheme, host and port of the endpoint only.
public struct TusAttachmentTransport: AttachmentTransportAdapter {
    /// How files are uploaded.
    public struct Options: Sendable {
        /// The size of a part in bytes: 1 MiB.
        ///
        /// One part is in memory. Some servers want a certain size, such as 6 MiB.
        public var partSize: Int64 = 1024 * 1024
        /// How long an upload that is not finished is continued: three days.
        ///
        /// After that it is terminated, and begins anew.
        public var lifetime = Duration.seconds(3 * 86_400)
        /// Further metadata of an upload, such as the name of a bucket; those of the same name replace ours.
        ///
        /// Names have ASCII characters other than space and comma.
        public var metadata: @Sendable (Attachment) -> [String: String] = { _ in [:] }

        /// Creates the default options.
        public init() {}
    }

    private let endpoint: URL
    private let base: any AttachmentTransportAdapter
    private let options: Options
    private let headers: @Sendable () async throws -> [String: String]
    private let http: AttachmentHTTPClient
    private let now: @Sendable () -> Date

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - endpoint: Where uploads are created.
    ///   - base: Downloads and deletes.
    ///   - options: How files are uploaded.
    ///   - httpClient: What sends the requests.
    ///   - headers: Gives the headers for a request to the server, with the user's credentials.
    public init(
        endpoint: URL,
        base: any AttachmentTransportAdapter,
        options: Options = Options(),
        httpClient: PowerSyncHTTPClient = .standard,
        headers: @escaping @Sendable () async throws -> [String: String]
    ) {
        self.init(endpoint: endpoint, base: base, options: options, httpClient: httpClient, headers: headers) { Date() }
    }

    /// Creates a transport with another date.
    init(
        endpoint: URL,
        base: any AttachmentTransportAdapter,
        options: Options,
        httpClient: PowerSyncHTTPClient,
        headers: @escaping @Sendable () async throws -> [String: String],
        now: @escaping @Sendable () -> Date
    ) {
        self.endpoint = endpoint
        self.base = base
        self.options = options
        self.headers = headers
        self.now = now
        http = AttachmentHTTPClient(httpClient)
    }

    /// Uploads a file, or what the server does not have of it.
    ///
    /// The file must not change before the upload is finished.
    public func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        let source = try await UploadSource(located)
        let upload = TusUpload(
            server: server,
            options: options,
            now: now,
            attachment: located.attachment,
            source: source,
            report: progress
        )
        try await UploadJournal.with(for: located.localPath) { journal in try await upload.run(&journal) }
    }

    /// Downloads to the path, or continues what an earlier attempt left there.
    public func download(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        try await base.download(located, progress: progress)
    }

    /// Terminates what there is of an upload, and deletes a remote file.
    ///
    /// An upload that cannot be terminated keeps the file from nothing: servers remove it in time.
    public func delete(_ attachment: Attachment) async throws {
        try await UploadJournal.delete(attachment, by: base, ending: .tus) { record in
            try await server.terminate(record.upload)
        }
    }

    private var server: TusServer {
        TusServer(endpoint: endpoint, headers: headers, http: http)
    }
}
