import CZlib
import NIOCore

/// Compresses messages as a service does (RFC 7692, 7.2.1).
final class MessageDeflater {
    private let stream: UnsafeMutablePointer<z_stream>
    private let keepsWindow: Bool

    /// - Parameters:
    ///   - keepsWindow: Whether a message refers to earlier ones.
    ///   - windowBits: The size of the window: 9 to 15, as a power of two.
    init(keepsWindow: Bool = true, windowBits: Int32 = 15) {
        self.keepsWindow = keepsWindow
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        deflateInit2_(
            stream,
            Z_DEFAULT_COMPRESSION,
            Z_DEFLATED,
            -windowBits,
            8,
            Z_DEFAULT_STRATEGY,
            zlibVersion(),
            Int32(MemoryLayout<z_stream>.size)
        )
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// The compressed form of a message, without the end of its last block.
    func deflate(_ message: ByteBuffer) -> ByteBuffer {
        var input = Array(message.readableBytesView)
        // A flush takes a few bytes more than the bound of the data.
        var output = [UInt8](repeating: 0, count: Int(deflateBound(stream, UInt(input.count))) + 16)
        let length = input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.pointee.next_in = input.baseAddress
                stream.pointee.avail_in = UInt32(input.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(output.count)
                CZlib.deflate(stream, Z_SYNC_FLUSH)
                return output.count - Int(stream.pointee.avail_out)
            }
        }
        if !keepsWindow { deflateReset(stream) }
        return ByteBuffer(bytes: output[..<(length - 4)])
    }
}
