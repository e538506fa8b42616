import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A connection on which nothing happens, with every kind of sign that the service is still there.
@Suite(.timeLimit(.minutes(1))) struct IdleConnectionTests {
    /// How a service that has nothing to send shows that it is alive.
    enum Service: String, CaseIterable, CustomTestStringConvertible {
        case linesOverHTTP = "keepalive lines over HTTP"
        case linesOverWebSocket = "keepalive lines over WebSocket"
        case answers = "answers to keepalives over WebSocket"

        var testDescription: String { rawValue }

        var options: ConnectOptions {
            let transport: SyncTransportMethod = self == .linesOverHTTP ? .http : .webSocket
            return ConnectOptions(clientConfiguration: SyncClientConfiguration(transport: transport))
        }

        /// Gives a sign of life.
        func signal(on stream: ScriptedStream, tokenExpiresIn seconds: Int32 = 7200) {
            switch self {
            case .linesOverHTTP, .linesOverWebSocket: stream.send(.keepalive(tokenExpiresIn: seconds))
            case .answers: stream.answerKeepalive()
            }
        }
    }

    /// A client that has synced everything there is.
    private func connect(_ harness: SyncHarness, to service: Service) async throws -> ScriptedStream {
        let stream = try await harness.connectAndAccept(service.options)
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        try await stream.waitUntilRead()
        // The pass of uploads that follows the first line is over.
        try await harness.clock.waitForTimer(of: .seconds(1))
        return stream
    }

    /// Lets 20 seconds pass, after which the service gives a sign of life.
    private func pass(_ harness: SyncHarness, _ stream: ScriptedStream, _ service: Service) async throws {
        try await stream.waitUntilRead()
        harness.date.advance(by: 20)
        harness.clock.advance(by: .seconds(20))
        service.signal(on: stream)
    }

    @Test(arguments: Service.allCases) func anHourPassesWithoutAnything(_ service: Service) async throws {
        let harness = SyncHarness()
        let stream = try await connect(harness, to: service)
        for _ in 0..<180 { try await pass(harness, stream, service) }
        try await stream.waitUntilRead()
        #expect(!stream.isClosed)
        #expect(harness.service.streamRequests == 1)
        #expect(harness.connector.fetches == 1)
        #expect(harness.log.messages(.error).isEmpty)
        #expect(harness.log.messages(.warning).isEmpty)
        let status = harness.database.currentStatus
        #expect(status.connected)
        #expect(status.anyError == nil)
        #expect(status.activity.download == nil)
    }

    @Test(arguments: Service.allCases) func aSubscriptionEndsWithItsTimeToLive(_ service: Service) async throws {
        let harness = SyncHarness()
        let kept = try await harness.database.syncStream(name: "kept", params: nil).subscribe(ttl: 30, priority: nil)
        let left = try await harness.database.syncStream(name: "left", params: nil).subscribe(ttl: 30, priority: nil)
        try await left.unsubscribe()
        let stream = try await connect(harness, to: service)
        #expect(stream.request.streams.subscriptions.map(\.stream) == ["kept", "left"])
        for _ in 0..<2 { try await pass(harness, stream, service) }
        #expect(try await harness.service.nextStream().request.streams.subscriptions.map(\.stream) == [kept.name])
        #expect(harness.log.messages(.error).isEmpty)
    }

    @Test(arguments: Service.allCases) func aSignOfLifeIsAReasonToLookAtTheUploadQueue(_ service: Service) async throws
    {
        let harness = SyncHarness()
        // Before the connection: nobody tells the upload loop.
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept(service.options)
        try await pass(harness, stream, service)
        try await harness.connector.waitForUploads(1)
        try await harness.service.nextWriteCheckpoint().respond(1)
    }

    /// Every service sends a line 20 seconds before the token expires, also one that sends no others.
    @Test(arguments: Service.allCases) func aTokenIsReplacedBeforeItExpires(_ service: Service) async throws {
        let harness = SyncHarness()
        let stream = try await connect(harness, to: service)
        for seconds in [Int32(80), 60, 40] {
            try await stream.waitUntilRead()
            harness.clock.advance(by: .seconds(20))
            service.signal(on: stream, tokenExpiresIn: seconds)
        }
        try await stream.waitUntilRead()
        #expect(harness.connector.fetches == 1)
        harness.clock.advance(by: .seconds(20))
        stream.send(.keepalive(tokenExpiresIn: 20))
        let next = try await harness.service.nextStream()
        #expect(next.token == "token 2")
        #expect(harness.connector.fetches == 2)
        next.accept()
        try await next.waitUntilRead()
        try await harness.wait { $0.connected }
        #expect(harness.log.messages(.error).isEmpty)
        #expect(harness.log.messages(.warning).isEmpty)
    }

    @Test(arguments: Service.allCases) func whatNoLongerGivesASignIsGivenUp(_ service: Service) async throws {
        let harness = SyncHarness()
        let stream = try await connect(harness, to: service)
        try await pass(harness, stream, service)
        // A local write that waits changes nothing.
        harness.connector.onUpload { _, _ in throw ScriptedError() }
        try await harness.insert("x")
        try await harness.connector.waitForUploads(1)
        try await stream.waitUntilRead()
        harness.clock.advance(by: .seconds(20))
        try await harness.clock.waitForTimer(of: .seconds(20))
        #expect(!stream.isClosed)
        harness.clock.advance(by: .seconds(20))
        try await harness.wait { ($0.lastDownloadError as? SyncTransportError)?.code == .idle }
        #expect(stream.isClosed)
    }

    /// Nothing could be heard meanwhile, so it was no silence.
    @Test(arguments: Service.allCases) func afterASuspensionTheServiceHasTimeToAnswer(_ service: Service) async throws {
        let harness = SyncHarness()
        let stream = try await connect(harness, to: service)
        try await pass(harness, stream, service)
        try await stream.waitUntilRead()
        for _ in 0..<2 {
            harness.date.advance(by: 3600)
            harness.clock.advance(by: .seconds(3600))
            try await harness.clock.waitForTimer(of: .seconds(40))
        }
        harness.clock.advance(by: .seconds(39))
        service.signal(on: stream)
        try await stream.waitUntilRead()
        harness.clock.advance(by: .seconds(1))
        try await harness.clock.waitForTimer(of: .seconds(39))
        #expect(!stream.isClosed)
        #expect(harness.log.messages(.error).isEmpty)
        #expect(harness.log.messages(.warning).isEmpty)
        // The connection did not survive.
        harness.clock.advance(by: .seconds(3600))
        try await harness.clock.waitForTimer(of: .seconds(40))
        harness.clock.advance(by: .seconds(40))
        try await harness.wait { ($0.lastDownloadError as? SyncTransportError)?.code == .idle }
    }

    /// Over WebSocket a service has no line to send before its first checkpoint, which can take hours to make.
    @Test func aServiceThatOnlyAnswersKeepalivesIsConnected() async throws {
        let harness = SyncHarness()
        let stream = try await harness.connectAndAccept(Service.answers.options)
        for _ in 0..<9 { try await pass(harness, stream, .answers) }
        try await stream.waitUntilRead()
        #expect(!stream.isClosed)
        #expect(harness.log.messages(.error).isEmpty)
    }
}
