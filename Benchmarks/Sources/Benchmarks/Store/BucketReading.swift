import PowerSyncProtocol
import PowerSyncServiceCore

/// Reads buckets to their end, as a session does for a new client.
struct BucketReading {
    let storage: any BucketStorage
    let stream: ReplicationStreamID
    let checkpoint: StorageCheckpoint

    init(_ benchmark: BenchmarkStorage) async throws {
        storage = benchmark.storage
        stream = benchmark.stream
        checkpoint = try await benchmark.checkpoint()
    }

    /// The bucket of an owner; `nil` is the large one.
    func bucket(_ owner: Int?) -> BucketName {
        BucketName(#"\#(stream.bucketPrefix)items|0["\#(StoreWorkload.owner(owner))"]"#)
    }

    /// Some small buckets, at random.
    func buckets(_ count: Int, seed: UInt64) -> [BucketName] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { _ in bucket(Int.random(in: 0..<StoreWorkload.owners, using: &random)) }
    }

    /// Reads operations, at most a number of them.
    ///
    /// - Returns: How many there were.
    func read(_ buckets: [BucketName], limit: Int = .max) async throws -> Int {
        var positions = Dictionary(buckets.map { ($0, OpID.zero) }) { first, _ in first }
        var count = 0
        while true {
            let chunks = try await storage.bucketData(positions.map { .init(name: $0, after: $1) }, at: checkpoint)
            for chunk in chunks {
                count += chunk.line.operations.count
                positions[chunk.line.bucket] = chunk.line.nextAfter
            }
            guard chunks.last?.line.hasMore ?? false, count < limit else { return count }
        }
    }

    /// What has to be read before the first line of a new client.
    func firstCheckpoint(_ buckets: [BucketName]) async throws {
        _ = try await storage.activeStream()
        let sums = try await storage.checksums(buckets, at: checkpoint)
        precondition(sums.values.contains { $0.count > 0 })
    }
}
