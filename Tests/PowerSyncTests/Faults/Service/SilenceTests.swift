import Foundation
import HTTPStackTestSupport
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import RSocket
import TestSupport
import Testing

@testable import PowerSyncClient

/// A peer that says nothing more, at any place of any connection of the sync client: each is given up within its limit, and tried
/// again.
@Suite(.onEachHTTPStack, .timeLimit(.minutes(2))) struct SilenceTests {
    private typealias Place = SilentServer.Place

    private let clock = TestClock()
    private let connector = ScriptedConnector()

    private func database(_ transport: any SyncTransport) -> SyncedDatabase {
        SyncedDatabase(
            schema: SyncHarness.schema,
            dbFilename: ":memory:",
            logger: RecordingLogger(),
            environment: SyncEnvironment(transport: transport, clock: clock, random: { 0.5 })
        )
    }

    private func status(_ database: SyncedDatabase) throws -> LiveSyncStatus {
        try #require(database.currentStatus as? LiveSyncStatus)
    }

    /// Connects to a server that falls silent, and expects that its stream is given up and opened again.
    ///
    /// - Parameters:
    ///   - transport: How the server is reached.
    ///   - url: Where it is.
    ///   - reads: How often an open stream is asked for what comes next until nothing does; 0 for one that is not opened.
    ///   - waitForConnections: Waits until so many connections have fallen silent.
    /// - Throws: What waiting throws.
    private func expectGivenUp(
        _ transport: any SyncTransport,
        at url: String,
        reads: Int,
        waitForConnections: (Int) async throws -> Void
    ) async throws {
        connector.onFetch { _ in PowerSyncCredentials(endpoint: url, token: "token") }
        let transport = CountingTransport(transport)
        let database = database(transport)
        try await database.connect(connector: connector, options: ConnectOptions())
        let status = try status(database)
        for attempt in 1...2 {
            // Before the stream is asked for, nothing is awaited from the network.
            try await transport.waitForStreams(attempt)
            try await waitForConnections(attempt)
            if reads > 0 {
                try await status.wait { $0.connected }
                // What comes later than the clock moves gives the server the whole time again.
                try await transport.waitForReads(reads)
            } else {
                try await status.wait { $0.connecting }
            }
            try await clock.waitForTimer(of: IdleWatchdog.defaultLimit)
            clock.advance(by: IdleWatchdog.defaultLimit)
            try await status.wait { !$0.connected && !$0.connecting }
            #expect("\(status.anyError ?? "")".contains("40.0 seconds"), "\(status.anyError ?? "")")
            // A second attempt follows, after the pause between two.
            try await clock.waitForTimer(of: .seconds(5))
            clock.advance(by: .seconds(5))
        }
        try await database.close()
    }

    @Test(arguments: SilentServer.Place.allCases) func aStreamOverHTTP(_ place: SilentServer.Place) async throws {
        let server = try await SilentServer(place)
        try await expectGivenUp(
            HTTPStack.current.transport,
            at: server.url,
            // A part of a line is taken like lines.
            reads: place == .body ? 1 : [.insideLine, .betweenLines].contains(place) ? 2 : 0,
            waitForConnections: server.waitForConnections
        )
        try await server.stop()
    }

    @Test(arguments: [SilentServer.Place.connecting, .encrypting, .sending, .head, .insideHead])
    func aWebSocketThatIsBeingOpened(_ place: SilentServer.Place) async throws {
        let server = try await SilentServer(place)
        try await expectGivenUp(
            WebSocketTransport.shared,
            at: server.url,
            reads: 0,
            waitForConnections: server.waitForConnections
        )
        try await server.stop()
    }

    @Test(arguments: [SilentServer.Place.body, .insideLine, .betweenLines])
    func aWebSocketThatIsOpen(_ place: SilentServer.Place) async throws {
        let reached = Signal()
        let connections = NIOLockedValueBox(0)
        try await RSocketPeer.serve { peer in
            guard case .setup = try await peer.next(), case .requestStream(let request) = try await peer.next() else {
                return
            }
            var line = ByteBuffer()
            SyncLine.keepalive(tokenExpiresIn: 3600).encode(as: .bson, into: &line)
            let frame = Frame.payload(.next(Payload(data: line), on: request.streamID))
            switch place {
            case .insideLine:
                // The head of a frame of 1,000 bytes without a mask, and its beginning.
                try await peer.send(raw: ByteBuffer(bytes: [0x82, 126, 0x03, 0xe8, 0, 0]))
            case .betweenLines: try await peer.send(frame)
            default: break
            }
            connections.withLockedValue { $0 += 1 }
            reached.fire()
            while try await peer.next() != nil {}
        } _: { port in
            try await expectGivenUp(
                WebSocketTransport.shared,
                at: "http://127.0.0.1:\(port)",
                // A part of the first line counts when it takes long.
                reads: place == .betweenLines ? 2 : 0
            ) { count in
                try await reached.wait { connections.withLockedValue { $0 } >= count ? () : nil }
            }
        }
    }

    // MARK: - Calls

    /// Streams of a script, and calls over HTTP.
    private struct Calls: SyncTransport {
        let streams: ScriptedTransport
        let calls: HTTPTransport

        func openStream(
            _ request: StreamingSyncRequest,
            credentials: ServiceCredentials,
            log: SyncRequestLog
        ) async throws -> any SyncLineStream {
            try await streams.openStream(request, credentials: credentials, log: log)
        }

        func writeCheckpoint(
            clientID: String,
            credentials: ServiceCredentials,
            log: SyncRequestLog
        ) async throws -> WriteCheckpoint {
            try await calls.writeCheckpoint(clientID: clientID, credentials: credentials, log: log)
        }

        func requestCheckpoint(
            _ id: WriteCheckpoint,
            clientID: String,
            credentials: ServiceCredentials,
            log: SyncRequestLog
        ) async throws -> WriteCheckpoint {
            try await calls.requestCheckpoint(id, clientID: clientID, credentials: credentials, log: log)
        }
    }

    /// What is asked for beside the stream.
    enum Call: CaseIterable {
        case writeCheckpoint, checkpointRequest
    }

    @Test(arguments: SilentServer.Place.allCases, Call.allCases)
    func aRequestForACheckpoint(_ place: SilentServer.Place, _ call: Call) async throws {
        let server = try await SilentServer(place)
        let service = ScriptedTransport()
        let transport = CountingTransport(Calls(streams: service, calls: HTTPStack.current.transport))
        let database = database(transport)
        let status = try status(database)
        connector.onFetch { _ in PowerSyncCredentials(endpoint: server.url, token: "token") }
        var options = ConnectOptions()
        if call == .checkpointRequest {
            options = ConnectOptions(checkpointMode: .requests())
        } else {
            try await database.execute(sql: "INSERT INTO lists (id, name) VALUES ('a', 'b')", parameters: [])
        }
        try await database.connect(connector: connector, options: options)
        let stream = try await service.nextStream()
        stream.accept()
        stream.send(.keepalive(tokenExpiresIn: 3600))
        try await status.wait { $0.connected }
        // The first attempt may have gone over a connection that had broken before.
        try await transport.waitForCalls(1)
        try await server.waitForConnections(1)
        try await clock.waitForTimer(of: .seconds(8))
        // The limit of the stream, and that of both attempts.
        try await clock.waitForTimer(of: .seconds(40), count: 2)
        try await stream.waitUntilRead()
        clock.advance(by: .seconds(8))
        stream.send(.keepalive(tokenExpiresIn: 3600))
        try await transport.waitForCalls(2)
        try await server.waitForConnections(2)
        try await stream.waitUntilRead()
        clock.advance(by: .seconds(32))
        try await status.wait { $0.lastUploadError != nil || $0.lastDownloadError != nil }
        #expect("\(status.anyError ?? "")".contains("40.0 seconds"), "\(status.anyError ?? "")")
        try await clock.waitForTimer(of: .seconds(5))
        clock.advance(by: .seconds(5))
        if call == .checkpointRequest { try await service.nextStream().accept() }
        try await transport.waitForCalls(3)
        try await server.waitForConnections(3)
        try await database.close()
        try await server.stop()
    }

    @Test(arguments: SilentServer.Place.allCases) func anUpload(_ place: SilentServer.Place) async throws {
        let server = try await SilentServer(place)
        let database = ScriptedTransport().makeDatabase(schema: SyncHarness.schema)
        try await database.execute(
            sql: "INSERT INTO lists (id, name) VALUES ('a', ?)",
            parameters: [String(repeating: "x", count: 400_000)]
        )
        var options = HTTPBackendOptions()
        options.httpClient = HTTPStack.current.client
        let connector = try HTTPBackendConnector(
            uploadURL: server.url + "/upload",
            options: options,
            clock: clock
        ) {
            PowerSyncCredentials(endpoint: server.url, token: "token")
        }
        for attempt in 1...2 {
            let upload = Task { try await connector.uploadData(database: database) }
            try await server.waitForConnections(attempt)
            // A minute, and a second for each 4 KiB.
            let limit = try await clock.nextTimerScheduled()
            #expect(limit >= .seconds(60 + 97) && limit < .seconds(60 + 99))
            clock.advance(by: limit)
            let error = await #expect(throws: HTTPBackendError.self) { try await upload.value }
            #expect(error?.code == .timeout)
        }
        try await database.close()
        try await server.stop()
    }
}
