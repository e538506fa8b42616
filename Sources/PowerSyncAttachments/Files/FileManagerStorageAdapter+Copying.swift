import Foundation
import PowerSyncClient
import PowerSyncSQLite

// Copying, moving and linking. The source may be anywhere: it is the app's file.
extension FileManagerStorageAdapter {
    /// The most bytes that are copied before a cancellation is noticed: 8 MiB.
    private static let copyStep = 8 * 1024 * 1024

    /// Copies a file, with the directories above the target; replaces an existing one atomically.
    public nonisolated func copyFile(sourcePath: String, targetPath: String) async throws {
        try AttachmentPath.check(systemPath: sourcePath)
        guard sourcePath != targetPath else { return try await checkExists(sourcePath) }
        let (source, target) = try await openCopy(of: sourcePath, for: targetPath)
        do {
            _ = try await copy(source, to: target, targetPath)
            try await perform(on: targetPath) { _ in try target.commit() }
        } catch {
            try await FileWork.run { target.discard() }
            throw error
        }
    }

    /// Opens a file and one without a name for its copy.
    nonisolated func openCopy(of sourcePath: String, for targetPath: String) async throws -> (OpenFile, TemporaryFile) {
        try AttachmentPath.check(systemPath: sourcePath)
        return try await perform(on: targetPath) { _ in
            let source = try OpenFile(sourcePath, for: .reading)
            _ = try source.size()
            return (source, try TemporaryFile(for: targetPath))
        }
    }

    /// Copies a file to one that has no name yet.
    ///
    /// - Returns: The number of bytes.
    nonisolated func copy(_ source: OpenFile, to target: TemporaryFile, _ targetPath: String) async throws -> Int64 {
        var size: Int64 = 0
        var isIncomplete = true
        while isIncomplete {
            try Task.checkCancellation()
            let copied = try await perform(on: targetPath) { _ in
                try target.write(from: source, upTo: FileManagerStorageAdapter.copyStep)
            }
            size += Int64(copied)
            isIncomplete = copied >= FileManagerStorageAdapter.copyStep
        }
        return size
    }

    /// Moves a file, with the directories above the target; replaces an existing one atomically.
    ///
    /// On one volume the file is renamed, after it has been flushed to the disk; to another volume it is copied and then deleted.
    public nonisolated func moveFile(sourcePath: String, targetPath: String) async throws {
        try AttachmentPath.check(systemPath: sourcePath)
        guard sourcePath != targetPath else { return try await checkExists(sourcePath) }
        let isMoved = try await perform(on: targetPath) { fileManager in
            let directory = try FileManagerStorageAdapter.prepare(sourcePath, for: targetPath)
            do {
                try OpenFile.rename(sourcePath, to: targetPath)
            } catch PowerSyncAttachmentError.ioError(let error as POSIXError) where error.code == .EXDEV {
                return false
            }
            try OpenFile.synchronizeDirectory(directory)
            return true
        }
        if isMoved { return }
        try await copyFile(sourcePath: sourcePath, targetPath: targetPath)
        try await removeSource(sourcePath: sourcePath)
    }

    /// Gives a file a second path, with the directories above it; replaces an existing file atomically.
    ///
    /// On one volume both paths are names of one file, which is flushed to the disk; on another volume, and where the file
    /// system has no such names, the file is copied.
    public nonisolated func linkFile(sourcePath: String, targetPath: String) async throws {
        try AttachmentPath.check(systemPath: sourcePath)
        guard sourcePath != targetPath else { return try await checkExists(sourcePath) }
        let isLinked = try await perform(on: targetPath) { fileManager in
            // A symbolic link would be linked itself, and lead to a file that is not ours.
            guard try OpenFile.attributes(sourcePath, followsLinks: false) != nil else { return false }
            let directory = try FileManagerStorageAdapter.prepare(sourcePath, for: targetPath)
            let name = AttachmentPath.temporaryPath(for: targetPath, tag: UUID().uuidString.lowercased())
            do {
                try OpenFile.link(sourcePath, to: name)
            } catch PowerSyncAttachmentError.ioError {
                return false
            }
            // Renaming does nothing when the target is a name of the same file already.
            defer { try? OpenFile.remove(name) }
            try OpenFile.rename(name, to: targetPath)
            try OpenFile.synchronizeDirectory(directory)
            return true
        }
        if !isLinked { try await copyFile(sourcePath: sourcePath, targetPath: targetPath) }
    }

    /// Removes a file of the app's, which may be anywhere, also when the task is cancelled.
    ///
    /// No error when there is none.
    public nonisolated func removeSource(sourcePath: String) async throws {
        try AttachmentPath.check(systemPath: sourcePath)
        try await FileWork.run { try OpenFile.remove(sourcePath) }
    }

    /// Flushes a source to the disk and creates the directories above its target.
    ///
    /// - Returns: The directory of the target.
    @discardableResult
    static func prepare(_ source: String, for target: String) throws -> String {
        let file = try OpenFile(source, for: .reading)
        _ = try file.size()
        try file.synchronize()
        let directory = AttachmentPath.directory(of: target)
        try PrivateFiles.createFolder(at: directory)
        return directory
    }

    private nonisolated func checkExists(_ path: String) async throws {
        guard try await fileExists(filePath: path) else { throw PowerSyncAttachmentError.fileNotFound(path) }
    }
}
