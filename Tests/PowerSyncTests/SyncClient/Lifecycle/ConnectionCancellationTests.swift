import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// Cancels the calling task wherever it can wait.
@Suite(.timeLimit(.minutes(1))) struct ConnectionCancellationTests {
    private let harness = SyncHarness()

    /// Connects, and waits for an upload that goes on when `gate` opens, whatever happens to its task.
    ///
    /// - Returns: A gate that opens when the task of the upload is cancelled.
    private func connectAndUpload(until gate: TaskGate) async throws -> TaskGate {
        let (began, cancelled) = (TaskGate(), TaskGate())
        harness.connector.onUpload { database, _ in
            let transaction = try await database.getNextCrudTransaction()
            began.open()
            try await withTaskCancellationHandler {
                try await Task { try await gate.pass() }.value
            } onCancel: {
                cancelled.open()
            }
            try await transaction?.complete()
        }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await began.pass()
        return cancelled
    }

    @Test func connectInACancelledTaskDoesNothing() async throws {
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await harness.connect()
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(harness.service.streamRequests == 0)
        _ = try await harness.connectAndAccept()
    }

    @Test(arguments: ["connect", "syncOnce"])
    func callThatWaitsForAnotherOneToDisconnectIsCancelled(call: String) async throws {
        let gate = TaskGate()
        let cancelled = try await connectAndUpload(until: gate)
        let disconnecting = Task { try await harness.database.disconnect() }
        try await cancelled.pass()
        let waiting = Task {
            if call == "connect" {
                try await harness.connect()
            } else {
                _ = try await harness.database.syncOnce(connector: harness.connector, deadline: .seconds(25))
            }
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        gate.open()
        try await disconnecting.value
        #expect(harness.service.openStreams == 0)
        #expect(harness.service.streamRequests == 1)
        _ = try await harness.connectAndAccept()
    }

    @Test func cancelledDisconnectWaitsForTheUploadAllTheSame() async throws {
        let gate = TaskGate()
        let cancelled = try await connectAndUpload(until: gate)
        let disconnecting = Task { try await harness.database.disconnect() }
        try await cancelled.pass()
        disconnecting.cancel()
        gate.open()
        try await disconnecting.value
        // The upload was completed although its task was cancelled.
        #expect(try await harness.database.getUploadQueueStats().count == 0)
        #expect(harness.service.openStreams == 0)
        #expect(!harness.database.currentStatus.uploading)
    }

    @Test func cancelledSyncOnceWaitsForTheUpload() async throws {
        let (gate, began, cancelled) = (TaskGate(), TaskGate(), TaskGate())
        harness.connector.onUpload { database, _ in
            let transaction = try await database.getNextCrudTransaction()
            began.open()
            try await withTaskCancellationHandler {
                try await Task { try await gate.pass() }.value
            } onCancel: {
                cancelled.open()
            }
            try await transaction?.complete()
        }
        try await harness.insert("x")
        let syncing = Task {
            try await harness.database.syncOnce(connector: harness.connector, deadline: .seconds(25))
        }
        try await harness.acceptNext().send(.checkpoint(1))
        try await began.pass()
        syncing.cancel()
        try await cancelled.pass()
        gate.open()
        await #expect(throws: CancellationError.self) { try await syncing.value }
        #expect(harness.service.openStreams == 0)
        #expect(try await harness.database.getUploadQueueStats().count == 0)
    }

    @Test func waitsForTheStatusAreCancelled() async throws {
        _ = try await harness.connectAndAccept()
        let waits = [
            Task { try await harness.database.waitForFirstSync() },
            Task { try await harness.database.waitForFirstSync(priority: 1) },
            Task { try await harness.database.waitForStatus { _ in false } },
        ]
        for wait in waits {
            await Task.yield()
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
        }
        #expect(harness.database.currentStatus.connected)
    }

    @Test func checkpointRequestIsCancelledAndTheNextOneWorks() async throws {
        try await harness.connect(ConnectOptions(checkpointMode: .requests()))
        // Before the service has agreed on the counter.
        let early = Task { try await harness.database.requestCheckpoint() }
        let stream = try await harness.acceptNext()
        early.cancel()
        await #expect(throws: CancellationError.self) { _ = try await early.value }
        try await harness.service.nextCheckpointRequest().respond(1)

        let silent = Task { try await harness.database.requestCheckpoint() }
        _ = try await harness.service.nextCheckpointRequest()
        silent.cancel()
        await #expect(throws: CancellationError.self) { _ = try await silent.value }

        async let request = harness.database.requestCheckpoint()
        let posted = try await harness.service.nextCheckpointRequest()
        let id = try #require(posted.requestID)
        posted.respond(id)
        let accepted = try await request
        let unanswered = Task { try await accepted.waitForSync() }
        unanswered.cancel()
        await #expect(throws: CancellationError.self) { try await unanswered.value }
        stream.send(.checkpoint(1, writeCheckpoint: id), .done)
        try await accepted.waitForSync()
    }

    @Test func cancellationInsideFetchCredentialsIsRetriedWithoutAnError() async throws {
        harness.connector.onFetch { call in
            if call == 1 { throw CancellationError() }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token")
        }
        try await harness.connect()
        try await harness.clock.waitForTimer(of: .seconds(5))
        #expect(harness.database.currentStatus.downloadError == nil)
        harness.clock.advance(by: .seconds(5))
        _ = try await harness.acceptNext()
    }

    /// Something to cancel after any number of steps.
    enum Call: CaseIterable {
        case connect, disconnect, disconnectAndClear, syncOnce, waitForFirstSync, requestCheckpoint
    }

    @Test(arguments: Call.allCases) func callThatIsCancelledAnywhereLeavesNothingBehind(call: Call) async throws {
        let (harness, accepting) = (self.harness, TaskGate())
        let service = Task {
            accepting.open()
            while let stream = try? await harness.service.nextStream() { stream.accept() }
        }
        defer { service.cancel() }
        try await accepting.pass()
        for steps in 0..<12 {
            if call != .connect, call != .syncOnce { try await harness.connect() }
            let task = Task {
                switch call {
                case .connect: try await harness.connect()
                case .disconnect: try await harness.database.disconnect()
                case .disconnectAndClear: try await harness.database.disconnectAndClear()
                case .syncOnce:
                    _ = try await harness.database.syncOnce(connector: harness.connector, deadline: .seconds(25))
                case .waitForFirstSync: try await harness.database.waitForFirstSync()
                case .requestCheckpoint: _ = try await harness.database.requestCheckpoint()
                }
            }
            for _ in 0..<steps { await Task.yield() }
            task.cancel()
            do {
                try await task.value
            } catch is CancellationError {
            } catch is CheckpointRequestError {
            }
            if call == .syncOnce || call == .disconnect { #expect(harness.service.openStreams == 0) }
            try await harness.database.disconnect()
            #expect(harness.service.openStreams == 0)
            #expect(harness.clock.pendingTimers.isEmpty)
            #expect(harness.database.currentStatus.activity.download == nil)
        }
    }
}
