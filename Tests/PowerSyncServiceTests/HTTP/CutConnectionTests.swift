import NIOCore
import PowerSyncProtocol
import RSocket
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// First downloads over connections that end after so many bytes, also within a line (docs/service.md "Sync sessions").
@Suite(.timeLimit(.minutes(2))) struct CutConnectionTests {
    private typealias Scenario = ServiceScenario

    enum Transport: CaseIterable {
        case ndjson, bson, webSocket
    }

    /// 800 rows of 1 kB in one bucket, and connections of 100 kB.
    @Test(arguments: Transport.allCases) func eachConnectionBringsTheClientForward(_ transport: Transport) async throws
    {
        let (rowCount, connectionBytes) = (800, 100_000)
        let config = "config: {edition: 3}\nstreams: {lists: {auto_subscribe: true, query: SELECT * FROM lists}}"
        try await Scenario.run(configure: { $0.syncConfig = .content(config) }) { scenario in
            let text = String(repeating: "x", count: 1_000)
            let rows = (0..<rowCount).map {
                Scenario.put("lists", "l\($0)", ["owner_id": "u1", "name": .string("\($0) \(text)")])
            }
            try await scenario.write(rows)
            try await scenario.settle()
            var client = LinkedClient(transport == .ndjson ? .ndjson : .bson)
            var connections = 0
            while client.completed == nil {
                let before = client.operationCount
                switch transport {
                case .ndjson, .bson: try await Self.read(&client, scenario, connectionBytes)
                case .webSocket: try await Self.readOverWebSocket(&client, scenario, connectionBytes)
                }
                connections += 1
                try #require(client.operationCount > before || client.completed != nil, "connection \(connections)")
            }
            #expect(client.rows.count == rowCount)
            // One line of 64 KiB each, and what is lost with the next one.
            #expect(connections <= 20, "\(connections)")
        }
    }

    private static func body(_ client: LinkedClient) throws -> JSONObject {
        try JSONObject(parsing: client.request.encodedJSON())
    }

    /// Reads so many bytes of a response, and leaves.
    private static func read(_ client: inout LinkedClient, _ scenario: Scenario, _ byteCount: Int) async throws {
        let accept = client.format == .bson ? "application/vnd.powersync.bson-stream" : "application/x-ndjson"
        var stream = try await scenario.stream(try scenario.token(), try body(client), accept: accept)
        var (bytes, used) = (ByteBuffer(), 0)
        while used + bytes.readableBytes < byteCount, client.completed == nil, var chunk = try await stream.chunk() {
            bytes.writeBuffer(&chunk)
            // What is beyond the end of the connection has not arrived.
            let excess = used + bytes.readableBytes - byteCount
            if excess > 0 { bytes.moveWriterIndex(to: bytes.writerIndex - excess) }
            while let line = line(&bytes, client.format), client.completed == nil {
                used += line.readableBytes
                try client.take(line)
            }
        }
    }

    /// Takes a whole line.
    private static func line(_ bytes: inout ByteBuffer, _ format: SyncLineFormat) -> ByteBuffer? {
        let length: Int? =
            switch format {
            case .ndjson:
                bytes.readableBytesView.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 - bytes.readerIndex }
            case .bson: bytes.getInteger(at: bytes.readerIndex, endianness: .little, as: Int32.self).map { Int($0) }
            }
        return length.flatMap { bytes.readSlice(length: $0) }
    }

    /// Reads so many bytes of payloads, and leaves.
    private static func readOverWebSocket(
        _ client: inout LinkedClient,
        _ scenario: Scenario,
        _ byteCount: Int
    ) async throws {
        let data = client.request.encodedJSON()
        client = try await RSocketPeer.connect(port: scenario.address.port) { [client] peer in
            var client = client
            let request = RequestStreamFrame(
                streamID: StreamID(1),
                initialRequestN: RequestN(clamping: 1_000),
                payload: Payload(metadata: ByteBuffer(string: #"{"path":"/sync/stream"}"#), data: data)
            )
            try await peer.send(.setup(token: try scenario.token()), .requestStream(request))
            var left = byteCount
            while client.completed == nil, case .payload(let frame) = try await peer.next() {
                left -= frame.payload.data.readableBytes
                if left < 0 { break }
                try client.take(frame.payload.data)
            }
            return client
        }
    }
}
