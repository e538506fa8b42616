import NIOCore
import Testing

@testable import RSocket

/// The bytes are written down by hand (docs/protocol.md "WebSocket").
@Suite struct FrameBytesTests {
    struct Case: CustomTestStringConvertible {
        let name: String
        let hex: String
        let frame: Frame
        var testDescription: String { name }

        init(_ name: String, _ hex: String, _ frame: Frame) {
            (self.name, self.hex, self.frame) = (name, hex, frame)
        }
    }

    static let cases: [Case] = [
        Case(
            "SETUP of 22.5",
            """
            00 00 00 00 05 00 00 01 00 00 00 00 4e 20 00 01
            5f 90 10 61 70 70 6c 69 63 61 74 69 6f 6e 2f 6a
            73 6f 6e 10 61 70 70 6c 69 63 61 74 69 6f 6e 2f
            6a 73 6f 6e 00 00 33 7b 22 74 6f 6b 65 6e 22 3a
            22 54 6f 6b 65 6e 20 61 61 61 2e 62 62 62 2e 63
            63 63 22 2c 22 75 73 65 72 5f 61 67 65 6e 74 22
            3a 22 74 65 73 74 2f 31 22 7d
            """,
            .setup(.example)
        ),
        Case("SETUP with token, leases and data, without metadata", setupWithEverything.hex, setupWithEverything.frame),
        Case(
            "REQUEST_STREAM of 22.5",
            """
            00 00 00 01 19 00 00 00 00 0a 00 00 17 7b 22 70
            61 74 68 22 3a 22 2f 73 79 6e 63 2f 73 74 72 65
            61 6d 22 7d 7b 22 62 75 63 6b 65 74 73 22 3a 5b
            5d 2c 22 63 6c 69 65 6e 74 5f 69 64 22 3a 22 63
            31 22 7d
            """,
            .requestStream(
                RequestStreamFrame(
                    streamID: one,
                    initialRequestN: RequestN(10),
                    payload: Payload(#"{"buckets":[],"client_id":"c1"}"#, metadata: #"{"path":"/sync/stream"}"#)
                )
            )
        ),
        Case(
            "REQUEST_STREAM, first fragment",
            "7fffffff 1880 7fffffff 61",
            .requestStream(
                RequestStreamFrame(
                    streamID: StreamID(.max >> 1),
                    initialRequestN: .maximum,
                    payload: Payload("a"),
                    hasMoreFragments: true
                )
            )
        ),
        Case("REQUEST_N 5", "00000001 2000 00000005", .requestN(one, RequestN(5))),
        Case("CANCEL", "00000001 2400", .cancel(one)),
        Case("PAYLOAD NEXT", "00000001 2820 6162", .next("ab", on: one)),
        Case("PAYLOAD NEXT, empty", "00000001 2820", .next("", on: one)),
        Case("PAYLOAD COMPLETE", "00000001 2840", .complete(one)),
        Case(
            "PAYLOAD with all flags",
            "00000003 29e0 000001 6d 64",
            .payload(
                PayloadFrame(
                    streamID: three,
                    isNext: true,
                    isComplete: true,
                    hasMoreFragments: true,
                    payload: Payload("d", metadata: "m")
                )
            )
        ),
        Case(
            "PAYLOAD with empty metadata",
            "00000001 2920 000000 64",
            .payload(.next(Payload("d", metadata: ""), on: one))
        ),
        Case(
            "KEEPALIVE with RESPOND",
            "00000000 0c80 0000000000000000",
            .keepalive(KeepaliveFrame(expectsAnswer: true))
        ),
        Case(
            "KEEPALIVE answer with data",
            "00000000 0c00 0000000000000000 6162",
            .keepalive(KeepaliveFrame(expectsAnswer: false, data: ByteBuffer(string: "ab")))
        ),
        Case(
            "KEEPALIVE with a position",
            "00000000 0c00 0102030405060708",
            .keepalive(KeepaliveFrame(expectsAnswer: false, position: 0x0102_0304_0506_0708))
        ),
        Case(
            "ERROR of 22.5 on stream 0",
            """
            00 00 00 00 2c 00 00 00 00 03 5b 50 53 59 4e 43
            5f 53 32 31 30 36 5d 20 4e 6f 20 76 61 6c 69 64
            20 74 6f 6b 65 6e 20 70 72 6f 76 69 64 65 64
            """,
            .error(.rejectedSetup, "[PSYNC_S2106] No valid token provided", on: .connection)
        ),
        Case(
            "ERROR of 22.5 on stream 1",
            """
            00 00 00 01 2c 00 00 00 02 01 5b 50 53 59 4e 43
            5f 53 32 33 30 32 5d 20 4e 6f 20 73 79 6e 63 20
            63 6f 6e 66 69 67 20 61 76 61 69 6c 61 62 6c 65
            """,
            .error(.applicationError, "[PSYNC_S2302] No sync config available", on: one)
        ),
        Case("RESUME", "00000000 3400", .unsupported(.resume, on: .connection)),
        Case(
            "REQUEST_RESPONSE with a body",
            "00000001 1000 7b7d",
            .unsupported(
                UnsupportedFrame(
                    streamID: one,
                    type: .requestResponse,
                    isIgnorable: false,
                    body: ByteBuffer(string: "{}")
                )
            )
        ),
        Case(
            "unknown type 0x20, ignorable",
            "00000005 8200",
            .unsupported(FrameType(rawValue: 0x20), on: StreamID(5), isIgnorable: true)
        ),
        Case("EXT", "00000000 fc00", .unsupported(.extension, on: .connection)),
        Case("LEASE", "00000000 0800", .unsupported(.lease, on: .connection)),
        Case("REQUEST_FNF", "00000001 1400", .unsupported(.requestFireAndForget, on: one)),
        Case("REQUEST_CHANNEL", "00000001 1c00", .unsupported(.requestChannel, on: one)),
        Case("METADATA_PUSH", "00000000 3000", .unsupported(.metadataPush, on: .connection)),
        Case("RESUME_OK", "00000000 3800", .unsupported(.resumeOK, on: .connection)),
    ]

    /// Version 1.2, both times the largest, token `tok`, types `a/b` and empty, data `d`.
    private static let setupWithEverything: (hex: String, frame: Frame) = {
        var setup = SetupFrame(
            keepaliveInterval: .milliseconds(UInt32.max),
            lifetime: .milliseconds(UInt32.max),
            metadataMIMEType: "a/b",
            dataMIMEType: "",
            payload: Payload("d")
        )
        setup.version = SetupFrame.Version(major: 1, minor: 2)
        setup.resumeToken = ByteBuffer(string: "tok")
        setup.usesLeases = true
        return ("00000000 04c0 0001 0002 ffffffff ffffffff 0003 746f6b 03 612f62 00 64", .setup(setup))
    }()

    @Test func codesOfErrorsAreToldAsTheSpecificationWritesThem() {
        #expect("\(RSocketErrorCode(rawValue: 0x201))" == "0x00000201")
        #expect("\(RSocketErrorCode(rawValue: 0xffff_ffff))" == "0xffffffff")
    }

    @Test(
        arguments: [
            (.invalidSetup, "00000001"), (.unsupportedSetup, "00000002"), (.rejectedSetup, "00000003"),
            (.rejectedResume, "00000004"), (.connectionError, "00000101"), (.connectionClose, "00000102"),
            (.applicationError, "00000201"), (.rejected, "00000202"), (.canceled, "00000203"), (.invalid, "00000204"),
        ] as [(RSocketErrorCode, String)]
    )
    func codesOfErrorsAreThoseOfTheSpecification(_ code: RSocketErrorCode, hex: String) throws {
        #expect(try Frame.error(code, "", on: .connection).encoded().hex == "000000002c00" + hex)
    }

    @Test(arguments: cases)
    func framesAreWrittenAsTheSpecificationShows(_ testCase: Case) throws {
        let message = try testCase.frame.encoded()
        #expect(message.hex == ByteBuffer(hex: testCase.hex).hex)
        #expect(testCase.frame.encodedLength == message.readableBytes)
    }

    @Test(arguments: cases)
    func framesAreReadAsTheSpecificationShows(_ testCase: Case) throws {
        #expect(try Frame(decoding: ByteBuffer(hex: testCase.hex), maximumLength: 200) == testCase.frame)
    }

    @Test func durationsAreWrittenAsWholeMillisecondsThatFit() throws {
        let cases: [(Duration, String)] = [
            (.microseconds(1999), "00000001"), (.seconds(-5), "00000000"), (.milliseconds(-1), "00000000"),
            (.seconds(Int64.max), "ffffffff"), (.milliseconds(4_294_967_295), "ffffffff"),
            (.milliseconds(4_294_967_296), "ffffffff"), (.seconds(4_294_967_296), "ffffffff"),
        ]
        for (duration, hex) in cases {
            var setup = SetupFrame.example
            setup.lifetime = duration
            let written = try Frame.setup(setup).encoded().getSlice(at: 14, length: 4)
            #expect(written?.hex == hex, "\(duration)")
        }
    }

    @Test func payloadsAreSlicesOfTheMessage() throws {
        let message = ByteBuffer(hex: "00000001 2920 000002 6d6d 6464")
        guard case .payload(let frame) = try Frame(decoding: message, maximumLength: 100) else {
            Issue.record("not a PAYLOAD")
            return
        }
        let addresses = [message.getSlice(at: 9, length: 2), frame.payload.metadata].map { buffer in
            buffer?.withUnsafeReadableBytes { $0.baseAddress }
        }
        #expect(addresses[0] == addresses[1])
        #expect(frame.payload.data == ByteBuffer(string: "dd"))
    }
}
