import CZlib
package import NIOCore

/// Restores the messages of a peer that compresses them (RFC 7692, 7.2.2).
///
/// A compressed message is a sequence of DEFLATE blocks (RFC 1951) without header or checksum, less the four bytes
/// `00 00 ff ff` of an empty block at its end. Later messages may refer to the last 32 KiB of earlier ones, unless the peer
/// has said that they do not.
///
/// For one thread at a time. After an error it is not used any more.
@safe package final class MessageInflater {
    /// Why a message cannot be restored.
    package enum Failure: Error, Hashable, CustomStringConvertible {
        /// It is not DEFLATE.
        case malformed
        /// It has more bytes than are accepted.
        case tooLarge(limit: Int)

        /// What is wrong, for people.
        package var description: String {
            switch self {
            case .malformed: "a compressed WebSocket message is damaged"
            case .tooLarge(let limit): "a compressed WebSocket message has more than \(limit) bytes"
            }
        }
    }

    /// What the sender has left out.
    private static let tail: [UInt8] = [0x00, 0x00, 0xff, 0xff]
    /// The window of 32 KiB, which reads what was made with any smaller one; negative for DEFLATE without a header.
    private static let windowBits: Int32 = -15
    /// How much room is made for output at a time: 16 KiB.
    private static let step = 16 * 1024

    /// zlib's state refers to this memory.
    private let stream: UnsafeMutablePointer<z_stream>
    private let keepsWindow: Bool

    /// Creates an inflater for the messages of one connection.
    ///
    /// - Parameter keepsWindow: Whether messages refer to earlier ones.
    package init(keepsWindow: Bool) {
        self.keepsWindow = keepsWindow
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe inflateInit2_(
            stream,
            Self.windowBits,
            zlibVersion(),
            Int32(MemoryLayout<z_stream>.size)
        )
        // The other reasons are an impossible version or parameter, and no memory.
        precondition(status == Z_OK, "zlib cannot be used: \(status)")
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Restores the next message.
    ///
    /// - Parameters:
    ///   - compressed: The whole message as it was sent.
    ///   - limit: The most bytes that it may have. No more than that, and a little, is ever held.
    /// - Returns: The message.
    /// - Throws: ``Failure``
    package func inflate(_ compressed: ByteBuffer, limit: Int) throws(Failure) -> ByteBuffer {
        var input = compressed
        input.writeBytes(Self.tail)
        var output = ByteBuffer()
        var failure: Failure?
        unsafe input.withUnsafeReadableBytes { bytes in
            // zlib reads only; its interface is older than `const`.
            let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            unsafe stream.pointee.next_in = start?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.pointee.avail_in = UInt32(bytes.count)
            failure = restore(into: &output, limit: limit)
            unsafe stream.pointee.next_in = nil
        }
        if let failure { throw failure }
        if !keepsWindow { unsafe inflateReset(stream) }
        return output
    }

    private func restore(into output: inout ByteBuffer, limit: Int) -> Failure? {
        while true {
            var status = Z_OK
            var hasRoom = false
            unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.step) { space in
                let room = min(space.count, Int(UInt32.max))
                unsafe stream.pointee.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe stream.pointee.avail_out = UInt32(room)
                status = unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
                hasRoom = unsafe stream.pointee.avail_out > 0
                return unsafe room - Int(stream.pointee.avail_out)
            }
            if output.readableBytes > limit { return .tooLarge(limit: limit) }
            let isAtEnd = unsafe stream.pointee.avail_in == 0
            switch status {
            case Z_OK:
                if hasRoom { return nil }
            case Z_BUF_ERROR where isAtEnd:
                // Nothing was left for the room that was made last.
                return nil
            case Z_STREAM_END:
                // The sender has ended its stream of blocks, as it may; the next block begins another one.
                unsafe inflateReset(stream)
                if isAtEnd { return nil }
            default:
                return .malformed
            }
        }
    }
}
