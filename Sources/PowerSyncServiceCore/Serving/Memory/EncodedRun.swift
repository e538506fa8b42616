import NIOCore
import PowerSyncProtocol

/// Data lines as they are sent, with what a session has to know of them.
///
/// Copies share their bytes.
struct EncodedRun: Sendable {
    /// One line.
    struct Line: Sendable {
        /// The line as it is sent.
        var bytes: ByteBuffer
        /// What it holds.
        var contents: SentChunk
        /// How many operations of each kind it has.
        var operationCounts: [SyncOperation.Kind: Int]
    }

    /// The lines, in their order.
    var lines: [Line] = []

    /// The bytes of the lines.
    var readableBytes: Int { lines.reduce(0) { $0 + $1.bytes.readableBytes } }

    /// The memory that the lines take.
    var byteCount: Int { lines.reduce(0) { $0 + $1.bytes.storageCapacity } }

    /// Encodes chunks; each is let go of when its line is there.
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

/// What a session remembers of a data line that it has sent.
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
