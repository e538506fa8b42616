public import Foundation
import PowerSyncClient

/// A remote storage that takes and gives whole files.
///
/// For large files use an ``AttachmentTransportAdapter``, which streams. The methods get the whole attachment, so that keys and
/// headers can be made of its id, name, media type and meta data. They are called from background tasks, for different attachments
/// possibly at the same time; they throw for everything but success (check the HTTP status).
public protocol RemoteStorageAdapter: Sendable {
    /// Stores a file. Storing the same attachment again must succeed: an upload may be repeated after a crash.
    func uploadFile(fileData: Data, attachment: Attachment) async throws
    /// Fetches a file.
    ///
    /// - Throws: ``AttachmentStorageError/notFound`` when there is none, or any other error.
    func downloadFile(attachment: Attachment) async throws -> Data
    /// Deletes a file. Deleting a file that is not there must succeed, or throw ``AttachmentStorageError/notFound``.
    func deleteFile(attachment: Attachment) async throws
}
