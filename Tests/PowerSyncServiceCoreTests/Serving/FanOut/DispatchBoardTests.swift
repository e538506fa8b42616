import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// What sessions are told, without storage and tasks (docs/service.md "Fan-out").
@Suite struct DispatchBoardTests {
    private static let first = SessionID(rawValue: 1)
    private static let second = SessionID(rawValue: 2)

    private static func checkpoint(_ opID: Int64, lsn: Int64? = nil) -> StorageCheckpoint {
        StorageCheckpoint(
            streamID: ReplicationStreamID(rawValue: 1),
            opID: OpID(opID),
            lsn: .at(lsn ?? opID)
        )
    }

    private static func commit(_ buckets: [String], _ lookups: [String] = []) -> CommitChanges {
        let interest = Interest.of(buckets, lookups)
        return CommitChanges(changes: .known(buckets: interest.buckets, lookups: interest.lookups))
    }

    /// A board at checkpoint 1 with a session that knows its buckets.
    private static func board(_ interest: Interest) -> DispatchBoard {
        var board = DispatchBoard(streamID: ReplicationStreamID(rawValue: 1))
        _ = board.publish(checkpoint(1), CommitChanges(changes: .unknown))
        board.add(first, userKey: "u1")
        _ = board.take(first)
        board.settle(interest, of: first)
        return board
    }

    @Test func aNewSessionIsToldOfTheNewestCheckpointFirst() {
        var board = DispatchBoard(streamID: ReplicationStreamID(rawValue: 1))
        board.add(Self.first, userKey: "u1")
        #expect(board.take(Self.first) == nil)
        #expect(board.publish(Self.checkpoint(1), Self.commit([])) == [Self.first])
        #expect(board.take(Self.first) == CheckpointNews(checkpoint: Self.checkpoint(1), scope: .unknown))
        board.add(Self.second, userKey: "u2")
        #expect(board.take(Self.second) == CheckpointNews(checkpoint: Self.checkpoint(1), scope: .unknown))
    }

    @Test func aCommitWakesThoseWhoWantItsBucketsOnly() {
        var board = Self.board(.of(["a", "b"]))
        #expect(board.publish(Self.checkpoint(2), Self.commit(["c"])) == [])
        #expect(board.take(Self.first) == nil)
        #expect(board.publish(Self.checkpoint(3), Self.commit(["b", "c"])) == [Self.first])
        let news = board.take(Self.first)
        #expect(news?.checkpoint == Self.checkpoint(3))
        #expect(news?.scope == CheckpointNews.Scope(buckets: [BucketName("b")]))
        #expect(board.take(Self.first) == nil)
    }

    @Test func commitsAddUpWhileASessionIsBusy() {
        var board = Self.board(.of(["a", "b"], ["x"]))
        _ = board.publish(Self.checkpoint(2), Self.commit(["a"]))
        _ = board.publish(Self.checkpoint(3), Self.commit(["b"], ["x", "y"]))
        _ = board.publish(Self.checkpoint(4), Self.commit(["c"]))
        let news = board.take(Self.first)
        // It reads at the newest checkpoint, also if that does not concern it.
        #expect(news?.checkpoint == Self.checkpoint(4))
        #expect(news?.scope.buckets == [BucketName("a"), BucketName("b")])
        #expect(news?.scope.hasOtherLookups == true)
    }

    @Test func aChecksumIsVoidWhenItsBucketChangesAgain() {
        var board = Self.board(.of(["a", "b"]))
        let checksum = BucketChecksum(checksum: Checksum(1), count: 1)
        var commit = Self.commit(["a", "b"])
        commit.checksums = [BucketName("a"): checksum, BucketName("b"): checksum]
        _ = board.publish(Self.checkpoint(2), commit)
        _ = board.publish(Self.checkpoint(3), Self.commit(["a"]))
        let scope = board.take(Self.first)?.scope
        #expect(scope?.buckets == [BucketName("a"), BucketName("b")])
        #expect(scope?.checksums == [BucketName("b"): checksum])
    }

    @Test func whatIsCommittedWhileASessionFindsItsBucketsIsNotLost() {
        var board = Self.board(.of(["a"], ["x"]))
        #expect(board.publish(Self.checkpoint(2), Self.commit([], ["x"])) == [Self.first])
        #expect(board.take(Self.first)?.scope.mayHaveOtherBuckets == true)
        // The session now reads at checkpoint 2, and will find that it has bucket `b`.
        #expect(board.publish(Self.checkpoint(3), Self.commit(["b"])) == [])
        #expect(board.publish(Self.checkpoint(4), Self.commit(["c"])) == [])
        board.settle(.of(["a", "b"], ["x"]), of: Self.first)
        let news = board.take(Self.first)
        #expect(news?.checkpoint == Self.checkpoint(4))
        #expect(news?.scope == CheckpointNews.Scope(buckets: [BucketName("b")]))
    }

    @Test func whatIsCommittedBeforeASessionKnowsItsFirstBucketsIsNotLost() {
        var board = Self.board(.of([]))
        board.add(Self.second, userKey: "u2")
        _ = board.take(Self.second)
        _ = board.publish(Self.checkpoint(2), Self.commit(["b"]))
        _ = board.publish(Self.checkpoint(3), Self.commit(["c"]))
        board.settle(.of(["b"]), of: Self.second)
        #expect(board.take(Self.second)?.scope == CheckpointNews.Scope(buckets: [BucketName("b")]))
        _ = board.publish(Self.checkpoint(4), Self.commit(["d"]))
        board.add(Self.second, userKey: "u2")
        _ = board.take(Self.second)
        _ = board.publish(Self.checkpoint(5), Self.commit(["d"]))
        board.settle(.of(["e"]), of: Self.second)
        #expect(!board.hasNews(Self.second))
    }

    @Test func tooManyCommitsInBetweenMeanEverything() {
        var board = Self.board(.of(["a"], ["x"]))
        _ = board.publish(Self.checkpoint(2), Self.commit([], ["x"]))
        _ = board.take(Self.first)
        for number in 0...DispatchBoard.maximumMissed {
            _ = board.publish(Self.checkpoint(Int64(number) + 3), Self.commit(["z"]))
        }
        board.settle(.of(["a"], ["x"]), of: Self.first)
        #expect(board.take(Self.first)?.scope.isUnknown == true)
    }

    @Test func unknownChangesWakeEverybody() {
        var board = Self.board(.of(["a"]))
        #expect(board.publish(Self.checkpoint(2), CommitChanges(changes: .unknown)) == [Self.first])
        #expect(board.take(Self.first)?.scope == .unknown)
    }

    @Test func aSessionThatComesWhileNobodyLooksForChangesIsToldThatTheyAreUnknown() {
        var board = DispatchBoard(streamID: ReplicationStreamID(rawValue: 1))
        _ = board.publish(Self.checkpoint(1), nil)
        // The dispatcher has seen that there are no sessions, and has not published the next checkpoint yet.
        board.add(Self.first, userKey: "u1")
        #expect(board.take(Self.first)?.checkpoint == Self.checkpoint(1))
        _ = board.publish(Self.checkpoint(2), nil)
        board.settle(.of(["a"]), of: Self.first)
        #expect(board.take(Self.first) == CheckpointNews(checkpoint: Self.checkpoint(2), scope: .unknown))
    }

    @Test func whoCannotGoOnIsWokenByAnyCheckpoint() {
        var board = Self.board(.of(["a"]))
        board.awaitAny(Self.first, after: Self.checkpoint(1))
        #expect(!board.hasNews(Self.first))
        #expect(board.publish(Self.checkpoint(2), Self.commit(["z"])) == [Self.first])
        #expect(board.take(Self.first)?.scope == .unknown)
        board.settle(.of(["a"]), of: Self.first)
        #expect(board.publish(Self.checkpoint(3), Self.commit(["z"])) == [])
    }

    @Test func whoCannotGoOnFindsALaterCheckpointThatIsThere() {
        var board = Self.board(.of(["a"]))
        #expect(board.publish(Self.checkpoint(2), Self.commit(["z"])) == [])
        board.awaitAny(Self.first, after: Self.checkpoint(1))
        #expect(board.take(Self.first) == CheckpointNews(checkpoint: Self.checkpoint(2), scope: .unknown))
    }

    @Test(arguments: [["x"], []] as [[String]])
    func aWriteCheckpointDoesNotStandForWhatASessionCouldNotUse(lookups: [String]) {
        var board = Self.board(.of(["a"], ["x"]))
        _ = board.publish(Self.checkpoint(2), Self.commit(["a"], lookups))
        #expect(board.take(Self.first)?.scope.isUnknown == false)
        board.awaitAny(Self.first, after: Self.checkpoint(2))
        #expect(board.announceWriteCheckpoints() == [Self.first])
        #expect(board.take(Self.first) == CheckpointNews(checkpoint: Self.checkpoint(2), scope: .unknown))
        board.settle(.of(["a"], ["x"]), of: Self.first)
        #expect(board.publish(Self.checkpoint(3), Self.commit(["z"])) == [])
        #expect(board.publish(Self.checkpoint(4), Self.commit(["a"])) == [Self.first])
    }

    @Test func aWriteCheckpointDoesNotStandForTheFirstNewsOfASessionThatHasNotFoundItsBuckets() {
        var board = Self.board(.of([]))
        board.add(Self.second, userKey: "u2")
        _ = board.take(Self.second)
        _ = board.announceWriteCheckpoints()
        #expect(board.take(Self.second) == CheckpointNews(checkpoint: Self.checkpoint(1), scope: .unknown))
        board.settle(.of(["b"]), of: Self.second)
        #expect(board.publish(Self.checkpoint(2), Self.commit(["b"])) == [Self.second])
    }

    @Test func aWriteCheckpointWakesItsUserWhenItsPositionIsReached() {
        var board = Self.board(.of(["a"]))
        board.add(Self.second, userKey: "u2")
        _ = board.take(Self.second)
        board.settle(.of(["b"]), of: Self.second)
        #expect(board.expectWriteCheckpoint(of: "u1", at: .at(3)) == [])
        #expect(board.expectWriteCheckpoint(of: "nobody", at: .at(3)) == [])
        // Only positions move: no operation is stored.
        #expect(board.publish(Self.checkpoint(1, lsn: 2), Self.commit([])) == [])
        #expect(board.publish(Self.checkpoint(1, lsn: 3), Self.commit([])) == [Self.first])
        #expect(board.take(Self.first)?.scope == CheckpointNews.Scope(hasWriteCheckpoint: true))
        #expect(board.publish(Self.checkpoint(1, lsn: 4), Self.commit([])) == [])
        // One that is recorded late, as the position has been passed.
        #expect(board.expectWriteCheckpoint(of: "u1", at: .at(4)) == [Self.first])
        #expect(board.take(Self.first)?.scope == CheckpointNews.Scope(hasWriteCheckpoint: true))
    }

    @Test func whenSomeMayHaveBeenMissedAllSessionsLookForTheirWriteCheckpoints() {
        var board = Self.board(.of(["a"]))
        board.add(Self.second, userKey: "u2")
        _ = board.take(Self.second)
        board.settle(.of(["b"]), of: Self.second)
        #expect(Set(board.announceWriteCheckpoints()) == [Self.first, Self.second])
        for session in [Self.first, Self.second] {
            #expect(board.take(session)?.scope == CheckpointNews.Scope(hasWriteCheckpoint: true))
            #expect(board.take(session) == nil)
        }
    }

    @Test func ofTooManyWriteCheckpointsTheLastOneCounts() {
        var board = Self.board(.of([]))
        for position in 2...40 { _ = board.expectWriteCheckpoint(of: "u1", at: .at(Int64(position))) }
        _ = board.publish(Self.checkpoint(1, lsn: 39), Self.commit([]))
        _ = board.take(Self.first)
        #expect(board.publish(Self.checkpoint(1, lsn: 40), Self.commit([])) == [Self.first])
    }

    @Test func nothingIsLeftOfARemovedSession() {
        var board = Self.board(.of(["a"], ["x"]))
        _ = board.expectWriteCheckpoint(of: "u1", at: .at(100))
        _ = board.publish(Self.checkpoint(2), Self.commit(["a"], ["x"]))
        board.awaitAny(Self.first, after: Self.checkpoint(2))
        board.remove(Self.first)
        #expect(board.isEmpty)
        #expect(board.take(Self.first) == nil)
        board.settle(.of(["a"]), of: Self.first)
        board.awaitAny(Self.first, after: Self.checkpoint(1))
        #expect(board.publish(Self.checkpoint(3), Self.commit(["a"])) == [])
        #expect(board.isEmpty)
    }
}
