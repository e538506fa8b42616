import Foundation
public import PowerSyncClient
public import PowerSyncHTTP

/// How files are uploaded in parts.
public struct AttachmentPartsOptions: Sendable, Hashable {
    /// The size of a part in bytes: 5 MiB, the least that S3 takes.
    ///
    /// Files of at most this size are uploaded as a whole. For a file of more than 10,000 parts it is as much more as that needs. An upload
    /// that has begun with another size begins anew.
    public var partSize: Int64 = 5 * 1024 * 1024
    /// How many parts of a file are uploaded at the same time: 2.
    ///
    /// So many parts are in memory.
    public var lanes = 2
    /// How long an upload that is not finished is continued: three days.
    ///
    /// After that it is aborted, and begins anew.
    public var lifetime = Duration.seconds(3 * 86_400)

    /// Creates the default options.
    public init() {}
}

/// Uploads large files in parts, and continues an upload where a cut connection or the end of the process has stopped it.
///
/// ```swift
/// let endpoint = URL(string: "https://api.example.com/attachments")!
/// let headers: @Sendable () async throws -> [String: String] = { ["Authorization": "Bearer \(try await session.token())"] }
/// let transport = MultipartAttachmentTransport(
///     storage: SignedPartsBackend(endpoint: endpoint.appending(path: "parts"), headers: headers),
///     base: SignedURLAttachmentTransport(endpoint: endpoint.appending(path: "sign"), headers: headers)
/// )
/// ```
///
/// Each part is sent with its SHA-256 digest to the URL that the storage gives for it, and remembered in a file beside the attachment's
/// (`<file>.upload.pstmp`) when the storage has it. A later attempt, also one after a restart of the app or with the token of a new
/// sign-in, asks the storage for its parts and sends the others only: those that it does not have, or has with another size, digest or
/// entity tag than it answered when they were sent. An upload that the storage does not know any more (404, 410) begins anew.
///
/// A cut costs at most the parts that were on their way: one for each lane.
///
/// Small files, downloads and deletions are left to another transport. A deletion first aborts what there is of an upload.
///
/// - Important: What an app begins and never finishes, because it was removed, stays in the storage. Let the storage abort such uploads: in
///   S3 with a lifecycle rule (`AbortIncompleteMultipartUpload`), or in the backend.
public struct MultipartAttachmentTransport: AttachmentTransportAdapter {
    private let storage: any AttachmentPartsStorage
    private let base: any AttachmentTransportAdapter
    private let options: AttachmentPartsOptions
    private let http: AttachmentHTTPClient
    private let now: @Sendable () -> Date

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - storage: Takes files in parts.
    ///   - base: Uploads small files, downloads and deletes.
    ///   - options: How files are divided.
    ///   - httpClient: What sends the parts.
    public init(
        storage: any AttachmentPartsStorage,
        base: any AttachmentTransportAdapter,
        options: AttachmentPartsOptions = AttachmentPartsOptions(),
        httpClient: PowerSyncHTTPClient = .standard
    ) {
        self.init(storage: storage, base: base, options: options, httpClient: httpClient) { Date() }
    }

    /// Creates a transport with another date.
    init(
        storage: any AttachmentPartsStorage,
        base: any AttachmentTransportAdapter,
        options: AttachmentPartsOptions,
        httpClient: PowerSyncHTTPClient,
        now: @escaping @Sendable () -> Date
    ) {
        self.storage = storage
        self.base = base
        self.options = options
        self.now = now
        http = AttachmentHTTPClient(httpClient)
    }

    /// Uploads a file, or the parts of it that the storage does not have.
    ///
    /// The file must not change before the upload is finished.
    public func upload(
        _ located: LocatedAttachment,
        progress: @escaping @Sendable (Int64, Int64?) -> Void
    ) async throws {
        let source = try await UploadSource(located)
        guard source.size > options.partSize else { return try await base.upload(located, progress: progress) }
        let upload = PartsUpload(
            storage: storage,
            http: http,
            options: options,
            now: now,
            attachment: located.attachment.with(size: source.size),
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

    /// Aborts what there is of an upload, and deletes a remote file.
    ///
    /// An upload that cannot be aborted keeps the file from nothing: the storage removes it in time.
    public func delete(_ attachment: Attachment) async throws {
        try await UploadJournal.delete(attachment, by: base, ending: .parts) { record in
            let upload = AttachmentPartsUpload(attachment: record.attachment(attachment), id: record.upload)
            try await AttachmentCallPart.named("abort") { try await storage.abort(upload) }
        }
    }
}
