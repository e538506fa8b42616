import Crypto
package import Foundation
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

    /// The digest of the beginning of a file.
    static func sha256(of file: OpenFile, upTo size: Int64) async throws -> Data {
        Data(try await hasher(of: file, upTo: size).finalize())
    }

    /// A hasher that has seen the beginning of a file.
    static func hasher(of file: OpenFile, upTo size: Int64) async throws -> SHA256 {
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
                    let count = Int(min(Int64(FileWork.chunkSize), end - offset))
                    let data = try file.read(at: offset, upTo: count)
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
