import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct ActivityTests {
    private let harness = SyncHarness()

    /// The date of the harness after some seconds.
    private func date(_ seconds: TimeInterval) -> Date {
        Date(timeIntervalSince1970: 1_700_000_000 + seconds)
    }

    @Test func nothingIsAwaitedWhileDisconnected() async throws {
        #expect(harness.database.currentStatus.activity.download == nil)
        try await harness.insert("x")
        _ = try await harness.connectAndAccept()
        try await harness.waitForActivity { $0.upload?.reason.kind == .stream }
        try await harness.database.disconnect()
        #expect(harness.database.currentStatus.activity.download == nil)
        #expect(harness.database.currentStatus.activity.upload == nil)
    }

    @Test func credentialsAndServiceAreAwaited() async throws {
        let gate = TaskGate()
        harness.connector.onFetch { _ in
            try await gate.pass()
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token")
        }
        try await harness.connect()
        let first = try await harness.waitForActivity { $0.download?.reason.kind == .credentials }
        #expect(first.download?.since == date(0))
        try await harness.connector.waitForFetches(1)
        #expect(harness.log.messages(.info).contains("Waiting for the app's credentials."))
        harness.date.advance(by: 3)
        gate.open()
        let stream = try await harness.service.nextStream()
        let second = try await harness.waitForActivity { $0.download?.reason.kind == .service }
        // The stream is not open since the same time.
        #expect(second.download?.since == date(0))
        #expect(harness.log.messages(.info).contains("Waiting for the sync service to answer."))
        stream.accept()
        try await harness.waitForActivity { $0.download == nil }
    }

    @Test func unreachableServiceIsShownSinceTheFirstAttempt() async throws {
        try await harness.connect()
        let error = SyncTransportError(.connection, message: "no route")
        try await harness.service.nextStream().refuse(error)
        try await harness.clock.waitForTimer(of: .seconds(5))
        guard case .serviceUnreachable(let retry, let reason)? = harness.activity.download?.reason else {
            Issue.record("\(harness.activity)")
            return
        }
        #expect(retry == date(5))
        #expect((reason as? SyncTransportError)?.code == .connection)
        harness.date.advance(by: 5)
        harness.clock.advance(by: .seconds(5))
        try await harness.service.nextStream().refuse(error)
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(harness.activity.download?.since == date(0))
        // Told once, while failures are told each time.
        #expect(harness.log.messages(.info).count { $0.hasPrefix("Waiting for the sync service") } == 1)
    }

    @Test func elementOfTheStatusHasTheActivityOfItsMoment() async throws {
        let flow = harness.database.currentStatus.asFlow()
        try await harness.connect()
        try await harness.service.nextStream().reject(status: 500)
        for await status in flow where status.downloadError != nil {
            guard case .retry(let retry, let error?)? = status.activity.download?.reason else {
                Issue.record("\(status.activity)")
                return
            }
            #expect(retry == date(5))
            #expect((error as? SyncTransportError)?.httpStatus == 500)
            return
        }
    }

    @Test func writesMadeOfflineWaitForTheStream() async throws {
        try await harness.connect()
        let stream = try await harness.service.nextStream()
        try await harness.insert("x")
        try await harness.insert("y")
        try await harness.waitForActivity {
            if case .stream(entries: 2)? = $0.upload?.reason { true } else { false }
        }
        stream.refuse(ScriptedError())
        try await harness.database.close()
        #expect(
            harness.log.messages(.info).contains { $0.hasPrefix("Waiting for the connection to be open, to upload") }
        )
    }

    @Test func stalledQueueIsARetryWithItsReason() async throws {
        harness.connector.onUpload { _, _ in }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: .seconds(5))
        guard case .retry(let retry, let error?)? = harness.activity.upload?.reason else {
            Issue.record("\(harness.activity)")
            return
        }
        #expect(retry == date(5))
        #expect("\(error)".contains("Delaying due to previously encountered CRUD item."))
        harness.date.advance(by: 5)
        harness.clock.advance(by: .seconds(5))
        try await harness.connector.waitForUploads(2)
        try await harness.clock.waitForTimer(of: .seconds(5))
        // Calls that complete nothing are no progress.
        #expect(harness.activity.upload?.since == date(0))
    }

    @Test func uploadsAndWriteCheckpointsAreAwaited() async throws {
        let gate = TaskGate()
        harness.connector.onUpload { database, _ in
            try await gate.pass()
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.waitForActivity {
            if case .upload(entries: 1)? = $0.upload?.reason { true } else { false }
        }
        try await harness.connector.waitForUploads(1)
        #expect(harness.log.messages(.info).contains { $0.hasPrefix("Waiting for the app to upload") })
        // Meanwhile the checkpoint is not shown.
        try await harness.waitForActivity {
            if case .localWrites(checkpoint: 1)? = $0.download?.reason { true } else { false }
        }
        gate.open()
        let request = try await harness.service.nextWriteCheckpoint()
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpointRequest }
        harness.date.advance(by: 2)
        request.respond(7)
        let awaiting = try await harness.waitForActivity {
            if case .writeCheckpoint(7)? = $0.upload?.reason { true } else { false }
        }
        #expect(awaiting.upload?.since == date(2))
        stream.send(.checkpoint(2, [.bucket("a", count: 1)], writeCheckpoint: 7), .done)
        try await harness.waitForActivity { $0.upload == nil && $0.download == nil }
        #expect(harness.database.currentStatus.hasSynced == true)
    }

    @Test func writeCheckpointOfAnEarlierConnectionIsAwaited() async throws {
        harness.connector.onUpload { database, _ in
            try await database.getNextCrudTransaction()?.complete(writeCheckpoint: "9")
        }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1))
        try await harness.waitForActivity {
            if case .writeCheckpoint(9)? = $0.upload?.reason { true } else { false }
        }
    }

    @Test func statusOfAnAppWaitsForNothing() async {
        let status = MockStatus(data: MockStatusData(connected: true))
        #expect(status.activity.download == nil)
        #expect(MockStatusData(connected: true).activity.upload == nil)
        var count = 0
        for await activity in status.activities() where activity.download == nil { count += 1 }
        #expect(count == 1)
    }

    @Test func activitiesEndWithTheDatabase() async throws {
        let activities = harness.database.currentStatus.activities()
        try await harness.database.close()
        var count = 0
        for await _ in activities { count += 1 }
        #expect(count <= 1)
    }
}

extension SyncHarness {
    /// What is being waited for now.
    var activity: ConnectionActivity { database.currentStatus.activity }

    /// Waits until something is being waited for.
    @discardableResult
    func waitForActivity(_ isReached: (ConnectionActivity) -> Bool) async throws -> ConnectionActivity {
        for await activity in database.currentStatus.activities() where isReached(activity) { return activity }
        try Task.checkCancellation()
        throw ScriptedError(name: "the status has ended")
    }

    /// Waits until a checkpoint with this write checkpoint is being waited for.
    func waitForWriteCheckpoint(_ id: Int64) async throws {
        try await waitForActivity { activity in
            if case .writeCheckpoint(id)? = activity.upload?.reason { true } else { false }
        }
    }
}
