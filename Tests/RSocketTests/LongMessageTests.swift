import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOWebSocket
import TestSupport
import Testing

@testable import RSocket

/// Messages of many MiB on an event loop that other connections share.
@Suite(.timeLimit(.minutes(1))) struct LongMessageTests {
    /// Counts what is read from the socket.
    private final class ReadCounter: ChannelOutboundHandler {
        typealias OutboundIn = WebSocketFrame
        var count = 0

        func read(context: ChannelHandlerContext) {
            count += 1
            context.read()
        }
    }

    private let reads = ReadCounter()
    private let channel: EmbeddedChannel
    private static let pieces = 24

    init() throws {
        channel = EmbeddedChannel(handlers: [
            reads,
            WebSocketMessageHandler(
                role: .service,
                maximumMessageLength: 1_000,
                compression: MessageCompression(keepsWindow: false, sentWindowBits: 15)
            ),
        ])
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
    }

    /// A text that can be compressed a little.
    private static func text(pieces: Int = pieces) -> ByteBuffer {
        var generator = SeededGenerator(seed: 7)
        var text = ByteBuffer()
        while text.readableBytes < pieces * MessageCompressor.pieceLength {
            text.writeInteger(UInt64(generator.next() & 0x1f1f_1f1f_1f1f_1f1f) | 0x4040_4040_4040_4040)
        }
        return text
    }

    /// Gives the loop its next moment.
    private func advance() { channel.embeddedEventLoop.advanceTime(by: .microseconds(100)) }

    private func frame() throws -> WebSocketFrame? { try channel.readOutbound(as: WebSocketFrame.self) }

    private func message(_ frame: WebSocketFrame?) throws -> ByteBuffer? {
        guard let frame, frame.rsv1 else { return frame?.data }
        return try MessageInflater(keepsWindow: false).inflate(frame.data, limit: 1 << 24)
    }

    @Test func betweenTwoPiecesTheLoopDoesOtherThings() throws {
        let text = Self.text()
        channel.writeAndFlush(text, promise: nil)
        channel.writeAndFlush(ByteBuffer(string: "short"), promise: nil)
        var moments = 1
        while true {
            if let frame = try frame() {
                #expect(frame.rsv1 && frame.data.readableBytes < text.readableBytes)
                #expect(try message(frame) == text)
                break
            }
            try #require(moments <= Self.pieces)
            let isOtherDone = NIOLockedValueBox(false)
            channel.embeddedEventLoop.execute { isOtherDone.withLockedValue { $0 = true } }
            channel.embeddedEventLoop.run()
            #expect(isOtherDone.withLockedValue { $0 })
            #expect(try frame() == nil)
            advance()
            moments += 1
        }
        #expect(moments == Self.pieces)
        // Each behind the one that was written before it.
        #expect(try frame()?.data == ByteBuffer(string: "short"))
    }

    @Test func shortMessagesAreSentAtOnce() throws {
        for count in [0, 1, 200, MessageCompressor.pieceLength] {
            let text = ByteBuffer(repeating: 7, count: count)
            channel.writeAndFlush(text, promise: nil)
            #expect(try message(try frame()) == text)
        }
    }

    @Test func noiseIsSentAsItIs() throws {
        var generator = SeededGenerator(seed: 8)
        var noise = ByteBuffer()
        for _ in 0..<60_000 { noise.writeInteger(generator.next()) }
        channel.writeAndFlush(noise, promise: nil)
        for _ in 0..<20 { advance() }
        let frame = try #require(try frame())
        #expect(!frame.rsv1 && frame.data == noise)
    }

    @Test func nothingIsReadMeanwhile() throws {
        let before = reads.count
        channel.writeAndFlush(Self.text(), promise: nil)
        for _ in 0..<3 { channel.read() }
        advance()
        #expect(reads.count == before)
        while try frame() == nil { advance() }
        #expect(reads.count == before + 1)
        channel.read()
        #expect(reads.count == before + 2)
    }

    @Test func closingWaitsForWhatWasWrittenBefore() throws {
        let late = NIOLockedValueBox<Result<Void, any Error>?>(nil)
        channel.writeAndFlush(Self.text(), promise: nil)
        channel.writeAndFlush(ByteBuffer(string: "last"), promise: nil)
        channel.close(promise: nil)
        channel.close(promise: nil)
        channel.writeAndFlush(ByteBuffer(string: "late")).whenComplete { result in
            late.withLockedValue { $0 = result }
        }
        #expect(throws: ChannelError.ioOnClosedChannel) { try late.withLockedValue { $0 }?.get() }
        for _ in 0..<Self.pieces { advance() }
        #expect(try frame()?.rsv1 == true)
        #expect(try frame()?.data == ByteBuffer(string: "last"))
        #expect(try frame()?.opcode == .connectionClose)
        #expect(try frame() == nil)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    /// What ends a connection while a message is compressed.
    enum End: CaseIterable {
        case protocolError, peerCloses, inputClosed, channelError
    }

    @Test(arguments: End.allCases) func whatIsNotSentWhenTheConnectionEndsFails(_ end: End) throws {
        let outcomes = NIOLockedValueBox<[ChannelError?]>([])
        for text in [Self.text(), ByteBuffer(string: "behind")] {
            channel.writeAndFlush(text).whenFailure { error in
                outcomes.withLockedValue { $0.append(error as? ChannelError) }
            }
        }
        advance()
        switch end {
        case .protocolError:
            _ = try? channel.writeInbound(WebSocketFrame(fin: true, opcode: .binary, data: ByteBuffer()))
        case .peerCloses:
            try channel.writeInbound(
                WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: [1, 2, 3, 4], data: ByteBuffer())
            )
        case .inputClosed: channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .channelError: channel.pipeline.fireErrorCaught(ChannelError.inputClosed)
        }
        #expect(outcomes.withLockedValue { $0 } == [.ioOnClosedChannel, .ioOnClosedChannel])
        for _ in 0..<Self.pieces { advance() }
        while let frame = try frame() { #expect(frame.opcode == .connectionClose) }
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }
}
