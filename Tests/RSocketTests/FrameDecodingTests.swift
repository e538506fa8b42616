import NIOCore
import TestSupport
import Testing

@testable import RSocket

@Suite struct FrameDecodingTests {
    struct Case: CustomTestStringConvertible {
        let hex: String
        let error: FrameError
        var testDescription: String { hex }

        init(_ hex: String, _ error: FrameError) {
            (self.hex, self.error) = (hex, error)
        }
    }

    private static let setupHead = "00000000 0500 0001 0000 00000001 00000001"

    static let malformed: [Case] = [
        // stream ids
        Case("80000001 2820", .invalidStreamID(.payload, 0x8000_0001)),
        Case("ffffffff 8200", .invalidStreamID(FrameType(rawValue: 0x20), .max)),
        Case("00000001 0500", .invalidStreamID(.setup, 1)),
        Case("00000001 0c00 0000000000000000", .invalidStreamID(.keepalive, 1)),
        Case("00000000 1800 00000001", .invalidStreamID(.requestStream, 0)),
        Case("00000000 2000 00000001", .invalidStreamID(.requestN, 0)),
        Case("00000000 2400", .invalidStreamID(.cancel, 0)),
        Case("00000000 2820", .invalidStreamID(.payload, 0)),
        // request N
        Case("00000001 2000 00000000", .invalidRequestN(0)),
        Case("00000001 2000 80000000", .invalidRequestN(0x8000_0000)),
        Case("00000001 1800 00000000", .invalidRequestN(0)),
        Case("00000001 1800 ffffffff", .invalidRequestN(.max)),
        // lengths
        Case("00000001 2920 ffffff", .invalidMetadataLength(0xff_ffff)),
        Case("00000001 2920 000002 6d", .invalidMetadataLength(2)),
        Case("00000001 1900 00000001 ffffff 00", .invalidMetadataLength(0xff_ffff)),
        Case(setupHead + "ff 61", .truncated(.metadataMIMEType)),
        Case(setupHead + "01 61 ff", .truncated(.dataMIMEType)),
        Case(setupHead + "00 00 00 00", .truncated(.metadata)),
        Case("00000000 0480 0001 0000 00000001 00000001 ffff 00", .truncated(.resumeToken)),
        // content
        Case(setupHead + "01 80 00", .invalidMIMEType),
        Case("00000001 2400 00", .trailingBytes(.cancel)),
        Case("00000001 2000 00000001 00", .trailingBytes(.requestN)),
    ]

    @Test(arguments: malformed)
    func malformedFramesAreErrors(_ testCase: Case) {
        #expect(throws: testCase.error) { try Frame(decoding: ByteBuffer(hex: testCase.hex), maximumLength: 100) }
    }

    /// Frames, and the bytes up to the end of their last field; what follows is data or text, of any length.
    static let frames: [(frame: Frame, fieldsEnd: Int)] = [
        (.setup(.example), 106),
        (.keepalive(KeepaliveFrame(expectsAnswer: true, data: ByteBuffer(string: "ab"))), 14),
        (.request("data", on: one), 10),
        (.requestN(one, RequestN(5)), 10),
        (.cancel(one), 6),
        (.payload(.next(Payload("data", metadata: "meta"), on: one)), 13),
        (.error(.applicationError, "no", on: one), 10),
    ]

    @Test(arguments: frames)
    func everyCutInsideTheFieldsIsAnError(_ frame: Frame, fieldsEnd: Int) throws {
        let message = try frame.encoded()
        for length in 0..<message.readableBytes {
            let cut = try #require(message.getSlice(at: 0, length: length))
            if length < fieldsEnd {
                #expect(throws: FrameError.self, "\(length) bytes") { try Frame(decoding: cut, maximumLength: 200) }
            } else {
                #expect(try Frame(decoding: cut, maximumLength: 200).type == frame.type, "\(length) bytes")
            }
        }
    }

    @Test func messagesAboveTheLimitAreNotLookedAt() throws {
        let message = ByteBuffer(hex: "00000001 2820 6162")
        #expect(try Frame(decoding: message, maximumLength: 8) == .next("ab", on: one))
        #expect(throws: FrameError.tooLong(limit: 7)) { try Frame(decoding: message, maximumLength: 7) }
    }

    @Test(arguments: ["00000001 2620", "00000001 27ff", "00000001 241f"])
    func flagsThatAFrameDoesNotHaveAreIgnored(_ hex: String) throws {
        #expect(try Frame(decoding: ByteBuffer(hex: hex), maximumLength: 100) == .cancel(one))
    }

    @Test func theIgnoreFlagChangesNothingForAKnownType() throws {
        #expect(try Frame(decoding: ByteBuffer(hex: "00000001 2a20 61"), maximumLength: 100) == .next("a", on: one))
    }

    @Test func messagesOfErrorsAreRepairedAndCut() throws {
        let invalid = try Frame(decoding: ByteBuffer(hex: "00000001 2c00 00000201 61ff62"), maximumLength: 100)
        #expect(invalid == .error(.applicationError, "a\u{fffd}b", on: one))
        let long = String(repeating: "x", count: ErrorFrame.maximumMessageLength + 1)
        let message = try Frame.error(.applicationError, long, on: one).encoded()
        #expect(
            try Frame(decoding: message, maximumLength: .max)
                == .error(.applicationError, String(long.dropLast()), on: one)
        )
    }

    @Test func whatDoesNotFitIsNotWritten() throws {
        let long = Payload(metadata: ByteBuffer(repeating: 0, count: Payload.maximumMetadataLength + 1))
        #expect(throws: FrameError.fieldTooLong(.metadata, limit: 0xff_ffff)) {
            try Frame.payload(.next(long, on: one)).encoded()
        }
        var setup = SetupFrame.example
        setup.dataMIMEType = String(repeating: "a", count: 256)
        #expect(throws: FrameError.fieldTooLong(.dataMIMEType, limit: 255)) { try Frame.setup(setup).encoded() }
        setup.dataMIMEType = "é"
        #expect(throws: FrameError.invalidMIMEType) { try Frame.setup(setup).encoded() }
        setup = .example
        setup.resumeToken = ByteBuffer(repeating: 0, count: 0x1_0000)
        #expect(throws: FrameError.fieldTooLong(.resumeToken, limit: 0xffff)) { try Frame.setup(setup).encoded() }
    }

    @Test func theLongestMetadataIsWritten() throws {
        let payload = Payload(metadata: ByteBuffer(repeating: 7, count: Payload.maximumMetadataLength))
        let frame = Frame.payload(.next(payload, on: one))
        #expect(try Frame(decoding: frame.encoded(), maximumLength: .max) == frame)
    }

    @Test func theLongestFieldsOfASetupAreWritten() throws {
        var setup = SetupFrame.example
        setup.metadataMIMEType = String(repeating: "a", count: 255)
        setup.dataMIMEType = String(repeating: "b", count: 255)
        setup.resumeToken = ByteBuffer(repeating: 7, count: 65_535)
        #expect(try Frame(decoding: Frame.setup(setup).encoded(), maximumLength: .max) == .setup(setup))
    }

    @Test(arguments: [UInt64(1), 2, 3, 4])
    func framesAreTheSameAfterWritingAndReading(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for round in 0..<500 {
            let frame = random.frame()
            let decoded = try Frame(decoding: frame.encoded(), maximumLength: .max)
            #expect(decoded == frame, "seed \(seed), round \(round)")
        }
    }

    @Test(arguments: [UInt64(5), 6])
    func randomBytesAreAFrameOrAnErrorAndNeverTrap(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var frameCount = 0
        for _ in 0..<5000 {
            var message = ByteBuffer(integer: UInt32(random.number(below: 3)))
            message.writeInteger(UInt16(random.number(below: 0x4000)))
            message.writeImmutableBuffer(random.bytes(below: 40))
            guard let frame = try? Frame(decoding: message, maximumLength: 100) else { continue }
            frameCount += 1
            let again = try Frame(decoding: frame.encoded(), maximumLength: 200)
            #expect(again == frame, "seed \(seed), \(message.hex)")
        }
        #expect(frameCount > 500)
    }
}

extension SeededGenerator {
    fileprivate mutating func bytes(below limit: Int) -> ByteBuffer {
        ByteBuffer(bytes: (0..<number(below: limit)).map { _ in UInt8(truncatingIfNeeded: next()) })
    }

    private mutating func text() -> String {
        String(decoding: (0..<number(below: 30)).map { _ in UInt8(32 + number(below: 95)) }, as: UTF8.self)
    }

    private mutating func payload() -> Payload {
        Payload(metadata: Bool.random(using: &self) ? bytes(below: 300) : nil, data: bytes(below: 300))
    }

    private mutating func streamID() -> StreamID {
        StreamID(UInt32.random(in: 1...UInt32.max >> 1, using: &self))
    }

    private mutating func requestN() -> RequestN {
        RequestN(UInt32.random(in: 1...UInt32.max >> 1, using: &self))
    }

    fileprivate mutating func frame() -> Frame {
        switch number(below: 8) {
        case 0:
            var setup = SetupFrame(
                keepaliveInterval: .milliseconds(UInt32(truncatingIfNeeded: next())),
                lifetime: .milliseconds(UInt32(truncatingIfNeeded: next())),
                metadataMIMEType: text(),
                dataMIMEType: text(),
                payload: payload()
            )
            setup.resumeToken = Bool.random(using: &self) ? bytes(below: 20) : nil
            setup.usesLeases = Bool.random(using: &self)
            return .setup(setup)
        case 1:
            let expectsAnswer = Bool.random(using: &self)
            return .keepalive(KeepaliveFrame(expectsAnswer: expectsAnswer, position: next(), data: bytes(below: 20)))
        case 2:
            return .requestStream(
                RequestStreamFrame(
                    streamID: streamID(),
                    initialRequestN: requestN(),
                    payload: payload(),
                    hasMoreFragments: Bool.random(using: &self)
                )
            )
        case 3: return .requestN(streamID(), requestN())
        case 4: return .cancel(streamID())
        case 5:
            return .payload(
                PayloadFrame(
                    streamID: streamID(),
                    isNext: Bool.random(using: &self),
                    isComplete: Bool.random(using: &self),
                    hasMoreFragments: Bool.random(using: &self),
                    payload: payload()
                )
            )
        case 6: return .error(RSocketErrorCode(rawValue: UInt32(truncatingIfNeeded: next())), text(), on: streamID())
        default:
            let types: [FrameType] = [.lease, .requestChannel, .metadataPush, .extension, FrameType(rawValue: 0x2a)]
            return .unsupported(
                UnsupportedFrame(
                    streamID: streamID(),
                    type: types[number(below: types.count)],
                    isIgnorable: Bool.random(using: &self),
                    body: bytes(below: 50)
                )
            )
        }
    }
}
