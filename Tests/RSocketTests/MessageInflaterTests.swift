import NIOCore
import TestSupport
import Testing

@testable import RSocket

@Suite struct MessageInflaterTests {
    private static let hello = ByteBuffer(string: "Hello")
    /// 100,000 random bytes of sixteen values.
    private static let content: ByteBuffer = {
        var random = SeededGenerator(seed: 7692)
        var content = ByteBuffer()
        for _ in 0..<12_500 { content.writeInteger(random.next() & 0x0f0f_0f0f_0f0f_0f0f) }
        return content
    }()

    /// The examples of RFC 7692, 7.2.3.
    struct Example: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var messages: [[UInt8]]
        var keepsWindow = true
    }

    static let examples = [
        Example(testDescription: "one block", messages: [[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]]),
        Example(
            testDescription: "the same twice, without a window",
            messages: [
                [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00], [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00],
            ],
            keepsWindow: false
        ),
        Example(
            testDescription: "the second refers to the first",
            messages: [[0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00], [0xf2, 0x00, 0x11, 0x00, 0x00]]
        ),
        Example(
            testDescription: "a block without compression",
            messages: [[0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00]]
        ),
        Example(
            testDescription: "a last block, and another message",
            messages: [
                [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00], [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00],
            ]
        ),
        Example(
            testDescription: "two blocks",
            messages: [[0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00]]
        ),
    ]

    @Test(arguments: examples) func messagesAreRestored(_ example: Example) throws {
        let inflater = MessageInflater(keepsWindow: example.keepsWindow)
        for message in example.messages {
            #expect(try inflater.inflate(ByteBuffer(bytes: message), limit: 5) == Self.hello)
        }
    }

    @Test
    func whatFollowsALastBlockIsAPartOfTheMessageToo() throws {
        let block: [UInt8] = [0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00]
        let message = ByteBuffer(bytes: [0xf3] + block + [0xf2] + block)
        let restored = try MessageInflater(keepsWindow: true).inflate(message, limit: 10)
        #expect(restored == ByteBuffer(string: "HelloHello"))
    }

    @Test func anEmptyMessageIsRestored() throws {
        let inflater = MessageInflater(keepsWindow: true)
        #expect(try inflater.inflate(ByteBuffer(bytes: [0x00]), limit: 0) == ByteBuffer())
    }

    /// Lengths around those at which the output is made larger, and windows of every size.
    @Test(arguments: Int32(9)...15, [true, false]) func whatWasCompressedIsRestored(
        windowBits: Int32,
        keepsWindow: Bool
    ) throws {
        let deflater = MessageDeflater(keepsWindow: keepsWindow, windowBits: windowBits)
        let inflater = MessageInflater(keepsWindow: keepsWindow)
        let step = 16 * 1024
        for length in [0, 1, step - 1, step, step + 1, 2 * step, 100_000] {
            let message = try #require(Self.content.getSlice(at: 0, length: length))
            #expect(try inflater.inflate(deflater.deflate(message), limit: length) == message, "\(length) bytes")
        }
    }

    @Test func aMessageThatBecomesTooLargeIsRefusedBeforeItDoes() throws {
        let compressed = MessageDeflater().deflate(ByteBuffer(repeating: 0, count: 20 * 1024 * 1024))
        #expect(compressed.readableBytes < 40 * 1024)
        #expect(throws: MessageInflater.Failure.tooLarge(limit: 1000)) {
            try MessageInflater(keepsWindow: true).inflate(compressed, limit: 1000)
        }
        let small = MessageDeflater().deflate(ByteBuffer(repeating: 0, count: 1001))
        #expect(throws: MessageInflater.Failure.tooLarge(limit: 1000)) {
            try MessageInflater(keepsWindow: true).inflate(small, limit: 1000)
        }
    }

    @Test
    func whatFollowsInAMessageThatIsTooLargeAlreadyIsNotLookedAt() {
        var compressed = MessageDeflater().deflate(ByteBuffer(repeating: 0, count: 100_000))
        // The end of its last block, and a block of a type that there is not.
        compressed.writeBytes([0x00, 0x00, 0xff, 0xff, 0x07] as [UInt8])
        #expect(throws: MessageInflater.Failure.tooLarge(limit: 1000)) {
            try MessageInflater(keepsWindow: true).inflate(compressed, limit: 1000)
        }
        #expect(throws: MessageInflater.Failure.malformed) {
            try MessageInflater(keepsWindow: true).inflate(compressed, limit: 200_000)
        }
    }

    @Test(
        arguments: [
            // A block of a type that there is not, a reference to what was never sent, two lengths that differ.
            [0x07], [0xf2, 0x00, 0x11, 0x00, 0x00], [0x00, 0x05, 0x00, 0x00, 0x00, 0x48],
        ] as [[UInt8]]
    )
    func whatIsNotCompressedIsAnError(_ bytes: [UInt8]) {
        #expect(throws: MessageInflater.Failure.malformed) {
            try MessageInflater(keepsWindow: true).inflate(ByteBuffer(bytes: bytes), limit: 1000)
        }
    }

    @Test func withoutAWindowAMessageCannotReferToTheOneBefore() throws {
        let inflater = MessageInflater(keepsWindow: false)
        let message = ByteBuffer(bytes: [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00])
        #expect(try inflater.inflate(message, limit: 5) == Self.hello)
        #expect(throws: MessageInflater.Failure.malformed) {
            try inflater.inflate(ByteBuffer(bytes: [0xf2, 0x00, 0x11, 0x00, 0x00]), limit: 5)
        }
    }

    @Test func anyBytesGiveAMessageOrAnError() {
        var random = SeededGenerator(seed: 7692)
        for _ in 0..<2000 {
            let inflater = MessageInflater(keepsWindow: true)
            for _ in 0..<3 {
                let bytes = (0..<Int.random(in: 0..<50, using: &random)).map { _ in
                    UInt8.random(in: .min ... .max, using: &random)
                }
                guard let message = try? inflater.inflate(ByteBuffer(bytes: bytes), limit: 500) else { break }
                #expect(message.readableBytes <= 500)
            }
        }
    }
}
