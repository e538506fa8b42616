import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// Reads operations into chunks: the segments of each bucket, then its tail (docs/service.md "Reading buckets").
struct BucketDataReader {
    private let db: Database
    private let segments: PreparedStatement
    private let tail: PreparedStatement
    private let checkpoint: StorageCheckpoint
    private var chunks: BucketChunkBuilder

    /// Creates a reader for one read transaction.
    init(_ db: Database, checkpoint: StorageCheckpoint, limits: BucketDataLimits) throws {
        self.db = db
        // Those with operations after an op id, in order.
        segments = try PreparedStatement(
            db,
            sql: """
                SELECT s.operations, s.bucket
                FROM buckets AS b CROSS JOIN segments AS s ON s.bucket = b.id
                WHERE b.stream = ? AND b.name = ? AND s.last_op > ?
                ORDER BY s.last_op
                """
        )
        // Operations in order, those left out that are in segments.
        tail = try PreparedStatement(
            db,
            sql: """
                SELECT \(StoredOperation.columns)
                FROM buckets AS b CROSS JOIN operations AS o ON o.bucket = b.id
                LEFT JOIN names AS s ON s.id = o.source_table
                LEFT JOIN names AS t ON t.id = o.table_name
                WHERE b.stream = ? AND b.name = ? AND o.op_id > max(?, b.sealed_op) AND o.op_id <= ?
                ORDER BY o.op_id
                LIMIT ?
                """
        )
        self.checkpoint = checkpoint
        chunks = BucketChunkBuilder(limits: limits)
    }

    /// Reads the buckets in the order given.
    consuming func read(_ positions: [StreamingSyncRequest.BucketPosition]) throws -> [BucketChunk] {
        defer {
            segments.reset()
            tail.reset()
        }
        for position in positions {
            guard chunks.begin() else { break }
            if try readSegments(position) { try readTail(position) }
            chunks.endBucket()
        }
        return chunks.finish()
    }

    /// - Returns: Whether what follows may be read.
    private mutating func readSegments(_ position: StreamingSyncRequest.BucketPosition) throws -> Bool {
        segments.bind(checkpoint.streamID.rawValue, at: 1)
        segments.bind(position.name.rawValue, at: 2)
        segments.bind(position.after.rawValue, at: 3)
        var hasRoom = true
        while hasRoom, try segments.step() {
            try unsafe BucketSegments.read(segments.blob(at: 0), of: segments.integer(at: 1), db) { operation in
                guard operation.opID > position.after.rawValue else { return true }
                // Nothing that follows is part of the checkpoint.
                hasRoom = operation.opID <= checkpoint.opID.rawValue && chunks.append(operation, of: position)
                return hasRoom
            }
        }
        segments.reset()
        return hasRoom
    }

    private mutating func readTail(_ position: StreamingSyncRequest.BucketPosition) throws {
        tail.bind(checkpoint.streamID.rawValue, at: 1)
        tail.bind(position.name.rawValue, at: 2)
        tail.bind(position.after.rawValue, at: 3)
        tail.bind(checkpoint.opID.rawValue, at: 4)
        tail.bind(Int64(chunks.remainingOperations), at: 5)
        while try tail.step(), chunks.append(StoredOperation(tail), of: position) {}
        tail.reset()
    }
}
