package import NIOCore
package import NIOHTTP1

/// An HTTP request.
package struct HTTPExchangeRequest: Sendable {
    /// What is sent after the head.
    package enum Body: Sendable {
        /// Nothing.
        case none
        /// These bytes.
        case bytes(ByteBuffer)
        /// A file, in pieces.
        case file(HTTPExchangeFile)
    }

    /// What an exchange is about, which says how its connection is treated.
    package enum Purpose: Sendable {
        /// A small answer. The caller limits how long it may take; its body is decompressed.
        case call
        /// An answer that may go on for hours, on a connection of its own, so that it stands in nobody's way. Its body is decompressed as
        /// it arrives.
        case stream
        /// A file, in one direction or the other, as it is stored. The exchange gives it up when nothing moves for
        /// ``HTTPExchangeRequest/fileIdleTimeout``.
        case file
    }

    /// How long nothing of a file may be sent or received.
    package static let fileIdleTimeout = Duration.seconds(60)

    /// The method.
    package var method: HTTPMethod
    /// The URL, with `http` or `https`, sent exactly as it is.
    package var url: String
    /// The fields of the head, without those about the body's length.
    package var headers: HTTPHeaders = [:]
    /// What is sent after the head.
    package var body = Body.none
    /// What the exchange is about.
    package var purpose = Purpose.call

    /// Creates a request without a body.
    package init(_ method: HTTPMethod, _ url: String) {
        self.method = method
        self.url = url
    }
}

/// A file that is sent, or a part of one.
package struct HTTPExchangeFile: Sendable {
    /// The path of a file that has these bytes and no others; `nil` when they are nowhere but here.
    package var path: String?
    /// How many bytes there are.
    package var size: Int64
    /// Reads bytes at an offset, at most so many, and throws when the file has none there.
    package var read: @Sendable (_ offset: Int64, _ count: Int) async throws -> ByteBuffer
    /// Takes the number of bytes that are on their way.
    package var progress: @Sendable (Int64) -> Void

    /// Creates a file.
    package init(
        path: String?,
        size: Int64,
        read: @escaping @Sendable (_ offset: Int64, _ count: Int) async throws -> ByteBuffer,
        progress: @escaping @Sendable (Int64) -> Void
    ) {
        self.path = path
        self.size = size
        self.read = read
        self.progress = progress
    }

    /// Creates a part of a file.
    package init(part: ByteBuffer, progress: @escaping @Sendable (Int64) -> Void) {
        self.init(
            path: nil,
            size: Int64(part.readableBytes),
            read: { offset, count in
                let start = part.readerIndex + Int(offset)
                return part.getSlice(at: start, length: min(count, part.writerIndex - start)) ?? ByteBuffer()
            },
            progress: progress
        )
    }

    /// All bytes, in memory.
    package func collect() async throws -> ByteBuffer {
        guard size > 0 else { return ByteBuffer() }
        var whole = try await read(0, Int(clamping: size))
        while Int64(whole.readableBytes) < size {
            let rest = Int(clamping: size - Int64(whole.readableBytes))
            whole.writeImmutableBuffer(try await read(Int64(whole.readableBytes), rest))
        }
        return whole
    }
}
