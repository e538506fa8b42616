import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// The values of a status by themselves.
@Suite struct DownloadProgressTests {
    @Test(
        arguments: [
            (0, 0, 0), (0, 5, 0), (-1, 5, 0), (4, 0, 0), (4, 1, 0.25), (4, 4, 1), (4, 5, 1), (4, -1, 0),
        ] as [(Int64, Int64, Double)]
    )
    func fractionsAreBetweenZeroAndOne(total: Int64, downloaded: Int64, fraction: Double) {
        #expect(OperationCounts(total: total, downloaded: downloaded).fraction == fraction)
    }

    @Test func sumsSaturateOnBothSides() {
        #expect(Int64.max.addingSaturating(1) == .max)
        #expect(Int64.min.addingSaturating(-1) == .min)
        #expect(Int64.max.addingSaturating(-1) == .max - 1)
        #expect(Int64.min.addingSaturating(.max) == -1)
    }

    @Test func prioritiesAreOrderedAndSummed() {
        var progress = DownloadProgress()
        for (priority, total) in [(3, 1), (1, 10), (2, 100), (1, 1_000), (0, 10_000), (7, 100_000)] as [(Int32, Int64)]
        {
            progress.add(OperationCounts(total: total, downloaded: 1), to: Priority(priority))
        }
        #expect(progress.priorities.map(\.priority.rawValue) == [0, 1, 2, 3, 7])
        #expect(progress.priorities.map(\.counts.total) == [10_000, 1_010, 100, 1, 100_000])
        let sums = [0, 1, 2, 3, 6, 7].map { progress.untilPriority(Priority($0)).total }
        #expect(sums == [10_000, 11_010, 11_110, 11_111, 11_111, 111_111])
        #expect(progress.overall == OperationCounts(total: 111_111, downloaded: 6))
    }

    @Test func aStreamHasTheLowestPriorityOfItsBucketsInAnyOrder() throws {
        for priorities in [[1, 3], [3, 1], [2, 3, 1], [1, 2, 3]] as [[Int32]] {
            let scenario = try SyncScenario()
            try scenario.start()
            let buckets = priorities.map { BucketDescription.bucket("b\($0)", priority: $0, .defaultStream(0)) }
            try scenario.receive(.checkpoint(1, buckets, streams: [StreamDescription(name: "s", isDefault: true)]))
            #expect(scenario.status.streams?.map(\.priority) == [Priority(3)])
        }
    }

    /// What is remembered of publications in memory is what a restart reads.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func publicationsAreTheSameInMemoryAndOnDisk(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let database = try LocalTestDatabase()
        var memory: [PriorityStatus] = []
        try database.queue.write { db in
            for second in 0..<12 {
                let now = SyncInstant(microseconds: Int64(second))
                let priorities = [0, 1, 2, 3].map { Priority($0) } + [.complete]
                let priority = try #require(priorities.randomElement(using: &generator))
                memory.record(priority, at: now)
                try SyncState.record(db, priority, at: now)
                #expect(try SyncState.fetchAll(db) == memory, "seed \(seed)")
            }
        }
    }
}
