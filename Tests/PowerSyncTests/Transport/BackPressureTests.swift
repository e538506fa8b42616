import HTTPStackTestSupport
import NIOCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import RSocket
import TestSupport
import Testing

@testable import PowerSyncClient

/// A database that is slower than the network: the service has to wait, and memory stays bounded.
@Suite(.timeLimit(.minutes(2))) struct BackPressureTests {
    /// The lines with data, of 1 MiB and a little each.
    private static let count = 40
    private static let lineLength = 1024 * 1024
    /// What may be under way between two processes beside the 64 KiB of the sender: a receive buffer of the system.
    private static let systemBuffer = 12 * 1024 * 1024

    /// A checkpoint, which goes first, and its data.
    private let checkpoint = SyncLine.checkpoint(Int64(count), [.bucket("a", count: Int64(count))])
    private let data: [SyncLine] = (1...Int64(count)).map { number in
        .row("a", number, "lists", "row\(number)", #"{"name":""# + String(repeating: "x", count: lineLength) + #""}"#)
    }

    private let busy = Gate()

    private func connectedDatabase(_ transport: CountingTransport, _ url: String) async throws -> SyncedDatabase {
        let connector = ScriptedConnector()
        connector.onFetch { _ in PowerSyncCredentials(endpoint: url, token: "secret") }
        let database = SyncedDatabase(
            schema: SyncHarness.schema,
            dbFilename: ":memory:",
            logger: RecordingLogger(),
            environment: SyncEnvironment(transport: transport, clock: TestClock())
        )
        try await database.connect(connector: connector, options: ConnectOptions())
        try await database.waitForStatus { $0.downloading }
        return database
    }

    /// Runs `body` while somebody else writes, for as long as `body` takes.
    private func whileBusy(_ database: SyncedDatabase, _ body: () async throws -> Void) async throws {
        let isBusy = TaskGate()
        let writing = Task { [busy] in
            try await database.writeTransaction { _ in
                isBusy.open()
                busy.wait()
            }
        }
        try await isBusy.pass()
        do {
            try await body()
        } catch {
            busy.open()
            throw error
        }
        busy.open()
        try await writing.value
    }

    private func expectEverything(_ database: SyncedDatabase) async throws {
        try await database.waitForFirstSync()
        #expect(try await database.count("lists") == BackPressureTests.count)
        try await database.close()
    }

    @Test func aServiceOverHTTPCannotSendMoreThanMayWait() async throws {
        let rest = (data + [.done]).map { line in
            var bytes = ByteBuffer()
            line.encode(as: .bson, into: &bytes)
            return bytes
        }
        let server = try await BulkServer(first: checkpoint, rest: rest)
        let transport = CountingTransport(HTTPStack.nio.transport)
        let database = try await connectedDatabase(transport, server.url)
        try await whileBusy(database) {
            server.start()
            // From here on the client reads no more.
            try await transport.waitUntilTaken(moreThan: SyncEventQueue.defaultByteLimit)
            // Somebody who reads everything shows that there is time for everything.
            let other = try await HTTPStack.nio.transport.openStream(
                StreamingSyncRequest(),
                credentials: ServiceCredentials(endpoint: try ServiceEndpoint(server.url), token: "t"),
                log: .disabled
            )
            var lines = 0
            while let next = try await other.nextLines() { lines += next.count }
            #expect(lines == BackPressureTests.count + 2)
            let taken = transport.taken.bytes
            #expect(taken <= SyncEventQueue.defaultByteLimit + 2 * BackPressureTests.lineLength)
            #expect(server.sentBytes.first ?? 0 <= taken + BackPressureTests.systemBuffer)
        }
        try await expectEverything(database)
        #expect(server.sentBytes.first == rest.reduce(0) { $0 + $1.readableBytes })
        try await server.stop()
    }

    @Test func aServiceOverWebSocketIsAllowedTenLinesMoreThanWereTaken() async throws {
        let (checkpoint, lines) = (checkpoint, data + [.done])
        let begins = TaskGate()
        let (sent, rounds, changes) = (Shared(0), Shared(0), Signal())
        try await RSocketPeer.serve { peer in
            guard case .setup = try await peer.next(), case .requestStream(let request) = try await peer.next() else {
                return
            }
            var credit = Int(request.initialRequestN.rawValue) - 1
            try await peer.send(.line(checkpoint, on: request.streamID))
            try await begins.pass()
            for line in lines {
                while credit == 0 {
                    // The answer shows that the client has had the time to allow more.
                    try await peer.send(.keepalive(KeepaliveFrame(expectsAnswer: true)))
                    while let frame = try await peer.next() {
                        if case .requestN(_, let count) = frame { credit += Int(count.rawValue) }
                        if case .keepalive(let answer) = frame, !answer.expectsAnswer { break }
                    }
                    rounds.value += 1
                    changes.fire()
                }
                credit -= 1
                try await peer.send(.line(line, on: request.streamID))
                sent.value += 1
            }
            while try await peer.next() != nil {}
        } _: { port in
            let transport = CountingTransport(WebSocketTransport.shared)
            let database = try await connectedDatabase(transport, "http://127.0.0.1:\(port)")
            try await whileBusy(database) {
                begins.open()
                try await transport.waitUntilTaken(moreThan: SyncEventQueue.defaultByteLimit)
                let round = rounds.value
                try await changes.wait { rounds.value > round + 20 ? () : nil }
                let taken = transport.taken
                #expect(taken.bytes <= SyncEventQueue.defaultByteLimit + 11 * BackPressureTests.lineLength)
                #expect(sent.value <= taken.lines + 10)
                #expect(sent.value < lines.count)
            }
            try await expectEverything(database)
        }
    }
}

extension Frame {
    /// A sync line.
    static func line(_ line: SyncLine, on streamID: StreamID) -> Frame {
        var bytes = ByteBuffer()
        line.encode(as: .bson, into: &bytes)
        return .payload(.next(Payload(data: bytes), on: streamID))
    }
}
