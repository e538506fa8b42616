public import Foundation
public import PowerSyncClient

/// Keeps files on this device and in a remote storage in step with the references in the app's tables.
///
/// ``AttachmentQueue`` is the implementation; apps use the protocol for fakes.
public protocol AttachmentQueueProtocol: Sendable {
    /// The database.
    var db: any PowerSyncDatabaseProtocol { get }
    /// The attachments table.
    var attachmentsService: any AttachmentServiceProtocol { get }
    /// Where the files are on this device.
    var localStorage: any LocalStorageAdapter { get }
    /// Whether files of new references are downloaded.
    var downloadAttachments: Bool { get }

    /// Waits for the verification that begins when the queue is created.
    ///
    /// - Throws: Why it failed.
    func waitForInit() async throws
    /// Begins to follow references and to transfer; a queue that is started already starts again.
    func startSync() async throws
    /// Ends the transfers. They can be started again.
    func stopSyncing() async throws
    /// Ends the transfers for good.
    func close() async throws
    /// Makes the name of a new file.
    func resolveNewAttachmentFilename(attachmentId: String, fileExtension: String?) async -> String
    /// Follows references that the app has collected by itself: the complete set.
    func processWatchedAttachments(items: [WatchedAttachmentItem]) async throws
    /// Saves a file on this device, and queues its upload.
    ///
    /// - Parameters:
    ///   - data: The content.
    ///   - mediaType: The MIME type.
    ///   - fileExtension: The extension, without the dot.
    ///   - updateHook: Links the new id, in the transaction that adds the row. It must not call the queue.
    /// - Returns: The attachment.
    /// - Throws: ``PowerSyncAttachmentError``, or what the hook or the database throws. Nothing is saved then.
    @discardableResult
    func saveFile(
        data: Data,
        mediaType: String,
        fileExtension: String?,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment
    /// Queues the deletion of a file from the remote storage and from this device.
    ///
    /// - Parameters:
    ///   - attachmentId: The id.
    ///   - updateHook: Unlinks the id, in the transaction that marks the row. It must not call the queue.
    /// - Returns: The attachment.
    /// - Throws: ``PowerSyncAttachmentError/notFound(_:)``, or what the hook or the database throws.
    @discardableResult
    func deleteFile(
        attachmentId: String,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment
    /// Maps a file name to a path.
    @Sendable func getLocalUri(_ filename: String) async -> String
    /// Removes archived attachments that the cache has no room for.
    func expireCache() async throws
    /// Removes all attachments from this device.
    func clearQueue() async throws
}

extension AttachmentQueueProtocol {
    /// Makes the name of a new file: `<id>.<extension>`, with the extension `attachment` when there is none.
    public func resolveNewAttachmentFilename(attachmentId: String, fileExtension: String?) -> String {
        AttachmentPaths.newFilename(id: attachmentId, fileExtension: fileExtension)
    }

    /// Saves a file on this device, and queues its upload.
    @discardableResult
    public func saveFile(
        data: Data,
        mediaType: String,
        fileExtension: String?,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await FileSaver(of: self).save(
            .data(data),
            mediaType: mediaType,
            fileExtension: fileExtension,
            hook: updateHook
        )
    }

    /// Queues the deletion of a file from the remote storage and from this device.
    @discardableResult
    public func deleteFile(
        attachmentId: String,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await attachmentsService.withContext { try await $0.markDeleted(id: attachmentId, hook: updateHook) }
    }

    /// Follows references that the app has collected by itself: the complete set.
    public func processWatchedAttachments(items: [WatchedAttachmentItem]) async throws {
        let deliveredAt = Date().millisecondsSince1970
        let paths = AttachmentPaths(directory: nil) { await getLocalUri($0) }
        _ = try await attachmentsService.withContext { context in
            try await context.process(
                items,
                filenames: { item in
                    try await paths.filename(of: item) {
                        await resolveNewAttachmentFilename(attachmentId: $0, fileExtension: $1)
                    }
                },
                deliveredAt: deliveredAt,
                downloads: downloadAttachments,
                localUri: paths.path,
                storage: localStorage
            )
        }
    }
}
