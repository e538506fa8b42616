import NIOCore
import PowerSyncClient

extension OpenFile {
    /// The bytes at an offset; fewer, or none, at the end of the file.
    func buffer(at offset: Int64, upTo count: Int) throws -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: count)
        try unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: count) { bytes in
            try unsafe read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<count]))
        }
        return buffer
    }
}
