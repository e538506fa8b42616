import PowerSyncProtocol
import Synchronization
import Testing

@testable import PowerSyncServiceCore

/// The checksum cache (docs/service.md "Reading buckets").
///
/// Case numbers in the names.
@Suite(.timeLimit(.minutes(1))) struct ChecksumCacheTests {
    private let cache = ChecksumCache()
    private let bucket = BucketName("b")

    private func checkpoint(_ opID: Int64) -> StorageCheckpoint {
        StorageCheckpoint(streamID: ReplicationStreamID(rawValue: 1), opID: OpID(opID), lsn: .at(opID))
    }

    private func sum(_ checksum: UInt32, _ count: Int64, isWhole: Bool = false) -> ChecksumCache.RangeSum {
        ChecksumCache.RangeSum(
            value: BucketChecksum(checksum: Checksum(checksum), count: count),
            isWhole: isWhole
        )
    }

    @Test("only the range since the last value is read")
    func laterCheckpointAddsTheRangeSinceTheEarlierOne() async throws {
        _ = try await cache.checksums([bucket], at: checkpoint(10)) { ranges in
            #expect(ranges.map(\.after) == [.zero])
            return [sum(100, 4)]
        }
        let later = try await cache.checksums([bucket], at: checkpoint(15)) { ranges in
            #expect(ranges.map(\.after) == [OpID(10)])
            #expect(ranges.map(\.through) == [OpID(15)])
            return [sum(5, 1)]
        }
        #expect(later[bucket] == BucketChecksum(checksum: Checksum(105), count: 5))
        let again = try await cache.checksums([bucket], at: checkpoint(15)) { _ in
            Issue.record("read again")
            return []
        }
        #expect(again == later)
    }

    @Test("a range with a CLEAR is the whole")
    func rangeWithAClearIsNotAdded() async throws {
        _ = try await cache.checksums([bucket], at: checkpoint(10)) { _ in [sum(100, 4)] }
        let later = try await cache.checksums([bucket], at: checkpoint(15)) { _ in [sum(7, 2, isWhole: true)] }
        #expect(later[bucket] == BucketChecksum(checksum: Checksum(7), count: 2))
    }

    @Test func earlierCheckpointIsReadFromTheBeginning() async throws {
        _ = try await cache.checksums([bucket], at: checkpoint(10)) { _ in [sum(100, 4)] }
        let earlier = try await cache.checksums([bucket], at: checkpoint(5)) { ranges in
            #expect(ranges.map(\.after) == [.zero])
            return [sum(50, 2)]
        }
        #expect(earlier[bucket]?.count == 2)
        _ = try await cache.checksums([bucket], at: checkpoint(11)) { ranges in
            #expect(ranges.map(\.after) == [OpID(10)])
            return [sum(1, 1)]
        }
    }

    @Test("concurrent requests share one read")
    func concurrentRequestsShareOneRead() async throws {
        let isReading = ChangeSignal()
        let mayFinish = ChangeSignal()
        let reads = Counter()
        try await withThrowingTaskGroup(of: BucketChecksum?.self) { group in
            group.addTask {
                try await cache.checksums([bucket], at: checkpoint(10)) { _ in
                    reads.increment()
                    isReading.advance()
                    try await mayFinish.wait(after: 0)
                    return [sum(100, 4)]
                }[bucket]
            }
            try await isReading.wait(after: 0)
            for _ in 0..<10 {
                group.addTask {
                    try await cache.checksums([bucket], at: checkpoint(10)) { _ in
                        reads.increment()
                        return [sum(100, 4)]
                    }[bucket]
                }
            }
            mayFinish.advance()
            for try await value in group { #expect(value?.count == 4) }
        }
        #expect(reads.count == 1)
    }

    @Test("errors are not kept")
    func failedReadIsTriedAgain() async throws {
        struct Failure: Error {}
        await #expect(throws: Failure.self) {
            try await cache.checksums([bucket], at: checkpoint(10)) { _ in throw Failure() }
        }
        let value = try await cache.checksums([bucket], at: checkpoint(10)) { _ in [sum(1, 1)] }
        #expect(value[bucket]?.count == 1)
    }

    @Test func waitersOfACancelledReadReadThemselves() async throws {
        let isReading = ChangeSignal()
        let reader = Task {
            try await cache.checksums([bucket], at: checkpoint(10)) { _ in
                isReading.advance()
                try await ChangeSignal().wait(after: 0)
                return []
            }
        }
        try await isReading.wait(after: 0)
        async let waiting = cache.checksums([bucket], at: checkpoint(10)) { _ in [sum(3, 1)] }
        reader.cancel()
        #expect(try await waiting[bucket]?.count == 1)
        await #expect(throws: CancellationError.self) { try await reader.value }
    }

    @Test func leastRecentlyUsedBucketsAreForgotten() async throws {
        let cache = ChecksumCache(capacity: 4)
        for index in 0..<5 {
            _ = try await cache.checksums([BucketName("\(index)")], at: checkpoint(1)) { _ in [sum(1, 1)] }
        }
        let read = Mutex<[BucketName]>([])
        _ = try await cache.checksums((0..<5).map { BucketName("\($0)") }, at: checkpoint(1)) { ranges in
            read.withLock { $0 = ranges.map(\.bucket) }
            return ranges.map { _ in sum(1, 1) }
        }
        #expect(read.withLock { $0.contains(BucketName("0")) && !$0.contains(BucketName("4")) })
    }
}

/// Counts calls from several tasks.
private final class Counter: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func increment() { value.withLock { $0 += 1 } }
}
