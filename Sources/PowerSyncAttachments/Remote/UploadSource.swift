import Foundation
import NIOCore
import PowerSyncClient
import PowerSyncHTTP

/// The content of a file that is uploaded: the bytes of the file, or what it has in it where it is encrypted.
struct UploadSource: Sendable {
    /// How many bytes there are.
    let size: Int64
    private let path: String
    private let isEncrypted: Bool
    private let content: @Sendable (_ offset: Int64, _ count: Int) throws -> ByteBuffer

    /// Opens the file of an attachment.
    ///
    /// - Throws: ``PowerSyncAttachmentError``, ``AttachmentEncryptionError``
    init(_ located: LocatedAttachment) async throws {
        path = located.localPath
        if let encryption = located.encryption {
            let file = try await encryption.open(path)
            size = file.size
            isEncrypted = true
            content = { ByteBuffer(bytes: try file.read(at: $0, upTo: $1)) }
        } else {
            let (file, size) = try await FileWork.run { [path] in
                let file = try OpenFile(path, for: .reading)
                return (file, try file.size())
            }
            self.size = size
            isEncrypted = false
            content = { try file.buffer(at: $0, upTo: $1) }
        }
    }

    /// Reads a part.
    ///
    /// - Throws: ``AttachmentTransferError`` with the code ``AttachmentTransferError/Code/sizeMismatch`` when the file does not have it any
    ///   more.
    func part(at offset: Int64, _ count: Int) async throws -> ByteBuffer {
        let bytes = try await FileWork.run { [content] in try content(offset, count) }
        guard bytes.readableBytes == count else { throw becameShorter }
        return bytes
    }

    /// The digest of all bytes: 32 bytes.
    func sha256() async throws -> Data {
        try await FileDigest.sha256(upTo: size) { [content] in Data(try content($0, $1).readableBytesView) }
    }

    /// The body of a request with all bytes.
    ///
    /// They are read as they are sent, but for an encrypted file where the system sends files by their paths: that is in memory then.
    func file(_ progress: @escaping @Sendable (Int64) -> Void) -> HTTPExchangeFile {
        HTTPExchangeFile(
            path: isEncrypted ? nil : path,
            size: size,
            read: { [self] offset, count in
                let bytes = try await FileWork.run { try content(offset, count) }
                guard bytes.readableBytes > 0 else { throw becameShorter }
                return bytes
            },
            progress: progress
        )
    }

    private var becameShorter: AttachmentTransferError {
        AttachmentTransferError(
            .sizeMismatch,
            message: "\(path) became shorter than \(size) bytes while it was uploaded"
        )
    }
}
