import GRDB
import PowerSyncProtocol
import PowerSyncSQLite

/// The rows of `ps_oplog`, one per live PUT, found by key.
///
/// Keys are found through the index `ps_oplog_key`, or through a ``BulkLoad`` while the indexes do not exist.
struct OplogRows {
    /// What a PUT stores, except for its identity.
    ///
    /// `@safe`: it reads no bytes; who does says `unsafe`.
    @safe struct Row {
        var bucket: Int64
        var opID: OpID
        /// The row as JSON text; `nil` is stored as NULL, and published as a deletion.
        var data: UnsafeRawBufferPointer?
        var hash: Checksum
    }

    /// The table and the row id of a PUT.
    ///
    /// `@safe`: it reads no bytes; who does says `unsafe`.
    @safe struct Identity {
        var type: UnsafeRawBufferPointer
        var id: UnsafeRawBufferPointer
    }

    /// A stored row.
    private struct Match {
        var rowID: Int64
        var hash: Checksum
        var typeLength: Int
        var idLength: Int

        /// Whether the row's type and id are these, given that its key is the same: the key begins with both, so equal
        /// lengths mean equal texts.
        func hasIdentity(_ identity: Identity) -> Bool {
            unsafe typeLength == identity.type.count && idLength == identity.id.count
        }
    }

    private let db: Database
    private let bulkLoad: BulkLoad?
    private let find: PreparedStatement
    private let insert: StatementOnDemand
    private let update: StatementOnDemand
    private let delete: StatementOnDemand
    private let recordRow: StatementOnDemand

    /// Prepares the statements.
    init(_ db: Database, bulkLoad: BulkLoad?) throws {
        self.db = db
        self.bulkLoad = bulkLoad
        find = try PreparedStatement(db, sql: bulkLoad == nil ? Self.findByIndex : Self.findByRowID)
        insert = StatementOnDemand(
            db,
            sql: """
                INSERT INTO ps_oplog (bucket, op_id, key, row_type, row_id, data, hash)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                """
        )
        // The columns of two of the three indexes are not set, so that these are not touched.
        update = StatementOnDemand(db, sql: "UPDATE ps_oplog SET op_id = ?2, data = ?3, hash = ?4 WHERE rowid = ?1")
        delete = StatementOnDemand(db, sql: "DELETE FROM ps_oplog WHERE rowid = ?1")
        recordRow = StatementOnDemand(
            db,
            sql: """
                INSERT OR IGNORE INTO ps_updated_rows (row_type, row_id)
                SELECT row_type, row_id FROM ps_oplog WHERE rowid = ?1 AND row_type IS NOT NULL AND row_id IS NOT NULL
                """
        )
    }

    /// The planner could prefer `ps_oplog_opid` for `bucket`, which would visit the whole bucket.
    private static let findByIndex = """
        SELECT rowid, hash, row_type, row_id FROM ps_oplog INDEXED BY ps_oplog_key WHERE bucket = ?1 AND key = ?2
        """

    private static let findByRowID = """
        SELECT rowid, hash, row_type, row_id FROM ps_oplog WHERE rowid = ?3 AND bucket = ?1 AND key = ?2
        """

    /// Inserts a row that has no identity and thereby no key.
    func insertUnidentified(_ row: Row) throws {
        try unsafe write(row, identity: nil, key: nil)
    }

    /// Stores a row in place of all rows of the bucket that have the same key.
    ///
    /// `superseded` is called with the hash of each row that was replaced.
    func replace(_ row: Row, identity: Identity, key: OplogKey, superseded: (Checksum) -> Void) throws {
        let (match, others) = try matches(bucket: row.bucket, key: key)
        if let match, others.isEmpty, match.hasIdentity(identity) {
            superseded(match.hash)
            let update = try self.update.prepared()
            update.bind(match.rowID, at: 1)
            update.bind(row.opID.rawValue, at: 2)
            try unsafe update.bind(checkedText: row.data, at: 3, .inPlace)
            update.bind(Int64(row.hash.signed), at: 4)
            try update.run()
            bulkLoad?.didUpdate(match.rowID, bucket: row.bucket)
            return
        }
        if let match { try remove(match, others, superseded) }
        try unsafe key.withBytes { try unsafe write(row, identity: identity, key: $0) }
        bulkLoad?.didInsert(db.lastInsertedRowID, bucket: row.bucket, keyHash: key.hash(bucket: row.bucket))
    }

    /// Deletes all rows of a bucket that have this key, and records them for the next complete apply.
    ///
    /// `superseded` is called with the hash of each row that was deleted.
    func delete(bucket: Int64, key: OplogKey, superseded: (Checksum) -> Void) throws {
        let (match, others) = try matches(bucket: bucket, key: key)
        if let match { try remove(match, others, superseded) }
    }

    /// Deletes rows whose identity may be another one than that of the operation: keys are ambiguous, the row `b/c` of type `a`
    /// has the same as the row `c` of type `a/b`.
    private func remove(_ match: Match, _ others: [Match], _ superseded: (Checksum) -> Void) throws {
        let recordRow = try self.recordRow.prepared()
        let delete = try self.delete.prepared()
        for match in CollectionOfOne(match) + others {
            superseded(match.hash)
            recordRow.bind(match.rowID, at: 1)
            try recordRow.run()
            delete.bind(match.rowID, at: 1)
            try delete.run()
        }
    }

    private func write(_ row: Row, identity: Identity?, key: UnsafeRawBufferPointer?) throws {
        let insert = try self.insert.prepared()
        insert.bind(row.bucket, at: 1)
        insert.bind(row.opID.rawValue, at: 2)
        try unsafe insert.bind(checkedText: key, at: 3, .inPlace)
        try unsafe insert.bind(checkedText: identity?.type, at: 4, .inPlace)
        try unsafe insert.bind(checkedText: identity?.id, at: 5, .inPlace)
        try unsafe insert.bind(checkedText: row.data, at: 6, .inPlace)
        insert.bind(Int64(row.hash.signed), at: 7)
        try insert.run()
    }

    /// So many rows to look at for one key that an index is faster than a directory.
    private static let manyCandidates = 32

    /// The rows with a key: nearly always none or one; more only in files written by others.
    private func matches(bucket: Int64, key: OplogKey) throws -> (first: Match?, others: [Match]) {
        var first: Match?
        var others: [Match] = []
        func readMatches(_ key: UnsafeRawBufferPointer, rowID: Int64?) throws {
            find.bind(bucket, at: 1)
            try unsafe find.bind(checkedText: key, at: 2, .inPlace)
            if let rowID { find.bind(rowID, at: 3) }
            while try find.step() {
                let match = Match(
                    rowID: find.integer(at: 0),
                    hash: Checksum(truncating: find.integer(at: 1)),
                    typeLength: find.byteCount(at: 2),
                    idLength: find.byteCount(at: 3)
                )
                if first == nil { first = match } else { others.append(match) }
            }
        }
        try unsafe key.withBytes { bytes in
            if let directory = bulkLoad?.keys {
                // Entries may be outdated or collide; the statement compares the key.
                var candidates = 0
                try unsafe directory.forEachRowID(OplogKey.hash(bytes, bucket: bucket)) { rowID in
                    candidates += 1
                    if candidates == Self.manyCandidates { directory.abandon() }
                    guard first?.rowID != rowID, !others.contains(where: { $0.rowID == rowID }) else { return }
                    try unsafe readMatches(bytes, rowID: rowID)
                }
            } else {
                try unsafe readMatches(bytes, rowID: nil)
            }
        }
        return (first, others)
    }
}
