import Foundation
import NIOConcurrencyHelpers
import PowerSyncClient
import PowerSyncSQLite

/// A file that gets its name when it is complete.
///
/// It is written as `<target>.<uuid>.pstmp`, flushed to the disk and renamed; a reader of the target sees the old file
/// or the new one. Without ``commit()`` it is removed by ``discard()``, at the latest with the last reference. All methods block.
final class TemporaryFile: Sendable {
    private let target: String
    private let path: String
    /// What is written; `nil` when the file has its name, or is removed.
    private let file: NIOLockedValueBox<OpenFile?>

    /// Creates the file, with the directories above it.
    init(for target: String) throws {
        self.target = target
        path = AttachmentPath.temporaryPath(for: target, tag: UUID().uuidString.lowercased())
        do {
            file = NIOLockedValueBox(try OpenFile(path, for: .creating))
        } catch PowerSyncAttachmentError.fileNotFound {
            try PrivateFiles.createFolder(at: AttachmentPath.directory(of: target))
            file = NIOLockedValueBox(try OpenFile(path, for: .creating))
        }
    }

    deinit {
        discard()
    }

    /// Removes the file, unless it has its name, and gives its room on the disk back.
    ///
    /// Another thread may keep the last reference to this object for a moment; callers that promise that nothing is left do not wait for it.
    func discard() {
        guard close() != nil else { return }
        try? OpenFile.remove(path)
    }

    /// Forgets the open file, which is closed with the last reference that is returned.
    private func close() -> OpenFile? {
        file.withLockedValue { file in
            defer { file = nil }
            return file
        }
    }

    /// The open file.
    ///
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)`` when it was discarded.
    private func open() throws -> OpenFile {
        guard let file = file.withLockedValue({ $0 }) else {
            throw PowerSyncAttachmentError.ioError(POSIXError(.EBADF))
        }
        return file
    }

    /// Adds bytes.
    func write(_ data: Data) throws {
        try open().write(data)
    }

    /// Adds the next bytes of another file.
    ///
    /// - Parameters:
    ///   - source: The other file.
    ///   - limit: About how many bytes at most.
    /// - Returns: How many bytes; fewer than the limit at the end of the other file.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    func write(from source: OpenFile, upTo limit: Int) throws -> Int {
        let file = try open()
        return try unsafe withUnsafeTemporaryAllocation(byteCount: FileWork.chunkSize, alignment: 1) { buffer in
            var copied = 0
            while copied < limit {
                let count = try unsafe source.read(into: buffer)
                guard count > 0 else { return copied }
                try unsafe file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                copied += count
            }
            return copied
        }
    }

    /// Gives the file its name.
    func commit() throws {
        try open().synchronize()
        try OpenFile.rename(path, to: target)
        _ = close()
        try OpenFile.synchronizeDirectory(AttachmentPath.directory(of: target))
    }

    /// Gives the file the first of some names that is free.
    ///
    /// - Parameter targets: The paths in order of preference, all in the directory of the target.
    /// - Returns: The path that the file has; `nil` when none is free. The file is still to be discarded then.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``; the file has none of the names then.
    func commit(atFirstFreeOf targets: [String]) throws -> String? {
        try open().synchronize()
        guard let target = try targets.first(where: { try OpenFile.renameIfFree(path, to: $0) }) else { return nil }
        _ = close()
        try OpenFile.synchronizeNewName(target)
        return target
    }
}
