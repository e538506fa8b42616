import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    private let harness = SyncHarness()

    @Test func requestCarriesWhatTheOptionsSay() async throws {
        try await harness.connect(
            ConnectOptions(
                params: ["n": .int(1), "flag": .bool(true)],
                appMetadata: ["version": "7"],
                includeDefaultStreams: false
            )
        )
        let request = try await harness.service.nextStream().request
        #expect(request.parameters["n"] == 1)
        #expect(request.parameters["flag"] == true)
        #expect(request.appMetadata == ["version": "7"])
        #expect(!request.streams.includeDefaults)
        #expect(request.streams.subscriptions.isEmpty)
        #expect(request.clientID?.isEmpty == false)
    }

    @Test func statusFollowsTheConnection() async throws {
        #expect(!harness.database.currentStatus.connecting)
        try await harness.connect()
        let stream = try await harness.service.nextStream()
        try await harness.wait { $0.connecting && !$0.connected }
        stream.accept()
        try await harness.wait { $0.connected && !$0.connecting }
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]))
        try await harness.wait { $0.downloading }
        stream.send(.put("a", 1...1), .done)
        try await harness.wait { !$0.downloading && $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func syncOutlivesTheTaskThatConnected() async throws {
        let task = Task { try await harness.connect() }
        try await task.value
        task.cancel()
        _ = try await harness.acceptNext()
    }

    @Test func disconnectedDatabaseConnectsAgain() async throws {
        let first = try await harness.connectAndAccept()
        try await harness.database.disconnect()
        #expect(!harness.database.currentStatus.connected)
        #expect(!harness.database.currentStatus.connecting)
        #expect(first.isClosed)
        _ = try await harness.connectAndAccept()
        #expect(harness.service.streamRequests == 2)
    }

    @Test func theConnectorMayDisconnect() async throws {
        let database = harness.database
        harness.connector.onFetch { _ in
            try await database.disconnect()
            return nil
        }
        try await harness.connect()
        try await harness.connector.waitForFetches(1)
        try await harness.wait { !$0.connecting && !$0.connected }
        harness.connector.onFetch { PowerSyncCredentials(endpoint: "https://sync.test", token: "token \($0)") }
        _ = try await harness.connectAndAccept()
    }

    @Test func connectingAgainUsesTheNewOptions() async throws {
        let first = try await harness.connectAndAccept()
        try await harness.connect(ConnectOptions(params: ["n": .int(2)]))
        let second = try await harness.service.nextStream()
        #expect(first.isClosed)
        #expect(second.request.parameters["n"] == 2)
        #expect(harness.service.mostOpenStreams == 1)
    }

    @Test func concurrentConnectsLeaveOneStream() async throws {
        try await withThrowingTaskGroup { tasks in
            for number in 0..<10 {
                tasks.addTask { try await harness.connect(ConnectOptions(params: ["n": .int(number)])) }
            }
            try await tasks.waitForAll()
        }
        try await harness.connect(ConnectOptions(params: ["n": .int(99)]))
        var stream = try await harness.service.nextStream()
        while stream.request.parameters["n"] != 99 { stream = try await harness.service.nextStream() }
        stream.accept()
        try await harness.wait { $0.connected }
        #expect(harness.service.openStreams == 1)
        #expect(harness.service.mostOpenStreams == 1)
    }

    @Test func endOfTheResponseReconnectsAfterTheDelay() async throws {
        let stream = try await harness.connectAndAccept()
        stream.end()
        try await harness.wait { !$0.connected && !$0.connecting }
        #expect(harness.database.currentStatus.downloadError == nil)
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(harness.service.streamRequests == 1)
        harness.clock.advance(by: .seconds(5))
        _ = try await harness.acceptNext()
    }

    @Test func brokenStreamIsAnErrorUntilTheNextCompleteCheckpoint() async throws {
        let stream = try await harness.connectAndAccept()
        stream.fail(ScriptedError())
        try await harness.wait { $0.lastDownloadError is ScriptedError && !$0.connected }
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        let next = try await harness.acceptNext()
        #expect(harness.database.currentStatus.downloadError is ScriptedError)
        next.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true && $0.lastDownloadError == nil }
    }

    @Test func malformedLineFailsTheIterationAfterTheLinesBeforeIt() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        stream.send("{\"checkpoint\":")
        try await harness.wait { $0.lastDownloadError != nil && !$0.connected }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func silentStreamIsGivenUp() async throws {
        let stream = try await harness.connectAndAccept()
        try await stream.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(40))
        harness.clock.advance(by: .seconds(39))
        stream.send(.keepalive(tokenExpiresIn: 3600))
        try await stream.waitUntilRead()
        harness.clock.advance(by: .seconds(1))
        try await harness.clock.waitForTimer(of: .seconds(39))
        harness.clock.advance(by: .seconds(38))
        try await harness.clock.waitForTimer(of: .seconds(1))
        #expect(harness.database.currentStatus.connected)
        harness.clock.advance(by: .seconds(1))
        try await harness.wait { ($0.lastDownloadError as? SyncTransportError)?.code == .idle }
        #expect(stream.isClosed)
    }

    @Test func disconnectEndsAPendingRequest() async throws {
        try await harness.connect()
        let stream = try await harness.service.nextStream()
        try await harness.database.disconnect()
        #expect(stream.isClosed)
        #expect(!harness.database.currentStatus.connecting)
    }

    @Test func disconnectEndsTheRetryDelay() async throws {
        try await harness.connectAndAccept().end()
        try await harness.clock.waitForTimer(of: .seconds(5))
        try await harness.database.disconnect()
        #expect(harness.clock.pendingTimers.isEmpty)
    }

    @Test func disconnectWorksInACancelledTask() async throws {
        let stream = try await harness.connectAndAccept()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await harness.database.disconnect()
        }
        try await task.value
        #expect(stream.isClosed)
        #expect(!harness.database.currentStatus.connected)
    }

    @Test func schemaIsNotReplacedWhileConnected() async throws {
        _ = try await harness.connectAndAccept()
        await #expect(throws: PowerSyncError.self) {
            try await harness.database.updateSchema(schema: SyncHarness.schema)
        }
        try await harness.database.disconnect()
        try await harness.database.updateSchema(schema: SyncHarness.schema)
    }

    @Test func clearingResetsTheStatus() async throws {
        let stream = try await harness.connectAndAccept()
        let clientID = stream.request.clientID
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        try await harness.database.disconnectAndClear()
        let status = harness.database.currentStatus
        #expect(status.hasSynced == false)
        #expect(status.lastSyncedAt == nil)
        #expect(status.priorityStatusEntries.isEmpty)
        #expect(status.syncStreams?.isEmpty == true)
        #expect(try await harness.lists().isEmpty)
        #expect(try await harness.connectAndAccept().request.clientID == clientID)
    }

    @Test func softClearKeepsTheHistory() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        try await harness.database.disconnectAndClear(soft: true)
        #expect(try await harness.lists().isEmpty)
        let next = try await harness.connectAndAccept()
        #expect(next.request.buckets == [.init(name: BucketName("a"), after: OpID(1))])
        next.send(.checkpoint(1, [.bucket("a", count: 1)]), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test func closedDatabaseEndsFlowsAndRefusesToConnect() async throws {
        _ = try await harness.connectAndAccept()
        let flow = harness.database.currentStatus.asFlow()
        let waiting = Task { try await harness.database.waitForFirstSync() }
        try await harness.database.close()
        var last: (any SyncStatusData)?
        for await status in flow { last = status }
        #expect(last?.connected == false)
        await #expect(throws: PowerSyncError.self) { try await waiting.value }
        await #expect(throws: PowerSyncError.self) { try await harness.connect() }
        #expect(harness.service.openStreams == 0)
    }

    @Test func waitForStatusReturnsWhenTheConditionHolds() async throws {
        async let connected: Void = harness.database.waitForStatus { $0.connected }
        _ = try await harness.connectAndAccept()
        try await connected
        try await harness.database.waitForStatus { $0.connected }
    }

    @Test func cancelledWaitForFirstSyncThrows() async throws {
        let task = Task { try await harness.database.waitForFirstSync(priority: 1) }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func plainHTTPIsToldOnce() async throws {
        harness.connector.onFetch { PowerSyncCredentials(endpoint: "http://localhost", token: "secret\($0)") }
        let stream = try await harness.connectAndAccept()
        stream.send(.keepalive(tokenExpiresIn: 0))
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        _ = try await harness.acceptNext()
        #expect(harness.connector.fetches == 2)
        #expect(harness.log.messages(.warning).count { $0.contains("http://localhost unencrypted") } == 1)
    }
}
