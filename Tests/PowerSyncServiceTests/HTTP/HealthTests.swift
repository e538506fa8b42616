import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Health of a process whose storage does not answer at times (docs/service.md "Requests").
@Suite(.timeLimit(.minutes(1))) struct HealthTests {
    private struct Hiccup: Error {}

    /// A storage whose next calls fail.
    private struct FailingStorage<Storage: BucketStorage>: ForwardingStorage {
        let storage: Storage
        let failures: NIOLockedValueBox<Int>

        private func fail() throws {
            let fails = failures.withLockedValue { count in
                defer { count = max(0, count - 1) }
                return count > 0
            }
            if fails { throw Hiccup() }
        }

        func activeStream() async throws -> ActiveSyncStream? {
            try fail()
            return try await storage.activeStream()
        }

        func deleteData(of stream: ReplicationStreamID) async throws {
            try fail()
            try await storage.deleteData(of: stream)
        }
    }

    @Test("a process that is not ready yet outlives a storage that does not answer")
    func waitingForTheFirstCheckpoint() async throws {
        let failures = NIOLockedValueBox(2)
        let scenario = try SourceScenario()
        let storage = FailingStorage(storage: scenario.storage, failures: failures)
        let progress = ChangeSignal()
        let wait = FirstCheckpointWait(storage: storage, progress: progress, logger: scenario.logger)
        let emptyLooks = ChangeSignal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await wait.run { emptyLooks.advance() } }
            group.addTask {
                // As the follower of the storage after each look.
                while failures.withLockedValue({ $0 }) > 0 {
                    progress.advance()
                    await Task.yield()
                }
                progress.advance()
                try await emptyLooks.wait(after: 0)
                try await scenario.replicate()
                progress.advance()
            }
            try await group.waitForAll()
        }
        #expect(failures.withLockedValue { $0 } == 0)
    }

    @Test("what is wrong with the storage is taken back when it is not any more")
    func aSideJobThatSucceedsLater() async throws {
        let scenario = try SourceScenario()
        try await scenario.replicate()
        let (lease, source, logger) = (scenario.storage, scenario.source, scenario.logger)
        let stream = try #require(try await lease.activeStream())
        for text in [SourceScenario.listsByOwner, scenario.config] {
            _ = try await lease.deploy(text, plan: try plan(text))
        }
        #expect(try await lease.streams().map(\.state) == [.active, .stop])
        let storage = FailingStorage(storage: lease, failures: NIOLockedValueBox(1))
        let reports = NIOLockedValueBox<[Bool]>([])
        let solved = ChangeSignal()
        let replicator = Replicator(
            storage: storage,
            source: source,
            streamsChanged: ChangeSignal(),
            clock: TestClock { _ in await Task.yield() },
            logger: logger,
            report: { error in
                reports.withLockedValue { $0.append(error == nil) }
                if error == nil { solved.advance() }
            }
        )
        // Somebody else replicates: nothing is committed here.
        try await lease.withWriter(of: stream.id) { _ in
            try await replicator.whileRunning {
                while true {
                    let seen = solved.version
                    let states = try await lease.streams().map(\.state)
                    if states == [.active], reports.withLockedValue({ $0.last == true }) { return }
                    try await solved.wait(after: seen)
                }
            }
        }
        #expect(reports.withLockedValue { $0.filter { !$0 }.count } == 1)
        #expect(try await lease.streams().map(\.state) == [.active])
    }

    @Test("a call that takes long is no sign of death, and neither is it for ever one of life")
    func heartbeat() async throws {
        let progress = ChangeSignal()
        let touches = NIOLockedValueBox(0)
        let clock = TestClock()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await Heartbeat(progress: progress, clock: clock) { touches.withLockedValue { $0 += 1 } }.run()
            }
            let beats = Int(Heartbeat.patience / Heartbeat.interval)
            for _ in 0..<beats + 5 {
                try await clock.waitForTimer(of: Heartbeat.interval)
                clock.advance(by: Heartbeat.interval)
            }
            try await clock.waitForTimer(of: Heartbeat.interval)
            #expect(touches.withLockedValue { $0 } == beats - 1)
            progress.advance()
            clock.advance(by: Heartbeat.interval)
            try await clock.waitForTimer(of: Heartbeat.interval)
            #expect(touches.withLockedValue { $0 } == beats)
            group.cancelAll()
        }
    }
}
