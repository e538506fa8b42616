import NIOCore
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// What a commit has added, read ahead for single sessions (docs/service.md "Fan-out").
@Suite struct FreshOperationsTests {
    private let memory = LineMemory().fresh

    static func chunk(_ bucket: String, _ ids: [Int64], hasMore: Bool = false, bytes: Int = 3) -> BucketChunk {
        var line = DataLine(
            bucket: BucketName(bucket),
            text: ByteBuffer(repeating: UInt8(ascii: "x"), count: bytes),
            after: OpID(ids[0] - 1),
            nextAfter: ids.last.map { OpID($0) },
            hasMore: hasMore
        )
        line.operations = ids.map { SyncOperation(opID: OpID($0), kind: .move, checksum: Checksum(1)) }
        return BucketChunk(line: line)
    }

    private func collect(_ chunks: [BucketChunk], after: Int64 = 0) -> [BucketName: FreshOperations] {
        FreshOperations.collect(chunks, after: OpID(after), memory: memory)
    }

    @Test func onlyBucketsThatWereReadWholeAreKept() {
        let large = FreshOperations.maximumBytes + 1
        let operations = collect([
            Self.chunk("a", [1, 4]),
            Self.chunk("b", [2], hasMore: true),
            Self.chunk("b", [3]),
            Self.chunk("c", [5], bytes: large),
            Self.chunk("d", [6], hasMore: true),
        ])
        #expect(Set(operations.keys) == [BucketName("a")])
        #expect(memory.byteCount == 3)
        withExtendedLifetime(operations) {}
    }

    @Test func memoryIsCountedUntilTheLastReferenceGoesAway() {
        var operations = collect([Self.chunk("a", [1]), Self.chunk("b", [2], bytes: 10)])
        var scope = CheckpointNews.Scope()
        scope.add(BucketName("b"), CommitChanges(changes: .unknown, operations: operations))
        #expect(memory.byteCount == 13)
        withExtendedLifetime(operations) {}
        operations = [:]
        #expect(memory.byteCount == 10)
        withExtendedLifetime(scope) {}
        scope = CheckpointNews.Scope()
        #expect(memory.byteCount == 0)
    }

    @Test func linesFollowEachOtherFromWhereTheClientIs() {
        let first = collect([Self.chunk("a", [5, 7])], after: 4)
        let second = collect([Self.chunk("a", [9])], after: 8)
        let operations = [first, second].compactMap { $0[BucketName("a")] }
        let lines = FreshOperations.chunks(of: operations, after: OpID(2)).map(\.line)
        #expect(lines.map(\.after) == [OpID(2), OpID(7)])
        #expect(lines.map(\.nextAfter) == [OpID(7), OpID(9)])
        #expect(lines.map(\.hasMore) == [true, false])
        #expect(FreshOperations.chunks(of: [], after: OpID(2)).isEmpty)
    }

    @Test func aCommitThatWasNotReadMakesAllVoid() {
        let bucket = BucketName("a")
        func commit(_ id: Int64?, bytes: Int = 3) -> CommitChanges {
            let chunks = id.map { [Self.chunk("a", [$0], bytes: bytes)] } ?? []
            return CommitChanges(changes: .unknown, operations: collect(chunks))
        }
        for (commits, count) in [
            ([commit(1), commit(2)], 2),
            ([commit(1), commit(nil)], 0),
            ([commit(nil), commit(2)], 0),
            ([commit(1), commit(nil), commit(3)], 0),
            ([commit(1, bytes: FreshOperations.maximumBytes)], 1),
            ([commit(1, bytes: FreshOperations.maximumBytes), commit(2, bytes: 1)], 0),
            (Array(repeating: commit(1), count: FreshOperations.maximumCommits), FreshOperations.maximumCommits),
            (Array(repeating: commit(1), count: FreshOperations.maximumCommits + 1), 0),
        ] {
            var scope = CheckpointNews.Scope()
            for commit in commits { scope.add(bucket, commit) }
            #expect(scope.operations[bucket]?.count ?? 0 == count)
            #expect(scope.operationBytes == scope.operations[bucket]?.reduce(0) { $0 + $1.byteCount } ?? 0)
        }
    }

    @Test func whenEverythingMayHaveChangedAllAreVoid() {
        var scope = CheckpointNews.Scope()
        let interest = Interest.of(["a"])
        let known = CommitChanges(
            changes: .known(buckets: interest.buckets, lookups: []),
            operations: collect([Self.chunk("a", [1])])
        )
        _ = scope.add(known, for: interest)
        #expect(scope.operations.count == 1)
        _ = scope.add(CommitChanges(changes: .unknown), for: interest)
        #expect(scope == .unknown)
        _ = scope.add(known, for: interest)
        #expect(scope == .unknown)
    }

    @Test func theyAreSentWhenEverythingBeforeThemWas() throws {
        typealias Machine = SyncSessionStateMachineTests
        let operations = try #require(collect([Self.chunk("a", [5])], after: 4)[BucketName("a")])
        func canSend(_ machine: SyncSession.StateMachine) -> Bool { machine.canSend([operations], of: BucketName("a")) }
        let buckets = [Machine.Bucket(name: "a", checksum: 1, count: 1)]

        var machine = Machine.machine()
        #expect(!canSend(machine), "no line has been sent")
        try Machine.announce(Machine.candidate(3, buckets), &machine)
        _ = machine.next()
        #expect(!canSend(machine), "nothing of the bucket has been sent")
        machine.didSend(Machine.chunk("a", 1...2, hasMore: true))
        #expect(!canSend(machine), "the bucket has more")
        machine.didSend(Machine.chunk("a", 3...3))
        machine.didFinishRead(hasMore: false)
        #expect(canSend(machine))
        #expect(!machine.canSend([operations], of: BucketName("b")), "the client does not have the bucket")
        #expect(!machine.canSend([], of: BucketName("a")))

        // A line that is not sent, though the bucket has changed.
        machine.skip(CheckpointNews(checkpoint: Machine.checkpoint(4), scope: .init(hasWriteCheckpoint: true)))
        #expect(canSend(machine))
        machine.skip(CheckpointNews(checkpoint: Machine.checkpoint(4), scope: .init(buckets: [BucketName("a")])))
        #expect(!canSend(machine))
        let changed = [Machine.Bucket(name: "a", checksum: 2, count: 2)]
        try Machine.announce(Machine.candidate(5, changed), &machine)
        _ = machine.next()
        machine.didFinishRead(hasMore: false)
        #expect(canSend(machine))

        // A client that claims to have more than there is.
        var other = Machine.machine([("a", 1_000)])
        try Machine.announce(Machine.candidate(3, buckets), &other)
        _ = other.next()
        other.didFinishRead(hasMore: false)
        #expect(!canSend(other))
    }
}
