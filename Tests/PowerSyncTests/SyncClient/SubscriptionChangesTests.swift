import PowerSyncCore
import PowerSyncTesting
import Testing

@testable import PowerSync

@Suite(.timeLimit(.minutes(1))) struct SubscriptionChangesTests {
    private let source = TestClock()
    private let changes = SubscriptionChanges()

    /// Runs a test with what is passed on.
    private func whileRunning(_ body: (AsyncStream<[StreamKey]>) async throws -> Void) async throws {
        let (passed, continuation) = AsyncStream.makeStream(of: [StreamKey].self)
        let clock = ElapsedClock(source)
        let running = Task { [changes] in
            await changes.run(clock) { continuation.yield($0) }
        }
        try await body(passed)
        running.cancel()
        await running.value
        #expect(source.pendingTimers.isEmpty)
        continuation.finish()
        let end = await passed.first { _ in true }
        #expect(end == nil)
    }

    private func passQuietTime() async throws {
        try await source.waitForTimer(of: SubscriptionChanges.quietTime)
        source.advance(by: SubscriptionChanges.quietTime)
    }

    private func streams(_ names: String...) -> [StreamKey] { names.map { StreamKey(name: $0) } }

    @Test func aChangeIsPassedOnWhenNoOtherFollows() async throws {
        try await whileRunning { passed in
            changes.note(live: streams("a"))
            try await passQuietTime()
            let first = await passed.first { _ in true }
            #expect(first == streams("a"))
            changes.note(live: [])
            try await passQuietTime()
            let second = await passed.first { _ in true }
            #expect(second == [])
        }
    }

    @Test func ofSeveralChangesTheLastCounts() async throws {
        try await whileRunning { passed in
            changes.note(live: streams("a"))
            changes.note(live: streams("a", "b"))
            try await source.waitForTimer(of: SubscriptionChanges.quietTime)
            changes.note(live: streams("a", "b", "c"))
            try await passQuietTime()
            try await passQuietTime()
            let last = await passed.first { _ in true }
            #expect(last == streams("a", "b", "c"))
        }
    }

    @Test func oneWhoGoesOnForEverIsHeardEverySecond() async throws {
        try await whileRunning { passed in
            changes.note(live: [])
            for number in 1...50 {
                try await source.waitForTimer(of: SubscriptionChanges.quietTime)
                changes.note(live: streams("\(number)"))
                source.advance(by: SubscriptionChanges.quietTime)
            }
            let last = await passed.first { _ in true }
            #expect(last == streams("50"))
        }
    }
}
