import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Checkpoint requests (docs/client-sync.md "Checkpoint requests").
@Suite(.timeLimit(.minutes(1))) struct CheckpointRequestTests {
    private let harness = SyncHarness()
    private var service: ScriptedTransport { harness.service }
    private var database: any PowerSyncDatabaseProtocol { harness.database }

    /// Connects, and lets the service adopt the counter.
    private func connect(counter: Int64 = 1) async throws -> ScriptedStream {
        try await harness.connect(ConnectOptions(checkpointMode: .requests()))
        let stream = try await harness.acceptNext()
        try await service.nextCheckpointRequest().respond(counter)
        return stream
    }

    private func counter() async throws -> Int? {
        try await harness.integer(
            "SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_requested_checkpoint_request_id'"
        )
    }

    @Test
    func counterIsAgreedOnForEachStreamThenCounts() async throws {
        try await harness.connect(ConnectOptions(checkpointMode: .requests()))
        let stream = try await harness.acceptNext()
        let first = try await service.nextCheckpointRequest()
        #expect(first.requestID == 1)
        #expect(first.clientID == (try await database.getClientId()))
        first.respond(41)

        async let request = database.requestCheckpoint()
        let second = try await service.nextCheckpointRequest()
        #expect(second.requestID == 42)
        second.respond(42)
        #expect(try await !request.hasSynced)

        stream.end()
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        _ = try await harness.acceptNext()
        let again = try await service.nextCheckpointRequest()
        #expect(again.requestID == 42)
        // Another user of the service has less.
        again.respond(5)
        async let next = database.requestCheckpoint()
        let third = try await service.nextCheckpointRequest()
        #expect(third.requestID == 6)
        third.respond(6)
        _ = try await next
        #expect(try await counter() == 6)
    }

    @Test
    func completeCheckpointWithTheNumberOrAGreaterOneIsTheAnswer() async throws {
        let stream = try await connect()
        async let request = database.requestCheckpoint()
        try await service.nextCheckpointRequest().respond(2)
        let accepted = try await request
        async let wait: Void = accepted.waitForSync()
        stream.send(
            .checkpoint(1, [.bucket("a", priority: 0), .bucket("b", priority: 3)], writeCheckpoint: 2),
            .done(0)
        )
        try await database.waitForFirstSync(priority: 0)
        #expect(!accepted.hasSynced)
        stream.send(.done)
        try await wait
        #expect(accepted.hasSynced)
        try await accepted.waitForSync(timeout: 0)

        async let later = database.requestCheckpoint()
        try await service.nextCheckpointRequest().respond(3)
        let laterRequest = try await later
        stream.send(.checkpoint(2, [.bucket("a", priority: 0), .bucket("b", priority: 3)], writeCheckpoint: 9), .done)
        try await laterRequest.waitForSync()

        try await database.disconnectAndClear()
        #expect(!accepted.hasSynced)
    }

    @Test
    func uploadsAreAcknowledgedByANumberOfTheClient() async throws {
        let stream = try await connect(counter: 7)
        // Before the first line: that begins a pass, and the clock of the test would not end the pause after it.
        try await harness.insert("1")
        stream.send(.checkpoint(0))
        let request = try await service.nextCheckpointRequest()
        #expect(request.requestID == 8)
        request.respond(8)
        stream.send(.checkpoint(1, [.bucket("a")], writeCheckpoint: 8), .put("a", 1...1), .done)
        try await database.waitForFirstSync()
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test
    func serviceWithoutCheckpointRequestsFailsTheConnection() async throws {
        try await harness.connect(ConnectOptions(checkpointMode: .requests()))
        let request = Task { [database] in try await database.requestCheckpoint() }
        let stream = try await service.nextStream()
        stream.accept()
        try await service.nextCheckpointRequest().reject(status: 404)
        let error = await #expect(throws: CheckpointRequestError.self) { _ = try await request.value }
        guard case .instanceNotSupported = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await harness.wait { $0.downloadError != nil && !$0.connected }
    }

    @Test func aRefusedTokenIsToldApart() async throws {
        _ = try await connect()
        let request = Task { [database] in try await database.requestCheckpoint() }
        try await service.nextCheckpointRequest().reject(status: 401)
        let error = await #expect(throws: CheckpointRequestError.self) { _ = try await request.value }
        #expect(error?.isUnauthenticated == true)
    }

    @Test func theStatusHasTheNumberOfTheNewestRequestThatWasAnswered() async throws {
        let stream = try await connect()
        #expect(database.currentStatus.lastAppliedCheckpointRequestId == nil)
        stream.send(.checkpoint(1, writeCheckpoint: 7), .done)
        try await harness.wait { $0.lastAppliedCheckpointRequestId == 7 }
        // The number survives the connection, and not the data.
        stream.end()
        try await harness.wait { !$0.connected }
        #expect(database.currentStatus.lastAppliedCheckpointRequestId == 7)
        try await database.disconnectAndClear()
        #expect(database.currentStatus.lastAppliedCheckpointRequestId == nil)
    }

    @Test func requestsNeedAConnectionInTheirMode() async throws {
        await #expect(throws: CheckpointRequestError.self) { _ = try await database.requestCheckpoint() }
        _ = try await harness.connectAndAccept()
        let error = await #expect(throws: CheckpointRequestError.self) { _ = try await database.requestCheckpoint() }
        guard case .checkpointRequestsNotEnabled = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func requestEndsTheDelayBeforeTheNextAttempt() async throws {
        let stream = try await connect()
        stream.end()
        try await harness.clock.waitForTimer(of: .seconds(5))
        async let request = database.requestCheckpoint()
        // The clock stands still.
        try await service.nextStream().accept()
        try await service.nextCheckpointRequest().respond(1)
        try await service.nextCheckpointRequest().respond(2)
        _ = try await request
    }

    @Test func waitersHearOfTheEndOfTheConnection() async throws {
        try await harness.connect(ConnectOptions(checkpointMode: .requests()))
        let request = Task { [database] in try await database.requestCheckpoint() }
        _ = try await service.nextStream()
        _ = try await service.nextCheckpointRequest()
        try await database.disconnect()
        await #expect(throws: CheckpointRequestError.self) { _ = try await request.value }
    }

    @Test func waitingEndsWithErrorsTimeoutsAndDisconnection() async throws {
        let stream = try await connect()
        async let request = database.requestCheckpoint()
        try await service.nextCheckpointRequest().respond(2)
        let accepted = try await request
        await #expect(throws: CheckpointWaitError.self) { try await accepted.waitForSync(timeout: 0) }

        let limited = Task { try await accepted.waitForSync(timeout: 3) }
        try await harness.clock.waitForTimer(of: .seconds(3))
        harness.clock.advance(by: .seconds(3))
        await #expect(throws: CheckpointWaitError.self) { try await limited.value }

        let cancelled = Task { try await accepted.waitForSync() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }

        let failed = Task { try await accepted.waitForSync() }
        stream.fail(ScriptedError())
        let error = await #expect(throws: CheckpointWaitError.self) { try await failed.value }
        guard case .errorDetected = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await database.disconnect()
        await #expect(throws: CheckpointWaitError.self) { try await accepted.waitForSync() }
    }

    @Test func waitingEndsWithAnErrorOfAnUpload() async throws {
        harness.connector.onUpload { _, _ in throw ScriptedError() }
        let stream = try await connect()
        async let request = database.requestCheckpoint()
        try await service.nextCheckpointRequest().respond(2)
        let accepted = try await request
        let waiting = Task { try await accepted.waitForSync() }
        try await harness.insert("x")
        stream.send(.checkpoint(0))
        let error = await #expect(throws: CheckpointWaitError.self) { try await waiting.value }
        guard case .errorDetected = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(harness.database.currentStatus.connected)
    }

    @Test
    func requestThatNoCheckpointAnswersIsPostedAgainAfter10Seconds() async throws {
        let stream = try await connect()
        async let request = database.requestCheckpoint()
        try await service.nextCheckpointRequest().respond(2)
        let accepted = try await request
        // The interval that has begun before the request ends without a repetition.
        try await harness.clock.waitForTimer(of: .seconds(10))
        harness.clock.advance(by: .seconds(10))
        try await harness.clock.waitForTimer(of: .seconds(10))
        harness.clock.advance(by: .seconds(10))
        let repeated = try await service.nextCheckpointRequest()
        #expect(repeated.requestID == 2)
        repeated.respond(2)
        stream.send(.checkpoint(1, writeCheckpoint: 2), .done)
        try await accepted.waitForSync()
    }

    @Test func connectorMayPostRequests() async throws {
        let connector = PostingConnector()
        try await database.connect(
            connector: connector,
            options: ConnectOptions(checkpointMode: .requests(checkpointRequestRetryDelay: 20))
        )
        try await service.nextStream().accept()
        let request = try await database.requestCheckpoint()
        #expect(!request.hasSynced)
        #expect(connector.posted.value == [1, 101])
    }

    @Test func legacyModeDoesNotAskTheConnector() async throws {
        let connector = PostingConnector()
        try await database.connect(connector: connector, options: nil)
        #expect(harness.log.messages(.warning).contains { $0.contains("checkpointMode") })
        try await service.nextStream().accept()
        #expect(connector.posted.value.isEmpty)
    }

    @Test func modeEncodesItsName() throws {
        let modes: [CheckpointMode] = [.legacy, .requests(), .requests(checkpointRequestRetryDelay: 30)]
        let names = try modes.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
        #expect(names == [#""legacy""#, #""requests""#, #""requests""#])
        #expect(modes.map(\.retryInterval) == [nil, .seconds(10), .seconds(30)])
    }
}

/// A back end that passes requests on; it holds 100 already.
private final class PostingConnector: CustomCheckpointRequestConnector {
    let posted = Shared<[Int64]>([])

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://sync.test", token: "token")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}

    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64 {
        posted.value.append(checkpointRequestId)
        return max(checkpointRequestId, 100)
    }
}
