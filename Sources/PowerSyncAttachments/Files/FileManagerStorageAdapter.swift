public import Foundation
import PowerSyncClient
import PowerSyncSQLite

/// Keeps attachments in the file system.
///
/// Files appear under their names only when they are complete and on the disk: each is written as `<name>.<uuid>.pstmp` in the
/// same directory and then renamed. What a crash leaves is removed by ``removeTemporaryFiles(path:olderThan:)``, which the queue
/// calls. Operations on different files run at the same time, on threads that may block.
///
/// Errors are ``PowerSyncAttachmentError``s: ``PowerSyncAttachmentError/fileNotFound(_:)``,
/// ``PowerSyncAttachmentError/invalidPath(_:)`` and ``PowerSyncAttachmentError/ioError(_:)``; see
/// ``PowerSyncAttachmentError/isDiskFull`` and ``PowerSyncAttachmentError/isPermissionDenied``.
public actor FileManagerStorageAdapter: LocalStorageAdapter {
    /// The most bytes of memory that are asked for before there is content for them: 64 MiB.
    private static let largestReservation: Int64 = 64 * 1024 * 1024
    /// How much longer than other unfinished files those are kept with which a transfer is continued, in seconds: a week.
    private static let laterGrace: TimeInterval = 7 * 86_400

    private let files: FileManagerBox
    private let directory: String?

    /// Creates an adapter for all paths.
    ///
    /// The queue checks that the paths it uses lie inside its directory.
    ///
    /// - Parameter fileManager: Creates, lists and removes directories. `nil` for the default one.
    public init(fileManager: FileManager? = nil) {
        files = FileManagerBox(fileManager: fileManager ?? .default)
        directory = nil
    }

    /// Creates an adapter that refuses all paths outside a directory, also those that lead out through symbolic links.
    ///
    /// - Parameters:
    ///   - directory: An absolute path.
    ///   - fileManager: Creates, lists and removes directories. `nil` for the default one.
    public init(directory: String, fileManager: FileManager? = nil) {
        files = FileManagerBox(fileManager: fileManager ?? .default)
        self.directory = directory
    }

    /// Writes a file, with the directories above it; replaces an existing one atomically.
    ///
    /// - Returns: The number of bytes written.
    @discardableResult
    public nonisolated func saveFile(filePath: String, data: Data) async throws -> Int64 {
        try await perform(on: filePath) { _ in
            let file = try TemporaryFile(for: filePath)
            try file.write(data)
            try file.commit()
            return Int64(data.count)
        }
    }

    /// Writes a file chunk by chunk, with the directories above it; replaces an existing one atomically, after the last.
    ///
    /// A chunk is asked for when the one before has been written. If the chunks end with an error, nothing is left.
    ///
    /// - Returns: The number of bytes written.
    @discardableResult
    public nonisolated func saveFile(
        filePath: String,
        chunks: AttachmentChunks
    ) async throws -> Int64 {
        let file = try await perform(on: filePath) { _ in try TemporaryFile(for: filePath) }
        do {
            let size = try await write(chunks, to: file, filePath)
            try await perform(on: filePath) { _ in try file.commit() }
            return size
        } catch {
            try await FileWork.run { file.discard() }
            throw error
        }
    }

    /// Writes chunks to a file that has no name yet.
    ///
    /// - Returns: The number of bytes.
    nonisolated func write(
        _ chunks: AttachmentChunks,
        to file: TemporaryFile,
        _ filePath: String
    ) async throws -> Int64 {
        var size: Int64 = 0
        // Small chunks are collected: each write is a visit to another thread.
        var waiting = Data()
        for try await chunk in chunks {
            try Task.checkCancellation()
            size += Int64(chunk.count)
            waiting.append(chunk)
            guard waiting.count >= FileWork.chunkSize else { continue }
            let data = waiting
            waiting = Data()
            try await perform(on: filePath) { _ in try file.write(data) }
        }
        // A sequence may end because of the cancellation: what it gave is not the whole file.
        try Task.checkCancellation()
        let rest = waiting
        try await perform(on: filePath) { _ in try file.write(rest) }
        return size
    }

    /// Reads a whole file.
    public nonisolated func readFile(filePath: String, mediaType: String?) async throws -> Data {
        try await perform(on: filePath) { _ in
            let file = try OpenFile(filePath, for: .reading)
            // Sparse files may claim any size.
            var data = Data(capacity: Int(min(try file.size(), FileManagerStorageAdapter.largestReservation)))
            while case let chunk = try file.read(upTo: FileWork.chunkSize), !chunk.isEmpty { data.append(chunk) }
            return data
        }
    }

    /// Removes a file.
    ///
    /// No error when there is none.
    public nonisolated func deleteFile(filePath: String) async throws {
        try await perform(on: filePath) { _ in try OpenFile.remove(filePath) }
    }

    /// Whether there is a regular file at the path.
    public nonisolated func fileExists(filePath: String) async throws -> Bool {
        try await fileSize(filePath: filePath) != nil
    }

    /// The size of a file in bytes; `nil` when there is none.
    public nonisolated func fileSize(filePath: String) async throws -> Int64? {
        try await perform(on: filePath) { _ in try OpenFile.attributes(filePath)?.size }
    }

    /// Creates a directory and those above it.
    ///
    /// No error when it is there.
    public nonisolated func makeDir(path: String) async throws {
        try await perform(on: path, orDirectoryItself: true) { _ in try PrivateFiles.createFolder(at: path) }
    }

    /// Removes a directory with all that is in it.
    ///
    /// No error when there is none.
    ///
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)`` for `/` and the user's home directory.
    public nonisolated func rmDir(path: String) async throws {
        try await perform(on: path, orDirectoryItself: true) { fileManager in
            let forbidden = ["/", NSHomeDirectory()].map { URL(filePath: $0).standardizedFileURL.path }
            guard !forbidden.contains(URL(filePath: path).standardizedFileURL.path) else {
                throw PowerSyncAttachmentError.invalidPath("\(path) must not be removed")
            }
            do {
                try fileManager.removeItem(atPath: path)
            } catch CocoaError.fileNoSuchFile {
                return
            }
        }
    }

    /// Removes unfinished files in a directory and below that were last written, and got their names, before a date.
    ///
    /// Those of transfers that may be continued are removed only if that was a week before that date. Symbolic links are not
    /// followed. A file that cannot be removed is left for the next time.
    public nonisolated func removeTemporaryFiles(path: String, olderThan date: Date) async throws {
        try await perform(on: path, orDirectoryItself: true) { fileManager in
            let laterDate = date.addingTimeInterval(-FileManagerStorageAdapter.laterGrace)
            let old = FileManagerStorageAdapter.files(in: path, notChangedSince: date, fileManager)
            for file in old where AttachmentPath.isTemporary(file.path) {
                if AttachmentPath.isKeptForLater(file.path), file.changed >= laterDate { continue }
                try? OpenFile.remove(file.path)
            }
        }
    }

    /// The regular files in a directory and below that were last written, and got their names, before a date.
    ///
    /// A file that was linked or renamed after the date is not among them, however old its content is: it may be one that is just
    /// being saved. Symbolic links are not followed.
    public nonisolated func files(path: String, notChangedSince date: Date) async throws -> [String] {
        try await perform(on: path, orDirectoryItself: true) { fileManager in
            FileManagerStorageAdapter.files(in: path, notChangedSince: date, fileManager).map { $0.path }
        }
    }

    private static func files(
        in directory: String,
        notChangedSince date: Date,
        _ fileManager: FileManager
    ) -> [(path: String, changed: Date)] {
        guard let names = fileManager.enumerator(atPath: directory) else { return [] }
        return names.compactMap { name in
            guard let name = name as? String else { return nil }
            let file = directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
            guard let attributes = try? OpenFile.attributes(file, followsLinks: false), attributes.changed < date
            else { return nil }
            return (path: file, changed: attributes.changed)
        }
    }

    /// Checks a path and runs an operation where it may block; gives its errors the types that are documented.
    nonisolated func perform<T: Sendable>(
        on path: String,
        orDirectoryItself: Bool = false,
        _ body: @escaping @Sendable (FileManager) throws -> T
    ) async throws -> T {
        try Task.checkCancellation()
        let (files, directory) = (files, directory)
        return try await FileWork.run {
            try AttachmentPath.check(systemPath: path)
            if let directory, !(orDirectoryItself && path == directory) {
                try AttachmentPath.check(path: path, inside: directory)
            }
            do {
                return try body(files.fileManager)
            } catch {
                guard error is PowerSyncAttachmentError || error is AttachmentEncryptionError else {
                    throw PowerSyncAttachmentError.ioError(error)
                }
                throw error
            }
        }
    }
}

/// Lends a file manager to several threads.
///
/// `@unchecked`: Foundation documents the methods that are used here as safe to call from any thread; not all platforms
/// declare the class as `Sendable`.
private struct FileManagerBox: @unchecked Sendable {
    let fileManager: FileManager
}
