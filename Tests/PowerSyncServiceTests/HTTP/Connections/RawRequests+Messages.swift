import NIOCore
import RSocket
import TestSupport
import Testing

extension RawRequests {
    /// A WebSocket message of a client; the bytes are masked with zeros, which leaves them as they are.
    ///
    /// - Parameters:
    ///   - frame: The content.
    ///   - isCompressed: Whether it is sent in compressed form.
    /// - Returns: The bytes of a WebSocket frame.
    /// - Throws: When the frame cannot be encoded, or gets no shorter.
    static func message(_ frame: Frame, isCompressed: Bool = false) throws -> ByteBuffer {
        var payload = try frame.encoded()
        if isCompressed { payload = try #require(MessageCompressor.compress(payload, windowBits: 15)) }
        return webSocketFrame(isCompressed ? 0xc2 : 0x82, payload)
    }

    /// A WebSocket frame of a client.
    ///
    /// - Parameters:
    ///   - head: Its first byte: flags and opcode.
    ///   - payload: Its content of less than 64 KiB.
    /// - Returns: Its bytes, masked with zeros.
    static func webSocketFrame(_ head: UInt8, _ payload: ByteBuffer) -> ByteBuffer {
        let length = payload.readableBytes
        var message = ByteBuffer(bytes: [head, 0x80 | (length < 126 ? UInt8(length) : 126)])
        if length >= 126 { message.writeInteger(UInt16(length)) }
        message.writeInteger(UInt32(0))
        message.writeImmutableBuffer(payload)
        return message
    }
}
