import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore

/// Buckets whose priorities change while they are downloaded: a completion of a priority comes when everything is there of the buckets
/// that have it, as the client knows them (docs/service.md "Sync sessions").
@Suite struct BucketPriorityModelTests {
    private typealias Machine = SyncSessionStateMachineTests

    /// What the client was told, and has.
    private struct Client {
        var priorities: [BucketName: Priority] = [:]
        var needs: [BucketName: Int64] = [:]
        var has: [BucketName: Int64] = [:]

        mutating func take(_ line: SyncLine) -> [BucketName] {
            switch line {
            case .checkpoint(let checkpoint):
                (priorities, needs) = ([:], [:])
                announce(checkpoint.buckets)
            case .checkpointDiff(let diff):
                for name in diff.removedBuckets { (priorities[name], needs[name], has[name]) = (nil, nil, nil) }
                announce(diff.updatedBuckets)
            case .partialCheckpointComplete(let completion): return missing(upTo: completion.priority)
            case .checkpointComplete: return missing(upTo: .complete)
            default: break
            }
            return []
        }

        private mutating func announce(_ buckets: [BucketDescription]) {
            for bucket in buckets { (priorities[bucket.name], needs[bucket.name]) = (bucket.priority, bucket.count) }
        }

        /// The buckets of which something is missing.
        private func missing(upTo priority: Priority) -> [BucketName] {
            priorities.filter { priority.includes($0.value) && has[$0.key, default: 0] != needs[$0.key] }.map(\.key)
        }
    }

    /// Buckets with so many operations, whose ids are their numbers, and random priorities.
    private static func candidate(
        _ opID: Int64,
        _ counts: [String: Int64],
        _ random: inout SeededGenerator
    ) -> SyncSession.Candidate {
        let buckets = counts.sorted { $0.key < $1.key }.map { name, count in
            Machine.Bucket(
                name: name,
                priority: Int32(random.number(below: 4)),
                checksum: UInt32(count),
                count: count
            )
        }
        return Machine.candidate(opID, buckets, refused: random.number(below: 5) == 0 ? [1] : [])
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func completionsComeAfterTheDataThatTheyCover(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var (machine, client) = (Machine.machine(), Client())
        var counts: [String: Int64] = ["a": 3000, "b": 1, "c": 0, "d": 4000]
        var opID: Int64 = 10_000
        func announce(_ client: inout Client) throws {
            if let prepared = machine.prepareLine(for: Self.candidate(opID, counts, &random)) {
                machine.advance(to: prepared)
                let missing = client.take(prepared.line)
                #expect(missing.isEmpty)
            }
        }
        try announce(&client)
        for _ in 0..<60 {
            switch machine.next() {
            case .waitForCheckpoint:
                opID += 1
                for name in counts.keys where random.number(below: 3) == 0 { counts[name, default: 0] += 1 }
                try announce(&client)
            case .send(let line):
                let missing = client.take(line)
                #expect(missing.isEmpty, "seed \(seed): \(line) without all of \(missing)")
            case .read(let positions, _):
                var hasMore = false
                for position in positions where !hasMore {
                    let (after, end) = (position.after.rawValue, counts[position.name.rawValue, default: 0])
                    guard after < end else { continue }
                    let last = random.number(below: 2) == 0 ? end : min(end, after + 1_000)
                    hasMore = last < end
                    var chunk = Machine.chunk(position.name.rawValue, (after + 1)...(after + 1), hasMore: hasMore)
                    (chunk.nextAfter, chunk.operationCount) = (OpID(last), Int(last - after))
                    client.has[position.name] = last
                    machine.didSend(chunk)
                    guard machine.isInterruptible, random.number(below: 2) == 0 else { continue }
                    opID += 1
                    counts["b", default: 0] += 1
                    try announce(&client)
                    hasMore = true
                }
                machine.didFinishRead(hasMore: hasMore)
            }
        }
    }
}
