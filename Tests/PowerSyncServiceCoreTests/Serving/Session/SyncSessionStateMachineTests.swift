import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

@testable import PowerSyncServiceCore

/// What a session sends, without storage and network (docs/service.md "Sync sessions").
@Suite struct SyncSessionStateMachineTests {
    typealias StateMachine = SyncSession.StateMachine

    static func checkpoint(_ opID: Int64) -> StorageCheckpoint {
        StorageCheckpoint(streamID: ReplicationStreamID(rawValue: 1), opID: OpID(opID), lsn: LSN("\(opID)"))
    }

    /// A bucket for a candidate.
    struct Bucket {
        var name: String
        var priority: Int32 = 3
        var checksum: UInt32 = 0
        var count: Int64 = 0
    }

    static func candidate(
        _ opID: Int64,
        write: Int64? = nil,
        _ buckets: [Bucket],
        refused: [Int] = []
    ) -> SyncSession.Candidate {
        SyncSession.Candidate(
            checkpoint: checkpoint(opID),
            writeCheckpoint: write.map { WriteCheckpoint($0) },
            buckets: buckets.map {
                ResolvedBucket(
                    name: BucketName($0.name),
                    priority: Priority($0.priority),
                    reasons: [.defaultStream(0)],
                    stream: "s"
                )
            },
            checksums: Dictionary(
                uniqueKeysWithValues: buckets.map {
                    (BucketName($0.name), BucketChecksum(checksum: Checksum($0.checksum), count: $0.count))
                }
            ),
            streams: [
                StreamDescription(
                    name: "s",
                    isDefault: true,
                    errors: refused.map { StreamError(subject: .subscription($0), message: "checkpoint \(opID)") }
                )
            ]
        )
    }

    static func chunk(
        _ bucket: String,
        _ ids: ClosedRange<Int64>,
        hasMore: Bool = false,
        target: Int64? = nil
    ) -> SentChunk {
        var line = DataLine(
            bucket: BucketName(bucket),
            after: OpID(ids.lowerBound - 1),
            nextAfter: OpID(ids.upperBound),
            hasMore: hasMore
        )
        for id in ids { line.append(.put, opID: OpID(id), checksum: Checksum(1)) }
        return SentChunk(BucketChunk(line: line, targetOp: target.map { OpID($0) }))
    }

    static func machine(_ positions: [(String, Int64)] = []) -> StateMachine {
        StateMachine(positions: positions.map { .init(name: BucketName($0.0), after: OpID($0.1)) })
    }

    static func read(_ positions: [(String, Int64)], at opID: Int64) -> SyncSession.Step {
        .read(positions.map { .init(name: BucketName($0.0), after: OpID($0.1)) }, at: checkpoint(opID))
    }

    static func complete(_ opID: Int64) -> SyncSession.Step {
        .send(.checkpointComplete(CheckpointComplete(lastOpID: OpID(opID))))
    }

    static func partial(_ opID: Int64, _ priority: Int32) -> SyncSession.Step {
        .send(.partialCheckpointComplete(PartialCheckpointComplete(lastOpID: OpID(opID), priority: Priority(priority))))
    }

    /// Announces a checkpoint that must have a line.
    @discardableResult
    static func announce(_ candidate: SyncSession.Candidate, _ machine: inout StateMachine) throws -> SyncLine {
        let prepared = try #require(machine.prepareLine(for: candidate))
        machine.advance(to: prepared)
        return prepared.line
    }

    /// A connection that has sent everything of one checkpoint.
    static func idle(_ candidate: SyncSession.Candidate) throws -> StateMachine {
        var machine = machine()
        try announce(candidate, &machine)
        drain(&machine)
        return machine
    }

    /// Answers every read with "nothing there", until the machine waits.
    static func drain(_ machine: inout StateMachine) {
        while true {
            switch machine.next() {
            case .waitForCheckpoint: return
            case .read: machine.didFinishRead(hasMore: false)
            case .send: break
            }
        }
    }

    // MARK: Lines

    @Test func firstCheckpointWithAnEmptyBucket() throws {
        var machine = Self.machine()
        let line = try Self.announce(Self.candidate(0, [Bucket(name: "a")]), &machine)
        #expect(
            line
                == .checkpoint(
                    Checkpoint(
                        lastOpID: .zero,
                        buckets: [
                            BucketDescription(
                                name: BucketName("a"),
                                checksum: .zero,
                                count: 0,
                                reasons: [.defaultStream(0)]
                            )
                        ],
                        streams: [StreamDescription(name: "s", isDefault: true)]
                    )
                )
        )
        #expect(machine.next() == Self.read([("a", 0)], at: 0))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(0))
        #expect(machine.next() == .waitForCheckpoint(after: nil))
    }

    @Test func noBucketsAnEmptyCheckpointIsCompletedAtOnce() throws {
        var machine = Self.machine()
        try Self.announce(Self.candidate(7, []), &machine)
        #expect(machine.next() == Self.complete(7))
        #expect(machine.next() == .waitForCheckpoint(after: nil))
    }

    @Test func nothingNewForTheClientNoLine() throws {
        let machine = try Self.idle(Self.candidate(5, write: 1, [Bucket(name: "a", checksum: 3, count: 1)]))
        for opID in [5, 6] as [Int64] {
            let candidate = Self.candidate(opID, write: 1, [Bucket(name: "a", checksum: 3, count: 1)])
            #expect(machine.prepareLine(for: candidate)?.line == nil)
        }
    }

    @Test func anotherCountWithTheSameChecksumIsAnnouncedAndCompletedWithoutData() throws {
        var machine = try Self.idle(Self.candidate(5, [Bucket(name: "a", checksum: 3, count: 9)]))
        let line = try Self.announce(Self.candidate(6, [Bucket(name: "a", checksum: 3, count: 2)]), &machine)
        guard case .checkpointDiff(let diff) = line else {
            Issue.record("not a diff: \(line)")
            return
        }
        #expect(diff.updatedBuckets.map(\.count) == [2])
        #expect(diff.removedBuckets.isEmpty)
        #expect(machine.next() == Self.read([("a", 0)], at: 6))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(6))
    }

    @Test func aBucketThatWasLostAndComesBackIsSentFromTheBeginning() throws {
        let both = [Bucket(name: "a", checksum: 1, count: 1), Bucket(name: "b", checksum: 2, count: 2)]
        var machine = Self.machine([("a", 1), ("b", 2)])
        try Self.announce(Self.candidate(2, both), &machine)
        Self.drain(&machine)
        #expect(machine.positions[BucketName("b")] == OpID(2))

        let removal = try Self.announce(Self.candidate(3, [both[0]]), &machine)
        #expect(removal == .checkpointDiff(CheckpointDiff(lastOpID: OpID(3), removedBuckets: [BucketName("b")])))
        #expect(machine.next() == Self.complete(3))

        try Self.announce(Self.candidate(4, both), &machine)
        #expect(machine.next() == Self.read([("b", 0)], at: 4))
    }

    @Test func aWriteCheckpointThatWasAnnouncedStaysWhileANewerOneIsPending() throws {
        var machine = try Self.idle(Self.candidate(1, write: 5, [Bucket(name: "a")]))
        #expect(machine.prepareLine(for: Self.candidate(2, write: nil, [Bucket(name: "a")]))?.line == nil)
        let line = try Self.announce(
            Self.candidate(2, write: nil, [Bucket(name: "a", checksum: 1, count: 1)]),
            &machine
        )
        guard case .checkpointDiff(let diff) = line else {
            Issue.record("not a diff: \(line)")
            return
        }
        #expect(diff.writeCheckpoint == WriteCheckpoint(5))
    }

    @Test func aWriteCheckpointAloneGivesAnEmptyDiffAndACompletion() throws {
        var machine = try Self.idle(Self.candidate(1, [Bucket(name: "a")]))
        let line = try Self.announce(Self.candidate(1, write: 1, [Bucket(name: "a")]), &machine)
        #expect(line == .checkpointDiff(CheckpointDiff(lastOpID: OpID(1), writeCheckpoint: WriteCheckpoint(1))))
        #expect(machine.next() == Self.complete(1))
    }

    @Test func positionsOfUnknownBucketsAreIgnoredOfDuplicateNamesTheLastCounts() throws {
        var machine = Self.machine([("a", 3), ("unknown", 9), ("a", 4)])
        try Self.announce(Self.candidate(5, [Bucket(name: "a", checksum: 1, count: 5)]), &machine)
        #expect(machine.next() == Self.read([("a", 4)], at: 5))
    }

    @Test func preparedLinesAreDisposable() throws {
        var machine = Self.machine()
        try Self.announce(Self.candidate(1, [Bucket(name: "a", checksum: 1, count: 1)]), &machine)
        _ = machine.next()
        _ = machine.prepareLine(for: Self.candidate(2, [Bucket(name: "a", checksum: 9, count: 9)]))
        let prepared = try #require(
            machine.prepareLine(for: Self.candidate(3, [Bucket(name: "a", checksum: 2, count: 2)]))
        )
        machine.didSend(Self.chunk("a", 1...1))
        machine.advance(to: prepared)
        #expect(machine.next() == Self.read([("a", 1)], at: 3))
    }

    @Test func aWholeLineSaysThatOtherSubscriptionsThanBeforeGetNothingWhichADiffCannot() throws {
        let (a, b) = (Bucket(name: "a", checksum: 1, count: 1), Bucket(name: "b", checksum: 2, count: 1))
        var machine = try Self.idle(Self.candidate(1, [a, b]))
        let line = try Self.announce(
            Self.candidate(2, [a, Bucket(name: "b", checksum: 3, count: 2)], refused: [4]),
            &machine
        )
        guard case .checkpoint(let checkpoint) = line else {
            Issue.record("not a whole line: \(line)")
            return
        }
        #expect(checkpoint.buckets.map(\.name) == [BucketName("a"), BucketName("b")])
        #expect(checkpoint.streams.flatMap(\.errors).map(\.subject) == [.subscription(4)])
        // Only what has changed is sent.
        #expect(machine.next() == Self.read([("b", 0)], at: 2))
        Self.drain(&machine)
        // Another text is nothing new.
        let same = Self.candidate(3, [a, Bucket(name: "b", checksum: 3, count: 2)], refused: [4])
        #expect(machine.prepareLine(for: same)?.line == nil)
        guard case .checkpointDiff = try Self.announce(Self.candidate(4, [a], refused: [4]), &machine) else {
            Issue.record("not a diff")
            return
        }
        guard case .checkpoint = try Self.announce(Self.candidate(4, [a]), &machine) else {
            Issue.record("not a whole line")
            return
        }
    }

    @Test(arguments: [1, 2])
    func anotherPriorityOfABucketIsAnnouncedOrItsDataWouldComeAfterTheCompletionThatCoversIt(later: Int32) throws {
        var machine = Self.machine()
        func buckets(_ priority: Int32, _ second: UInt32) -> [Bucket] {
            [
                Bucket(name: "a", priority: priority, checksum: 1, count: 5000),
                Bucket(name: "b", priority: 1, checksum: second, count: 1),
            ]
        }
        try Self.announce(Self.candidate(5000, buckets(3 - later, 1)), &machine)
        _ = machine.next()
        machine.didSend(Self.chunk("a", 1...1000, hasMore: true))
        let line = try Self.announce(Self.candidate(5001, buckets(later, 2)), &machine)
        guard case .checkpointDiff(let diff) = line else {
            Issue.record("not a diff: \(line)")
            return
        }
        #expect(diff.updatedBuckets.map(\.name) == [BucketName("a"), BucketName("b")])
        #expect(diff.updatedBuckets.map(\.priority) == [Priority(later), Priority(1)])
    }

    // MARK: Data

    @Test func aBucketWithExactly1000OperationsNeedsOneMoreRead() throws {
        var machine = Self.machine()
        try Self.announce(Self.candidate(1000, [Bucket(name: "a", checksum: 1, count: 1000)]), &machine)
        #expect(machine.next() == Self.read([("a", 0)], at: 1000))
        machine.didSend(Self.chunk("a", 1...1000, hasMore: true))
        machine.didFinishRead(hasMore: true)
        #expect(machine.next() == Self.read([("a", 1000)], at: 1000))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(1000))
    }

    @Test func prioritiesAreSentInOrderWithAPartialCompletionForAllButTheLast() throws {
        var machine = Self.machine()
        let buckets = [
            Bucket(name: "d", priority: 3, checksum: 1), Bucket(name: "a", priority: 0, checksum: 1),
            Bucket(name: "c", priority: 1, checksum: 1), Bucket(name: "b", priority: 1, checksum: 1),
        ]
        try Self.announce(Self.candidate(5, buckets), &machine)
        #expect(machine.next() == Self.read([("a", 0)], at: 5))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.partial(5, 0))
        #expect(machine.next() == Self.read([("b", 0), ("c", 0)], at: 5))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.partial(5, 1))
        #expect(machine.next() == Self.read([("d", 0)], at: 5))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(5))
    }

    @Test func onlyTheBucketsOfADiffCountForItsGroups() throws {
        var machine = try Self.idle(
            Self.candidate(1, [Bucket(name: "a", priority: 0), Bucket(name: "b", priority: 2)])
        )
        try Self.announce(
            Self.candidate(2, [Bucket(name: "a", priority: 0), Bucket(name: "b", priority: 2, checksum: 1, count: 1)]),
            &machine
        )
        #expect(machine.next() == Self.read([("b", 0)], at: 2))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(2))
    }

    @Test func noCompletionAfterAnOperationThatWasCompactedLaterLowerPrioritiesAreSkipped() throws {
        var machine = Self.machine()
        let buckets = [
            Bucket(name: "a", priority: 1, checksum: 1, count: 1),
            Bucket(name: "b", priority: 3, checksum: 1, count: 1),
        ]
        try Self.announce(Self.candidate(2, buckets), &machine)
        _ = machine.next()
        // The target is remembered over several reads of one checkpoint.
        machine.didSend(Self.chunk("a", 1...1, hasMore: true, target: 4))
        machine.didFinishRead(hasMore: true)
        #expect(machine.next() == Self.read([("a", 1)], at: 2))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == .waitForCheckpoint(after: Self.checkpoint(2)))
        // One that has nothing to tell does not make up for it.
        machine.skip(CheckpointNews(checkpoint: Self.checkpoint(3), scope: .init()))
        #expect(machine.next() == .waitForCheckpoint(after: Self.checkpoint(3)))
        #expect(machine.pendingDownloads == [BucketName("b")])

        try Self.announce(
            Self.candidate(4, [Bucket(name: "a", priority: 1, checksum: 2, count: 1), buckets[1]]),
            &machine
        )
        #expect(machine.next() == Self.read([("a", 1)], at: 4))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.partial(4, 1))
        #expect(machine.next() == Self.read([("b", 0)], at: 4))
    }

    @Test func whatCompactionHasTakenAwayIsMadeUpForByALaterCheckpoint() throws {
        var machine = Self.machine()
        let a = Bucket(name: "a", checksum: 1, count: 2)
        try Self.announce(Self.candidate(2, [a]), &machine)
        #expect(machine.next() == Self.read([("a", 0)], at: 2))
        machine.abandonDownload()
        #expect(machine.next() == .waitForCheckpoint(after: Self.checkpoint(2)))
        try Self.announce(Self.candidate(3, [Bucket(name: "a", checksum: 1, count: 1)]), &machine)
        #expect(machine.next() == Self.read([("a", 0)], at: 3))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(3))
        machine.skip(CheckpointNews(checkpoint: Self.checkpoint(4), scope: .init()))
        #expect(machine.next() == .waitForCheckpoint(after: nil))
    }

    @Test func aTargetAtOrBelowTheCheckpointIsFine() throws {
        var machine = Self.machine()
        try Self.announce(Self.candidate(4, [Bucket(name: "a", checksum: 1, count: 1)]), &machine)
        _ = machine.next()
        machine.didSend(Self.chunk("a", 1...1, target: 4))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(4))
    }

    // MARK: Interruption

    @Test func whatWasInterruptedGoesOnFromItsPositionWithoutBeingAnnouncedAgain() throws {
        var machine = Self.machine()
        let x = Bucket(name: "x", priority: 3, checksum: 1, count: 5000)
        try Self.announce(Self.candidate(5000, [x]), &machine)
        _ = machine.next()
        machine.didSend(Self.chunk("x", 1...999, hasMore: true))
        #expect(!machine.isInterruptible)
        machine.didSend(Self.chunk("x", 1000...1000, hasMore: true))
        #expect(machine.isInterruptible)

        let line = try Self.announce(
            Self.candidate(5001, [x, Bucket(name: "y", priority: 1, checksum: 1, count: 1)]),
            &machine
        )
        guard case .checkpointDiff(let diff) = line else {
            Issue.record("not a diff: \(line)")
            return
        }
        #expect(diff.updatedBuckets.map(\.name) == [BucketName("y")])
        #expect(!machine.isInterruptible)
        #expect(machine.next() == Self.read([("y", 0)], at: 5001))
        machine.didSend(Self.chunk("y", 5001...5001))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.partial(5001, 1))
        #expect(machine.next() == Self.read([("x", 1000)], at: 5001))
        machine.didSend(Self.chunk("x", 1001...5000))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(5001))
        #expect(machine.pendingDownloads.isEmpty)
    }

    @Test func finishedGroupsStayFinished() throws {
        var machine = Self.machine()
        func buckets(_ first: UInt32, _ third: UInt32) -> [Bucket] {
            [
                Bucket(name: "p1", priority: 1, checksum: first, count: 1),
                Bucket(name: "p2", priority: 2, checksum: 1, count: 999),
                Bucket(name: "p3", priority: 3, checksum: third, count: 2000),
            ]
        }
        try Self.announce(Self.candidate(3000, buckets(1, 1)), &machine)
        _ = machine.next()
        machine.didSend(Self.chunk("p1", 1...1))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.partial(3000, 1))
        _ = machine.next()
        machine.didSend(Self.chunk("p2", 2...1000))
        machine.didFinishRead(hasMore: false)
        #expect(machine.isInterruptible)
        #expect(machine.next() == Self.partial(3000, 2))

        try Self.announce(Self.candidate(3002, buckets(2, 2)), &machine)
        #expect(machine.next() == Self.read([("p1", 1)], at: 3002))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.partial(3002, 1))
        #expect(machine.next() == Self.read([("p3", 0)], at: 3002))
        machine.didFinishRead(hasMore: false)
        #expect(machine.next() == Self.complete(3002))
    }
}
