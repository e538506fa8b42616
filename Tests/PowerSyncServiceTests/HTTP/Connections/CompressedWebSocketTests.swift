import NIOCore
import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// Sync streams over WebSocket for clients that offer `permessage-deflate` (docs/protocol.md "WebSocket").
@Suite(.timeLimit(.minutes(1))) struct CompressedWebSocketTests {
    private typealias Scenario = ServiceScenario

    @Test func linesAreCompressedIfTheClientOffersItAndOnlyThen() async throws {
        try await Scenario.run { scenario in
            try await scenario.write(
                (0..<500).map {
                    Scenario.put(
                        "lists",
                        "l\($0)",
                        ["owner_id": "u1", "name": .string("The list with the number \($0)")]
                    )
                }
            )
            try await scenario.settle()
            var lengths: [Bool: Int] = [:]
            for isCompressed in [false, true] {
                try await RawConnection.connect(port: scenario.address.port) { connection in
                    let offer = "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits"
                    let fields = RawRequests.handshake() + (isCompressed ? [offer] : [])
                    try await connection.send(RawRequests.request("GET /sync/stream", fields))
                    let answer = try await connection.text(until: "\r\n\r\n")
                    #expect(
                        answer.contains("permessage-deflate; server_no_context_takeover") == isCompressed,
                        "\(answer)"
                    )
                    try await connection.send(
                        RawRequests.message(.setup(token: try scenario.token()), isCompressed: isCompressed)
                    )
                    try await connection.send(RawRequests.message(.request(1, credit: 1_000)))
                    // The last line is short and comes as it is.
                    var text = ""
                    var length = 0
                    while !text.contains("checkpoint_complete"), let bytes = try await connection.read() {
                        length += bytes.readableBytes
                        text = String((text + String(buffer: bytes)).suffix(1_000))
                    }
                    lengths[isCompressed] = length
                }
            }
            let plain = try #require(lengths[false])
            let compressed = try #require(lengths[true])
            #expect(plain > 50_000 && compressed < plain / 3, "\(plain) and \(compressed) bytes")
        }
    }

    @Test func aSETUPThatBecomesLargerThan64KiBEndsTheConnection() async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let fields = RawRequests.handshake() + ["Sec-WebSocket-Extensions: permessage-deflate"]
                try await connection.send(RawRequests.request("GET /", fields))
                _ = try await connection.text(until: "\r\n\r\n")
                let setup = Frame.setup(metadata: ByteBuffer(repeating: 32, count: 1_000_000))
                try await connection.send(RawRequests.message(setup, isCompressed: true))
                let end = try await connection.read()
                // A close frame with code 1009.
                #expect(end.map { Array($0.readableBytesView.prefix(4)) } == [0x88, 0x02, 0x03, 0xf1])
            }
        }
    }
}
