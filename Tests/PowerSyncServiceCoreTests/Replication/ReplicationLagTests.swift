import Testing

@testable import PowerSyncServiceCore

/// How far a stream is behind its source.
@Suite struct ReplicationLagTests {
    private var lag = ReplicationLag()

    @Test func withoutTransactionsThereIsNone() {
        #expect(lag.seconds(at: 1_000) == 0)
    }

    @Test mutating func aBacklogIsAsOldAsWhatWasPublishedLast() {
        lag.didBegin(committedAt: 100)
        lag.didBegin(committedAt: 110)
        #expect(lag.seconds(at: 200) == 100)
        lag.didPublish(at: 200)
        #expect(lag.seconds(at: 201) == 90)
        lag.didBegin(committedAt: 150)
        lag.didPublish(at: 210)
        #expect(lag.seconds(at: 210) == 60)
        lag.didCatchUp()
        #expect(lag.seconds(at: 300) == 0)
    }

    @Test mutating func aTransactionThatIsNotPublishedGrowsOlderAlsoWhileNothingComes() {
        lag.didBegin(committedAt: 100)
        lag.didCatchUp()
        #expect(lag.seconds(at: 130) == 30)
        // A checkpoint without a transaction, such as after a marker, does not change how old the last one was.
        lag.didPublish(at: 130)
        lag.didPublish(at: 140)
        #expect(lag.seconds(at: 141) == 30)
    }

    @Test mutating func whatNobodyHasHeardOfIsNotUpToDate() {
        lag.didBegin(committedAt: 100)
        lag.didPublish(at: 101)
        lag.didCatchUp(silence: .seconds(70))
        #expect(lag.seconds(at: 200) == 70)
        lag.didCatchUp(silence: nil)
        #expect(lag.seconds(at: 201) == 0)
    }

    @Test mutating func rowsOfATableThatIsLockedGrowOlderWhateverElseIsPublished() {
        lag.lockedSince = 100
        lag.didBegin(committedAt: 150)
        lag.didPublish(at: 151)
        lag.didCatchUp()
        #expect(lag.seconds(at: 160) == 60)
        lag.lockedSince = nil
        #expect(lag.seconds(at: 170) == 0)
    }

    @Test mutating func aSourceWhoseClockIsAheadIsNotBehind() {
        lag.didBegin(committedAt: 100)
        #expect(lag.seconds(at: 90) == 0)
        lag.didPublish(at: 90)
        #expect(lag.seconds(at: 90) == 0)
    }
}
