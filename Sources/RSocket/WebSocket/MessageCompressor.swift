import CZlib
package import NIOCore

/// Compresses a message for a peer, by itself (RFC 7692, 7.2.1), piece by piece; see ``MessageInflater`` for the form.
///
/// What zlib needs for that, a quarter of a MiB, is there only while a message is compressed: most connections are idle.
///
/// For one thread at a time.
@safe package final class MessageCompressor {
    /// What has come of a piece.
    enum Progress {
        /// There are more pieces.
        case goesOn
        /// The message; `nil` when it would not be shorter.
        case complete(ByteBuffer?)
    }

    /// How much is compressed at a time: 64 KiB, which takes zlib one to three milliseconds.
    static let pieceLength = 64 * 1024
    /// Messages below this are sent as they are: 128 bytes.
    private static let minimumLength = 128
    /// zlib's default for how much memory is used; it costs 128 KiB.
    private static let memoryLevel: Int32 = 8
    /// `00 00 ff ff`, which is left out.
    private static let tailLength = 4

    /// zlib's state refers to this memory.
    private let stream: UnsafeMutablePointer<z_stream>
    /// More than the message has is of no use.
    private let room: Int
    /// What is not compressed yet.
    private var rest: ByteBuffer
    private var output = ByteBuffer()

    /// Begins to compress a message; `nil` when it is sent as it is: it is short, or there is no memory.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - windowBits: How far back the peer can look: 9 to 15, as a power of two.
    init?(_ message: ByteBuffer, windowBits: Int) {
        guard message.readableBytes >= Self.minimumLength else { return nil }
        (rest, room) = (message, message.readableBytes)
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe deflateInit2_(
            stream,
            Z_DEFAULT_COMPRESSION,
            Z_DEFLATED,
            -Int32(windowBits),
            Self.memoryLevel,
            Z_DEFAULT_STRATEGY,
            zlibVersion(),
            Int32(MemoryLayout<z_stream>.size)
        )
        guard status == Z_OK else { return nil }
        output.reserveCapacity(room)
    }

    deinit {
        // Does nothing when it could not begin.
        unsafe deflateEnd(stream)
        unsafe stream.deallocate()
    }

    /// Compresses a message at once.
    ///
    /// - Returns: `nil` when it would not be shorter.
    package static func compress(_ message: ByteBuffer, windowBits: Int) -> ByteBuffer? {
        guard let compressor = MessageCompressor(message, windowBits: windowBits) else { return nil }
        while true {
            if case .complete(let compressed) = compressor.compressPiece() { return compressed }
        }
    }

    /// Compresses the next piece.
    func compressPiece() -> Progress {
        guard let piece = rest.readSlice(length: min(rest.readableBytes, Self.pieceLength)) else {
            return .complete(nil)
        }
        let isLast = rest.readableBytes == 0
        guard deflate(piece, flush: isLast ? Z_SYNC_FLUSH : Z_NO_FLUSH) else { return .complete(nil) }
        guard isLast else { return .goesOn }
        output.moveWriterIndex(to: output.writerIndex - Self.tailLength)
        return .complete(output)
    }

    /// - Returns: Whether there is room for what has come of a piece.
    private func deflate(_ piece: ByteBuffer, flush: Int32) -> Bool {
        let left = room - output.readableBytes
        var isComplete = false
        unsafe piece.withUnsafeReadableBytes { input in
            // zlib reads only; its interface is older than `const`.
            let start = unsafe UnsafeMutableRawPointer(mutating: input.baseAddress)
            unsafe stream.pointee.next_in = start?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.pointee.avail_in = UInt32(input.count)
            unsafe output.writeWithUnsafeMutableBytes(minimumWritableBytes: left) { space in
                unsafe stream.pointee.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe stream.pointee.avail_out = UInt32(clamping: left)
                let status = unsafe CZlib.deflate(stream, flush)
                // With room left, nothing waits to be written.
                isComplete = unsafe status == Z_OK && stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0
                return unsafe Int(UInt32(clamping: left) - stream.pointee.avail_out)
            }
        }
        return isComplete
    }
}
