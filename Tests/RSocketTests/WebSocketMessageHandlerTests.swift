import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import RSocket

@Suite(.timeLimit(.minutes(1))) struct WebSocketMessageHandlerTests {
    private static let mask: WebSocketMaskingKey = [1, 2, 3, 4]

    private func channel(
        _ role: WebSocketMessageHandler.Role,
        limit: Int = 10,
        compression: MessageCompression? = nil
    ) throws -> EmbeddedChannel {
        let channel = EmbeddedChannel(
            handler: WebSocketMessageHandler(role: role, maximumMessageLength: limit, compression: compression)
        )
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

    /// With a copy of the message for each frame this takes longer than the suite may: 1.3 TB.
    @Test func emptyFramesCostNothing() throws {
        let count = 32 << 20
        let channel = try channel(.client, limit: count)
        try channel.writeInbound(
            WebSocketFrame(fin: false, opcode: .binary, data: ByteBuffer(repeating: 7, count: count - 40_000))
        )
        for _ in 0..<40_000 {
            try channel.writeInbound(frame(.continuation, "", fin: false))
            try channel.writeInbound(frame(.continuation, "x", fin: false))
        }
        try channel.writeInbound(frame(.continuation, ""))
        #expect(try channel.readInbound(as: ByteBuffer.self)?.readableBytes == count)
    }

    /// The first frame of a compressed message.
    private func compressed(_ bytes: some Sequence<UInt8>, fin: Bool = true) -> WebSocketFrame {
        WebSocketFrame(fin: fin, rsv1: true, opcode: .binary, data: ByteBuffer(bytes: bytes))
    }

    @Test func compressedMessagesAreRestoredAndOthersAreLeftAlone() throws {
        let channel = try channel(.client, compression: MessageCompression(keepsWindow: true))
        let hello: [UInt8] = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]
        try channel.writeInbound(compressed(hello[..<3], fin: false))
        try channel.writeInbound(frame(.ping, "?"))
        try channel.writeInbound(WebSocketFrame(fin: true, opcode: .continuation, data: ByteBuffer(bytes: hello[3...])))
        try channel.writeInbound(frame(.binary, "plain"))
        try channel.writeInbound(compressed([0xf2, 0x00, 0x11, 0x00, 0x00]))
        for text in ["Hello", "plain", "Hello"] {
            #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: text))
        }
        try channel.writeOutbound(ByteBuffer(string: "Hello"))
        _ = try channel.readOutbound(as: WebSocketFrame.self)
        let sent = try channel.readOutbound(as: WebSocketFrame.self)
        #expect(sent?.rsv1 == false)
        #expect(sent?.data == ByteBuffer(string: "Hello"))
    }

    @Test func aDamagedMessageIsAnErrorAndClosesTheConnection() throws {
        let channel = try channel(.client, compression: MessageCompression(keepsWindow: true))
        #expect(throws: MessageInflater.Failure.malformed) { try channel.writeInbound(compressed([0x07])) }
        #expect(try closeCode(channel) == .dataInconsistentWithMessage)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }

    @Test func aMessageThatBecomesTooLargeIsAnErrorAndClosesTheConnection() throws {
        let channel = try channel(.client, limit: 10, compression: MessageCompression(keepsWindow: true))
        let zeros = MessageDeflater().deflate(ByteBuffer(repeating: 0, count: 100))
        #expect(zeros.readableBytes <= 10)
        #expect(throws: MessageInflater.Failure.tooLarge(limit: 10)) {
            try channel.writeInbound(compressed(zeros.readableBytesView))
        }
        #expect(try closeCode(channel) == .messageTooLarge)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }

    @Test func aCompressedMessageThatNobodyAgreedOnIsAgainstTheRules() throws {
        let channel = try channel(.client)
        #expect(throws: WebSocketFailure.protocolError) {
            try channel.writeInbound(compressed([0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]))
        }
        #expect(try closeCode(channel) == .protocolError)
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

    /// A frame as a client sends it.
    private func masked(_ opcode: WebSocketOpcode, _ content: ByteBuffer, fin: Bool = true) -> WebSocketFrame {
        var data = content
        data.webSocketMask(Self.mask)
        return WebSocketFrame(fin: fin, opcode: opcode, maskKey: Self.mask, data: data)
    }

    @Test func aServiceUnmasksFramesOfEveryKind() throws {
        let channel = try channel(.service)
        try channel.writeInbound(masked(.binary, ByteBuffer(string: "ab"), fin: false))
        try channel.writeInbound(masked(.ping, ByteBuffer(string: "?")))
        try channel.writeInbound(masked(.continuation, ByteBuffer(string: "cd")))
        #expect(try channel.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "abcd"))
        let pong = try channel.readOutbound(as: WebSocketFrame.self)
        #expect(pong?.opcode == .pong && pong?.data == ByteBuffer(string: "?") && pong?.maskKey == nil)
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: .goingAway)
        try channel.writeInbound(masked(.connectionClose, reason))
        #expect(try closeCode(channel) == .goingAway)
    }

    @Test func theSumOfThePiecesIsLimited() throws {
        let channel = try channel(.client)
        try channel.writeInbound(frame(.binary, "123456", fin: false))
        #expect(throws: WebSocketFailure.messageTooLong(limit: 10)) {
            try channel.writeInbound(frame(.continuation, "78901"))
        }
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
        #expect(throws: WebSocketFailure.messageTooLong(limit: 10)) {
            try channel.writeInbound(frame(.binary, "0123456789a"))
        }
        #expect(try closeCode(channel) == .messageTooLarge)
        #expect(try channel.readInbound(as: ByteBuffer.self) == nil)
    }

    /// Closing alone would look like a normal end, after which the same is asked for again.
    @Test func framesAgainstTheRulesAreErrorsAndCloseTheConnection() throws {
        let begun = frame(.binary, "a", fin: false)
        var reserved = frame(.binary, "a")
        reserved.rsv2 = true
        var alsoReserved = frame(.binary, "a")
        alsoReserved.rsv3 = true
        var ping = frame(.ping, "a")
        ping.rsv1 = true
        var continuation = frame(.continuation, "a")
        continuation.rsv1 = true
        for (role, beginning, broken) in [
            (.client, nil, frame(.continuation, "a")),
            (.client, begun, frame(.binary, "b")),
            (.client, begun, continuation),
            (.client, nil, reserved),
            (.client, nil, alsoReserved),
            (.client, nil, ping),
            (.client, nil, frame(WebSocketOpcode(encodedWebSocketOpcode: 3) ?? .pong, "a")),
            (.client, nil, WebSocketFrame(fin: true, opcode: .binary, maskKey: Self.mask, data: ByteBuffer())),
            (.service, nil, frame(.binary, "a")),
        ] as [(WebSocketMessageHandler.Role, WebSocketFrame?, WebSocketFrame)] {
            let channel = try channel(role, compression: MessageCompression(keepsWindow: true))
            if let beginning { try channel.writeInbound(beginning) }
            #expect(throws: WebSocketFailure.protocolError) { try channel.writeInbound(broken) }
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
        try #require(!channel.isActive)
        try closed.wait()
    }

    @Test func closingAgainWaitsForTheSameAnswer() throws {
        let channel = try channel(.client)
        let first = channel.close()
        let second = channel.close()
        #expect(channel.isActive)
        #expect(try closeCode(channel) == .normalClosure)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        try #require(!channel.isActive)
        try first.wait()
        try second.wait()
    }

    @Test func whatIsWrittenAfterTheCloseFrameFails() throws {
        let channel = try channel(.client)
        channel.close(promise: nil)
        #expect(try closeCode(channel) == .normalClosure)
        let outcome = NIOLockedValueBox<Result<Void, any Error>?>(nil)
        channel.writeAndFlush(ByteBuffer(string: "late")).whenComplete { result in
            outcome.withLockedValue { $0 = result }
        }
        guard case .failure(let error) = outcome.withLockedValue(\.self) else {
            Issue.record("was not refused")
            return
        }
        #expect(error as? ChannelError == .ioOnClosedChannel)
        #expect(try channel.readOutbound(as: WebSocketFrame.self) == nil)
    }

    @Test func anErrorOfTheChannelClosesIt() throws {
        let channel = try channel(.service)
        channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
        #expect(throws: ChannelError.inputClosed) { try channel.throwIfErrorCaught() }
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
