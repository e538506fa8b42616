import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncServiceCore

@Suite(.timeLimit(.minutes(1))) struct SharedRunsTests {
    private struct Failure: Error {}

    private let memory = LineMemory(limit: 1_000, clock: TestClock())

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
            try await runs.run(for: Self.key("a")) {
                started.advance()
                try await ChangeSignal().wait(after: 0)
                return Self.run()
            }
        }
        try await started.wait(after: 0)
        return maker
    }

    @Test func whatSeveralWantIsMadeOnce() async throws {
        let runs = SharedRuns(in: memory)
        try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    let run = try await runs.run(for: Self.key("a")) {
                        await Task.yield()
                        return Self.run()
                    }
                    return run?.content.lines.first?.bytes
                }
            }
            for try await line in group { #expect(line == Self.run().lines.first?.bytes) }
        }
        #expect(runs.madeCount == 1)
        _ = try await runs.run(for: Self.key("b")) { Self.run() }
        _ = try await runs.run(for: Self.key("a", at: 2)) { Self.run() }
        #expect(runs.madeCount == 3)
    }

    @Test func whenOneFailsAnotherTries() async throws {
        let runs = SharedRuns(in: memory)
        await #expect(throws: Failure.self) {
            _ = try await runs.run(for: Self.key("a")) { throw Failure() }
        }
        let maker = try await endlessMaker(runs)
        let other = Task { try await runs.run(for: Self.key("a")) { Self.run() } }
        maker.cancel()
        await #expect(throws: CancellationError.self) { _ = try await maker.value }
        #expect(try await other.value?.content.lines.count == 1)
        #expect(runs.madeCount == 1)
    }

    @Test func whenThereIsNoRoomTheNextOneTries() async throws {
        let runs = SharedRuns(in: memory)
        let (started, isTried) = (ChangeSignal(), ChangeSignal())
        let first = Task {
            try await runs.run(for: Self.key("a")) {
                started.advance()
                try await isTried.wait(after: 0)
                return nil
            }
        }
        try await started.wait(after: 0)
        let second = Task { try await runs.run(for: Self.key("a")) { Self.run() } }
        isTried.advance()
        #expect(try await first.value?.content.lines.count == nil)
        #expect(try await second.value?.content.lines.count == 1)
        #expect(runs.madeCount == 1)
    }

    @Test func whoWaitsCanBeCancelled() async throws {
        let runs = SharedRuns(in: memory)
        let maker = try await endlessMaker(runs)
        let waiting = Task { try await runs.run(for: Self.key("a")) { Self.run() } }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        maker.cancel()
        _ = await maker.result
    }

    @Test func whatIsKeptIsLimitedByItsBytes() async throws {
        let runs = SharedRuns(in: memory)
        let size = LineMemory.sharedLimit / 4
        for number in 0..<10 {
            _ = try await runs.run(for: Self.key("b\(number)")) { Self.run(bytes: size / 2) }
            #expect(memory.shared.byteCount <= LineMemory.sharedLimit)
        }
        #expect(memory.shared.byteCount > 0)
        let kept = memory.shared.byteCount
        _ = try await runs.run(for: Self.key("large")) { Self.run(bytes: LineMemory.sharedLimit + 1) }
        #expect(memory.shared.byteCount == kept)
    }

    @Test func aNewCheckpointLetsGoOfOldRuns() async throws {
        let runs = SharedRuns(in: memory)
        _ = try await runs.run(for: Self.key("a", at: 1)) { Self.run() }
        _ = try await runs.run(for: Self.key("a", at: 2)) { Self.run() }
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        _ = try await runs.run(for: Self.key("a", at: 2)) { Self.run() }
        #expect(runs.madeCount == 2)
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(3))
        #expect(memory.shared.byteCount == 0)
    }

    // MARK: What is kept no longer

    /// A stream whose end can be seen.
    private func sender(_ ended: NIOLockedValueBox<Int>) -> LineMemory.Account {
        let account = memory.openAccount()
        account.whenStalled { ended.withLockedValue { $0 += 1 } }
        return account
    }

    @Test func whatIsKeptNoLongerCountsOnceUntilTheLastHasSentIt() async throws {
        let (runs, ended) = (SharedRuns(in: memory), NIOLockedValueBox(0))
        let (first, second) = (sender(ended), sender(ended))
        var run: SharedRun? = try await runs.run(for: Self.key("a")) { Self.run(bytes: 5_000) }
        let size = try #require(run).content.byteCount
        var senders = [first, second].map { run?.makeSender($0) }
        run = nil
        #expect(memory.byteCount == 0)
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        #expect(memory.byteCount == size && size >= 5_000)
        senders.removeFirst()
        #expect(memory.byteCount == size)
        senders = []
        #expect(memory.byteCount == 0)
        // Of one that nobody sends, nothing stays.
        _ = try await runs.run(for: Self.key("a", at: 2)) { Self.run(bytes: 5_000) }
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(3))
        #expect(memory.byteCount == 0)
        #expect(ended.withLockedValue(\.self) == 0)
    }

    @Test func itCountsUntilTheNetworkHasTakenItsLastLine() async throws {
        let (runs, lines) = (SharedRuns(in: memory), LineQueue())
        let key = Self.key("a")
        let size = try await {
            let run = try #require(try await runs.run(for: key) { Self.run(bytes: 100_000) })
            let account = memory.openAccount()
            async let isSent: Void = {
                var batch = LineBatch(account)
                try await batch.add(run.content.lines[0].bytes, from: run.makeSender(account), flushingTo: lines)
            }()
            // The writer takes the line.
            #expect(try await lines.next()?.count == 1)
            try await isSent
            return run.content.byteCount
        }()
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        #expect(memory.byteCount == size)
        // The network has taken it when the next line is asked for, which does not come.
        async let next = lines.next()
        try await memory.waitForRoom()
        #expect(memory.byteCount == 0)
        lines.finish(.completed)
        #expect(try await next == nil)
    }

    @Test func aRunCountsAsSharedWhileItIsKeptAndAsUnsentAfterwards() async throws {
        let runs = SharedRuns(in: memory)
        let run = try #require(try await runs.run(for: Self.key("a")) { Self.run(bytes: 5_000) })
        let size = run.content.byteCount
        #expect(memory.shared.byteCount == size && memory.byteCount == 0 && memory.fresh.byteCount == 0)
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        #expect(memory.shared.byteCount == 0 && memory.byteCount == size && memory.fresh.byteCount == 0)
    }

    @Test func whatIsTooLargeToBeKeptCountsAtOnce() async throws {
        let runs = SharedRuns(in: memory)
        let run = try await runs.run(for: Self.key("a")) {
            Self.run(bytes: LineMemory.sharedLimit + 1)
        }
        #expect(try memory.byteCount == #require(run).content.byteCount)
    }

    @Test func thoseWhoTakeNothingAreEndedWhenOthersWaitForTheMemory() async throws {
        let clock = TestClock()
        let memory = LineMemory(limit: 1_000, clock: clock)
        let ended = NIOLockedValueBox<[String]>([])
        let accounts = ["silent", "reader"].map { name in
            let account = memory.openAccount()
            account.whenStalled { ended.withLockedValue { $0.append(name) } }
            return account
        }
        let runs = SharedRuns(in: memory)
        let run = try await runs.run(for: Self.key("a")) { Self.run(bytes: 5_000) }
        let senders = accounts.map { run?.makeSender($0) }
        runs.forget(before: SyncSessionStateMachineTests.checkpoint(2))
        let waiting = Task { try await memory.waitForRoom() }
        try await clock.waitForTimer(of: LineMemory.patience)
        clock.advance(by: .seconds(20))
        // The network has taken a batch of it.
        accounts[1].remove(0)
        clock.advance(by: .seconds(10))
        try await clock.waitForTimer(of: LineMemory.patience)
        #expect(ended.withLockedValue(\.self) == ["silent"])
        // Later the other one stops, too.
        clock.advance(by: LineMemory.patience)
        try await clock.waitForTimer(of: LineMemory.patience)
        #expect(ended.withLockedValue(\.self) == ["silent", "reader"])
        withExtendedLifetime(senders) {}
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    /// Streams that want memory of which there are 1,000 bytes, with a clock that is moved by hand.
    private struct Contest {
        let clock = TestClock()
        let memory: LineMemory
        let runs: SharedRuns
        /// Who was told to end, one after the other.
        let ended = NIOLockedValueBox<[String]>([])

        init() {
            memory = LineMemory(limit: 1_000, clock: clock)
            runs = SharedRuns(in: memory)
        }

        /// A stream with something in memory.
        func account(_ name: String, bytes: Int = 0) -> LineMemory.Account {
            let account = memory.openAccount()
            account.whenStalled { [ended] in ended.withLockedValue { $0.append(name) } }
            if bytes > 0 { account.add(bytes) }
            return account
        }

        /// A run of 5,000 bytes.
        func run() async throws -> SharedRun {
            try #require(
                try await runs.run(for: SharedRunsTests.key("a")) { SharedRunsTests.run(bytes: 5_000) }
            )
        }

        func forget() { runs.forget(before: SyncSessionStateMachineTests.checkpoint(2)) }

        /// A task that waits for room, once it does.
        func waiter() async throws -> Task<Void, any Error> {
            let waiting = Task { [memory] in try await memory.waitForRoom() }
            try await clock.waitForTimer(of: LineMemory.patience)
            return waiting
        }
    }

    @Test func whoReadsARunSavesNobodyElse() async throws {
        let contest = Contest()
        let (stalled, reader) = (contest.account("stalled", bytes: 900), contest.account("reader"))
        let sender = try await contest.run().makeSender(reader)
        contest.forget()
        let waiting = try await contest.waiter()
        for _ in 0..<4 {
            for _ in 0..<2 {
                contest.clock.advance(by: .seconds(10))
                // The network has taken a part of it.
                reader.remove(0)
            }
            contest.clock.advance(by: .seconds(10))
            try await contest.clock.waitForTimer(of: LineMemory.patience)
            #expect(contest.ended.withLockedValue(\.self) == ["stalled"])
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        withExtendedLifetime((stalled, reader, sender)) {}
    }

    @Test func whoSendsARunIsEnough() async throws {
        let contest = Contest()
        let (other, silent) = (contest.account("other", bytes: 900), contest.account("silent"))
        let run = try await contest.run()
        let sender = run.makeSender(silent)
        contest.forget()
        let waiting = try await contest.waiter()
        contest.clock.advance(by: LineMemory.patience)
        try await contest.clock.waitForTimer(of: LineMemory.patience)
        #expect(contest.ended.withLockedValue(\.self) == ["silent"])
        // One that begins to send it afterwards, and stops; "other" takes something.
        let late = contest.account("late")
        let lateSender = run.makeSender(late)
        contest.clock.advance(by: .seconds(20))
        other.remove(0)
        contest.clock.advance(by: .seconds(10))
        try await contest.clock.waitForTimer(of: LineMemory.patience)
        #expect(contest.ended.withLockedValue(\.self) == ["silent", "late"])
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        withExtendedLifetime((other, silent, late, sender, lateSender)) {}
    }
}
