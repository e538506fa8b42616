import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// The first call of a method of the connector does what it should not do: the status tells, and everything else goes on.
@Suite(.timeLimit(.minutes(1))) struct OverdueCallTests {
    enum Method: CaseIterable {
        case fetchCredentials, postCheckpointRequest, uploadData

        var limit: Duration { self == .uploadData ? .seconds(600) : .seconds(60) }
    }

    enum Behaviour: CaseIterable {
        /// Takes no notice of its cancellation and does not return.
        case neverReturns
        /// Takes no notice of its cancellation and returns after its limit.
        case returnsLate
        /// Ends when it is cancelled.
        case endsWhenCancelled
        case fails
        /// Throws the error of a cancelled task, without being cancelled.
        case cancelsItself
        case readsAndWrites
        case connects
        case disconnects

        var reachesLimit: Bool { self == .neverReturns || self == .returnsLate || self == .endsWhenCancelled }
    }

    private let harness = SyncHarness()
    /// Opens when the first call has begun.
    private let began = TaskGate()
    /// Opens when the first call has returned or failed.
    private let ended = TaskGate()
    /// Lets a call return that takes no notice of its cancellation.
    private let gate = TaskGate()

    /// A connector whose method does something in its first call.
    private func connector(
        _ method: Method,
        _ body: @escaping @Sendable () async throws -> Void
    ) -> any PowerSyncBackendConnectorProtocol {
        let first: @Sendable (Int) async throws -> Void = { [began, ended] call in
            guard call == 1 else { return }
            began.open()
            defer { ended.open() }
            try await body()
        }
        switch method {
        case .fetchCredentials:
            harness.connector.onFetch { call in
                try await first(call)
                return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
            }
        case .uploadData:
            harness.connector.onUpload { database, call in
                try await first(call)
                while let transaction = try await database.getNextCrudTransaction() { try await transaction.complete() }
            }
        case .postCheckpointRequest:
            return CheckpointPostingConnector(harness.connector, post: first)
        }
        return harness.connector
    }

    private func connect(_ connector: any PowerSyncBackendConnectorProtocol, _ method: Method) async throws {
        try await harness.database.connect(
            connector: connector,
            options: ConnectOptions(
                crudThrottle: 0,
                checkpointMode: method == .postCheckpointRequest ? .requests() : .legacy
            )
        )
    }

    /// A service with one row, for which everything that is uploaded has been seen.
    ///
    /// - Returns: What serves, until it is cancelled.
    private func serve() -> [Task<Void, any Error>] {
        let service = harness.service
        return [
            Task {
                while true {
                    let stream = try await service.nextStream()
                    stream.accept()
                    stream.send(
                        .checkpoint(1, [.bucket("a", count: 1)], writeCheckpoint: 1_000),
                        .put("a", 1...1),
                        .done
                    )
                }
            },
            Task { while true { try await service.nextWriteCheckpoint().respond(7) } },
        ]
    }

    @Test(arguments: Method.allCases, Behaviour.allCases)
    func everythingElseGoesOn(method: Method, behaviour: Behaviour) async throws {
        let (harness, gate) = (self.harness, self.gate)
        let again = Shared<(@Sendable () async throws -> Void)?>(nil)
        let connector = connector(method) {
            switch behaviour {
            case .neverReturns, .returnsLate: try await Task { try await gate.pass() }.value
            case .endsWhenCancelled: try await TaskGate().pass()
            case .fails: throw ScriptedError()
            case .cancelsItself: throw CancellationError()
            case .readsAndWrites:
                let count = try await harness.integer("SELECT count(*) FROM lists")
                try await harness.insert("from inside \(count ?? -1)")
            case .connects: try await again.value?()
            case .disconnects: try await harness.database.disconnect()
            }
        }
        again.value = { try await self.connect(connector, method) }
        try await harness.insert("mine")
        let service = serve()
        defer { service.forEach { $0.cancel() } }
        try await connect(connector, method)
        try await began.pass()

        if behaviour.reachesLimit {
            // Fetching credentials, which has the same limit, is over when the stream is open.
            if method == .postCheckpointRequest { try await harness.wait { $0.connected } }
            try await harness.clock.waitForTimer(of: method.limit)
            harness.date.advance(by: method.limit / .seconds(1))
            harness.clock.advance(by: method.limit)
            try await harness.wait { ($0.anyError as? OverdueCallError)?.call == "\(method)" }
            if method == .uploadData, behaviour != .endsWhenCancelled { try await uploadIsOverdue() }
        }
        switch (behaviour, method) {
        case (.neverReturns, .uploadData):
            try await disconnectWithoutIt()
            try await connect(connector, method)
        case (.returnsLate, .uploadData):
            gate.open()
        case (.disconnects, _):
            try await ended.pass()
            try await connect(connector, method)
        case (.neverReturns, _), (.returnsLate, _), (.endsWhenCancelled, _), (.fails, _), (.cancelsItself, _),
            (.readsAndWrites, _), (.connects, _):
            break
        }
        try await harness.clock.withoutDelays {
            try await harness.wait { $0.hasSynced == true && !$0.uploading && $0.anyError == nil }
        }
        #expect(try await harness.lists() == ["a1": "remote"])
        #expect(try await harness.database.getUploadQueueStats().count == 0)
        gate.open()
        try await ended.pass()
        try await harness.database.close()
    }

    /// The upload is shown as overdue, is not called again, and holds up nothing else.
    private func uploadIsOverdue() async throws {
        let wait = try #require(harness.activity.upload)
        #expect(wait.reason.kind == .overdueCall)
        #expect("\(wait.reason)" == "the app's uploadData to return, which was cancelled")
        #expect(wait.since == TestDate().now)
        #expect(
            harness.log.messages(.warning).filter {
                $0.hasPrefix("uploadData has not returned within its limit of 600.0 seconds")
            }.count
                == 1
        )
        harness.clock.advance(by: .seconds(3_600))
        #expect(harness.connector.uploads == 1)
        #expect(harness.database.currentStatus.connected)
        #expect(harness.database.currentStatus.uploading)
        // A write of the app, and a wait of another call.
        try await harness.insert("meanwhile")
        let (stream, handles) = (harness.database.syncStream(name: "s", params: nil), harness.service.streamRequests)
        _ = try await stream.subscribe()
        try await harness.passSubscriptionChanges()
        try await harness.wait { $0.syncStreams?.isEmpty == false }
        #expect(harness.service.streamRequests >= handles)
    }

    private func disconnectWithoutIt() async throws {
        let disconnecting = Task { [harness] in try await harness.database.disconnect() }
        try await harness.clock.waitForTimer(of: Connection.returnLimit)
        harness.clock.advance(by: Connection.returnLimit)
        try await disconnecting.value
    }

    @Test func aLateAnswerIsIgnored() async throws {
        _ = connector(.fetchCredentials) { [gate] in try await Task { try await gate.pass() }.value }
        try await harness.connect()
        try await began.pass()
        try await harness.clock.waitForTimer(of: .seconds(60))
        harness.clock.advance(by: .seconds(60))
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        let stream = try await harness.acceptNext()
        #expect(stream.token == "token 2")
        gate.open()
        try await ended.pass()
        await harness.database.invalidateCredentials()
        #expect(try await harness.acceptNext().token == "token 3")
    }

    @Test
    func invalidationGetsAroundACallThatHangsAlsoASecondOneBeforeTheDelayIsOver() async throws {
        harness.connector.onFetch { [gate] call in
            if call < 3 { try await Task { try await gate.pass() }.value }
            return PowerSyncCredentials(endpoint: "https://sync.test", token: "token \(call)")
        }
        try await harness.connect()
        try await harness.connector.waitForFetches(1)
        await harness.database.invalidateCredentials()
        // Without a delay: the clock stands still.
        try await harness.connector.waitForFetches(2)
        await harness.database.invalidateCredentials()
        try await harness.clock.waitForTimer(of: .seconds(5))
        harness.clock.advance(by: .seconds(5))
        let stream = try await harness.acceptNext()
        #expect(stream.token == "token 3")
        gate.open()
        stream.send(.checkpoint(1), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(!stream.isClosed)
        #expect(harness.connector.fetches == 3)
    }

    @Test func anAccessToTheDatabaseIsProgress() async throws {
        let second = TaskGate()
        let connector = connector(.uploadData) { [harness, gate] in
            try await gate.pass()
            _ = try await Task { try await harness.lists() }.value
            second.open()
            try await TaskGate().pass()
        }
        try await harness.insert("x")
        try await connect(connector, .uploadData)
        try await harness.acceptNext().send(.checkpoint(1))
        try await began.pass()
        try await harness.clock.waitForTimer(of: .seconds(600))
        harness.clock.advance(by: .seconds(590))
        gate.open()
        try await second.pass()
        harness.clock.advance(by: .seconds(10))
        try await harness.clock.waitForTimer(of: .seconds(590))
        #expect(harness.database.currentStatus.uploadError == nil)
        #expect(harness.activity.upload?.reason.kind == .upload)
    }

    @Test func limitsAreOptions() async throws {
        let connector = connector(.fetchCredentials) { try await TaskGate().pass() }
        var options = ConnectOptions()
        options.answerLimit = .seconds(7)
        try await harness.database.connect(connector: connector, options: options)
        try await harness.clock.waitForTimer(of: .seconds(7))
        harness.clock.advance(by: .seconds(7))
        try await harness.wait { ($0.lastDownloadError as? OverdueCallError)?.limit == .seconds(7) }
        options.uploadLimit = .zero
        await #expect(throws: PowerSyncError.self) {
            try await harness.database.connect(connector: connector, options: options)
        }
    }
}
