package import NIOCore

/// Splits a stream into lines at line feeds (docs/protocol.md "NDJSON").
///
/// Only the byte 0A ends a line, so a character that was split between chunks, or one that other readers take for a
/// line break, does no harm. White space around a line is removed, empty lines are skipped, and a remainder at the end
/// of the stream is a line.
package struct NDJSONFramer: NIOSingleStepByteToMessageDecoder, Sendable {
    package typealias InboundOut = ByteBuffer

    private let maximumLineLength: Int
    /// Bytes after the reader index that are known not to be line feeds, so that a long line is not searched again for
    /// every chunk.
    private var searchedCount = 0

    /// Creates a framer.
    ///
    /// - Parameter maximumLineLength: The limit in bytes, without the line feed.
    package init(maximumLineLength: Int = SyncLineFormat.maximumLineLength) {
        self.maximumLineLength = maximumLineLength
    }

    /// Takes the next complete line.
    ///
    /// - Returns: The line without line feed and white space around it; `nil` when more bytes are needed.
    /// - Throws: ``FramingError/lineTooLong(limit:)``.
    package mutating func decode(buffer: inout ByteBuffer) throws -> ByteBuffer? {
        try nextLine(in: &buffer)
    }

    /// Takes the next line, or what is left of the stream after the last line feed.
    package mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ByteBuffer? {
        if let line = try nextLine(in: &buffer) { return line }
        guard seenEOF else { return nil }
        searchedCount = 0
        let remainder = Self.trimmed(buffer.readSlice(length: buffer.readableBytes) ?? ByteBuffer())
        return remainder.readableBytes > 0 ? remainder : nil
    }

    private mutating func nextLine(in buffer: inout ByteBuffer) throws(FramingError) -> ByteBuffer? {
        while true {
            let unsearched = buffer.readableBytesView.dropFirst(searchedCount)
            guard let lineFeed = unsearched.firstIndex(of: UInt8(ascii: "\n")) else {
                searchedCount = buffer.readableBytes
                guard searchedCount <= maximumLineLength else { throw .lineTooLong(limit: maximumLineLength) }
                return nil
            }
            let length = lineFeed - buffer.readerIndex
            guard length <= maximumLineLength else { throw .lineTooLong(limit: maximumLineLength) }
            searchedCount = 0
            guard let content = buffer.readSlice(length: length) else { return nil }
            buffer.moveReaderIndex(forwardBy: 1)
            let line = Self.trimmed(content)
            if line.readableBytes > 0 { return line }
        }
    }

    private static func trimmed(_ line: ByteBuffer) -> ByteBuffer {
        let bytes = line.readableBytesView
        guard
            let first = bytes.firstIndex(where: { !isWhitespace($0) }),
            let last = bytes.lastIndex(where: { !isWhitespace($0) })
        else { return ByteBuffer() }
        return line.getSlice(at: first, length: last - first + 1) ?? ByteBuffer()
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || (0x09...0x0d).contains(byte)
    }
}
