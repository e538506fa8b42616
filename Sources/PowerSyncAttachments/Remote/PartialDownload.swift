import Crypto
import Foundation
import NIOCore
import PowerSyncClient

/// The file that a download is written to, and what is needed to continue it later.
///
/// One task uses it. Other downloads, of this process and of others, do not write the file: it is locked (`flock`) until
/// ``close()``. File operations happen on threads that may block, and to their ends, even when the task is cancelled.
struct PartialDownload {
    /// How many bytes are written before they are flushed and counted: 16 MiB.
    private static let checkpointInterval: Int64 = 16 * 1024 * 1024
    /// How often the file is opened anew because it was renamed or removed before it could be locked.
    private static let openingLimit = 10

    /// How many bytes of the file have been written.
    private(set) var bytes: Int64
    private let path: String
    private let file: OpenFile
    private var record: DownloadRecord
    /// Whether the bytes that arrive can be trusted to belong to those that are there, in a later attempt.
    private let isResumable: Bool
    private var hasher: SHA256?

    /// Opens the file and locks it, until ``close()``.
    ///
    /// - Parameters:
    ///   - remains: What was found before the request was sent.
    ///   - record: Where to continue; zero bytes to start.
    ///   - isResumable: Whether a later attempt may continue.
    ///   - isHashed: Whether the digest will be asked for.
    /// - Throws: ``AttachmentTransferError`` with the code ``AttachmentTransferError/Code/inProgress`` when another download
    ///   writes the file, or has written it since it was looked at, which leaves it alone; ``PowerSyncAttachmentError``,
    ///   `CancellationError`
    init(_ remains: DownloadRemains, from record: DownloadRecord, isResumable: Bool, isHashed: Bool) async throws {
        let offset = record.bytes
        let file = try await FileWork.run {
            let file = try PartialDownload.open(remains, at: offset)
            try file.truncate(to: offset)
            return file
        }
        path = remains.path
        self.file = file
        self.record = record
        self.isResumable = isResumable
        bytes = offset
        do {
            if isHashed { hasher = try await FileDigest.hasher(of: file, upTo: offset) }
        } catch {
            file.unlock()
            throw error
        }
    }

    private static func open(_ remains: DownloadRemains, at offset: Int64) throws -> OpenFile {
        let path = remains.path
        for _ in 0..<openingLimit {
            let file = try OpenFile(path, for: .continuing)
            guard try file.lock() else { break }
            // The owner of the lock before may have removed the file, or given it its name: that one must not be touched.
            guard try file.isAtPath() else { continue }
            let found = try file.attributes()
            if found == remains.attributes || (found.size == 0 && offset == 0) { return file }
            // The answer continues a file that is not there any more, or would replace one that was completed meanwhile.
            if found.size == 0 { try OpenFile.remove(path) }
            break
        }
        throw AttachmentTransferError(
            .inProgress,
            message: "Another download of this file is going on, or has just ended: \(path)"
        )
    }

    /// Lets other downloads have the file.
    func close() {
        file.unlock()
    }

    /// Removes what an attempt left at a path, unless another one is at work there.
    static func discard(_ path: String) async {
        _ = try? await FileWork.run {
            let file = try? OpenFile(path, for: .reading)
            withExtendedLifetime(file) {
                if let file, (try? file.lock()) == false { return }
                PartialDownload.remove(path)
            }
        }
    }

    private static func remove(_ path: String) {
        try? OpenFile.remove(AttachmentPath.downloadStatePath(for: path))
        try? OpenFile.remove(path)
    }

    /// Adds bytes.
    mutating func write(_ chunk: ByteBuffer) async throws {
        let (file, before) = (file, hasher)
        hasher = try await FileWork.run {
            try unsafe chunk.withUnsafeReadableBytes { try unsafe file.write($0) }
            guard var hasher = before else { return nil }
            unsafe chunk.withUnsafeReadableBytes { unsafe hasher.update(bufferPointer: $0) }
            return hasher
        }
        bytes += Int64(chunk.readableBytes)
        if isResumable, bytes - record.bytes >= PartialDownload.checkpointInterval { try await checkpoint() }
    }

    /// The digest of what has been written.
    func digest() -> Data? {
        hasher.map { Data($0.finalize()) }
    }

    /// The file is complete: flushes it and forgets how to continue.
    ///
    /// - Throws: ``PowerSyncAttachmentError``, also when the file is not at its path any more.
    func finish() async throws {
        let (file, path) = (file, path)
        try await FileWork.run {
            try file.synchronize()
            try PartialDownload.checkIsAtPath(file)
            try OpenFile.remove(AttachmentPath.downloadStatePath(for: path))
        }
    }

    /// The attempt is over before the file is complete: keeps what a later attempt can use.
    mutating func interrupt() async {
        guard isResumable, bytes > 0 else { return await discard() }
        do {
            try await checkpoint()
        } catch {
            await discard()
        }
    }

    /// The attempt is over, and nothing of it is of use: removes what there is.
    func discard() async {
        let (file, path) = (file, path)
        _ = try? await FileWork.run {
            try PartialDownload.checkIsAtPath(file)
            PartialDownload.remove(path)
        }
    }

    private mutating func checkpoint() async throws {
        record.bytes = bytes
        let (file, path, record) = (file, path, record)
        try await FileWork.run {
            try file.synchronize()
            try PartialDownload.checkIsAtPath(file)
            let state = try TemporaryFile(for: AttachmentPath.downloadStatePath(for: path))
            try state.write(try JSONEncoder().encode(record))
            try state.commit()
        }
    }

    /// Checks that the file was not removed: what is at its path now, and the record beside it, would have another owner.
    private static func checkIsAtPath(_ file: OpenFile) throws {
        guard try file.isAtPath() else { throw PowerSyncAttachmentError.fileNotFound(file.path) }
    }
}
