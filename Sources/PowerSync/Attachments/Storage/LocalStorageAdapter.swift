public import Foundation

/// Where the files are on this device.
///
/// ``FileManagerStorageAdapter`` keeps them in the file system. Paths are those that the queue's `getLocalUri` produces; for an
/// adapter of your own they are opaque.
public protocol LocalStorageAdapter: Sendable {
    /// Writes a file, with the directories above it; replaces an existing one atomically.
    ///
    /// - Returns: The number of bytes written.
    func saveFile(filePath: String, data: Data) async throws -> Int64
    /// Reads a whole file.
    ///
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` or ``PowerSyncAttachmentError/ioError(_:)``.
    func readFile(filePath: String, mediaType: String?) async throws -> Data
    /// Removes a file. No error when there is none.
    func deleteFile(filePath: String) async throws
    /// Whether there is a regular file at the path.
    func fileExists(filePath: String) async throws -> Bool
    /// Creates a directory and those above it. No error when it is there.
    func makeDir(path: String) async throws
    /// Removes a directory with all that is in it. No error when there is none.
    func rmDir(path: String) async throws
    /// Copies a file, with the directories above the target; replaces an existing one.
    ///
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` when there is no source.
    func copyFile(sourcePath: String, targetPath: String) async throws

    // The rest has default implementations in terms of the above.

    /// Writes a file chunk by chunk; replaces an existing one atomically, after the last chunk.
    ///
    /// The default implementation collects the chunks in memory.
    ///
    /// - Returns: The number of bytes written.
    func saveFile(filePath: String, chunks: AttachmentChunks) async throws -> Int64
    /// Moves a file, with the directories above the target; replaces an existing one atomically.
    ///
    /// The default implementation copies the file and deletes the source.
    ///
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` when there is no source.
    func moveFile(sourcePath: String, targetPath: String) async throws
    /// Gives a file a second path, with the directories above the target; replaces an existing file atomically.
    ///
    /// The queue moves a file of the app's in two steps: this one, then ``removeSource(sourcePath:)`` when its row is written.
    /// So both paths may share the bytes. The source may be outside the directory of the attachments.
    ///
    /// The default implementation copies the file.
    ///
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` when there is no source.
    func linkFile(sourcePath: String, targetPath: String) async throws
    /// Removes a file of the app's that has got a second path. No error when there is none.
    ///
    /// The default implementation deletes it as ``deleteFile(filePath:)`` does.
    func removeSource(sourcePath: String) async throws
    /// The size of a file in bytes; `nil` when there is none.
    ///
    /// The default implementation reads the file.
    func fileSize(filePath: String) async throws -> Int64?
    /// Removes what interrupted writes left in a directory and below, if it is older than a date.
    ///
    /// Downloads that may be continued, and what must be known for that, are in files whose names end with `.download.pstmp` and
    /// `.state.pstmp`: keep them for longer, as ``FileManagerStorageAdapter`` does.
    ///
    /// The default implementation does nothing.
    func removeTemporaryFiles(path: String, olderThan date: Date) async throws
    /// The files in a directory and below that were last written before a date.
    ///
    /// A file that was moved or linked to its path after the date is not one of them, however old its content is: its row may be
    /// still to come.
    ///
    /// The default implementation finds none, so that `sweepOrphanFiles(olderThan:)` of the queue removes nothing.
    ///
    /// - Returns: Absolute paths of regular files, in any order. An adapter whose files are not in the file system gives the paths as
    ///   the queue does.
    func files(path: String, notChangedSince date: Date) async throws -> [String]
}

extension LocalStorageAdapter {
    /// Reads a whole file.
    ///
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` or ``PowerSyncAttachmentError/ioError(_:)``.
    public func readFile(filePath: String) async throws -> Data {
        try await readFile(filePath: filePath, mediaType: nil)
    }

    /// Collects the chunks and writes them at once.
    public func saveFile(filePath: String, chunks: AttachmentChunks) async throws -> Int64 {
        var data = Data()
        for try await chunk in chunks { data += chunk }
        return try await saveFile(filePath: filePath, data: data)
    }

    /// Copies the file and deletes the source; does nothing when both are the same.
    public func moveFile(sourcePath: String, targetPath: String) async throws {
        guard sourcePath != targetPath else { return }
        try await copyFile(sourcePath: sourcePath, targetPath: targetPath)
        // A cancellation between both would leave two files.
        try await Task.ignoringCancellation { try await deleteFile(filePath: sourcePath) }
    }

    /// Copies the file; does nothing when both are the same.
    public func linkFile(sourcePath: String, targetPath: String) async throws {
        guard sourcePath != targetPath else { return }
        try await copyFile(sourcePath: sourcePath, targetPath: targetPath)
    }

    /// Deletes the file.
    public func removeSource(sourcePath: String) async throws {
        try await deleteFile(filePath: sourcePath)
    }

    /// The number of bytes that reading the file gives.
    public func fileSize(filePath: String) async throws -> Int64? {
        guard try await fileExists(filePath: filePath) else { return nil }
        return Int64(try await readFile(filePath: filePath, mediaType: nil).count)
    }

    /// Does nothing.
    public func removeTemporaryFiles(path: String, olderThan date: Date) async throws {}

    /// Finds none.
    public func files(path: String, notChangedSince date: Date) async throws -> [String] { [] }
}
