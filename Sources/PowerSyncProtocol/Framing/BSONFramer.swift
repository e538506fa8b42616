package import NIOCore

/// Splits a stream of concatenated BSON documents (docs/protocol.md "BSON").
///
/// ```
/// offset  bytes
/// 0       4      length L of the document, signed, little endian, these 4 bytes included; L >= 5
/// 4       L - 4  elements, then one zero byte
/// ```
///
/// The length is checked when its four bytes have arrived, before anything is stored for it.
package struct BSONFramer: NIOSingleStepByteToMessageDecoder, Sendable {
    package typealias InboundOut = ByteBuffer

    private let maximumDocumentLength: Int

    /// Creates a framer.
    ///
    /// - Parameter maximumDocumentLength: The limit in bytes.
    package init(maximumDocumentLength: Int = SyncLineFormat.maximumLineLength) {
        self.maximumDocumentLength = maximumDocumentLength
    }

    /// Takes the next complete document, its length included.
    ///
    /// - Returns: `nil` when more bytes are needed.
    /// - Throws: ``FramingError/invalidDocumentLength(_:)``, ``FramingError/lineTooLong(limit:)``.
    package mutating func decode(buffer: inout ByteBuffer) throws -> ByteBuffer? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, endianness: .little, as: Int32.self) else {
            return nil
        }
        guard length >= 5 else { throw FramingError.invalidDocumentLength(length) }
        guard length <= maximumDocumentLength else { throw FramingError.lineTooLong(limit: maximumDocumentLength) }
        return buffer.readSlice(length: Int(length))
    }

    /// Takes the next complete document at the end of the stream.
    ///
    /// - Throws: ``FramingError/truncatedDocument(received:)`` when the stream ends inside a document.
    package mutating func decodeLast(buffer: inout ByteBuffer, seenEOF: Bool) throws -> ByteBuffer? {
        if let document = try decode(buffer: &buffer) { return document }
        if seenEOF, buffer.readableBytes > 0 {
            throw FramingError.truncatedDocument(received: buffer.readableBytes)
        }
        return nil
    }
}
