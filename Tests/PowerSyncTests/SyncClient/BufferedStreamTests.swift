import Foundation
import NIOCore
import NIOHTTP1
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

/// A proxy between the client and the service that keeps what it should pass on.
@Suite(.timeLimit(.minutes(1))) struct BufferedStreamTests {
    private let harness = SyncHarness()

    private func warnings(_ harness: SyncHarness) -> [String] {
        harness.log.messages(.warning).filter { $0.contains("buffer") }
    }

    /// Lets time pass while the client waits for lines.
    private func pass(_ seconds: Int, _ stream: ScriptedStream) async throws {
        try await stream.waitUntilRead()
        // The date first: what a timer does is stamped with it.
        harness.date.advance(by: TimeInterval(seconds))
        harness.clock.advance(by: .seconds(seconds))
    }

    /// Gives the present stream up as silent, and waits for the next one.
    private func fallSilent(_ stream: ScriptedStream) async throws -> ScriptedStream {
        try await stream.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(40))
        try await pass(40, stream)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.date.advance(by: 5)
        harness.clock.advance(by: .seconds(5))
        return try await harness.acceptNext()
    }

    @Test func aStreamWithoutFirstLineIsReportedAndWatchedUntilLinesComeInTime() async throws {
        let stream = try await harness.connectAndAccept()
        try await stream.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(25))
        try await pass(25, stream)
        let activity = try await harness.waitForActivity { $0.download?.reason.kind == .bufferedStream }
        #expect(activity.download?.since == harness.date.now)
        #expect(harness.database.currentStatus.connected)
        #expect(warnings(harness).first?.contains("nothing has arrived for 25") == true)
        #expect(warnings(harness).first?.contains("SyncClientConfiguration(transport: .webSocket)") == true)
        stream.send(.checkpoint(1), .done, .keepalive(tokenExpiresIn: 3600))
        try await harness.wait { $0.hasSynced == true }
        #expect(harness.activity.download?.reason.kind == .bufferedStream)
        try await pass(20, stream)
        stream.send(.keepalive(tokenExpiresIn: 3580))
        try await harness.waitForActivity { $0.download == nil }
        #expect(warnings(harness).count == 1)
    }

    @Test func aFirstLineInTimeIsNotReported() async throws {
        let stream = try await harness.connectAndAccept()
        try await stream.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(25))
        try await pass(24, stream)
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        try await pass(1, stream)
        stream.send(.checkpoint(2, writeCheckpoint: 1), .done)
        try await stream.waitUntilRead()
        #expect(harness.activity.download == nil)
        #expect(warnings(harness).isEmpty)
    }

    @Test func streamsThatFallSilentAgainAndAgainAreReported() async throws {
        let first = try await harness.connectAndAccept()
        first.send(.checkpoint(1, [.bucket("a", count: 2)]), .put("a", 1...1))
        let second = try await fallSilent(first)
        #expect(warnings(harness).isEmpty)
        second.send(.checkpoint(1, [.bucket("a", count: 2)]), .put("a", 1...1))
        let third = try await fallSilent(second)
        #expect(warnings(harness).map { $0.hasPrefix("The connection opens, but falls silent each time.") } == [true])
        // As healthy as the two before, but the client knows better.
        third.send(.checkpoint(1, [.bucket("a", count: 2)]), .put("a", 1...1))
        try await third.waitUntilRead()
        let activity = try await harness.waitForActivity { $0.download?.reason.kind == .bufferedStream }
        #expect(activity.download?.since == harness.date.now.addingTimeInterval(-5))
        _ = try await fallSilent(third)
        #expect(warnings(harness).count == 1)
        #expect(harness.log.messages(.error).count == 3)
    }

    @Test func linesThatComeTogetherAreReportedTheSecondTime() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1), .done, .keepalive(tokenExpiresIn: 3600))
        for (number, seconds) in [(1, Int32(3580)), (2, 3541)] {
            try await pass(39, stream)
            stream.send(.keepalive(tokenExpiresIn: seconds), .keepalive(tokenExpiresIn: seconds - 19))
            try await stream.waitUntilRead()
            #expect(warnings(harness).count == number - 1)
        }
        #expect(harness.activity.download?.reason.kind == .bufferedStream)
        try await harness.database.disconnect()
        #expect(harness.activity.download == nil)
    }

    @Test func aSlowDatabaseIsNotTakenForAProxy() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1), .done, .keepalive(tokenExpiresIn: 3600))
        try await stream.waitUntilRead()
        let busy = Gate()
        let isBusy = TaskGate()
        let writing = Task {
            try await harness.database.writeTransaction { _ in
                isBusy.open()
                busy.wait()
            }
        }
        try await isBusy.pass()
        for seconds in [Int32(3580), 3500] {
            stream.send(.keepalive(tokenExpiresIn: seconds), .keepalive(tokenExpiresIn: seconds - 20))
            try await pass(0, stream)
        }
        busy.open()
        try await writing.value
        #expect(warnings(harness).isEmpty)
    }

    @Test func noProxyIsSuspectedOverAWebSocket() async throws {
        var options = ConnectOptions()
        options.clientConfiguration = SyncClientConfiguration(transport: .webSocket)
        var stream = try await harness.connectAndAccept(options)
        for _ in 0..<3 {
            try await stream.waitUntilRead()
            try await harness.clock.waitForTimer(of: .seconds(25))
            try await harness.clock.waitForTimer(of: .seconds(40))
            try await pass(25, stream)
            try await pass(15, stream)
            try await harness.clock.waitForTimer(of: .seconds(5))
            harness.clock.advance(by: .seconds(5))
            stream = try await harness.acceptNext()
        }
        try await stream.waitUntilRead()
        #expect(warnings(harness).isEmpty)
        #expect(harness.activity.download?.reason.kind != .bufferedStream)
    }

    @Test func aServiceThatDoesNotAnswerIsSomethingElse() async throws {
        try await harness.connect()
        _ = try await harness.service.nextStream()
        try await harness.clock.waitForTimer(of: .seconds(40))
        harness.clock.advance(by: .seconds(40))
        try await harness.wait { "\($0.lastDownloadError.map { "\($0)" } ?? "")".contains("has not answered") }
        #expect(warnings(harness).isEmpty)
    }

    @Test func aRealProxyThatKeepsTheBodyIsNamed() async throws {
        let transcript = ModelTranscript()
        let body = ByteBuffer(string: transcript.lines.map { $0 + "\n" }.joined())
        try await LoopbackServer.run { _ in
            .init(headers: ["Content-Type": SyncLineFormat.ndjson.mediaType], chunks: [body], end: .open)
        } _: { server in
            let proxy = try await BufferingProxy(to: server.port)
            let clock = TestClock()
            let log = RecordingLogger()
            let connector = ScriptedConnector()
            connector.onFetch { _ in PowerSyncCredentials(endpoint: proxy.url, token: "token") }
            let database = SyncedDatabase(
                schema: SyncHarness.schema,
                dbFilename: ":memory:",
                logger: log,
                environment: SyncEnvironment(transport: HTTPTransport.shared, clock: clock)
            )
            try await database.connect(connector: connector, options: ConnectOptions())
            try await clock.waitForTimer(of: .seconds(25))
            clock.advance(by: .seconds(25))
            for await activity in database.currentStatus.activities() {
                if case .bufferedStream(BufferingProxy.via?)? = activity.download?.reason { break }
            }
            #expect(log.messages(.warning).contains { $0.contains("perhaps \"\(BufferingProxy.via)\"") })
            proxy.release()
            try await clock.withoutDelays {
                let views = try database.watch("SELECT id, name FROM lists") { cursor in
                    (try cursor.getString(index: 0), try cursor.getString(index: 1))
                }
                for try await view in views
                where Dictionary(uniqueKeysWithValues: view) == transcript.model.rows { break }
            }
            try await database.close()
            try await proxy.stop()
        }
    }
}
