import Crypto
import Foundation
import PowerSyncClient

/// How the content of a file is encrypted.
///
/// ```
/// header   8 bytes  "PSFILE\0\1"
///         16 bytes  salt, random for each file
///          8 bytes  HKDF-SHA256(key, salt, "powersync attachment check"): tells another key from a damaged file
/// chunks   of 65,536 bytes of the content each, the last one of 0 to 65,536; each encrypted by AES-256-GCM, its tag of 16 bytes behind it
///          key      HKDF-SHA256(key, salt, "powersync attachment file")
///          nonce    8 bytes the number of the chunk from 0, big-endian; 3 bytes 0; 1 byte 1 for the last chunk, else 0
///          authenticated with each chunk: the header
/// ```
///
/// The last chunk is not empty unless the file is. So a chunk that is changed, missing, added, exchanged or of another file does not
/// decrypt, nor does a file that was cut off at the end of a chunk: its last chunk was not encrypted as the last one.
struct EncryptedFileFormat: Sendable {
    static let headerSize = 32
    static let chunkSize = 65_536
    static let tagSize = 16
    private static let magic = Data("PSFILE\0\u{1}".utf8)
    private static let saltSize = 16

    /// The first bytes of the file.
    let header: Data
    private let key: SymmetricKey

    /// Begins a file.
    ///
    /// - Parameter key: 32 bytes.
    init(key: Data) {
        var salt = Data()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<EncryptedFileFormat.saltSize { salt.append(UInt8.random(in: 0...255, using: &random)) }
        self.init(key: key, salt: salt)
    }

    /// Begins a file with a salt of 16 bytes.
    private init(key: Data, salt: Data) {
        let check = EncryptedFileFormat.derived(key, salt, "powersync attachment check", count: 8)
        header = EncryptedFileFormat.magic + salt + (unsafe check.withUnsafeBytes { unsafe Data($0) })
        self.key = EncryptedFileFormat.derived(key, salt, "powersync attachment file", count: 32)
    }

    /// Reads the header of a file.
    ///
    /// - Parameters:
    ///   - header: The first 32 bytes of the file, or all, if there are fewer.
    ///   - key: 32 bytes.
    ///   - path: The path, for errors.
    /// - Throws: ``AttachmentEncryptionError``
    init(header: Data, key: Data, path: String) throws {
        guard header.count == EncryptedFileFormat.headerSize, header.starts(with: EncryptedFileFormat.magic) else {
            throw AttachmentEncryptionError(code: .notEncrypted, path: path)
        }
        let salt = Data(header.dropFirst(EncryptedFileFormat.magic.count).prefix(EncryptedFileFormat.saltSize))
        self.init(key: key, salt: salt)
        guard self.header == header else { throw AttachmentEncryptionError(code: .wrongKey, path: path) }
    }

    private static func derived(_ key: Data, _ salt: Data, _ purpose: String, count: Int) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: key),
            salt: salt,
            info: Data(purpose.utf8),
            outputByteCount: count
        )
    }

    /// How many bytes of content an encrypted file has.
    ///
    /// - Parameter size: The size of the file.
    /// - Returns: The number; `nil` when no encrypted file has that size.
    static func contentSize(of size: Int64) -> Int64? {
        let whole = Int64(chunkSize + tagSize)
        let rest = size - Int64(headerSize)
        guard rest >= Int64(tagSize) else { return nil }
        let (chunks, last) = rest.quotientAndRemainder(dividingBy: whole)
        guard last != 0 else { return chunks * Int64(chunkSize) }
        // Only an empty file has an empty chunk.
        guard last > Int64(tagSize) || chunks == 0 && last == Int64(tagSize) else { return nil }
        return chunks * Int64(chunkSize) + last - Int64(tagSize)
    }

    /// How many chunks a file with so many bytes of content has.
    static func chunkCount(of contentSize: Int64) -> Int64 {
        max(1, (contentSize + Int64(chunkSize) - 1) / Int64(chunkSize))
    }

    /// Where a chunk begins in the file.
    static func offset(of chunk: Int64) -> Int64 {
        Int64(headerSize) + chunk * Int64(chunkSize + tagSize)
    }

    /// Encrypts a chunk.
    func seal(_ content: Data, number: Int64, isLast: Bool) throws -> Data {
        let box = try AES.GCM.seal(
            content,
            using: key,
            nonce: AES.GCM.Nonce(data: EncryptedFileFormat.nonce(number, isLast)),
            authenticating: header
        )
        return box.ciphertext + box.tag
    }

    /// Decrypts a chunk.
    ///
    /// - Throws: ``AttachmentEncryptionError`` with the code ``AttachmentEncryptionError/Code/damaged``
    func open(_ chunk: Data, number: Int64, isLast: Bool, path: String) throws -> Data {
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: EncryptedFileFormat.nonce(number, isLast)),
                ciphertext: chunk.dropLast(EncryptedFileFormat.tagSize),
                tag: chunk.suffix(EncryptedFileFormat.tagSize)
            )
            return try AES.GCM.open(box, using: key, authenticating: header)
        } catch {
            throw AttachmentEncryptionError(code: .damaged, path: path)
        }
    }

    private static func nonce(_ number: Int64, _ isLast: Bool) -> Data {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        return Data(bytes + [0, 0, 0, isLast ? 1 : 0])
    }
}
