import Foundation
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct SyncOnceTests {
    private let harness = SyncHarness()

    private func syncOnce() -> Task<SyncOnceResult, any Error> {
        Task { [harness] in
            try await harness.database.syncOnce(connector: harness.connector, deadline: .seconds(25))
        }
    }

    @Test func everythingIsUploadedAndContainedInTheCheckpoint() async throws {
        try await harness.insert("x")
        try await harness.insert("y")
        let task = syncOnce()
        let stream = try await harness.acceptNext()
        // Complete, but without the uploads.
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1), .done)
        try await harness.service.nextWriteCheckpoint().respond(7)
        try await harness.waitForActivity { $0.upload?.reason.kind == .writeCheckpoint }
        stream.send(.checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 7), .done)
        let result = try await task.value
        #expect(result.isComplete)
        #expect(result.uploadedEntries == 2)
        #expect(result.activity.download == nil)
        #expect(result.activity.upload == nil)
        #expect(result.uploadError == nil && result.downloadError == nil)
        #expect(try await harness.lists() == ["a1": "remote"])
        #expect(stream.isClosed)
        #expect(!harness.database.currentStatus.connected)
        // Nothing is left behind: the schema could be changed.
        try await harness.database.updateSchema(schema: SyncHarness.schema)
        #expect(harness.clock.pendingTimers.isEmpty)
    }

    @Test func nothingToUploadNeedsACheckpointOnly() async throws {
        let task = syncOnce()
        try await harness.acceptNext().send(.checkpoint(1), .done)
        let result = try await task.value
        #expect(result.isComplete)
        #expect(result.uploadedEntries == 0)
        #expect(harness.connector.uploads == 0)
    }

    @Test func deadlineTellsWhatWasMissing() async throws {
        harness.connector.onUpload { database, call in
            if call == 2 { throw ScriptedError() }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await harness.insert("x")
        try await harness.insert("y")
        let task = syncOnce()
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(1))
        try await stream.waitUntilRead()
        try await harness.clock.waitForTimer(of: .seconds(5))
        try await harness.clock.waitForTimer(of: .seconds(25))
        harness.connector.onUpload { _, _ in try await TaskGate().pass() }
        harness.clock.advance(by: .seconds(25))
        let result = try await task.value
        #expect(!result.isComplete)
        #expect(result.uploadedEntries == 1)
        #expect([.retry, .upload].contains(try #require(result.activity.upload).reason.kind))
        #expect(result.uploadError as? ScriptedError == ScriptedError())
        #expect(!harness.database.currentStatus.connected)
        #expect(stream.isClosed)
    }

    /// Uploads until a gate is opened, also when the task is cancelled.
    private func uploadStubbornly(until gate: TaskGate) async throws {
        harness.connector.onUpload { _, _ in try await Task { try await gate.pass() }.value }
        try await harness.insert("x")
    }

    @Test func anUploadThatDoesNotEndIsLeftToItself() async throws {
        let gate = TaskGate()
        try await uploadStubbornly(until: gate)
        let task = syncOnce()
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(1))
        try await harness.connector.waitForUploads(1)
        try await harness.clock.waitForTimer(of: .seconds(25))
        harness.clock.advance(by: .seconds(25))
        let result = try await task.value
        #expect(!result.isComplete && result.uploadedEntries == 0)
        #expect(result.activity.upload != nil)
        #expect(stream.isClosed)
        #expect(!harness.database.currentStatus.connected)
        // Whoever connects next waits for it.
        let connecting = Task { [harness] in try await harness.connect() }
        for _ in 0..<1_000 { await Task.yield() }
        #expect(harness.service.streamRequests == 1)
        gate.open()
        try await connecting.value
        _ = try await harness.acceptNext()
    }

    @Test func readsOfTheAppDoNotKeepTheStreamOpen() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let harness = SyncHarness(path: directory.appending(path: "test.db").path)
        let task = Task {
            try await harness.database.syncOnce(connector: harness.connector, deadline: .seconds(25))
        }
        let stream = try await harness.acceptNext()
        stream.send(.checkpoint(1))
        try await stream.waitUntilRead()
        let (gate, hasStarted) = (Gate(), Counter())
        let reads = (0..<ConnectionOpener.readerCount).map { _ in
            Task {
                try await harness.database.readLock { _ in
                    hasStarted.increment()
                    gate.wait()
                }
            }
        }
        await hasStarted.wait(for: reads.count)
        try await harness.clock.waitForTimer(of: .seconds(25))
        harness.clock.advance(by: .seconds(25))
        try await stream.waitUntilClosed()
        gate.open(times: reads.count)
        #expect(try await !task.value.isComplete)
        for read in reads { try await read.value }
        try await harness.database.close()
    }

    @Test func waitingForItsTurnEndsAtTheDeadline() async throws {
        let gate = TaskGate()
        try await uploadStubbornly(until: gate)
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await harness.connector.waitForUploads(1)
        let disconnecting = Task { [harness] in try await harness.database.disconnect() }
        try await harness.clock.waitForTimer(of: Connection.returnLimit)
        let task = Task { [harness] in
            try await harness.database.syncOnce(connector: harness.connector, deadline: .seconds(4))
        }
        try await harness.clock.waitForTimer(of: .seconds(4))
        harness.clock.advance(by: .seconds(4))
        let result = try await task.value
        #expect(!result.isComplete && result.uploadedEntries == 0)
        gate.open()
        try await disconnecting.value
        #expect(harness.service.streamRequests == 1)
    }

    @Test func failuresAreRetriedBeforeTheDeadline() async throws {
        let task = syncOnce()
        try await harness.service.nextStream().reject(status: 503)
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.acceptNext().send(.checkpoint(1), .done)
        let result = try await task.value
        #expect(result.isComplete)
        #expect(result.downloadError == nil)
    }

    @Test func cancellationDisconnects() async throws {
        let task = syncOnce()
        let stream = try await harness.acceptNext()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(stream.isClosed)
        #expect(!harness.database.currentStatus.connected)
    }

    @Test func connectionThatIsThereIsUsedAndStays() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        let result = try await syncOnce().value
        #expect(result.isComplete)
        #expect(harness.service.streamRequests == 1)
        #expect(harness.database.currentStatus.connected)
    }

    @Test func aDownloadThatIsUnderWayIsWaitedFor() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        stream.send(.checkpoint(2, [.bucket("a", count: 1)]))
        try await harness.wait { $0.downloading }
        let task = syncOnce()
        try await harness.clock.waitForTimer(of: .seconds(25))
        // It has time to look, however often it likes.
        for _ in 0..<200 { _ = try await harness.lists() }
        harness.clock.advance(by: .seconds(25))
        #expect(try await !task.value.isComplete)
        #expect(harness.database.currentStatus.connected)
    }

    @Test func aConnectionThatWasLostHasToSyncAgain() async throws {
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        stream.fail(ScriptedError())
        try await harness.wait { !$0.connected }
        let task = syncOnce()
        // Its deadline, and the next attempt.
        try await harness.clock.waitForTimer(of: .seconds(25))
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        try await harness.acceptNext()
            .send(.checkpoint(2, [.bucket("a", count: 1)]), .put("a", 2...2), .done)
        #expect(try await task.value.isComplete)
        #expect(try await harness.lists() == ["a2": "remote"])
    }

    @Test func disconnectingEndsTheCallWithAnError() async throws {
        let task = syncOnce()
        _ = try await harness.acceptNext()
        try await harness.database.disconnect()
        await #expect(throws: PowerSyncError.self) { try await task.value }
    }

    @Test func laterConnectionIsLeftAlone() async throws {
        let task = syncOnce()
        _ = try await harness.acceptNext()
        _ = try await harness.connectAndAccept()
        await #expect(throws: PowerSyncError.self) { try await task.value }
        #expect(harness.database.currentStatus.connected)
    }
}
