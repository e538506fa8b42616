import Foundation
import PowerSyncClient

/// The bytes of an encrypted file, made of its content as that arrives: its header, then one chunk after the other.
struct EncryptedChunks: AsyncSequence, Sendable {
    typealias Element = Data

    let content: AttachmentChunks
    let key: Data

    func makeAsyncIterator() -> Iterator {
        Iterator(content: content.makeAsyncIterator(), format: EncryptedFileFormat(key: key))
    }

    struct Iterator: AsyncIteratorProtocol {
        private var content: AttachmentChunks.AsyncIterator
        private let format: EncryptedFileFormat
        /// Content that was not encrypted yet, because more may come.
        private var waiting = Data()
        /// How much of it was encrypted.
        private var offset = 0
        private var number: Int64 = 0
        private var isAtStart = true
        private var isAtEnd = false

        fileprivate init(content: AttachmentChunks.AsyncIterator, format: EncryptedFileFormat) {
            self.content = content
            self.format = format
        }

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
}

/// The content of a file that is not encrypted, in pieces.
struct PlainChunks: AsyncSequence, Sendable {
    typealias Element = Data

    let file: OpenFile

    func makeAsyncIterator() -> Iterator { Iterator(file: file) }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let file: OpenFile
        private var offset: Int64 = 0

        fileprivate init(file: OpenFile) {
            self.file = file
        }

        mutating func next() async throws -> Data? {
            try Task.checkCancellation()
            let (file, start) = (file, offset)
            let piece = try await FileWork.run { try file.read(at: start, upTo: FileWork.chunkSize) }
            offset += Int64(piece.count)
            return piece.isEmpty ? nil : piece
        }
    }
}
