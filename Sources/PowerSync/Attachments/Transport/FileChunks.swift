import NIOCore
import PowerSyncHTTP

/// The content of a file, in pieces that are read when they are asked for.
///
/// It may be iterated several times: a redirect sends the content again.
struct FileChunks: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

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
            let length = Int(Swift.min(file.size - offset, Int64(FileWork.chunkSize)))
            let buffer = try await file.read(offset, length)
            guard buffer.readableBytes > 0 else {
                throw AttachmentTransferError(
                    .sizeMismatch,
                    message: "\(file.path) became shorter than \(file.size) bytes while it was uploaded"
                )
            }
            offset += Int64(buffer.readableBytes)
            return buffer
        }
    }
}

extension OpenFile {
    /// The bytes at an offset; fewer, or none, at the end of the file.
    func buffer(at offset: Int64, upTo count: Int) throws -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            try read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
        }
        return buffer
    }
}
