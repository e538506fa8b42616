import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import RSocket

@Suite struct WebSocketMessageHandlerTests {
    private static let mask: WebSocketMaskingKey = [1, 2, 3, 4]

    private func channel(_ role: WebSocketMessageHandler.Role, limit: Int = 10) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(handler: WebSocketMessageHandler(role: role, maximumMessageLength: limit))
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        return channel
    }

    private func frame(_ opcode: WebSocketOpcode, _ text: String, fin: Bool = true) -> WebSocketFrame {
        WebSocketFrame(fin: fin, opcode: opcode, data: ByteBuffer(string: text))
    }

    private func closeCode(_ channel: EmbeddedChannel) throws -> WebSocketErrorCode? {
        guard var frame = try channel.readOutbound(as: WebSocketFrame.self), frame.opcode == .connectionClose else {
            return nil
        }
        return frame.data.readWebSocketErrorCode()
    }

    @Test func messagesMayBeTextOrBinaryAndComeInPieces() throws {
        let channel = try channel(.client)
        try channel.writeInbound(frame(.binary, "a"))
        try channel.writeInbound(frame(.text, "b", fin: false))
        try channel.writeInbound(frame(.ping, "?"))
        try channel.writeInbound(frame(.continuation, "c", fin: false))
        try channel.writeInbound(frame(.continuation, "d"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "a"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "bcd"))
        let pong = try channel.readOutbound(as: WebSocketFrame.self)
        #expect(pong?.opcode == .pong && pong?.data == ByteBuffer(string: "?"))
        #expect(pong?.maskKey != nil)
    }

    @Test func aServiceReadsMaskedFramesAndMasksNothing() throws {
        let channel = try channel(.service)
        var masked = ByteBuffer(string: "hello")
        masked.webSocketMask(Self.mask)
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .binary, maskKey: Self.mask, data: masked))
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "hello"))
        try channel.writeOutbound(ByteBuffer(string: "a"))
        let sent = try channel.readOutbound(as: WebSocketFrame.self)
        #expect(sent?.opcode == .binary && sent?.maskKey == nil)
    }

    @Test func theSumOfThePiecesIsLimited() throws {
        let channel = try channel(.client)
        try channel.writeInbound(frame(.binary, "123456", fin: false))
        try channel.writeInbound(frame(.continuation, "78901"))
        #expect(try closeCode(channel) == .messageTooLarge)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }

    @Test func messagesAsLongAsTheLimitPass() throws {
        let channel = try channel(.client)
        try channel.writeInbound(frame(.binary, "0123456789"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "0123456789"))
        try channel.writeInbound(frame(.binary, "012345", fin: false))
        try channel.writeInbound(frame(.continuation, "6789", fin: false))
        try channel.writeInbound(frame(.continuation, ""))
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "0123456789"))
        try channel.writeInbound(frame(.binary, "0123456789a"))
        #expect(try closeCode(channel) == .messageTooLarge)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }

    @Test func framesOutOfOrderOrUnmaskedAreProtocolErrors() throws {
        for (role, frames) in [
            (.client, [frame(.continuation, "a")]),
            (.client, [frame(.binary, "a", fin: false), frame(.binary, "b")]),
            (.service, [frame(.binary, "a")]),
        ] as [(WebSocketMessageHandler.Role, [WebSocketFrame])] {
            let channel = try channel(role)
            for frame in frames { try channel.writeInbound(frame) }
            #expect(try closeCode(channel) == .protocolError)
        }
    }

    @Test func closingWaitsForTheAnswer() throws {
        let channel = try channel(.client)
        channel.close(promise: nil)
        #expect(try closeCode(channel) == .normalClosure)
        #expect(channel.isActive)
        try channel.writeInbound(frame(.binary, "late"))
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
        try channel.writeInbound(frame(.connectionClose, ""))
        #expect(!channel.isActive)
    }

    @Test func closingDoesNotWaitForEver() throws {
        let channel = try channel(.client)
        let closed = channel.close()
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        try closed.wait()
        #expect(!channel.isActive)
    }

    @Test func aCloseOfThePeerIsAnswered() throws {
        let channel = try channel(.client)
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: .goingAway)
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .connectionClose, data: reason))
        #expect(try closeCode(channel) == .goingAway)
        #expect(!channel.isActive)
    }

    @Test func aPeerThatSendsNoMoreHasGone() throws {
        let channel = try channel(.service)
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(!channel.isActive)
    }
}
