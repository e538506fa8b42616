public import Foundation
import PowerSyncClient

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

    /// Creates a file at the first of some paths at which there is nothing, with the directories above it.
    ///
    /// The queue saves every file of the app's with this method, and gives every download its path with it: what is at a path already, a
    /// file, a directory or a link, is neither replaced nor removed. ``FileManagerStorageAdapter`` creates the file exclusively (`O_EXCL`).
    ///
    /// The default implementation asks ``fileExists(filePath:)`` for each path and then writes with the other methods, so a file that
    /// appears in between is replaced. After an error it deletes what it has written.
    ///
    /// - Parameters:
    ///   - content: What the file contains.
    ///   - paths: The paths in order of preference, all in one directory.
    /// - Returns: The file; `nil` when there is something at every path, and nothing has changed then.
    /// - Throws: ``PowerSyncAttachmentError/fileNotFound(_:)`` when there is no source, or another error. There is no new file then.
    func createFile(
        _ content: AttachmentFileContent,
        atFirstFreeOf paths: [String]
    ) async throws
        -> CreatedAttachmentFile?
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
    /// `.state.pstmp`, what must be known to continue an upload in one with `.upload.pstmp`: keep them for longer, as
    /// ``FileManagerStorageAdapter`` does.
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

    /// Asks for each path whether there is a file, and writes with the other methods.
    public func createFile(
        _ content: AttachmentFileContent,
        atFirstFreeOf paths: [String]
    ) async throws -> CreatedAttachmentFile? {
        for path in paths where try await !fileExists(filePath: path) {
            do {
                return CreatedAttachmentFile(path: path, size: try await write(content, to: path))
            } catch {
                // Only a file: a directory at the path was there before.
                await Task.ignoringCancellation {
                    guard (try? await fileExists(filePath: path)) == true else { return }
                    try? await deleteFile(filePath: path)
                }
                throw error
            }
        }
        return nil
    }

    private func write(_ content: AttachmentFileContent, to path: String) async throws -> Int64 {
        let source: String
        switch content {
        case .data(let data): return try await saveFile(filePath: path, data: data)
        case .chunks(let chunks): return try await saveFile(filePath: path, chunks: chunks)
        case .copy(let file):
            try await copyFile(sourcePath: file, targetPath: path)
            source = file
        case .link(let file):
            try await linkFile(sourcePath: file, targetPath: path)
            source = file
        case .move(let file):
            // Measured before: when a file has been moved, nothing may fail any more.
            guard let size = try await fileSize(filePath: file) else {
                throw PowerSyncAttachmentError.fileNotFound(file)
            }
            try await moveFile(sourcePath: file, targetPath: path)
            return size
        }
        guard let size = try await fileSize(filePath: path) else { throw PowerSyncAttachmentError.fileNotFound(source) }
        return size
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
