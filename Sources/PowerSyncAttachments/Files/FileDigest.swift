import Crypto
package import Foundation
import NIOCore
import PowerSyncClient

/// The SHA-256 digests of files.
package enum FileDigest {
    /// The digest of a file.
    ///
    /// - Parameter path: Its path.
    /// - Returns: 32 bytes.
    /// - Throws: ``PowerSyncAttachmentError``, `CancellationError`
    package static func sha256(path: String) async throws -> Data {
        let file = try await FileWork.run { try OpenFile(path, for: .reading) }
        return try await sha256(of: file, upTo: .max)
    }

    /// The digest of bytes in memory: 32 bytes.
    package static func sha256(of bytes: Data) -> Data {
        Data(SHA256.hash(data: bytes))
    }

    /// The digest of bytes in memory: 32 bytes.
    static func sha256(of bytes: ByteBuffer) -> Data {
        var hasher = SHA256()
        unsafe bytes.withUnsafeReadableBytes { unsafe hasher.update(bufferPointer: $0) }
        return Data(hasher.finalize())
    }

    /// The digest of the beginning of a file.
    static func sha256(of file: OpenFile, upTo size: Int64) async throws -> Data {
        Data(try await hasher(of: file, upTo: size).finalize())
    }

    /// A hasher that has seen the beginning of a file.
    static func hasher(of file: OpenFile, upTo size: Int64) async throws -> SHA256 {
        try await hasher(upTo: size) { try file.read(at: $0, upTo: $1) }
    }

    /// The digest of the beginning of what a closure reads; it may block.
    static func sha256(
        upTo size: Int64,
        _ read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws -> Data
    ) async throws -> Data {
        Data(try await hasher(upTo: size, read).finalize())
    }

    private static func hasher(
        upTo size: Int64,
        _ read: @escaping @Sendable (_ offset: Int64, _ count: Int) throws -> Data
    ) async throws -> SHA256 {
        var hasher = SHA256()
        var offset: Int64 = 0
        while offset < size {
            try Task.checkCancellation()
            let (start, before) = (offset, hasher)
            // Several pieces for each visit to another thread.
            (hasher, offset) = try await FileWork.run {
                var hasher = before
                var offset = start
                let end = size - start > step ? start + step : size
                while offset < end {
                    let data = try read(offset, Int(min(Int64(FileWork.chunkSize), end - offset)))
                    guard !data.isEmpty else { return (hasher, Int64.max) }
                    hasher.update(data: data)
                    offset += Int64(data.count)
                }
                return (hasher, offset)
            }
        }
        return hasher
    }

    private static let step: Int64 = 8 * 1024 * 1024
}
