import Foundation
import PowerSyncClient

/// Encrypts the content of a file as that arrives: gives the header of the file, then one chunk after the other.
struct ChunkEncryption {
    private var content: AttachmentChunks.AsyncIterator
    private let format: EncryptedFileFormat
    /// Content that was not encrypted yet, because more may come.
    private var waiting = Data()
    /// How much of it was encrypted.
    private var offset = 0
    private var number: Int64 = 0
    private var isAtStart = true
    private var isAtEnd = false

    init(of content: AttachmentChunks, with key: Data) {
        self.content = content.makeAsyncIterator()
        format = EncryptedFileFormat(key: key)
    }

    /// The next bytes; `nil` after the last.
    mutating func next() async throws -> Data? {
        if isAtStart {
            isAtStart = false
            return format.header
        }
        while !isAtEnd {
            // The last chunk says that it is, so one is kept until there is more.
            if waiting.count - offset > EncryptedFileFormat.chunkSize {
                defer { offset += EncryptedFileFormat.chunkSize }
                return try sealed(rest.prefix(EncryptedFileFormat.chunkSize), isLast: false)
            }
            guard let piece = try await content.next() else {
                // A sequence may end because of the cancellation: what it gave is not the whole file.
                try Task.checkCancellation()
                isAtEnd = true
                return try sealed(rest, isLast: true)
            }
            // A large piece is not copied.
            waiting = rest.isEmpty ? piece : rest + piece
            offset = 0
        }
        return nil
    }

    private var rest: Data { waiting.dropFirst(offset) }

    private mutating func sealed(_ content: Data, isLast: Bool) throws -> Data {
        defer { number += 1 }
        return try format.seal(Data(content), number: number, isLast: isLast)
    }
}

extension AttachmentChunks {
    /// The bytes of an encrypted file, made of its content as that arrives.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - key: The key, 32 bytes.
    init(encrypting content: AttachmentChunks, with key: Data) {
        self.init(makeNext: {
            var encryption = ChunkEncryption(of: content, with: key)
            return { try await encryption.next() }
        })
    }
}
