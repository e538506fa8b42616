import Foundation
import NIOConcurrencyHelpers

/// A file that gets its name when it is complete.
///
/// It is written as `<target>.<uuid>.pstmp`, flushed to the disk and renamed; whoever looks at the target sees the old file
/// or the new one. Without ``commit()`` it is removed by ``discard()``, at the latest with the last reference. All methods block.
final class TemporaryFile: Sendable {
    private let target: String
    private let path: String
    private let file: OpenFile
    /// Whether it has its name, or is removed.
    private let isDone = NIOLockedValueBox(false)

    /// Creates the file, with the directories above it.
    init(for target: String) throws {
        self.target = target
        path = AttachmentPath.temporaryPath(for: target, tag: UUID().uuidString.lowercased())
        do {
            file = try OpenFile(path, for: .creating)
        } catch PowerSyncAttachmentError.fileNotFound {
            try FileManager.default.createDirectory(
                atPath: AttachmentPath.directory(of: target),
                withIntermediateDirectories: true
            )
            file = try OpenFile(path, for: .creating)
        }
    }

    deinit {
        discard()
    }

    /// Removes the file, unless it has its name.
    ///
    /// Another thread may keep the last reference for a moment; callers that promise that nothing is left do not wait for it.
    func discard() {
        let isLeft = isDone.withLockedValue { isDone in
            defer { isDone = true }
            return !isDone
        }
        if isLeft { try? OpenFile.remove(path) }
    }

    /// Adds bytes.
    func write(_ data: Data) throws {
        try file.write(data)
    }

    /// Adds the next bytes of another file.
    ///
    /// - Parameters:
    ///   - source: The other file.
    ///   - limit: About how many bytes at most.
    /// - Returns: Whether there may be more.
    /// - Throws: ``PowerSyncAttachmentError/ioError(_:)``
    func write(from source: OpenFile, upTo limit: Int) throws -> Bool {
        try withUnsafeTemporaryAllocation(byteCount: FileWork.chunkSize, alignment: 1) { buffer in
            var copied = 0
            while copied < limit {
                let count = try source.read(into: buffer)
                guard count > 0 else { return false }
                try file.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                copied += count
            }
            return true
        }
    }

    /// Gives the file its name.
    func commit() throws {
        try file.synchronize()
        try OpenFile.rename(path, to: target)
        isDone.withLockedValue { $0 = true }
        try OpenFile.synchronizeDirectory(AttachmentPath.directory(of: target))
    }
}
