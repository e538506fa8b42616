import Foundation
import Hummingbird
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSyncConfig
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Health of a process whose storage or source does not answer at times (docs/service.md "Requests").
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

        func activeStream() async throws -> ActiveReplicationStream? {
            try fail()
            return try await storage.activeStream()
        }

        func deleteData(of stream: ReplicationStreamID) async throws {
            try fail()
            try await storage.deleteData(of: stream)
        }
    }

    @Test func waitingForTheFirstCheckpoint() async throws {
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

    @Test func aSideJobThatSucceedsLater() async throws {
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
            report: { report, _ in
                reports.withLockedValue { $0.append(report.error == nil) }
                if report.error == nil { solved.advance() }
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

    // MARK: The source

    /// A source whose changes cannot be read.
    private struct UnreadableSource: ForwardingSource {
        let source: EmbeddedSource

        func withChanges<Result>(
            of handle: String,
            after position: SourcePosition,
            tables: [SourceTable],
            plan: SyncPlan,
            _ body: (inout any ChangeReader) async throws -> Result
        ) async throws -> Result {
            throw Hiccup()
        }
    }

    @Test func aCopyIsInTheBodyAndMattersToNoAnswer() throws {
        var copy = ServiceSnapshot.Copy(table: "public.lists", rows: 5, tables: 2, copiedTables: 1)
        let probes = Probes(Timing()) { [copy] in [copy] }
        for (question, status) in [(Probes.Question.liveness, HTTPResponse.Status.ok), (.readiness, .badRequest)] {
            #expect(probes.response(to: question).status == status)
        }
        probes.didStart()
        // Another config is copied while clients are served.
        #expect(probes.response(to: .readiness).status == .ok)
        var expected: JSONObject = [
            "table": .string("public.lists"), "rows": .integer(5), "copied_tables": .integer(1), "tables": .integer(2),
        ]
        #expect(probes.body["copying"] == .array([.object(expected)]))
        copy.estimatedRows = 50
        expected["estimated_rows"] = .integer(50)
        let counted = Probes(Timing()) { [copy] in [copy] }
        #expect(counted.body["copying"] == .array([.object(expected)]))
        #expect(Probes(Timing()).body["copying"] == nil)
    }

    @Test func aSourceThatDoesNotAnswerKeepsNobodyFromBeingServed() async throws {
        let scenario = try SourceScenario()
        let probes = Probes(Timing())
        probes.didStart()
        let signs = SignsOfLife(probes: probes, replicates: true, logger: scenario.logger)
        let failures = ChangeSignal()
        _ = try await scenario.storage.deploy(scenario.config, plan: plan(scenario.config))
        let replicator = Replicator(
            storage: scenario.storage,
            source: UnreadableSource(source: scenario.source),
            streamsChanged: ChangeSignal(),
            clock: TestClock(),
            logger: scenario.logger,
            report: { report, stream in
                signs.report(report, of: stream)
                if report.error != nil { failures.advance() }
            }
        )
        try await replicator.whileRunning { try await failures.wait(after: 0) }
        #expect(probes.response(to: .readiness).status == .ok)
        #expect(probes.problems.isEmpty)
        // The storage is another matter.
        signs.report(.failed(Hiccup()), of: nil)
        #expect(probes.response(to: .readiness).status == .badRequest)
        #expect(probes.problems == [.storage])
    }

    // MARK: Life

    /// A source that never returns from a call.
    private struct HangingSource: ForwardingSource {
        enum Call {
            case prepareStream, nextChanges
        }

        let source: EmbeddedSource
        let call: Call
        /// Advanced when the call is made.
        let calls = ChangeSignal()

        private func hang(in call: Call) async throws {
            guard call == self.call else { return }
            calls.advance()
            try await ChangeSignal().wait(after: 0)
        }

        func prepareStream(
            _ handle: String,
            resumingAfter position: SourcePosition?,
            reached: LSN?
        ) async throws -> SourcePosition {
            try await hang(in: .prepareStream)
            return try await source.prepareStream(handle, resumingAfter: position, reached: reached)
        }

        private struct Changes: ChangeReader {
            let source: HangingSource
            var reader: any ChangeReader

            mutating func next() async throws -> [SourceMessage] {
                try await source.hang(in: .nextChanges)
                return try await reader.next()
            }
        }

        func withChanges<Result>(
            of handle: String,
            after position: SourcePosition,
            tables: [SourceTable],
            plan: SyncPlan,
            _ body: (inout any ChangeReader) async throws -> Result
        ) async throws -> Result {
            try await source.withChanges(of: handle, after: position, tables: tables, plan: plan) { reader in
                var changes: any ChangeReader = Changes(source: self, reader: reader)
                return try await body(&changes)
            }
        }
    }

    /// A storage that is looked at every five seconds, as one in PostgreSQL is.
    private struct FollowedStorage: ForwardingStorage {
        static let interval = Duration.seconds(5)

        let storage: SQLiteBucketStorage
        let clock: TestClock

        func follow(_ look: @escaping @Sendable (StorageLook) -> Void) async throws {
            while true {
                try await clock.sleep(for: Self.interval)
                look(.looked)
            }
        }
    }

    /// What shows that a process is alive which replicates from a source that hangs.
    private struct HangingProcess: Sendable {
        let clock: TestClock
        private let scenario: SourceScenario
        private let source: HangingSource
        private let signs: SignsOfLife

        init(in call: HangingSource.Call) throws {
            let clock = TestClock()
            self.clock = clock
            scenario = try SourceScenario()
            source = HangingSource(source: scenario.source, call: call)
            signs = SignsOfLife(probes: Probes(clock.timing), replicates: true, logger: scenario.logger)
        }

        var isAlive: Bool { signs.probes.response(to: .liveness).status == .ok }

        /// Runs it, and `body` as soon as the source hangs; until then, no time passes.
        func run(_ body: () async throws -> Void) async throws {
            let storage = FollowedStorage(storage: scenario.storage, clock: clock)
            _ = try await storage.deploy(scenario.config, plan: plan(scenario.config))
            let replicator = Replicator(
                storage: storage,
                source: source,
                streamsChanged: ChangeSignal(),
                clock: clock,
                logger: scenario.logger,
                touch: { signs.touch() }
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await Heartbeat(progress: signs.work, clock: clock) { signs.probes.touch() }.run()
                }
                try await clock.waitForTimer(of: Heartbeat.interval)
                group.addTask { try await StorageFollower(storage: storage) { signs.looked($0) }.run() }
                try await clock.waitForTimer(of: FollowedStorage.interval)
                group.addTask { try await replicator.run() }
                try await source.calls.wait(after: 0)
                try await body()
                group.cancelAll()
            }
        }

        /// Lets seconds pass one by one, each when those sleep again who wake every so many seconds.
        func pass(_ seconds: Range<Int>, wakingEvery intervals: Int...) async throws {
            for second in seconds {
                let rests = intervals.map { $0 - second % $0 }
                for rest in rests {
                    try await clock.waitForTimer(of: .seconds(rest), count: rests.count { $0 == rest })
                }
                clock.advance(by: .seconds(1))
            }
        }
    }

    @Test func waitingForTheSource() async throws {
        let process = try HangingProcess(in: .prepareStream)
        try await process.run {
            for minute in 0..<10 {
                // Heartbeat, looks at the storage, and whoever waits for the source.
                try await process.pass(60 * minute..<60 * (minute + 1), wakingEvery: 3, 5, 3)
                #expect(process.isAlive, "after \(minute) minutes")
            }
        }
    }

    @Test func aProcessThatDoesNotReplicateAnyMoreIsNotAliveBecauseItsStorageIsLookedAt() async throws {
        let process = try HangingProcess(in: .nextChanges)
        try await process.run {
            try await process.pass(0..<120, wakingEvery: 3, 5)
            #expect(process.isAlive)
            try await process.pass(120..<135, wakingEvery: 3, 5)
            #expect(!process.isAlive)
        }
    }

    @Test func aCallThatTakesLongIsNoSignOfDeathAndNeitherIsItForEverOneOfLife() async throws {
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
