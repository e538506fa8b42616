import Foundation
import NIOCore

/// The content of an open file, in pieces that are read when they are asked for.
///
/// It may be iterated several times: a redirect sends the content again.
struct FileChunks: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let file: OpenFile
    /// How many bytes there must be.
    let size: Int64
    /// Takes the number of bytes that have been handed out.
    let progress: @Sendable (Int64) -> Void

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
            if offset > 0 { chunks.progress(offset) }
            guard offset < chunks.size else { return nil }
            let (file, start) = (chunks.file, offset)
            let length = Int(Swift.min(chunks.size - start, Int64(FileWork.chunkSize)))
            let buffer = try await FileWork.run { try file.buffer(at: start, upTo: length) }
            guard buffer.readableBytes > 0 else {
                throw AttachmentTransferError(
                    .sizeMismatch,
                    message: "\(file.path) became shorter than \(chunks.size) bytes while it was uploaded"
                )
            }
            offset += Int64(buffer.readableBytes)
            return buffer
        }
    }
}

extension OpenFile {
    /// The bytes at an offset; fewer, or none, at the end of the file.
    fileprivate func buffer(at offset: Int64, upTo count: Int) throws -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        try buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            try read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
        }
        return buffer
    }
}
