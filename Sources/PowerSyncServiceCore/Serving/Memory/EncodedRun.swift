import NIOCore
import PowerSyncProtocol

/// Encoded data lines, with what a session remembers of each line.
///
/// Copies share their bytes.
struct EncodedRun: Sendable {
    /// One line.
    struct Line: Sendable {
        /// The line as it is sent.
        var bytes: ByteBuffer
        /// The bucket, positions and counts of the line.
        var contents: SentChunk
        /// The number of operations, by kind.
        var operationCounts: [SyncOperation.Kind: Int]
    }

    /// The lines, in their order.
    var lines: [Line] = []

    /// The bytes of the lines.
    var readableBytes: Int { lines.reduce(0) { $0 + $1.bytes.readableBytes } }

    /// The memory that the lines take.
    var byteCount: Int { lines.reduce(0) { $0 + $1.bytes.storageCapacity } }

    /// Encodes chunks; each is freed when its line is there.
    init(_ chunks: consuming [BucketChunk], as encoding: SyncSession.Encoding) {
        lines.reserveCapacity(chunks.count)
        chunks.reverse()
        while let chunk = chunks.popLast() {
            var bytes = ByteBuffer()
            SyncLine.data(chunk.line).encode(as: encoding.format, rawData: encoding.isRawData, into: &bytes)
            var counts: [SyncOperation.Kind: Int] = [:]
            for operation in chunk.line.operations { counts[operation.kind, default: 0] += 1 }
            lines.append(Line(bytes: bytes, contents: SentChunk(chunk), operationCounts: counts))
        }
    }
}

/// The facts about a data line that a session remembers when it has sent the line.
struct SentChunk: Sendable, Equatable {
    /// The bucket.
    var bucket: BucketName
    /// The last op id of the line.
    var nextAfter: OpID?
    /// Whether more of the bucket follows.
    var hasMore: Bool
    /// The number of operations.
    var operationCount: Int
    /// The largest target op; see ``BucketChunk/targetOp``.
    var targetOp: OpID?

    init(_ chunk: BucketChunk) {
        bucket = chunk.line.bucket
        nextAfter = chunk.line.nextAfter
        hasMore = chunk.line.hasMore
        operationCount = chunk.line.operations.count
        targetOp = chunk.targetOp
    }
}
