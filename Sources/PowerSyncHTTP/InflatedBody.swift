import CZlib
package import NIOCore

/// A body that was compressed with `gzip` (RFC 1952) or `deflate` (RFC 1950), as it was before.
///
/// It is restored in pieces of ``pieceSize`` at most, each of them when it is asked for. So the size of what few bytes become
/// does not matter: of a body that was made to fill the memory, no more than a piece is held, and rows that can be compressed
/// a thousand times, which is all that the format can do, arrive like others.
///
/// `@safe`: the memory of zlib is its own until its end, and zlib gets pointers only to what stays during the call.
@safe package final class InflatedBody: HTTPExchangeBody {
    /// The most bytes that are restored at a time: 256 KiB.
    package static let pieceSize = 256 * 1024
    /// A window of 32 KiB, which reads what was made with any smaller one; 32 more for either format, by its header.
    private static let windowBits: Int32 = 15 + 32

    private enum State {
        /// Between the headers and the trailer of compressed data.
        case inflating
        /// Behind the trailer: more compressed data may follow.
        case betweenMembers
        /// There is nothing more.
        case ended
    }

    private let compressed: any HTTPExchangeBody
    /// zlib's state refers to this memory.
    private let stream: UnsafeMutablePointer<z_stream>
    /// What has arrived and was not restored yet.
    private var input = ByteBuffer()
    private var state = State.betweenMembers

    /// Creates a body.
    ///
    /// - Parameter compressed: The body as it arrives.
    package init(_ compressed: any HTTPExchangeBody) {
        self.compressed = compressed
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: z_stream())
        let status = unsafe inflateInit2_(stream, Self.windowBits, zlibVersion(), Int32(MemoryLayout<z_stream>.size))
        // The other reasons are an impossible version or parameter, and no memory.
        precondition(status == Z_OK, "zlib cannot be used: \(status)")
    }

    deinit {
        unsafe inflateEnd(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// Waits for bytes.
    ///
    /// - Returns: At most ``pieceSize`` bytes; `nil` at the end, also of compressed data that is cut.
    /// - Throws: What the compressed body throws; ``HTTPExchangeError/Code/malformedCompression``.
    package nonisolated(nonsending) func next() async throws -> ByteBuffer? {
        while state != .ended {
            // zlib may hold bytes for which there was no room the last time.
            let piece = try restore()
            if piece.readableBytes > 0 { return piece }
            guard let chunk = try await compressed.next() else {
                state = .ended
                return nil
            }
            input = chunk
        }
        return nil
    }

    /// Restores a piece of the input; empty when the input is used up.
    private func restore() throws(HTTPExchangeError) -> ByteBuffer {
        var piece = ByteBuffer()
        while piece.readableBytes == 0 {
            if state == .betweenMembers {
                guard input.readableBytes > 0 else { break }
                unsafe inflateReset(stream)
                state = .inflating
            }
            switch inflate(into: &piece) {
            case Z_OK: break
            // Neither input nor room for output was missing: nothing is left to do.
            case Z_BUF_ERROR: return piece
            case Z_STREAM_END: state = .betweenMembers
            default:
                state = .ended
                throw HTTPExchangeError(.malformedCompression)
            }
        }
        return piece
    }

    /// Restores as much as fits into a piece.
    private func inflate(into piece: inout ByteBuffer) -> Int32 {
        unsafe input.readWithUnsafeReadableBytes { bytes -> (Int, Int32) in
            // zlib reads only; its interface is older than `const`.
            let start = unsafe UnsafeMutableRawPointer(mutating: bytes.baseAddress)
            unsafe stream.pointee.next_in = start?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.pointee.avail_in = UInt32(bytes.count)
            defer {
                unsafe stream.pointee.next_in = nil
                unsafe stream.pointee.avail_in = 0
            }
            var status = Z_OK
            // Room is made for what ordinary data becomes, and used up to the limit.
            let room = min(Self.pieceSize, max(4096, bytes.count * 8))
            unsafe piece.writeWithUnsafeMutableBytes(minimumWritableBytes: room) { space in
                let count = min(space.count, Self.pieceSize)
                unsafe stream.pointee.next_out = space.baseAddress?.assumingMemoryBound(to: UInt8.self)
                unsafe stream.pointee.avail_out = UInt32(count)
                status = unsafe CZlib.inflate(stream, Z_SYNC_FLUSH)
                unsafe stream.pointee.next_out = nil
                return unsafe count - Int(stream.pointee.avail_out)
            }
            return unsafe (bytes.count - Int(stream.pointee.avail_in), status)
        }
    }
}
