import NIOCore
import NIOEmbedded
import NIOWebSocket
import TestSupport
import Testing

@testable import RSocket

@Suite struct MessageCompressorTests {
    @Test(arguments: 9...15)
    func whatIsCompressedIsRestoredWithEveryWindowAndAnyContent(windowBits: Int) throws {
        let seed = 0x5eed_dea0 + UInt64(windowBits)
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let inflater = MessageInflater(keepsWindow: false)
        var compressedCount = 0
        for _ in 0..<60 {
            // From noise to repetition, with repetitions from near and far.
            let variety = 1 + generator.number(below: 256)
            let pattern = (0...generator.number(below: 5_000)).map { _ in UInt8(generator.number(below: variety)) }
            var message = ByteBuffer()
            for _ in 0...generator.number(below: 20) { message.writeBytes(pattern) }
            guard let compressed = MessageCompressor.compress(message, windowBits: windowBits) else { continue }
            compressedCount += 1
            #expect(compressed.readableBytes < message.readableBytes)
            #expect(try inflater.inflate(compressed, limit: message.readableBytes) == message)
        }
        #expect(compressedCount > 20)
    }

    @Test
    func shortMessagesAndNoiseAreNotCompressed() {
        var generator = SeededGenerator(seed: 0x5eed_dead)
        #expect(MessageCompressor.compress(ByteBuffer(), windowBits: 15) == nil)
        #expect(MessageCompressor.compress(ByteBuffer(repeating: 0, count: 127), windowBits: 15) == nil)
        #expect(MessageCompressor.compress(ByteBuffer(repeating: 0, count: 128), windowBits: 15) != nil)
        let noise = ByteBuffer(bytes: (0..<10_000).map { _ in UInt8(generator.number(below: 256)) })
        #expect(MessageCompressor.compress(noise, windowBits: 15) == nil)
    }

    @Test
    func nothingRefersToWhatIsFurtherBackThanThePeerLooksNoiseOf4000BytesTwice() {
        var generator = SeededGenerator(seed: 0x5eed)
        var noise = ByteBuffer()
        for _ in 0..<500 { noise.writeInteger(generator.next()) }
        var twice = noise
        twice.writeImmutableBuffer(noise)
        #expect(MessageCompressor.compress(twice, windowBits: 12) == nil)
        #expect(MessageCompressor.compress(twice, windowBits: 13) != nil)
    }

    /// A service sends compressed messages only if that was agreed on, and only those that get shorter.
    @Test
    func handler() throws {
        for compression in [nil, MessageCompression(keepsWindow: false), .init(keepsWindow: false, sentWindowBits: 10)]
        {
            let handler = WebSocketMessageHandler(
                role: .service,
                maximumMessageLength: 100_000,
                compression: compression
            )
            let channel = EmbeddedChannel(handler: handler)
            let messages = [ByteBuffer(string: "short"), ByteBuffer(repeating: 7, count: 50_000)]
            for message in messages { try channel.writeOutbound(message) }
            let frames = try messages.map { _ in try #require(try channel.readOutbound(as: WebSocketFrame.self)) }
            #expect(frames.map(\.rsv1) == [false, compression?.sentWindowBits != nil])
            #expect(frames.allSatisfy { $0.fin && $0.opcode == .binary && $0.maskKey == nil })
            #expect(frames[0].data == messages[0])
            if frames[1].rsv1 {
                let inflater = MessageInflater(keepsWindow: false)
                #expect(try inflater.inflate(frames[1].data, limit: 50_000) == messages[1])
            } else {
                #expect(frames[1].data == messages[1])
            }
        }
    }
}
