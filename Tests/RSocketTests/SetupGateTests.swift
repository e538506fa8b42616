import NIOCore
import NIOEmbedded
import NIOWebSocket
import Testing

@testable import RSocket

/// What a client may send before it is known who it is.
@Suite struct SetupGateTests {
    /// Counts what the socket is asked for.
    private final class ReadCount: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        private(set) var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    /// Says that the SETUP has arrived as soon as anything has, as the responder does.
    private final class SetupReader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.triggerUserOutboundEvent(SetupProgress.received, promise: nil)
        }
    }

    @Test
    func framesBehindTheSETUPWaitUnreadUntilTheClientIsWelcome() throws {
        let reads = ReadCount()
        let channel = EmbeddedChannel(handlers: [reads, SetupGateHandler()])
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        func frame(_ text: String) -> WebSocketFrame {
            WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(string: text))
        }
        func received() throws -> String? {
            try channel.readInbound(as: WebSocketFrame.self).map { String(buffer: $0.unmaskedData) }
        }
        try channel.writeInbound(frame("setup"))
        #expect(try received() == "setup")
        channel.triggerUserOutboundEvent(SetupProgress.received, promise: nil)
        try channel.writeInbound(frame("1"))
        try channel.writeInbound(frame("2"))
        #expect(try received() == nil)
        let before = reads.count
        channel.read()
        #expect(reads.count == before)
        channel.triggerUserOutboundEvent(SetupProgress.accepted, promise: nil)
        #expect(try received() == "1")
        #expect(try received() == "2")
        #expect(reads.count == before + 1)
        try channel.writeInbound(frame("3"))
        #expect(try received() == "3")
    }

    @Test
    func clientThatIsRefusedCanAnswerTheCloseFrame() throws {
        let channel = EmbeddedChannel(handler: SetupGateHandler())
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        let close = WebSocketFrame(fin: true, opcode: .connectionClose, data: ByteBuffer())
        channel.triggerUserOutboundEvent(SetupProgress.received, promise: nil)
        try channel.writeOutbound(WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer(string: "no")))
        try channel.writeInbound(close)
        #expect(try channel.readInbound(as: WebSocketFrame.self) == nil)
        try channel.writeOutbound(close)
        #expect(try channel.readInbound(as: WebSocketFrame.self) == close)
    }

    @Test
    func moreBytesThanASETUPMayHaveCloseTheConnectionHoweverTheyAreDivided() throws {
        for pieces in [1, 2, 101] {
            let channel = EmbeddedChannel(handler: SetupLengthHandler(limit: 100))
            defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
            for piece in 0..<pieces where channel.isActive {
                let count = 101 * (piece + 1) / pieces - 101 * piece / pieces
                // The last one is told, for the log.
                let bytes = ByteBuffer(repeating: 0, count: count)
                if piece + 1 < pieces {
                    try channel.writeInbound(bytes)
                } else {
                    #expect(throws: WebSocketFailure.self) { try channel.writeInbound(bytes) }
                }
            }
            #expect(!channel.isActive)
        }
        let channel = EmbeddedChannel(handler: SetupLengthHandler(limit: 100))
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        try channel.writeInbound(ByteBuffer(repeating: 0, count: 100))
        channel.triggerUserOutboundEvent(SetupProgress.received, promise: nil)
        try channel.writeInbound(ByteBuffer(repeating: 0, count: 1_000))
        #expect(channel.isActive)
    }

    @Test
    func whatComesTogetherWithASETUPDoesNotCountForItsLength() throws {
        let channel = EmbeddedChannel(handlers: [SetupLengthHandler(limit: 100), SetupReader()])
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        try channel.writeInbound(ByteBuffer(repeating: 0, count: 1_000))
        #expect(channel.isActive)
    }

    @Test
    func gatePassesOnHowFarTheSETUPIs() throws {
        let channel = EmbeddedChannel(handlers: [SetupLengthHandler(limit: 100), SetupGateHandler()])
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        channel.triggerUserOutboundEvent(SetupProgress.received, promise: nil)
        try channel.writeInbound(ByteBuffer(repeating: 0, count: 1_000))
        #expect(channel.isActive)
    }

    @Test(arguments: [false, true])
    func firstMessageHasALimitOfItsOwnCompressedOrNot(isCompressed: Bool) throws {
        for (first, isAccepted) in [(100, true), (101, false)] {
            let handler = WebSocketMessageHandler(
                role: .client,
                maximumMessageLength: 1_000,
                maximumFirstLength: 100,
                compression: MessageCompression(keepsWindow: true)
            )
            let channel = EmbeddedChannel(handler: handler)
            defer {
                // Nobody answers the close frame.
                channel.close(promise: nil)
                channel.embeddedEventLoop.advanceTime(by: .seconds(1))
            }
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
            let deflater = MessageDeflater()
            func receive(_ length: Int) {
                let message = ByteBuffer(repeating: 0, count: length)
                let data = isCompressed ? deflater.deflate(message) : message
                // The error of a message that is too large is told to whoever reads.
                _ = try? channel.writeInbound(
                    WebSocketFrame(fin: true, rsv1: isCompressed, opcode: .binary, data: data)
                )
            }
            receive(first)
            #expect(try channel.readInbound(as: ByteBuffer.self)?.readableBytes == (isAccepted ? first : nil))
            guard isAccepted else { continue }
            receive(1_000)
            #expect(try channel.readInbound(as: ByteBuffer.self)?.readableBytes == 1_000)
        }
    }
}
