import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncServiceCore

@Suite(.timeLimit(.minutes(1))) struct SharedRunsTests {
    private struct Failure: Error {}

    private let budget = ReadAheadBudget(limit: 1_000, clock: TestClock())

    private static func key(_ bucket: String, at opID: Int64 = 1) -> SharedRuns.Key {
        SharedRuns.Key(
            [.init(name: BucketName(bucket), after: .zero)],
            at: SyncSessionStateMachineTests.checkpoint(opID),
            as: SyncSession.Encoding(format: .ndjson, isRawData: true)
        )
    }

    /// A run of one line of this many bytes of text.
    private static func run(bytes: Int = 0) -> EncodedRun {
        var line = DataLine(bucket: BucketName("a"), after: .zero, nextAfter: OpID(1), hasMore: false)
        let data = String(repeating: "x", count: bytes)
        line.append(.put, opID: OpID(1), checksum: Checksum(1), data: data)
        return EncodedRun([BucketChunk(line: line)], as: .init(format: .ndjson, isRawData: true))
    }

    /// Begins to make a run of bucket `a`, until it is cancelled.
    private func endlessMaker(_ runs: SharedRuns) async throws -> Task<SharedRun?, any Error> {
        let started = ChangeSignal()
        let maker = Task {
            try await runs.run(for: Self.key("a"), budget: budget) {
                started.advance()
                try await ChangeSignal().wait(after: 0)
                return Self.run()
            }
        }
        try await started.wait(after: 0)
        return maker
    }

    @Test func whatSeveralWantIsMadeOnce() async throws {
        let runs = SharedRuns()
        try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let run = try await runs.run(for: Self.key("a"), budget: budget) {
                        await Task.yield()
                        return Self.run()
                    }
                    return run?.content.lines.first?.bytes
                }
            }
            for try await line in group { #expect(line == Self.run().lines.first?.bytes) }
        }
        #expect(runs.madeCount == 1)
        _ = try await runs.run(for: Self.key("b"), budget: budget) { Self.run() }
        _ = try await runs.run(for: Self.key("a", at: 2), budget: budget) { Self.run() }
        #expect(runs.madeCount == 3)
    }

    @Test func whenOneFailsAnotherTries() async throws {
        let runs = SharedRuns()
        await #expect(throws: Failure.self) {
            _ = try await runs.run(for: Self.key("a"), budget: budget) { throw Failure() }
        }
        let maker = try await endlessMaker(runs)
        let other = Task { try await runs.run(for: Self.key("a"), budget: budget) { Self.run() } }
        maker.cancel()
        await #expect(throws: CancellationError.self) { _ = try await maker.value }
        #expect(try await other.value?.content.lines.count == 1)
        #expect(runs.madeCount == 1)
    }

    @Test func whenThereIsNoRoomTheNextOneTries() async throws {
        let runs = SharedRuns()
        let (started, isTried) = (ChangeSignal(), ChangeSignal())
        let first = Task {
            try await runs.run(for: Self.key("a"), budget: budget) {
                started.advance()
                try await isTried.wait(after: 0)
                return nil
            }
        }
        try await started.wait(after: 0)
        let second = Task { try await runs.run(for: Self.key("a"), budget: budget) { Self.run() } }
        isTried.advance()
        #expect(try await first.value?.content.lines.count == nil)
        #expect(try await second.value?.content.lines.count == 1)
        #expect(runs.madeCount == 1)
    }

    @Test func whoWaitsCanBeCancelled() async throws {
        let runs = SharedRuns()
        let maker = try await endlessMaker(runs)
        let waiting = Task { try await runs.run(for: Self.key("a"), budget: budget) { Self.run() } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        maker.cancel()
        _ = await maker.result
    }

    @Test func whatIsKeptIsLimitedByItsBytes() async throws {
        let runs = SharedRuns()
        let size = SharedRuns.maximumBytes / 4
        for number in 0..<10 {
            _ = try await runs.run(for: Self.key("b\(number)"), budget: budget) { Self.run(bytes: size / 2) }
            #expect(runs.byteCount <= SharedRuns.maximumBytes)
        }
        #expect(runs.byteCount > 0)
        let kept = runs.byteCount
        _ = try await runs.run(for: Self.key("large"), budget: budget) { Self.run(bytes: SharedRuns.maximumBytes + 1) }
        #expect(runs.byteCount == kept)
    }

    @Test func aNewCheckpointLetsGoOfOldRuns() async throws {
        let runs = SharedRuns()
        _ = try await runs.run(for: Self.key("a", at: 1), budget: budget) { Self.run() }
        _ = try await runs.run(for: Self.key("a", at: 2), budget: budget) { Self.run() }
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        _ = try await runs.run(for: Self.key("a", at: 2), budget: budget) { Self.run() }
        #expect(runs.madeCount == 2)
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(3))
        #expect(runs.byteCount == 0)
    }

    // MARK: What is kept no longer

    /// A stream whose end can be seen.
    private func sender(_ ended: NIOLockedValueBox<Int>) -> ReadAheadBudget.Share {
        let share = budget.share()
        share.whenStalled { ended.withLockedValue { $0 += 1 } }
        return share
    }

    @Test func whatIsKeptNoLongerCountsOnceUntilTheLastHasSentIt() async throws {
        let (runs, ended) = (SharedRuns(), NIOLockedValueBox(0))
        let (first, second) = (sender(ended), sender(ended))
        var run: SharedRun? = try await runs.run(for: Self.key("a"), budget: budget) { Self.run(bytes: 5_000) }
        let size = try #require(run).content.byteCount
        var sendings = [first, second].map { run?.makeSending(by: $0) }
        run = nil
        #expect(budget.byteCount == 0)
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        #expect(budget.byteCount == size && size >= 5_000)
        sendings.removeFirst()
        #expect(budget.byteCount == size)
        sendings = []
        #expect(budget.byteCount == 0)
        // Of one that nobody sends, nothing stays.
        _ = try await runs.run(for: Self.key("a", at: 2), budget: budget) { Self.run(bytes: 5_000) }
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(3))
        #expect(budget.byteCount == 0)
        #expect(ended.withLockedValue(\.self) == 0)
    }

    @Test func itCountsUntilTheNetworkHasTakenItsLastLine() async throws {
        let (runs, lines) = (SharedRuns(), LineQueue())
        let key = Self.key("a")
        let size = try await {
            let run = try #require(try await runs.run(for: key, budget: budget) { Self.run(bytes: 100_000) })
            let share = budget.share()
            async let isSent: Void = {
                var batch = LineBatch(share: share)
                try await batch.add(run.content.lines[0].bytes, of: run.makeSending(by: share), flushingTo: lines)
            }()
            // The writer takes the line.
            #expect(try await lines.next()?.count == 1)
            try await isSent
            return run.content.byteCount
        }()
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        #expect(budget.byteCount == size)
        // The network has taken it when the next line is asked for, which does not come.
        async let next = lines.next()
        try await budget.waitForRoom()
        #expect(budget.byteCount == 0)
        lines.finish(.completed)
        #expect(try await next == nil)
    }

    @Test func whatIsTooLargeToBeKeptCountsAtOnce() async throws {
        let runs = SharedRuns()
        let run = try await runs.run(for: Self.key("a"), budget: budget) {
            Self.run(bytes: SharedRuns.maximumBytes + 1)
        }
        #expect(try budget.byteCount == #require(run).content.byteCount)
    }

    @Test func thoseWhoTakeNothingAreEndedWhenOthersWaitForTheMemory() async throws {
        let clock = TestClock()
        let budget = ReadAheadBudget(limit: 1_000, clock: clock)
        let ended = NIOLockedValueBox<[String]>([])
        let shares = ["silent", "reader"].map { name in
            let share = budget.share()
            share.whenStalled { ended.withLockedValue { $0.append(name) } }
            return share
        }
        let runs = SharedRuns()
        let run = try await runs.run(for: Self.key("a"), budget: budget) { Self.run(bytes: 5_000) }
        let sendings = shares.map { run?.makeSending(by: $0) }
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        let waiting = Task { try await budget.waitForRoom() }
        try await clock.waitForTimer(of: ReadAheadBudget.patience)
        clock.advance(by: .seconds(20))
        // The network has taken a batch of it.
        shares[1].remove(0)
        clock.advance(by: .seconds(10))
        try await clock.waitForTimer(of: ReadAheadBudget.patience)
        #expect(ended.withLockedValue(\.self) == ["silent"])
        // Later the other one stops, too.
        clock.advance(by: ReadAheadBudget.patience)
        try await clock.waitForTimer(of: ReadAheadBudget.patience)
        #expect(ended.withLockedValue(\.self) == ["silent", "reader"])
        withExtendedLifetime(sendings) {}
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    /// Streams that want memory of which there are 1,000 bytes, with a clock that is moved by hand.
    private struct Contest {
        let clock = TestClock()
        let budget: ReadAheadBudget
        let runs = SharedRuns()
        /// Who was told to end, one after the other.
        let ended = NIOLockedValueBox<[String]>([])

        init() { budget = ReadAheadBudget(limit: 1_000, clock: clock) }

        /// A stream with something in memory.
        func share(_ name: String, bytes: Int = 0) -> ReadAheadBudget.Share {
            let share = budget.share()
            share.whenStalled { [ended] in ended.withLockedValue { $0.append(name) } }
            if bytes > 0 { share.add(bytes) }
            return share
        }

        /// A run of 5,000 bytes.
        func run() async throws -> SharedRun {
            try #require(
                try await runs.run(for: SharedRunsTests.key("a"), budget: budget) { SharedRunsTests.run(bytes: 5_000) }
            )
        }

        func forget() { runs.forget(before: SyncSessionStateMachineTests.checkpoint(2)) }

        /// A task that waits for room, once it does.
        func waiter() async throws -> Task<Void, any Error> {
            let waiting = Task { [budget] in try await budget.waitForRoom() }
            try await clock.waitForTimer(of: ReadAheadBudget.patience)
            return waiting
        }
    }

    @Test func whoReadsARunSavesNobodyElse() async throws {
        let contest = Contest()
        let (stalled, reader) = (contest.share("stalled", bytes: 900), contest.share("reader"))
        let sending = try await contest.run().makeSending(by: reader)
        contest.forget()
        let waiting = try await contest.waiter()
        for _ in 0..<4 {
            for _ in 0..<2 {
                contest.clock.advance(by: .seconds(10))
                // The network has taken a part of it.
                reader.remove(0)
            }
            contest.clock.advance(by: .seconds(10))
            try await contest.clock.waitForTimer(of: ReadAheadBudget.patience)
            #expect(contest.ended.withLockedValue(\.self) == ["stalled"])
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        withExtendedLifetime((stalled, reader, sending)) {}
    }

    @Test func whoSendsARunIsEnough() async throws {
        let contest = Contest()
        let (other, silent) = (contest.share("other", bytes: 900), contest.share("silent"))
        let run = try await contest.run()
        let sending = run.makeSending(by: silent)
        contest.forget()
        let waiting = try await contest.waiter()
        contest.clock.advance(by: ReadAheadBudget.patience)
        try await contest.clock.waitForTimer(of: ReadAheadBudget.patience)
        #expect(contest.ended.withLockedValue(\.self) == ["silent"])
        // One that begins to send it afterwards, and stops; "other" takes something.
        let late = contest.share("late")
        let lateSending = run.makeSending(by: late)
        contest.clock.advance(by: .seconds(20))
        other.remove(0)
        contest.clock.advance(by: .seconds(10))
        try await contest.clock.waitForTimer(of: ReadAheadBudget.patience)
        #expect(contest.ended.withLockedValue(\.self) == ["silent", "late"])
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        withExtendedLifetime((other, silent, late, sending, lateSending)) {}
    }
}
