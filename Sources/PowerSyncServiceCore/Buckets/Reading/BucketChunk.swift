package import PowerSyncProtocol

/// Consecutive operations of one bucket, ready to be sent as a `data` line (docs/service.md "Reading buckets").
package struct BucketChunk: Sendable {
    /// The line.
    ///
    /// Its operations are never empty.
    package var line: DataLine
    /// The largest target op of the operations, `nil` when none has one.
    ///
    /// When it is above the checkpoint being sent, compaction has replaced an operation by a later one: the checkpoint
    /// must not be completed.
    package var targetOp: OpID?

    /// Creates a chunk.
    package init(line: DataLine, targetOp: OpID? = nil) {
        self.line = line
        self.targetOp = targetOp
    }
}

/// How much one read of bucket data returns (docs/service.md "Reading buckets").
package struct BucketDataLimits: Sendable {
    /// The most operations of one read, over all buckets.
    package var operations = 1000
    /// A chunk is closed before its row data would exceed this many bytes, unless it would be empty.
    package var chunkBytes = 1024 * 1024
    /// The same for the first chunk; `nil` for no difference.
    ///
    /// Each one after it may have twice as much, up to ``chunkBytes``.
    ///
    /// Below ``chunkBytes`` everything that is sent of an operation counts (``DataLine/sentBytes``): of short rows, and of those
    /// that are removed, their data is the smallest part.
    package var firstChunkBytes: Int?
    /// A read ends after the chunk that makes its row data exceed this many bytes; bounds the memory of one reader.
    package var totalBytes = 1024 * 1024

    /// The limits of the protocol.
    ///
    /// - Parameter firstChunkBytes: How much the first chunk may have.
    package init(firstChunkBytes: Int? = nil) {
        self.firstChunkBytes = firstChunkBytes
    }
}

/// The checksum and the size of a bucket at a checkpoint.
package struct BucketChecksum: Sendable, Hashable {
    /// The sum of the checksums of all operations.
    package var checksum: Checksum
    /// The number of operations; a hint for progress, never verified.
    package var count: Int64

    /// Creates a bucket checksum.
    package init(checksum: Checksum, count: Int64) {
        self.checksum = checksum
        self.count = count
    }

    /// The checksum of a bucket without operations.
    package static let empty = BucketChecksum(checksum: .zero, count: 0)
}
