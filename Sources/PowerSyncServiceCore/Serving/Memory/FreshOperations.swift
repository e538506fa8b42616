import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol

/// Operations that one commit has added to a bucket, read for the only session that wants them (docs/service.md "Fan-out").
///
/// They are there so that not every session reads the storage for the same commit. Nobody has to keep them: who does not have
/// them reads. Their memory is counted until the last reference goes away.
final class FreshOperations: Sendable {
    /// The memory of all that have not been let go of.
    final class Memory: Sendable {
        /// How much is read ahead for all sessions together: 16 MiB.
        static let limit = 16 * 1024 * 1024

        private let used = NIOLockedValueBox(0)

        /// The bytes that are in memory.
        var byteCount: Int { used.withLockedValue { $0 } }

        fileprivate func add(_ byteCount: Int) { used.withLockedValue { $0 += byteCount } }
    }

    /// The most bytes of texts that a commit may have for one bucket, and that are kept for one session: 64 KiB.
    ///
    /// Of more, the time of a read is a small part.
    static let maximumBytes = 64 * 1024
    /// The most commits whose operations are kept for one bucket of a session; after more, they are sent together, in one line.
    static let maximumCommits = 8
    /// How much of one commit is read.
    static let limits: BucketDataLimits = {
        var limits = BucketDataLimits()
        limits.operations = 4096
        limits.chunkBytes = maximumBytes
        return limits
    }()

    /// The op id of the checkpoint before the commit.
    let after: OpID
    /// The bytes of their texts.
    let byteCount: Int
    /// About the length of their line.
    var sentBytes: Int { chunk.line.sentBytes }
    private let chunk: BucketChunk
    private let memory: Memory

    private init(_ chunk: BucketChunk, after: OpID, memory: Memory) {
        self.chunk = chunk
        self.after = after
        self.memory = memory
        byteCount = chunk.line.text.readableBytes
        memory.add(byteCount)
    }

    deinit { memory.add(-byteCount) }

    /// Sorts out what was read of some buckets.
    ///
    /// - Parameters:
    ///   - chunks: What there was after a checkpoint, up to ``limits``.
    ///   - after: The op id of the checkpoint.
    ///   - memory: Where they count.
    /// - Returns: The operations of the buckets whose only chunk is there.
    static func collect(_ chunks: [BucketChunk], after: OpID, memory: Memory) -> [BucketName: FreshOperations] {
        var operations: [BucketName: FreshOperations] = [:]
        for (index, chunk) in chunks.enumerated() where !chunk.line.hasMore {
            let isContinued = index > 0 && chunks[index - 1].line.bucket == chunk.line.bucket
            guard !isContinued, chunk.line.text.readableBytes <= maximumBytes else { continue }
            operations[chunk.line.bucket] = FreshOperations(chunk, after: after, memory: memory)
        }
        return operations
    }

    /// The operations of a bucket as they are sent.
    ///
    /// - Parameters:
    ///   - operations: Those of consecutive commits that changed the bucket.
    ///   - position: What the client has.
    /// - Returns: A chunk for each of them.
    static func chunks(of operations: [FreshOperations], after position: OpID) -> [BucketChunk] {
        var position: OpID? = position
        return operations.enumerated().map { index, fresh in
            var chunk = fresh.chunk
            chunk.line.after = position
            chunk.line.hasMore = index < operations.count - 1
            position = chunk.line.nextAfter
            return chunk
        }
    }
}

extension FreshOperations: Equatable {
    static func == (left: FreshOperations, right: FreshOperations) -> Bool { left === right }
}
