package import NIOCore

/// A line with its size on the wire.
package struct ReceivedLine: Sendable, Equatable {
    /// The line.
    package var line: SyncLine
    /// The bytes of the encoded line: the JSON text without line feed and white space around it, or the whole BSON
    /// document.
    ///
    /// Clients add it to the downloaded size of a bucket.
    package var byteCount: Int

    /// Creates a received line.
    package init(line: SyncLine, byteCount: Int) {
        self.line = line
        self.byteCount = byteCount
    }
}

/// Turns the body of a response, in chunks of any size, into lines.
///
/// ```swift
/// reader.append(chunk)
/// while let line = try reader.next() { … }
/// // at the end of the body
/// while let line = try reader.finish() { … }
/// ```
///
/// Take all lines before you append the next chunk: what is left over may be copied. After an error the reader is not
/// used any more.
package struct SyncLineReader: Sendable {
    private enum Framer: Sendable {
        case ndjson(NDJSONFramer)
        case bson(BSONFramer)
    }

    private var framer: Framer
    private var buffer = ByteBuffer()
    /// Whether `buffer` shares its memory with a chunk or a line.
    ///
    /// Appending to it would copy everything it ever held.
    private var isShared = true

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - format: How the lines are written.
    ///   - maximumLineLength: The largest line in bytes, at most ``SyncLineFormat/maximumLineLength``.
    package init(format: SyncLineFormat, maximumLineLength: Int = SyncLineFormat.maximumLineLength) {
        let limit = min(maximumLineLength, SyncLineFormat.maximumLineLength)
        switch format {
        case .ndjson: framer = .ndjson(NDJSONFramer(maximumLineLength: limit))
        case .bson: framer = .bson(BSONFramer(maximumDocumentLength: limit))
        }
    }

    /// The number of bytes that have been appended and are not part of a line yet.
    package var bufferedByteCount: Int { buffer.readableBytes }

    /// Adds the next bytes of the body.
    package mutating func append(_ bytes: ByteBuffer) {
        if buffer.readableBytes == 0 {
            buffer = bytes
            isShared = true
        } else {
            if isShared {
                var copy = ByteBuffer()
                copy.reserveCapacity(buffer.readableBytes + bytes.readableBytes)
                copy.writeImmutableBuffer(buffer)
                buffer = copy
                isShared = false
            }
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// Takes the next complete line.
    ///
    /// - Returns: `nil` when more bytes are needed.
    /// - Throws: ``SyncLineError`` for a malformed line; lines before it have been returned.
    package mutating func next() throws(SyncLineError) -> ReceivedLine? {
        try nextLine(isAtEnd: false)
    }

    /// Takes the next line after the body has ended.
    ///
    /// Call it until it returns `nil`.
    ///
    /// - Throws: ``SyncLineError``, also when the body ends inside a BSON document or a JSON text.
    package mutating func finish() throws(SyncLineError) -> ReceivedLine? {
        try nextLine(isAtEnd: true)
    }

    private mutating func nextLine(isAtEnd: Bool) throws(SyncLineError) -> ReceivedLine? {
        let format: SyncLineFormat
        let frame: ByteBuffer?
        do {
            switch framer {
            case .ndjson(var ndjson):
                format = .ndjson
                defer { framer = .ndjson(ndjson) }
                frame =
                    try isAtEnd
                    ? ndjson.decodeLast(buffer: &buffer, seenEOF: true) : ndjson.decode(buffer: &buffer)
            case .bson(var bson):
                format = .bson
                defer { framer = .bson(bson) }
                frame = try isAtEnd ? bson.decodeLast(buffer: &buffer, seenEOF: true) : bson.decode(buffer: &buffer)
            }
        } catch {
            throw SyncLineError(framing: error)
        }
        guard let frame else { return nil }
        isShared = true
        let line = try format == .ndjson ? SyncLine(json: frame) : SyncLine(bson: frame)
        return ReceivedLine(line: line, byteCount: frame.readableBytes)
    }
}
