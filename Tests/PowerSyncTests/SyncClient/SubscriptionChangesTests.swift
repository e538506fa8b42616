import PowerSyncCore
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct SubscriptionChangesTests {
    private let source = TestClock()
    private let changes = SubscriptionChanges()

    /// Runs a test with what is passed on: the times.
    private func whileRunning(
        notBefore earliest: Duration = .zero,
        _ body: (AsyncStream<Duration>) async throws -> Void
    ) async throws {
        let (passed, continuation) = AsyncStream.makeStream(of: Duration.self)
        let clock = ElapsedClock(source)
        let running = Task { [changes] in
            await changes.run(clock, notBefore: earliest) { continuation.yield(clock.now) }
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

    @Test func aChangeIsPassedOnWhenNoOtherFollows() async throws {
        try await whileRunning { passed in
            for number in 1...2 {
                changes.note()
                try await passQuietTime()
                let time = await passed.first { _ in true }
                #expect(time == SubscriptionChanges.quietTime * number)
            }
        }
    }

    @Test func severalChangesArePassedOnAsOne() async throws {
        try await whileRunning { passed in
            changes.note()
            changes.note()
            try await source.waitForTimer(of: SubscriptionChanges.quietTime)
            changes.note()
            try await passQuietTime()
            try await passQuietTime()
            let time = await passed.first { _ in true }
            #expect(time == SubscriptionChanges.quietTime * 2)
        }
    }

    @Test func oneWhoGoesOnForEverIsHeardEverySecond() async throws {
        try await whileRunning { passed in
            changes.note()
            for _ in 1...50 {
                try await source.waitForTimer(of: SubscriptionChanges.quietTime)
                changes.note()
                source.advance(by: SubscriptionChanges.quietTime)
            }
            let time = await passed.first { _ in true }
            #expect(time == .seconds(1))
        }
    }

    @Test func changesFromBeforeArePassedOnAfterThePause() async throws {
        changes.note()
        try await whileRunning(notBefore: .seconds(4)) { passed in
            try await source.waitForTimer(of: .seconds(4))
            changes.note()
            source.advance(by: .seconds(4))
            try await passQuietTime()
            // The change during the pause counts as one that has followed.
            try await passQuietTime()
            let time = await passed.first { _ in true }
            #expect(time == .seconds(4) + SubscriptionChanges.quietTime * 2)
        }
    }
}

@Suite struct ReopeningPauseTests {
    @Test func aStreamThatIsOpenedForTheFirstTimeHasNone() {
        #expect(ReopeningPause().length(afterOpeningFor: .seconds(20)) == .zero)
    }

    @Test func itDoublesWhileStreamsDoNotLastTwiceAsLong() {
        var pause = ReopeningPause()
        var lengths: [Duration] = []
        for _ in 0..<6 {
            pause.streamReopens(after: pause.length(afterOpeningFor: .zero), openedIn: .zero)
            lengths.append(pause.length(afterOpeningFor: .zero))
        }
        #expect(lengths == [1, 2, 4, 8, 8, 8].map { .seconds($0) })
        // Twice the pause, and the second for which a change waits until no other follows.
        pause.streamReopens(after: .seconds(17), openedIn: .zero)
        #expect(pause.length(afterOpeningFor: .zero) == .seconds(1))
        pause.streamReopens(after: .milliseconds(2_999), openedIn: .zero)
        #expect(pause.length(afterOpeningFor: .zero) == .seconds(2))
    }

    @Test(arguments: [0, 1, 1.5, 3, 20]) func itDoublesHoweverLongOpeningTakesAndChangesWait(_ opening: Double) {
        var pause = ReopeningPause()
        var pauses: [Duration] = []
        let wait = SubscriptionChanges.longestWait + SubscriptionChanges.quietTime
        for _ in 0..<5 {
            let length = pause.length(afterOpeningFor: .seconds(opening))
            pause.streamReopens(after: length + wait, openedIn: .seconds(opening))
            pauses.append(pause.length(afterOpeningFor: .zero))
        }
        #expect(pauses == [1, 2, 4, 8, 8].map { .seconds($0) })
    }

    @Test func itIsNotShorterThanOpeningTheStreamTook() {
        var pause = ReopeningPause()
        pause.streamReopens(after: .zero, openedIn: .zero)
        #expect(pause.length(afterOpeningFor: .seconds(20)) == .seconds(20))
        #expect(pause.length(afterOpeningFor: .milliseconds(1)) == .seconds(1))
    }
}
