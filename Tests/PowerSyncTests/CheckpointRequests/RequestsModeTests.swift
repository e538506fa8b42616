import PowerSyncCore
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

/// The requests mode (docs/client-sync.md "Checkpoint requests"); more is in ``CheckpointRequestTests``.
@Suite(.timeLimit(.minutes(1))) struct RequestsModeTests {
    private let harness = SyncHarness()
    private var service: ScriptedTransport { harness.service }
    private var database: any PowerSyncDatabaseProtocol { harness.database }

    private static let options = ConnectOptions(checkpointMode: .requests())

    /// Connects, and lets the service adopt the counter.
    private func connect(counter: Int64 = 1) async throws -> ScriptedStream {
        try await harness.connect(Self.options)
        let stream = try await harness.acceptNext()
        try await service.nextCheckpointRequest().respond(counter)
        return stream
    }

    /// Requests a checkpoint that the service accepts.
    private func request(_ id: Int64) async throws -> any CheckpointRequest {
        async let request = database.requestCheckpoint()
        let posted = try await service.nextCheckpointRequest()
        #expect(posted.requestID == id)
        posted.respond(id)
        return try await request
    }

    @Test
    func thereAreNoNumbersWithoutAConnectionAndNoneBeforeTheCounterIsAgreedOn() async throws {
        await #expect { try await database.requestCheckpoint() } throws: { $0.isNotConnecting }
        try await harness.connect(Self.options)
        let request = Task { [database] in try await database.requestCheckpoint() }
        _ = try await harness.acceptNext()
        let seed = try await service.nextCheckpointRequest()
        #expect(seed.requestID == 1)
        seed.respond(7)
        // A number taken before would be 2.
        let posted = try await service.nextCheckpointRequest()
        #expect(posted.requestID == 8)
        posted.respond(8)
        #expect(try await !request.value.hasSynced)
    }

    /// The service has the request, and does not answer.
    @Test
    func requestThatWaitsForItsAnswerEndsWithTheConnection() async throws {
        _ = try await connect()
        let request = Task { [database] in try await database.requestCheckpoint() }
        _ = try await service.nextCheckpointRequest()
        try await database.disconnect()
        await #expect { try await request.value } throws: { $0.isNotConnecting }
    }

    @Test
    func requestThatWaitsForTheCounterEndsWithTheConnection() async throws {
        try await harness.connect(Self.options)
        let request = Task { [database] in try await database.requestCheckpoint() }
        _ = try await harness.acceptNext()
        _ = try await service.nextCheckpointRequest()
        try await database.disconnect()
        await #expect { try await request.value } throws: { $0.isNotConnecting }
    }

    /// Each delay before an attempt waits for demand, too, and is cancelled when it is over.
    @Test
    func waitingForDemandCanBeCancelledAndBegunAgain() async throws {
        let requests = CheckpointRequests(
            retryInterval: .seconds(10),
            database: LocalDatabase(
                source: .location(.success(.memory), initialStatements: []),
                schema: .success(try ClientSchema(SyncHarness.schema)),
                logger: harness.log,
                clock: harness.clock
            ),
            clock: ElapsedClock(harness.clock),
            post: { id, _ in id }
        )
        for _ in 1...3 {
            let delay = Task { await requests.waitForDemand() }
            delay.cancel()
            #expect(await delay.value == false)
        }
        let delay = Task { await requests.waitForDemand() }
        let request = Task { try await requests.request() }
        #expect(await delay.value == true)
        request.cancel()
        await #expect(throws: CancellationError.self) { try await request.value }
    }

    @Test
    func uploadThatWaitsForItsNumberEndsTheDelayBeforeTheNextAttempt() async throws {
        try await harness.insert("x")
        try await harness.connect(Self.options)
        let stream = try await harness.acceptNext()
        _ = try await service.nextCheckpointRequest()
        stream.send(.checkpoint(1, [.bucket("a")]))
        for await activity in database.currentStatus.activities() {
            if case .writeCheckpointRequest = activity.upload?.reason { break }
        }
        stream.end()
        // The clock stands still.
        let next = try await service.nextStream()
        next.accept()
        try await service.nextCheckpointRequest().respond(3)
        let posted = try await service.nextCheckpointRequest()
        #expect(posted.requestID == 4)
        posted.respond(4)
        next.send(.checkpoint(1, [.bucket("a")], writeCheckpoint: 4), .put("a", 1...1), .done)
        try await harness.wait { $0.hasSynced == true }
        #expect(try await harness.lists() == ["a1": "remote"])
    }

    @Test
    func numberThatIsNotAcknowledgedIsPostedAgainEvery10SUntilItIs() async throws {
        let stream = try await connect()
        let request = try await request(2)
        // The interval that has begun before the request ends without a repetition.
        try await pass10Seconds()
        for _ in 1...2 {
            try await pass10Seconds()
            let repeated = try await service.nextCheckpointRequest()
            #expect(repeated.requestID == 2)
            repeated.respond(2)
        }
        stream.send(.checkpoint(1, writeCheckpoint: 2), .done)
        try await request.waitForSync()
        for _ in 1...3 { try await pass10Seconds() }
        try await harness.clock.waitForTimer(of: .seconds(10))
        // Had it been posted again, that would come first.
        _ = try await self.request(3)
    }

    @Test
    func numberIsNotPostedAgainWhileThereIsNoConnection() async throws {
        try await harness.connect(ConnectOptions(retryDelay: 3600, checkpointMode: .requests()))
        let stream = try await harness.acceptNext()
        try await service.nextCheckpointRequest().respond(1)
        _ = try await request(2)
        try await pass10Seconds()
        stream.end()
        try await harness.clock.waitForTimer(of: .seconds(3600))
        for _ in 1...2 { try await pass10Seconds() }
        // Had it been posted, there would be no interval, but a request without an answer.
        try await harness.clock.waitForTimer(of: .seconds(10))
    }

    /// Lets one interval end.
    private func pass10Seconds() async throws {
        try await harness.clock.waitForTimer(of: .seconds(10))
        harness.clock.advance(by: .seconds(10))
    }

    @Test
    func inTheLegacyModeAndWithoutAConnectionNothingCanBeRequested() async throws {
        await #expect { try await database.requestCheckpoint() } throws: { $0.isNotConnecting }
        _ = try await harness.connectAndAccept()
        await #expect { try await database.requestCheckpoint() } throws: { $0.isNotEnabled }
        try await database.disconnect()
        _ = try await connect()
        _ = try await request(2)
        try await database.disconnect()
        await #expect { try await database.requestCheckpoint() } throws: { $0.isNotConnecting }
    }

    @Test
    func waitThatADisconnectionHasEndedCanBeRepeatedAfterConnectingAgain() async throws {
        _ = try await connect()
        let request = try await request(2)
        let wait = Task { try await request.waitForSync() }
        try await database.disconnect()
        await #expect { try await wait.value } throws: { $0.isDisconnection }

        try await harness.connect(Self.options)
        let stream = try await harness.acceptNext()
        let seed = try await service.nextCheckpointRequest()
        #expect(seed.requestID == 2)
        seed.respond(2)
        let again = Task { try await request.waitForSync() }
        stream.send(.checkpoint(1, writeCheckpoint: 2), .done)
        try await again.value
        #expect(request.hasSynced)
    }
}

extension Error {
    fileprivate var isNotConnecting: Bool {
        if case .notConnecting = self as? CheckpointRequestError { true } else { false }
    }

    fileprivate var isNotEnabled: Bool {
        if case .checkpointRequestsNotEnabled = self as? CheckpointRequestError { true } else { false }
    }

    fileprivate var isDisconnection: Bool {
        if case .disconnected = self as? CheckpointWaitError { true } else { false }
    }
}
