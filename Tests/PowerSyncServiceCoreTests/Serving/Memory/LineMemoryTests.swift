import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// The memory for lines that clients have not read is limited over all streams (docs/service.md "Sync sessions").
@Suite(.timeLimit(.minutes(1))) struct LineMemoryTests {
    private let clock = TestClock()

    /// An account whose stream could be ended, so that others wait with a timer.
    private func account(of memory: LineMemory) -> LineMemory.Account {
        let account = memory.openAccount()
        account.whenStalled {}
        return account
    }

    /// A task that waits for room, once it does.
    private func waiter(_ memory: LineMemory) async throws -> Task<Void, any Error> {
        let task = Task { try await memory.waitForRoom() }
        try await clock.waitForTimer(of: LineMemory.patience)
        return task
    }

    @Test func thereIsRoomBelowTheLimit() async throws {
        let memory = LineMemory(limit: 100, clock: clock)
        let account = self.account(of: memory)
        try await memory.waitForRoom()
        account.add(99)
        try await memory.waitForRoom()
        account.add(1)
        #expect(!memory.hasRoom)
        let waiting = try await waiter(memory)
        account.remove(1)
        try await waiting.value
        #expect(memory.byteCount == 99)
    }

    @Test func aStreamThatEndsMakesRoom() async throws {
        let memory = LineMemory(limit: 10, clock: clock)
        var account: LineMemory.Account? = self.account(of: memory)
        account?.add(1_000)
        let waiting = try await waiter(memory)
        account = nil
        try await waiting.value
        #expect(memory.byteCount == 0)
    }

    @Test func whoWaitsCanBeCancelled() async throws {
        let memory = LineMemory(limit: 1, clock: clock)
        let account = self.account(of: memory)
        account.add(1)
        let waiting = try await waiter(memory)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(clock.pendingTimers.isEmpty)
        withExtendedLifetime(account) {}
    }

    @Test func manyWhoWaitHaveOneTimer() async throws {
        let memory = LineMemory(limit: 10, clock: clock)
        let account = self.account(of: memory)
        account.add(10)
        let first = try await waiter(memory)
        let others = (0..<100).map { _ in Task { try await memory.waitForRoom() } }
        for other in others.prefix(50) { other.cancel() }
        for other in others.prefix(50) { await #expect(throws: CancellationError.self) { try await other.value } }
        #expect(clock.pendingTimers == [LineMemory.patience])
        account.remove(1)
        try await first.value
        for other in others.dropFirst(50) { try await other.value }
    }

    @Test func whoReadsForTheFirstTimeMeanwhileIsNotEnded() async throws {
        let memory = LineMemory(limit: 10, clock: clock)
        let (old, new, ended) = (memory.openAccount(), memory.openAccount(), NIOLockedValueBox<[String]>([]))
        for (account, name) in [(old, "old"), (new, "new")] {
            account.whenStalled { ended.withLockedValue { $0.append(name) } }
        }
        old.add(10)
        let waiting = try await waiter(memory)
        clock.advance(by: .seconds(10))
        // A read that had begun.
        new.add(20)
        clock.advance(by: .seconds(20))
        try await clock.waitForTimer(of: .seconds(10))
        #expect(ended.withLockedValue(\.self) == ["old"])
        old.remove(10)
        new.remove(20)
        try await waiting.value
    }

    @Test func whoTakesNothingIsEndedAndOnlyAsManyAsNecessary() async throws {
        let memory = LineMemory(limit: 100, clock: clock)
        let ended = NIOLockedValueBox<[Int]>([])
        let accounts = [60, 20, 50, 70].enumerated().map { index, byteCount in
            let account = memory.openAccount()
            account.add(byteCount)
            account.whenStalled { ended.withLockedValue { $0.append(index) } }
            return account
        }
        let waiting = try await waiter(memory)
        clock.advance(by: .seconds(10))
        // The last one reads.
        accounts[3].remove(1)
        clock.advance(by: .seconds(20))
        try await clock.waitForTimer(of: LineMemory.patience, count: 1)
        #expect(ended.withLockedValue(\.self) == [0, 2])
        // Those who were told to end, and do not, are not told again.
        clock.advance(by: LineMemory.patience)
        try await clock.waitForTimer(of: LineMemory.patience, count: 1)
        #expect(ended.withLockedValue(\.self) == [0, 2, 3, 1])
        for account in accounts { account.remove(20) }
        accounts[3].remove(49)
        accounts[2].remove(30)
        try await waiting.value
        #expect(memory.byteCount == 40)
        withExtendedLifetime(accounts) {}
    }

    // MARK: Sessions

    private static let config = """
        config: {edition: 3}
        streams:
          a: {auto_subscribe: true, query: SELECT * FROM test WHERE owner = auth.user_id()}
        """

    private static func fill(_ scenario: inout SessionScenario, users: ClosedRange<Int>, rows: Int) async throws {
        let table = try await scenario.storage.table("test")
        let text = String(repeating: "x", count: 1_000)
        for user in users {
            for row in 0..<rows {
                try await scenario.insert("u\(user)-\(row)", ["owner": "u\(user)", "text": text], into: table)
            }
        }
        try await scenario.storage.commit()
    }

    @Test func clientsThatDoNotReadTakeTheBudgetAndOneRead() async throws {
        let memory = LineMemory(limit: 50_000, clock: clock)
        // Who reads takes the room before the next one looks: otherwise all could read at once, and nobody would wait.
        let readers = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max)
        try await SessionScenario.run(Self.config, dataReaders: readers, memory: memory) { scenario in
            try await Self.fill(&scenario, users: 1...4, rows: 30)
            let first = try await scenario.client("u1")
            let second = try await scenario.client("u2")
            let third = try await scenario.client("u3")
            // Two have read for their clients, more than 60,000 bytes together; the third waits.
            try await clock.waitForTimer(of: LineMemory.patience)
            #expect((60_000...100_000).contains(memory.byteCount))
            var reader = try await scenario.client("u4")
            // The third takes the room that the first makes; the second has been silent for long enough then. Who has begun to
            // wait in the moment when time goes on waits for the next time.
            let time = Task { [clock] in
                while true {
                    clock.advance(by: LineMemory.patience)
                    try await clock.waitForTimer(of: LineMemory.patience)
                }
            }
            defer { time.cancel() }
            let lines = try await reader.untilComplete()
            #expect(lines.last?.hasPrefix("complete") == true, "\(lines)")
            await reader.leave()
            await first.leave()
            await second.leave()
            await third.leave()
        }
        #expect(memory.byteCount == 0)
    }

    @Test func aBudgetOfOneByteIsEnoughForThoseWhoRead() async throws {
        let memory = LineMemory(limit: 1, clock: clock)
        try await SessionScenario.run(Self.config, memory: memory) { scenario in
            try await Self.fill(&scenario, users: 1...8, rows: 5)
            var opened: [(first: ByteBuffer, session: SyncSession)] = []
            for user in 1...8 {
                var session = try await scenario.session("u\(user)")
                opened.append((try #require(try await session.open()), session))
            }
            try await withThrowingTaskGroup(of: [String].self) { group in
                for (first, session) in opened {
                    group.addTask {
                        var client = try SessionClient("any", first, session)
                        let lines = try await client.untilComplete()
                        await client.leave()
                        return lines
                    }
                }
                for try await lines in group { #expect(lines.last?.hasPrefix("complete") == true, "\(lines)") }
            }
        }
        #expect(memory.byteCount == 0)
    }

    /// A client that has taken its rows, and nothing more.
    private static func silentClient(
        _ scenario: SessionScenario,
        _ user: String = "u1"
    ) async throws -> SessionClient {
        var client = try await scenario.client(user)
        while try #require(try await client.next())["data"] == nil {}
        return client
    }

    /// The first one is alone, and counts; two that read what one more shares with them need no more room.
    @Test func whatIsSharedDoesNotCount() async throws {
        let memory = LineMemory(limit: 7_000, clock: clock)
        let config = Self.config.replacing(" WHERE owner = auth.user_id()", with: "")
        try await SessionScenario.run(config, memory: memory) { scenario in
            try await Self.fill(&scenario, users: 1...1, rows: 5)
            let silent = try await Self.silentClient(scenario)
            #expect((5_000..<7_000).contains(memory.byteCount))
            let other = try await scenario.client("u2")
            for user in ["u3", "u4"] {
                var reader = try await scenario.client(user)
                #expect(try await reader.untilComplete().last?.hasPrefix("complete") == true)
                await reader.leave()
            }
            #expect(memory.byteCount < 7_000)
            await silent.leave()
            await other.leave()
        }
        #expect(memory.byteCount == 0)
    }

    @Test func whatIsSharedCountsForEachClientThatGetsACopyOfIt() async throws {
        let memory = LineMemory(limit: 100_000, clock: clock)
        let config = Self.config.replacing(" WHERE owner = auth.user_id()", with: "")
        try await SessionScenario.run(config, memory: memory) { scenario in
            scenario.copiesLines = true
            try await Self.fill(&scenario, users: 1...1, rows: 5)
            let first = try await Self.silentClient(scenario)
            let second = try await Self.silentClient(scenario, "u2")
            let third = try await Self.silentClient(scenario, "u3")
            #expect((15_000..<21_000).contains(memory.byteCount))
            await first.leave()
            await second.leave()
            #expect((5_000..<7_000).contains(memory.byteCount))
            await third.leave()
        }
        #expect(memory.byteCount == 0)
    }

    @Test func whatIsSharedWaitsForRoom() async throws {
        let memory = LineMemory(limit: 1, clock: clock)
        let config = Self.config.replacing(" WHERE owner = auth.user_id()", with: "")
        try await SessionScenario.run(config, memory: memory) { scenario in
            try await Self.fill(&scenario, users: 1...1, rows: 5)
            let silent = try await Self.silentClient(scenario)
            var readers: [Task<[String], any Error>] = []
            for user in ["u2", "u3"] {
                var session = try await scenario.session(user)
                let first = try #require(try await session.open())
                readers.append(
                    Task { [session] in
                        var client = try SessionClient(user, first, session)
                        let lines = try await client.untilComplete()
                        await client.leave()
                        return lines
                    }
                )
            }
            try await clock.waitForTimer(of: LineMemory.patience)
            await silent.leave()
            for reader in readers {
                #expect(try await reader.value.last?.hasPrefix("complete") == true)
            }
        }
        #expect(memory.byteCount == 0)
    }
}
