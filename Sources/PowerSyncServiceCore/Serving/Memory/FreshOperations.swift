import NIOCore
import PowerSyncProtocol

/// The operations that one commit has added to a bucket, read ahead for the only session that has the bucket
/// (docs/service.md "Fan-out").
///
/// The dispatcher reads them for many sessions at once, so that not each of them reads the storage for the same commit.
/// They may be dropped at any time: a session that has none reads the storage. They count in ``LineMemory/fresh`` until
/// the last reference to them goes away.
final class FreshOperations: Sendable {
    /// The most bytes of texts that a commit may have for one bucket, and that are kept for one session: 64 KiB.
    ///
    /// For more bytes, the time of a read is a small part of the time to send them.
    static let maximumBytes = 64 * 1024
    /// The most commits whose operations are kept for one bucket of a session; after more, they are sent together, in
    /// one line.
    static let maximumCommits = 8
    /// The most that is read of one commit.
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
    private let memory: LineMemory.Cache

    private init(_ chunk: BucketChunk, after: OpID, memory: LineMemory.Cache) {
        self.chunk = chunk
        self.after = after
        self.memory = memory
        byteCount = chunk.line.text.readableBytes
        memory.add(byteCount)
    }

    deinit { memory.remove(byteCount) }

    /// Selects the buckets that were read completely.
    ///
    /// - Parameters:
    ///   - chunks: The operations of some buckets after a checkpoint, read with ``limits``.
    ///   - after: The op id of the checkpoint.
    ///   - memory: Counts the operations.
    /// - Returns: The operations of the buckets that have one chunk, of at most ``maximumBytes``.
    static func collect(
        _ chunks: [BucketChunk],
        after: OpID,
        memory: LineMemory.Cache
    ) -> [BucketName: FreshOperations] {
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
    ///   - operations: The operations of consecutive commits that changed the bucket.
    ///   - position: The op id up to which the client has the bucket.
    /// - Returns: A chunk for each commit.
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
