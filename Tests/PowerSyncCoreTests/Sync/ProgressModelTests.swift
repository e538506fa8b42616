import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Progress while buckets grow, are compacted, are taken away and are sent anew, over interrupted checkpoints and restarts.
@Suite struct ProgressModelTests {
    private static let stream = StreamDescription(name: "s", isDefault: true)

    /// A bucket as the service has it, and what the client has counted.
    private struct Bucket {
        let name: String
        let priority: Int32
        /// Operations in the service.
        var count: Int64 = 0
        /// Whether the client has to be sent everything.
        var isCleared = false
        var countAtLast: Int64 = 0
        var countSinceLast: Int64 = 0

        var total: Int64 { max(0, count - countAtLast) }
        var downloaded: Int64 { min(total, countSinceLast) }
    }

    @Test(arguments: (1...120 as ClosedRange<UInt64>).one(in: 3), [Delivery.oneByOne, .bson])
    func randomCompactions(_ seed: UInt64, _ delivery: Delivery) throws {
        var random = SeededGenerator(seed: seed)
        let scenario = try SyncScenario(delivery: delivery)
        try scenario.start()
        var buckets = [Int32(0), 1, 1, 3].enumerated().map { Bucket(name: "\($0)", priority: $1) }
        var opID: Int64 = 0

        func expectProgress(_ location: SourceLocation = #_sourceLocation) throws {
            let progress = try #require(scenario.status.progress, sourceLocation: location)
            for priority in [Int32(0), 1, 3] {
                let covered = buckets.filter { $0.priority <= priority }
                let expected = OperationCounts(
                    total: covered.reduce(0) { $0 + $1.total },
                    downloaded: covered.reduce(0) { $0 + $1.downloaded }
                )
                #expect(
                    progress.untilPriority(Priority(priority)) == expected,
                    "seed \(seed)",
                    sourceLocation: location
                )
                #expect(expected.downloaded <= expected.total, "seed \(seed)", sourceLocation: location)
            }
            #expect(scenario.status.streams?.map(\.progress) == [progress.overall], sourceLocation: location)
        }

        for _ in 0..<15 {
            for index in buckets.indices {
                switch random.number(below: 6) {
                case 0:
                    buckets[index].count = Int64(random.number(below: Int(buckets[index].count) + 1))
                    buckets[index].isCleared = true
                case 1: break
                default: buckets[index].count += Int64(random.number(below: 9))
                }
            }
            if random.number(below: 5) == 0 {
                scenario.restart()
                try scenario.start()
            }
            let descriptions = buckets.map { bucket in
                BucketDescription.bucket(bucket.name, count: bucket.count, priority: bucket.priority, .defaultStream(0))
            }
            try scenario.receive(.checkpoint(opID + 1_000, descriptions, streams: [Self.stream]))
            for index in buckets.indices
            where buckets[index].count < buckets[index].countAtLast + buckets[index].countSinceLast {
                (buckets[index].countAtLast, buckets[index].countSinceLast) = (0, 0)
            }
            try expectProgress()
            let isInterrupted = random.number(below: 2) == 0
            for index in buckets.indices {
                var count = buckets[index].count - buckets[index].countAtLast - buckets[index].countSinceLast
                if isInterrupted { count = Int64(random.number(below: Int(count) + 1)) }
                var operations: [Operation] = []
                if buckets[index].isCleared, Bool.random(using: &random) {
                    opID += 1
                    operations.append(.clear(opID))
                    buckets[index].isCleared = false
                    (buckets[index].countAtLast, buckets[index].countSinceLast) = (0, 1)
                }
                for _ in 0..<count {
                    opID += 1
                    operations.append(.move(opID))
                    buckets[index].countSinceLast += 1
                }
                if !operations.isEmpty { try scenario.receive(.data(.line(buckets[index].name, operations))) }
                try expectProgress()
            }
            guard !isInterrupted else { continue }
            try scenario.receive(.done)
            #expect(scenario.status.progress == nil)
            for index in buckets.indices {
                (buckets[index].countAtLast, buckets[index].countSinceLast) = (buckets[index].count, 0)
            }
        }
    }
}
