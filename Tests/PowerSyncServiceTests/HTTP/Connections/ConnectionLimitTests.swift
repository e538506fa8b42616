import HTTPConnections
import NIOCore
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// What connections may take of the service, over real sockets (docs/service.md "Connections").
@Suite(.timeLimit(.minutes(1))) struct ConnectionLimitTests {
    private typealias Scenario = ServiceScenario

    @Test func silentConnectionsSlowHeadsAndBodiesThatNobodyReadsEnd() async throws {
        var short = HTTPConnectionLimits()
        short.headTime = .seconds(1)
        try await Scenario.run(connectionLimits: short) { scenario in
            let port = scenario.address.port
            try await RawConnection.connect(port: port) { connection in
                let answer = try await connection.textUntilClosed()
                #expect(answer == "")
            }
            try await RawConnection.connect(port: port) { connection in
                try await connection.send("GET /probes/liveness HTTP/1.1\r\nHost")
                let answer = try await connection.textUntilClosed()
                #expect(answer.hasPrefix("HTTP/1.1 408 ") && answer.contains("PSYNC_S2001"), "\(answer)")
            }
            try await RawConnection.connect(port: port) { connection in
                try await connection.send(RawRequests.request("POST /nowhere", ["Content-Length: 1000"]) + "{")
                #expect(try await connection.textUntilClosed().hasPrefix("HTTP/1.1 404 "))
            }
            // A WebSocket without a SETUP is told so.
            try await RSocketPeer.connect(port: port) { peer in
                while try await peer.next() != nil {}
            }
        }
    }

    @Test func aConnectionThatRestsAfterItsRequestIsClosed() async throws {
        var short = HTTPConnectionLimits()
        short.idleTime = .milliseconds(50)
        try await Scenario.run(connectionLimits: short) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                let isAnswered = try await connection.probe()
                let more = try await connection.textUntilClosed()
                #expect(isAnswered && more == "")
            }
        }
    }

    @Test func aConnectionTooManyIsAnsweredWith503AndClosedWhichIsLoggedOnce() async throws {
        let log = CollectedLog()
        var few = HTTPConnectionLimits()
        few.connectionCount = 2
        try await Scenario.run(log: log, connectionLimits: few) { scenario in
            let port = scenario.address.port
            try await RawConnection.connect(port: port) { first in
                #expect(try await first.probe())
                try await RawConnection.connect(port: port) { second in
                    #expect(try await second.probe())
                    for _ in 0..<3 {
                        try await RawConnection.connect(port: port) { third in
                            let answer = try await third.textUntilClosed()
                            #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
                            #expect(answer.contains("PSYNC_S2304"), "\(answer)")
                            #expect(answer.contains("\r\nRetry-After: 5\r\n"), "\(answer)")
                        }
                    }
                    #expect(try await second.probe())
                }
                #expect(try await first.probe())
            }
        }
        #expect(log.lines.filter { $0.contains("Connections refused") }.count == 1)
    }

    @Test(arguments: [59, 60])
    func moreStreamsThanThereCanBeConnectionsAreAWarningWhichSaysWhatToDo(possible: Int) async throws {
        let log = CollectedLog()
        var few = HTTPConnectionLimits()
        few.connectionCount = possible
        try await Scenario.run(log: log, connectionLimits: few) {
            $0.limits.maxConcurrentConnections = 60
        } _: { _ in
        }
        let warnings = log.lines.filter { $0.hasPrefix("warning ") && $0.contains("max_concurrent_connections") }
        #expect(warnings.count == (possible < 60 ? 1 : 0))
        for text in ["ulimit -n", "LimitNOFILE=", "max_concurrent_connections=60", "possible_connections=59"] {
            #expect(warnings.allSatisfy { $0.contains(text) }, "\(text)")
        }
    }

    @Test(arguments: [1, 100])
    func beforeItsSETUPIsCompleteAWebSocketMaySend64KiB(pieces: Int) async throws {
        // Not by the time of the SETUP.
        var patient = HTTPConnectionLimits()
        patient.headTime = .seconds(3600)
        try await Scenario.run(connectionLimits: patient) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(RawRequests.request("GET /sync/stream", RawRequests.handshake()))
                #expect(try await connection.text(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
                // The head of a frame of 8 MiB, and a little of it.
                var bytes = ByteBuffer(bytes: [0x82, 0x80 | 127])
                bytes.writeInteger(UInt64(8 * 1024 * 1024))
                bytes.writeInteger(UInt32(0))
                try await connection.send(bytes)
                for _ in 0..<pieces {
                    // It may be closed, or reset, before the last.
                    try? await connection.send(ByteBuffer(repeating: 0, count: 128 * 1024 / pieces))
                }
                while let bytes = try? await connection.read() { _ = bytes }
            }
        }
    }

    @Test func aLargeRequestMayFollowTheSETUPAtOnce() async throws {
        try await Scenario.run { scenario in
            let buckets = (0..<900).map {
                #"{"name":"bucket \#($0)[\"\#(String(repeating: "x", count: 80))\"]","after":"0"}"#
            }
            let data = #"{"buckets":[\#(buckets.joined(separator: ","))],"client_id":"c1"}"#
            #expect(data.utf8.count > 64 * 1024)
            let request = Frame.requestStream(
                RequestStreamFrame(
                    streamID: StreamID(1),
                    initialRequestN: .maximum,
                    payload: Payload(
                        metadata: ByteBuffer(string: #"{"path":"/sync/stream"}"#),
                        data: ByteBuffer(string: data)
                    )
                )
            )
            try await RSocketPeer.connect(port: scenario.address.port) { peer in
                try await peer.send(.setup(token: try scenario.token()), request)
                #expect(try await peer.lines(1).first?.hasPrefix("checkpoint") == true)
            }
        }
    }
}
