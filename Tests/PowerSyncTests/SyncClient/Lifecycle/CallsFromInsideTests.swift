import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// A method of the connector calls the database whose session it belongs to.
@Suite(.timeLimit(.minutes(1))) struct CallsFromInsideTests {
    /// What an app calls when it signs somebody out.
    enum Call: CaseIterable {
        case connect, disconnect, clear, softClear, close

        func callAsFunction(_ harness: SyncHarness) async throws {
            switch self {
            case .connect: try await harness.connect()
            case .disconnect: try await harness.database.disconnect()
            case .clear: try await harness.database.disconnectAndClear()
            case .softClear: try await harness.database.disconnectAndClear(soft: true)
            case .close: try await harness.database.close()
            }
        }
    }

    enum Method: CaseIterable {
        case fetchCredentials, uploadData, postCheckpointRequest
    }

    private let harness = SyncHarness()

    /// Connects, and calls the database from inside a method as soon as that is cancelled.
    ///
    /// - Returns: Two gates: the method runs; its call has returned.
    private func connect(calling call: Call, from method: Method) async throws -> (began: TaskGate, returned: TaskGate)
    {
        let (harness, began, returned) = (self.harness, TaskGate(), TaskGate())
        let body: @Sendable () async throws -> Void = {
            began.open()
            try? await TaskGate().pass()
            // The app's own code takes no notice of the cancellation; the SDK does not connect for a cancelled task.
            if call == .connect {
                await #expect(throws: CancellationError.self) { try await call(harness) }
            } else {
                try await call(harness)
            }
            returned.open()
        }
        switch method {
        case .fetchCredentials:
            harness.connector.onFetch { number in
                if number == 1 { try await body() }
                return PowerSyncCredentials(endpoint: "https://sync.test", token: "token")
            }
            try await harness.connect()
        case .uploadData:
            harness.connector.onUpload { database, number in
                if number == 1 { try await body() }
                try await database.getNextCrudTransaction()?.complete()
            }
            try await harness.insert("x")
            try await harness.connectAndAccept().send(.checkpoint(1))
        case .postCheckpointRequest:
            let connector = CheckpointPostingConnector(harness.connector) { number in
                if number == 1 { try await body() }
            }
            try await harness.database.connect(
                connector: connector,
                options: ConnectOptions(checkpointMode: .requests())
            )
            _ = try await harness.acceptNext()
        }
        return (began, returned)
    }

    @Test(arguments: Call.allCases, Method.allCases)
    func appAndConnectorEndTheConnectionAtTheSameTime(inner: Call, method: Method) async throws {
        let (began, returned) = try await connect(calling: inner, from: method)
        try await began.pass()
        try await harness.database.disconnect()
        try await returned.pass()
        if inner == .close {
            await #expect(throws: PowerSyncError.self) { try await harness.connect() }
        } else {
            _ = try await harness.connectAndAccept()
            try await harness.database.close()
        }
        #expect(harness.service.openStreams == 0)
        #expect(harness.service.mostOpenStreams <= 1)
    }

    @Test(arguments: Call.allCases) func appCallsWhileTheConnectorDisconnects(outer: Call) async throws {
        let (began, returned) = try await connect(calling: .disconnect, from: .uploadData)
        try await began.pass()
        try await outer(harness)
        try await returned.pass()
        try await harness.database.close()
        #expect(harness.service.openStreams == 0)
    }

    @Test(arguments: [false, true]) func connectorClearsTheDatabase(soft: Bool) async throws {
        let (harness, cleared) = (self.harness, TaskGate())
        harness.connector.onUpload { database, _ in
            try await database.disconnectAndClear(soft: soft)
            cleared.open()
        }
        try await harness.insert("x")
        let stream = try await harness.connectAndAccept()
        stream.send(.checkpoint(1, [.bucket("a", count: 1)]), .put("a", 1...1))
        try await cleared.pass()
        #expect(stream.isClosed)
        #expect(try await harness.lists().isEmpty)
        #expect(try await harness.database.getUploadQueueStats().count == 0)
        #expect(!harness.database.currentStatus.connected)
        _ = try await harness.connectAndAccept()
    }

    @Test func uploadThatNeverReturnsIsNotWaitedForForEver() async throws {
        let (never, began) = (TaskGate(), TaskGate())
        harness.connector.onUpload { database, call in
            guard call == 1 else { return try await database.getNextCrudTransaction()?.complete() ?? () }
            began.open()
            // Takes no notice of its cancellation.
            try await Task { try await never.pass() }.value
        }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await began.pass()
        let disconnecting = Task { try await harness.database.disconnect() }
        try await harness.clock.waitForTimer(of: Connection.returnLimit)
        // The stream is closed already, and nothing is written any more.
        #expect(harness.service.openStreams == 0)
        harness.clock.advance(by: Connection.returnLimit)
        try await disconnecting.value
        #expect(harness.log.messages(.warning).contains { $0.contains("has not returned") })

        try await harness.connectAndAccept().send(.checkpoint(1))
        try await harness.connector.waitForUploads(2)
        try await harness.service.nextWriteCheckpoint().respond(1)
        never.open()
    }

    @Test func callOfATaskThatIsNobodysChildIsAnsweredAfterTheLimit() async throws {
        let (harness, disconnected) = (self.harness, TaskGate())
        harness.connector.onUpload { database, _ in
            try await Task.detached { try await database.disconnect() }.value
            disconnected.open()
        }
        try await harness.insert("x")
        try await harness.connectAndAccept().send(.checkpoint(1))
        try await harness.clock.waitForTimer(of: Connection.returnLimit)
        harness.clock.advance(by: Connection.returnLimit)
        try await disconnected.pass()
        #expect(harness.service.openStreams == 0)
    }

    @Test func connectorThatFetchesForEverDoesNotKeepTheDatabaseOpen() async throws {
        let never = TaskGate()
        harness.connector.onFetch { _ in
            try await Task { try await never.pass() }.value
            return nil
        }
        try await harness.connect()
        try await harness.connector.waitForFetches(1)
        let closing = Task { try await harness.database.close() }
        try await harness.clock.waitForTimer(of: Connection.returnLimit)
        harness.clock.advance(by: Connection.returnLimit)
        try await closing.value
        never.open()
    }
}
