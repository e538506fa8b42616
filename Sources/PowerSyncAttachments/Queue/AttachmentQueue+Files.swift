public import Foundation
public import PowerSyncClient

// Saving and deleting files, and following references.
extension AttachmentQueue {
    /// A new id for an attachment: a UUID of version 4 in lower case.
    public nonisolated func generateAttachmentId() -> String {
        FileSaver.makeID()
    }

    /// Maps a file name to a path.
    @Sendable
    public func getLocalUri(_ filename: String) async -> String {
        await parts.transfers.paths.locate(filename)
    }

    /// Follows references that the app has collected by itself: the complete set.
    public func processWatchedAttachments(items: [WatchedAttachmentItem]) async throws {
        try await parts.process(items, deliveredAt: parts.transfers.now())
    }

    /// Saves a file on this device, and queues its upload.
    ///
    /// Works offline, and before ``startSync()``.
    ///
    /// - Parameters:
    ///   - data: The content.
    ///   - mediaType: The MIME type.
    ///   - fileExtension: The extension, without the dot.
    ///   - updateHook: Links the new id, in the transaction that adds the row. It must not call the queue.
    /// - Returns: The attachment.
    /// - Throws: ``PowerSyncAttachmentError``, or what the hook or the database throws. Neither a row nor a file is left then.
    @discardableResult
    public func saveFile(
        data: Data,
        mediaType: String,
        fileExtension: String?,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await parts.saver.save(.data(data), mediaType: mediaType, fileExtension: fileExtension, hook: updateHook)
    }

    /// Saves a file on this device under an id of the app's, and queues its upload.
    ///
    /// - Parameters:
    ///   - data: The content.
    ///   - mediaType: The MIME type.
    ///   - fileExtension: The extension, without the dot.
    ///   - id: The id; `nil` for a new one.
    ///   - metaData: Free text for the row.
    ///   - updateHook: Links the id, in the transaction that adds the row. It must not call the queue.
    /// - Returns: The attachment.
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` when the id has a row already, else as
    ///   ``saveFile(data:mediaType:fileExtension:updateHook:)``.
    @discardableResult
    public func saveFile(
        data: Data,
        mediaType: String,
        fileExtension: String? = nil,
        id: String? = nil,
        metaData: String? = nil,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        try await parts.saver.save(
            .data(data),
            id: id,
            mediaType: mediaType,
            fileExtension: fileExtension,
            metaData: metaData,
            hook: updateHook
        )
    }

    /// Saves a file on this device, and queues its upload, without linking its id.
    ///
    /// The app has to link the id before `watchAttachments` reports the next references, or the file is archived once it is
    /// uploaded.
    @discardableResult
    public func saveFile(
        data: Data,
        mediaType: String,
        fileExtension: String? = nil,
        id: String? = nil,
        metaData: String? = nil
    ) async throws -> Attachment {
        try await saveFile(
            data: data,
            mediaType: mediaType,
            fileExtension: fileExtension,
            id: id,
            metaData: metaData,
            updateHook: { _, _ in }
        )
    }

    /// Saves a file that is on this device already, without reading it into memory, and queues its upload.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the file.
    ///   - move: Whether the file is moved; it is copied otherwise. If saving fails or is cancelled, it is where it was.
    ///   - mediaType: The MIME type.
    ///   - fileExtension: The extension, without the dot.
    ///   - id: The id; `nil` for a new one.
    ///   - metaData: Free text for the row.
    ///   - updateHook: Links the id, in the transaction that adds the row. It must not call the queue.
    /// - Returns: The attachment.
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` when there is no such file, else as
    ///   ``saveFile(data:mediaType:fileExtension:id:metaData:updateHook:)``.
    @discardableResult
    public func saveFile(
        fromFile path: String,
        move: Bool,
        mediaType: String,
        fileExtension: String? = nil,
        id: String? = nil,
        metaData: String? = nil,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void = { _, _ in }
    ) async throws -> Attachment {
        try await parts.saver.save(
            move ? .link(to: path) : .copy(of: path),
            id: id,
            mediaType: mediaType,
            fileExtension: fileExtension,
            metaData: metaData,
            hook: updateHook
        )
    }

    /// Saves a file whose content comes chunk by chunk, and queues its upload.
    ///
    /// - Parameters:
    ///   - stream: The content. If it throws, nothing is saved.
    ///   - mediaType: The MIME type.
    ///   - fileExtension: The extension, without the dot.
    ///   - id: The id; `nil` for a new one.
    ///   - metaData: Free text for the row.
    ///   - updateHook: Links the id, in the transaction that adds the row. It must not call the queue.
    /// - Returns: The attachment.
    /// - Throws: What the stream throws, else as ``saveFile(data:mediaType:fileExtension:id:metaData:updateHook:)``.
    @discardableResult
    public func saveFile<Chunks: AsyncSequence & Sendable>(
        stream: Chunks,
        mediaType: String,
        fileExtension: String? = nil,
        id: String? = nil,
        metaData: String? = nil,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void = { _, _ in }
    ) async throws -> Attachment where Chunks.Element == Data {
        try await parts.saver.save(
            .chunks(AttachmentChunks(stream)),
            id: id,
            mediaType: mediaType,
            fileExtension: fileExtension,
            metaData: metaData,
            hook: updateHook
        )
    }

    /// Queues the deletion of a file from the remote storage and from this device, without unlinking its id.
    ///
    /// - Parameter attachmentId: The id, which the app should not refer to any more.
    /// - Returns: The attachment.
    /// - Throws: ``PowerSyncAttachmentError/notFound(_:)`` when there is no such attachment, or an error of the database.
    @discardableResult
    public func deleteFile(attachmentId: String) async throws -> Attachment {
        try await deleteFile(attachmentId: attachmentId, updateHook: { _, _ in })
    }
}
