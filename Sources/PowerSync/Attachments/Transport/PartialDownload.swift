import Crypto
import Foundation
import NIOCore

/// The file that a download is written to, and what is needed to continue it later.
///
/// One task uses it. File operations happen on threads that may block, and to their ends, even when the task is cancelled.
struct PartialDownload {
    /// How many bytes are written before they are flushed and counted: 16 MiB.
    private static let checkpointInterval: Int64 = 16 * 1024 * 1024

    /// How many bytes of the file have been written.
    private(set) var bytes: Int64
    private let path: String
    private let file: OpenFile
    private var record: DownloadRecord
    /// Whether the bytes that arrive can be trusted to belong to those that are there, in a later attempt.
    private let isResumable: Bool
    private var hasher: SHA256?

    /// Opens the file.
    ///
    /// - Parameters:
    ///   - path: Its path.
    ///   - record: Where to continue; zero bytes to start.
    ///   - isResumable: Whether a later attempt may continue.
    ///   - isHashed: Whether the digest will be asked for.
    /// - Throws: ``PowerSyncAttachmentError``, `CancellationError`
    init(path: String, record: DownloadRecord, isResumable: Bool, isHashed: Bool) async throws {
        let offset = record.bytes
        let file = try await FileWork.run {
            let file = try OpenFile(path, for: .continuing)
            try file.truncate(to: offset)
            return file
        }
        self.path = path
        self.file = file
        self.record = record
        self.isResumable = isResumable
        bytes = offset
        if isHashed { hasher = try await FileDigest.hasher(of: file, upTo: offset) }
    }

    /// What an earlier attempt left at a path; `nil` when that cannot be continued.
    static func record(at path: String) async throws -> DownloadRecord? {
        try await FileWork.run {
            let state = AttachmentPath.downloadStatePath(for: path)
            guard
                let size = try OpenFile.attributes(path, followsLinks: false)?.size,
                let file = try? OpenFile(state, for: .reading),
                let record = try? JSONDecoder().decode(DownloadRecord.self, from: file.read(upTo: 4096)),
                record.bytes > 0, record.bytes <= size
            else { return nil }
            return record
        }
    }

    /// Removes what an attempt left at a path.
    static func discard(_ path: String) async {
        _ = try? await FileWork.run {
            try? OpenFile.remove(AttachmentPath.downloadStatePath(for: path))
            try? OpenFile.remove(path)
        }
    }

    /// Adds bytes.
    mutating func write(_ chunk: ByteBuffer) async throws {
        let (file, before) = (file, hasher)
        hasher = try await FileWork.run {
            try chunk.withUnsafeReadableBytes { try file.write($0) }
            guard var hasher = before else { return nil }
            chunk.withUnsafeReadableBytes { hasher.update(bufferPointer: $0) }
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
    func finish() async throws {
        let (file, path) = (file, path)
        try await FileWork.run {
            try file.synchronize()
            try OpenFile.remove(AttachmentPath.downloadStatePath(for: path))
        }
    }

    /// The attempt is over before the file is complete: keeps what a later attempt can use.
    mutating func interrupt() async {
        guard isResumable, bytes > 0 else { return await PartialDownload.discard(path) }
        do {
            try await checkpoint()
        } catch {
            await PartialDownload.discard(path)
        }
    }

    private mutating func checkpoint() async throws {
        record.bytes = bytes
        let (file, path, record) = (file, path, record)
        try await FileWork.run {
            try file.synchronize()
            let state = try TemporaryFile(for: AttachmentPath.downloadStatePath(for: path))
            try state.write(try JSONEncoder().encode(record))
            try state.commit()
        }
    }
}
