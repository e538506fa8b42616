package import Foundation
import PowerSyncClient

/// An attachment and the file to read it from or write it to.
public struct LocatedAttachment: Sendable {
    /// The attachment.
    public let attachment: Attachment
    /// The absolute path: of the file to upload, or of the temporary file that a download writes.
    public let localPath: String
    /// What decrypts the file at the path; `nil` when it is not encrypted.
    var encryption: EncryptedStorageAdapter?

    /// Creates the pair.
    ///
    /// - Parameters:
    ///   - attachment: The attachment.
    ///   - localPath: The absolute path of its file.
    public init(attachment: Attachment, localPath: String) {
        self.attachment = attachment
        self.localPath = localPath
    }

    /// The SHA-256 digest of the file, as remote storages get it: 32 bytes.
    ///
    /// - Throws: ``PowerSyncAttachmentError``, ``AttachmentEncryptionError``, `CancellationError`
    package func sha256() async throws -> Data {
        guard let encryption else { return try await FileDigest.sha256(path: localPath) }
        return try await encryption.contentDigest(localPath)
    }
}

/// Moves files between the disk and a remote storage, without holding them in memory.
///
/// ``HTTPAttachmentTransport`` is the usual implementation.
///
/// The methods are called from background tasks, for different attachments possibly at the same time, and must honour cancellation.
/// They throw for everything but success. `progress` takes the number of bytes transferred so far, of the whole file, and the
/// size of the file if it is known.
public protocol AttachmentTransportAdapter: Sendable {
    /// Uploads the file at the path. Uploading the same attachment again must succeed.
    func upload(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws
    /// Downloads to the path. It returns when the file there is complete; the queue then moves it to its final name.
    ///
    /// A file that is at the path already is the beginning that an earlier attempt of this transport left there: continue it or
    /// replace it.
    func download(_ located: LocatedAttachment, progress: @escaping @Sendable (Int64, Int64?) -> Void) async throws
    /// Deletes the remote file. Deleting a file that is not there must succeed, or throw ``AttachmentStorageError/notFound``.
    func delete(_ attachment: Attachment) async throws
}
