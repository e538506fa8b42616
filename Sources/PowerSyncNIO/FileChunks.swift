import NIOCore
import PowerSyncHTTP

/// The content of a file, in pieces that are read when they are asked for.
///
/// It may be iterated several times: a redirect sends the content again.
struct FileChunks: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    /// The size of a piece, in bytes.
    private static let size = 256 * 1024

    /// What reading a file has thrown, to be told from errors of the client.
    struct ReadError: Error {
        let cause: any Error
    }

    let file: HTTPExchangeFile

    func makeAsyncIterator() -> Iterator {
        Iterator(chunks: self)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let chunks: FileChunks
        private var offset: Int64 = 0

        fileprivate init(chunks: FileChunks) {
            self.chunks = chunks
        }

        mutating func next() async throws -> ByteBuffer? {
            let file = chunks.file
            if offset > 0 { file.progress(offset) }
            guard offset < file.size else { return nil }
            let length = Int(Swift.min(file.size - offset, Int64(FileChunks.size)))
            do {
                let buffer = try await file.read(offset, length)
                offset += Int64(buffer.readableBytes)
                return buffer
            } catch {
                throw ReadError(cause: error)
            }
        }
    }
}
