import NIOCore
import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// What a client sends first over WebSocket, if that is no SETUP: its connection ends, with one line in the log, and others go on
/// (docs/protocol.md "WebSocket").
@Suite(.timeLimit(.minutes(1))) struct FirstFrameTests {
    private typealias Scenario = ServiceScenario

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        /// The first byte of the WebSocket frame: 0x82 for a binary message, 0x81 for text.
        var head: UInt8 = 0x82
        var payload: [UInt8]
    }

    /// The header of an RSocket frame: a stream id, a type, and flags.
    private static func header(_ stream: UInt32, _ type: UInt8, flags: UInt16 = 0) -> [UInt8] {
        let typeAndFlags = UInt16(type) << 10 | flags
        return [
            UInt8(truncatingIfNeeded: stream >> 24), UInt8(truncatingIfNeeded: stream >> 16),
            UInt8(truncatingIfNeeded: stream >> 8), UInt8(truncatingIfNeeded: stream),
            UInt8(typeAndFlags >> 8), UInt8(truncatingIfNeeded: typeAndFlags),
        ]
    }

    private static let example: [UInt8] = {
        let frame = try? Frame.setup(.example(metadata: ByteBuffer(string: "{}"))).encoded()
        return frame.map { Array(buffer: $0) } ?? []
    }()

    /// A SETUP with other bytes in one place.
    private static func setup(_ bytes: [UInt8], at offset: Int = 0) -> [UInt8] {
        var changed = example
        changed.replaceSubrange(offset..<(offset + bytes.count), with: bytes)
        return changed
    }

    private static let messages = [
        Case(testDescription: "nothing", payload: []),
        Case(testDescription: "nothing, as text", head: 0x81, payload: []),
        Case(testDescription: "JSON, as text", head: 0x81, payload: Array(#"{"token":"x"}"#.utf8)),
        Case(testDescription: "text that is not UTF-8", head: 0x81, payload: [0xff, 0xfe, 0xc0]),
        Case(testDescription: "a request of HTTP", payload: Array("GET / HTTP/1.1".utf8)),
        Case(testDescription: "a continuation of nothing", head: 0x80, payload: example),
        Case(testDescription: "an opcode that is reserved", head: 0x83, payload: example),
        Case(testDescription: "a reserved bit", head: 0xa2, payload: example),
        Case(testDescription: "compressed, although nobody has agreed on that", head: 0xc2, payload: example),
        Case(testDescription: "64 KiB of zeros", payload: Array(repeating: 0, count: 65_535)),
    ]

    private static let setups = [
        Case(testDescription: "SETUP on a stream", payload: setup(header(1, 1))),
        Case(testDescription: "SETUP on a stream with the highest bit", payload: setup(header(.max, 1))),
        Case(
            testDescription: "SETUP with a token for resuming that is too long",
            payload: setup(header(0, 1, flags: 0x80))
        ),
        Case(testDescription: "SETUP with a lease", payload: setup(header(0, 1, flags: 0x40))),
        Case(testDescription: "SETUP of version 2", payload: setup([0, 2, 0, 0], at: 6)),
        Case(testDescription: "SETUP without times", payload: setup(Array(repeating: 0, count: 8), at: 10)),
        Case(testDescription: "SETUP whose MIME type is no ASCII", payload: setup([0xff], at: 19)),
    ]

    private static let truncated = (Array(1..<6) + stride(from: 6, to: example.count - 2, by: 7)).map { count in
        Case(testDescription: "SETUP that ends after \(count) bytes", payload: Array(example.prefix(count)))
    }

    /// Every type but SETUP, which is 1.
    private static let otherTypes = (0..<64 as Range<UInt8>).filter { $0 != 1 }.flatMap { type in
        [0, 1].map { (stream: UInt32) in
            Case(testDescription: "type \(type) on stream \(stream)", payload: header(stream, type) + [0, 0, 0, 1])
        }
    }

    static let cases = messages + setups + truncated + otherTypes

    @Test func aFirstMessageThatIsNoSetupEndsItsConnectionOnly() async throws {
        let log = CollectedLog()
        try await Scenario.run(log: log) { scenario in
            try await scenario.write(Scenario.put("lists", "l1", ["owner_id": "u1", "name": "Groceries"]))
            try await scenario.settle()
            try await RSocketPeer.connect(port: scenario.address.port) { other in
                try await other.send(.setup(token: try scenario.token()), .request(1, credit: 1_000))
                while try await other.payload()["checkpoint_complete"] == nil {}
                for test in Self.cases {
                    let before = log.lines.count
                    try await RawConnection.connect(port: scenario.address.port) { connection in
                        try await connection.send(RawRequests.request("GET /sync/stream", RawRequests.handshake()))
                        #expect(try await connection.text(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
                        try await connection.send(
                            RawRequests.webSocketFrame(test.head, ByteBuffer(bytes: test.payload))
                        )
                        // Up to the close frame, which need not be answered.
                        var received: [UInt8] = []
                        while !received.contains(0x88), let more = try? await connection.read() {
                            received += Array(buffer: more)
                        }
                    }
                    _ = try await log.line(containing: "WebSocket connection refused", after: before)
                    let lines = log.lines[before...].filter { !$0.hasPrefix("debug ") && !$0.hasPrefix("trace ") }
                    #expect(lines.count == 1, "\(test.testDescription): \(lines)")
                    #expect(lines.first?.hasPrefix("info ") == true && lines.first?.contains("error=") == true)
                    try await other.expectSilence()
                }
                try await scenario.write(Scenario.put("lists", "l2", ["owner_id": "u1", "name": "Work"]))
                #expect(try await other.payload().summary.hasPrefix("diff "))
            }
        }
    }
}
