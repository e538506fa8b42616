import CZlib
package import NIOCore

/// Compresses messages for a peer, each for itself (RFC 7692, 7.2.1); see ``MessageInflater`` for the form.
///
/// What zlib needs for that, a quarter of a MiB, is there only while a message is compressed: most connections are idle.
package enum MessageCompressor {
    /// Messages below this are sent as they are: 128 bytes.
    private static let minimumLength = 128
    /// zlib's default for how much memory is used; it costs 128 KiB.
    private static let memoryLevel: Int32 = 8
    /// `00 00 ff ff`, which is left out.
    private static let tailLength = 4

    /// Compresses a message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - windowBits: How far back the peer can look: 9 to 15, as a power of two.
    /// - Returns: `nil` when it would not be shorter.
    package static func compress(_ message: ByteBuffer, windowBits: Int) -> ByteBuffer? {
        guard message.readableBytes >= minimumLength, message.readableBytes < UInt32.max else { return nil }
        var stream = unsafe z_stream()
        return unsafe withUnsafeMutablePointer(to: &stream) { stream in
            let status = unsafe deflateInit2_(
                stream,
                Z_DEFAULT_COMPRESSION,
                Z_DEFLATED,
                -Int32(windowBits),
                memoryLevel,
                Z_DEFAULT_STRATEGY,
                zlibVersion(),
                Int32(MemoryLayout<z_stream>.size)
            )
            // Without memory the message can still be sent as it is.
            guard status == Z_OK else { return nil }
            defer { unsafe deflateEnd(stream) }
            return unsafe compress(message, with: stream)
        }
    }

    private static func compress(_ message: ByteBuffer, with stream: UnsafeMutablePointer<z_stream>) -> ByteBuffer? {
        // More than the message has is of no use.
        let room = message.readableBytes
        var output = ByteBuffer()
        var isComplete = false
        unsafe message.withUnsafeReadableBytes { input in
            // zlib reads only; its interface is older than `const`.
            let start = unsafe UnsafeMutableRawPointer(mutating: input.baseAddress)
            unsafe stream.pointee.next_in = start?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.pointee.avail_in = UInt32(input.count)
            unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { space in
                unsafe stream.pointee.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe stream.pointee.avail_out = UInt32(room)
                let status = unsafe deflate(stream, Z_SYNC_FLUSH)
                // With room left, nothing waits to be written.
                isComplete = unsafe status == Z_OK && stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0
                return unsafe room - Int(stream.pointee.avail_out)
            }
        }
        guard isComplete else { return nil }
        output.moveWriterIndex(to: output.writerIndex - tailLength)
        return output
    }
}
