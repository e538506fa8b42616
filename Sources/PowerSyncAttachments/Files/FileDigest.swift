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

    /// The SHA-256 digests of the whole file that the headers of a download announce, 32 bytes each.
    ///
    /// - `Repr-Digest: sha-256=:BASE64:` (RFC 9530) is of the whole file, whatever part is sent.
    /// - `Content-Digest: sha-256=:BASE64:` (RFC 9530) and `x-amz-checksum-sha256: BASE64` (S3) are of what is sent: they count
    ///   when that is the whole file. S3 has digests of digests for files that came in parts, `BASE64-7`; those say nothing here.
    ///
    /// Malformed ones are left out.
    static func announced(header: (String) -> String?, isWholeFile: Bool) -> [Data] {
        var digests = [header("Repr-Digest").flatMap(structured)]
        if isWholeFile {
            digests.append(header("Content-Digest").flatMap(structured))
            digests.append(header("x-amz-checksum-sha256").flatMap(decoded))
        }
        return digests.compactMap(\.self)
    }

    /// The digest in a dictionary of structured fields: `sha-512=:…:, sha-256=:…:`.
    private static func structured(_ header: String) -> Data? {
        for member in header.split(separator: ",") {
            let text = member.trimmingPrefix { $0 == " " || $0 == "\t" }
            guard text.lowercased().hasPrefix("sha-256=:") else { continue }
            return decoded(text.dropFirst("sha-256=:".count).prefix { $0 != ":" })
        }
        return nil
    }

    private static func decoded(_ base64: some StringProtocol) -> Data? {
        guard let digest = Data(base64Encoded: String(base64)), digest.count == 32 else { return nil }
        return digest
    }
}
