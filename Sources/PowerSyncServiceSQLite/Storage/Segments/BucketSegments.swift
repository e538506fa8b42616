import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncServiceCore

/// The `segments` of buckets, inside one transaction; see ``SegmentEncoder`` for what is in them.
struct BucketSegments {
    /// Where operations of a bucket are looked for.
    struct Segment {
        var id: Int64
        var lastOp: Int64
        var bytes: Int
    }

    private let db: Database
    private let bucket: Int64
    private let insert: PreparedStatement

    /// Prepares to write.
    init(_ db: Database, bucket: Int64) throws {
        self.db = db
        self.bucket = bucket
        insert = try PreparedStatement(
            db,
            sql: "INSERT INTO segments (bucket, first_op, last_op, operations) VALUES (?, ?, ?, ?)"
        )
    }

    /// Stores a segment; nothing when it is empty.
    func store(_ segment: SegmentEncoder) throws {
        guard segment.count > 0 else { return }
        insert.bind(bucket, at: 1)
        insert.bind(segment.firstOp, at: 2)
        insert.bind(segment.lastOp, at: 3)
        insert.bind(blob: segment.encoded(), at: 4)
        try insert.run()
    }

    /// Segments that end at or after an op id, in order; none after those that have the given number of bytes together.
    func segments(from opID: Int64, byteLimit: Int) throws -> [Segment] {
        let statement = try PreparedStatement(
            db,
            sql: """
                SELECT id, last_op, length(operations) FROM segments
                WHERE bucket = ? AND last_op >= ? ORDER BY last_op
                """
        )
        defer { statement.reset() }
        statement.bind(bucket, at: 1)
        statement.bind(opID, at: 2)
        var found: [Segment] = []
        var bytes = 0
        while bytes < byteLimit, try statement.step() {
            found.append(
                Segment(
                    id: statement.integer(at: 0),
                    lastOp: statement.integer(at: 1),
                    bytes: Int(statement.integer(at: 2))
                )
            )
            bytes += found[found.count - 1].bytes
        }
        return found
    }

    /// Reads the operations of a segment in order, until a closure returns `false`.
    func read(_ segment: Segment, _ body: (StoredOperation) throws -> Bool) throws {
        let statement = try PreparedStatement(db, sql: "SELECT operations FROM segments WHERE id = ?")
        defer { statement.reset() }
        statement.bind(segment.id, at: 1)
        while try statement.step() {
            try unsafe Self.read(statement.blob(at: 0), of: bucket, db, body)
        }
    }

    /// Reads the operations of a segment in order, until a closure returns `false`.
    ///
    /// - Throws: ``BucketStorageError`` that names the bucket and the file when the segment is damaged, or the closure finds
    ///   it to be; what else the closure throws.
    static func read(
        _ bytes: UnsafeRawBufferPointer,
        of bucket: Int64,
        _ db: Database,
        _ body: (StoredOperation) throws -> Bool
    ) throws {
        do {
            var reader = try unsafe SegmentReader(bytes)
            while let operation = try reader.next(), try body(operation) {}
        } catch let error as StoredValues.Corruption {
            throw try damage(of: bucket, db, error)
        }
    }

    /// Deletes a segment.
    func delete(_ segment: Segment) throws {
        try db.cachedStatement(sql: "DELETE FROM segments WHERE id = ?").execute(arguments: [segment.id])
    }

    private static func damage(
        of bucket: Int64,
        _ db: Database,
        _ error: StoredValues.Corruption
    ) throws -> BucketStorageError {
        let name = try String.fetchOne(db, sql: "SELECT name FROM buckets WHERE id = ?", arguments: [bucket])
        let file = try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
        return BucketStorageError(
            .corrupted,
            """
            A segment of bucket \(name ?? String(bucket)) in the bucket storage at \(file ?? "?") is damaged. \
            Restore the file from a backup, or delete it: then everything is copied from the source again.
            """,
            underlyingError: error
        )
    }
}
