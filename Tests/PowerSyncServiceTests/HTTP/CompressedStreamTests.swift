import AsyncHTTPClient
import NIOCore
import NIOHTTPCompression
import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// Streams with `Content-Encoding: gzip`, over a socket.
@Suite(.timeLimit(.minutes(3))) struct CompressedStreamTests {
    private typealias Scenario = ServiceScenario

    /// What ends every flush: an empty stored block.
    private static let flushMarker: [UInt8] = [0x00, 0x00, 0xff, 0xff]

    /// Runs something with a client of its own: the shared one always asks for compression, and undoes it.
    private static func withClient(
        decompressing: Bool,
        _ body: (HTTPClient) async throws -> Void
    ) async throws {
        var configuration = HTTPClient.Configuration()
        configuration.decompression = decompressing ? .enabled(limit: .none) : .disabled
        let client = HTTPClient(configuration: configuration)
        do {
            try await body(client)
            try await client.shutdown()
        } catch {
            try await client.shutdown()
            throw error
        }
    }

    /// The next bytes of a compressed stream, up to the end of a flush.
    private static func nextFlush(_ stream: inout StreamReader) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        while let chunk = try await stream.chunk() {
            bytes += chunk.readableBytesView
            if bytes.suffix(4) == flushMarker { break }
        }
        return bytes
    }

    @Test func everyLineArrivesAlthoughNothingFollowsIt() async throws {
        // A line that waits in the compressor leaves with the next keepalive; there is none.
        try await Scenario.run(timing: TestClock().timing) { scenario in
            try await Self.withClient(decompressing: true) { client in
                let token = try scenario.token(now: TestClock.start)
                var stream = try await scenario.stream(token, acceptEncoding: "gzip, deflate, br", client: client)
                #expect(stream.contentEncoding == "gzip")
                #expect(stream.contentType == "application/x-ndjson")
                #expect(try await stream.untilComplete().last == "complete 0")
                for number in 1...3 {
                    let row: JSONObject = ["owner_id": "u1", "name": .string("Number \(number)")]
                    let body: JSONObject = ["data": [.object(Scenario.put("lists", "l\(number)", row))]]
                    #expect(try await scenario.send("POST", "/dev/write", token: token, body: body.text).status == 200)
                    let lines = try await stream.untilComplete()
                    #expect(lines.first?.hasPrefix("diff ") == true, "\(lines)")
                    #expect(lines.last?.hasPrefix("complete ") == true, "\(lines)")
                }
            }
        }
    }

    @Test(arguments: SyncLineFormat.all)
    func bsonAndNDJSONAreCompressedAsOneMemberThatIsFlushedAfterEachLine(format: SyncLineFormat) async throws {
        try await Scenario.run { scenario in
            let rows = (0..<200).map {
                Scenario.put("lists", "l\($0)", ["owner_id": "u1", "name": .string("List number \($0)")])
            }
            try await scenario.write(rows)
            try await scenario.settle()
            let token = try scenario.token()
            try await Self.withClient(decompressing: false) { client in
                var compressed = try await scenario.stream(
                    token,
                    accept: format.mediaType,
                    acceptEncoding: "gzip",
                    client: client
                )
                #expect(compressed.contentEncoding == "gzip")
                #expect(compressed.contentType == format.mediaType)
                let first = try await Self.nextFlush(&compressed)
                #expect(first.starts(with: [0x1f, 0x8b, 0x08]))
                #expect(first.suffix(4) == Self.flushMarker[...])

                var plain = try await scenario.stream(token, accept: format.mediaType, client: client)
                #expect(plain.contentEncoding == nil)
                #expect(plain.contentType == format.mediaType)
                let chunk = try #require(try await plain.chunk())
                #expect(!chunk.readableBytesView.starts(with: [0x1f, 0x8b]))
            }
        }
    }

    @Test(arguments: [nil, "identity", "br"])
    func streamsThatNobodyWantsCompressedAndSmallAnswersAreNot(acceptEncoding: String?) async throws {
        try await Scenario.run { scenario in
            try await Self.withClient(decompressing: false) { client in
                var stream = try await scenario.stream(
                    try scenario.token(),
                    acceptEncoding: acceptEncoding,
                    client: client
                )
                #expect(stream.contentEncoding == nil)
                #expect(try await stream.untilComplete().last == "complete 0")
            }
            let error = try await scenario.send(
                "POST",
                "/sync/stream",
                headers: ["Accept-Encoding": "gzip"],
                body: "{}"
            )
            #expect(error.status == 401)
            #expect(error.headers["content-encoding"] == nil)
            let answer = try await scenario.send("GET", "/probes/liveness", headers: ["Accept-Encoding": "gzip"])
            #expect(answer.status == 200)
            #expect(answer.headers["content-encoding"] == nil)
        }
    }

    @Test func aCompressedStreamHasAProperEnd() async throws {
        let clock = TestClock()
        try await Scenario.run(timing: clock.timing) { scenario in
            try await Self.withClient(decompressing: true) { client in
                var stream = try await scenario.stream(
                    try scenario.token(lifetime: .seconds(15), now: TestClock.start),
                    acceptEncoding: "gzip",
                    client: client
                )
                _ = try await stream.untilComplete()
                try await clock.waitForTimer(of: .seconds(15))
                clock.advance(by: .seconds(15))
                #expect(try await stream.next() == ["token_expires_in": 0])
                #expect(try await stream.next() == nil)
            }
        }
    }

    @Test func bytesThatAreNotARequestGet400AlsoAfterARequest() async throws {
        try await Scenario.run { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send("GET /probes/liveness HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n")
                #expect(try await connection.text(until: "}").contains("200 OK"))
                try await connection.send("?!\r\n\r\n")
                #expect(try await connection.text(until: "\r\n\r\n").contains("400 Bad Request"))
            }
            #expect(try await scenario.send("GET", "/probes/liveness").status == 200)
        }
    }
}

extension SyncLineFormat {
    fileprivate static let all: [SyncLineFormat] = [.bson, .ndjson]
}
