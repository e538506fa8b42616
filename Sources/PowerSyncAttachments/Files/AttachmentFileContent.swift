public import Foundation
import PowerSyncClient

/// Where a ``LocalStorageAdapter`` takes the content of a new file from.
public enum AttachmentFileContent: Sendable {
    /// From memory.
    case data(Data)
    /// From a sequence of chunks, which is iterated once.
    case chunks(AttachmentChunks)
    /// From the file at a path, which stays and is not changed.
    case copy(of: String)
    /// From the file at a path, which stays: both paths may share the bytes, as with ``LocalStorageAdapter/linkFile(sourcePath:targetPath:)``.
    case link(to: String)
    /// From the file at a path, which loses that path.
    case move(from: String)
}

/// A file that a ``LocalStorageAdapter`` has created.
public struct CreatedAttachmentFile: Sendable, Hashable {
    /// The path of the file.
    public let path: String
    /// The size of the file in bytes.
    public let size: Int64

    /// Creates the description of a file.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - size: The size of the file in bytes.
    public init(path: String, size: Int64) {
        self.path = path
        self.size = size
    }
}
