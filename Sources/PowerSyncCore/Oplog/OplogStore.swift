import GRDB
import NIOCore
import PowerSyncProtocol
import PowerSyncSQLite

/// Stores the operations of data lines in `ps_oplog` (docs/client-sync.md "Storing operations").
///
/// `ps_oplog` holds the live PUTs of all buckets; for everything else only the checksum is kept. For every bucket
///
/// - `op_checksum` is the sum of `hash` over its rows in `ps_oplog`,
/// - `add_checksum` is the sum of the checksums of all other operations that were received,
///
/// so superseding a row moves its hash from the one to the other, and their sum is the checksum of everything received
/// up to `last_op`.
///
/// Applying looks at operations beyond `last_applied_op` only. One that comes with a smaller id after all, from a service
/// that announced too high a checkpoint, is noted in `ps_updated_rows`, so that the next complete apply finds it.
///
/// A value lives as long as one transaction. Its statements are prepared once, texts are bound where the line's buffer
/// holds them, and bucket rows change in a ``BucketTable`` only.
struct OplogStore {
    private let db: Database
    private let rows: OplogRows
    private let recordUpdatedRow: StatementOnDemand
    private var key = OplogKey()

    /// Prepares the statements.
    ///
    /// The bulk load finds rows by key while the index over keys does not exist; see ``OplogAccess``.
    init(_ db: Database, bulkLoad: BulkLoad?) throws {
        self.db = db
        rows = try OplogRows(db, bulkLoad: bulkLoad)
        recordUpdatedRow = StatementOnDemand(
            db,
            sql: "INSERT OR IGNORE INTO ps_updated_rows (row_type, row_id) VALUES (?1, ?2)"
        )
    }

    /// Stores the operations of a line and counts them in the bucket's row.
    ///
    /// - Parameters:
    ///   - line: The operations of one bucket.
    ///   - byteCount: The encoded length of the line, added to `downloaded_size`.
    ///   - slot: The bucket, which gets a row if it has none.
    ///   - buckets: The rows of `ps_buckets`.
    /// - Throws: A `DatabaseError`, or a ``SyncEngineError`` when a text range lies outside the line. The transaction
    ///   has to be rolled back then.
    mutating func store(
        _ line: DataLine,
        byteCount: Int,
        at slot: BucketTable.Slot,
        in buckets: inout BucketTable
    ) throws {
        let bucket = try buckets.ensureRow(db, at: slot)
        guard let last = line.operations.last else { return }

        var sums = Sums(add: buckets[slot].addChecksum, op: buckets[slot].opChecksum)
        var isKnownEmpty = buckets[slot].isKnownEmpty
        var lastAppliedOp = buckets[slot].lastAppliedOp
        var wasCleared = false
        var count: Int64 = 0
        try unsafe line.text.withUnsafeReadableBytes { bytes in
            let texts = unsafe LineTexts(bytes: bytes, bucket: line.bucket)
            for operation in line.operations {
                count += 1
                switch operation.kind {
                case .put:
                    try put(operation, texts, bucket: bucket, lastAppliedOp: lastAppliedOp, &sums)
                    isKnownEmpty = false
                case .remove:
                    try remove(operation, texts, bucket: bucket, isKnownEmpty: isKnownEmpty, &sums)
                case .move:
                    sums.add += operation.checksum
                case .clear:
                    if !isKnownEmpty { try Self.deleteAllRows(db, ofBuckets: [bucket]) }
                    sums = Sums(add: operation.checksum, op: .zero)
                    isKnownEmpty = true
                    lastAppliedOp = .zero
                    wasCleared = true
                    count = 1
                }
            }
        }

        if wasCleared { try buckets.noteReset(db, at: slot) }
        buckets.noteStoredOps(at: slot)
        buckets.update(slot, .content) { row in
            row.lastOp = last.opID
            row.addChecksum = sums.add
            row.opChecksum = sums.op
            if wasCleared {
                // All that the bucket holds is sent anew.
                row.countAtLast = 0
                row.countSinceLast = count
            } else {
                row.countSinceLast = row.countSinceLast.addingSaturating(count)
            }
            row.downloadedSize = row.downloadedSize.addingSaturating(Int64(byteCount))
            row.isKnownEmpty = isKnownEmpty
        }
    }

    /// Deletes all rows of buckets.
    ///
    /// What they contribute to is recorded first, so that the next complete apply evaluates it again. One pass over the
    /// table does for all buckets when there is no index to find their rows by.
    static func deleteAllRows(_ db: Database, ofBuckets buckets: [Int64]) throws {
        let list = "[" + buckets.map(String.init).joined(separator: ",") + "]"
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO ps_updated_rows (row_type, row_id)
                SELECT row_type, row_id FROM ps_oplog
                WHERE bucket IN (SELECT value FROM json_each(?)) AND row_type IS NOT NULL AND row_id IS NOT NULL
                """
        ).execute(arguments: [list])
        try db.cachedStatement(sql: "DELETE FROM ps_oplog WHERE bucket IN (SELECT value FROM json_each(?))")
            .execute(arguments: [list])
    }
}

// MARK: - Operations

extension OplogStore {
    /// The checksums of a bucket while its line is being stored.
    private struct Sums {
        var add: Checksum
        var op: Checksum

        mutating func supersede(_ hash: Checksum) {
            add += hash
            op -= hash
        }
    }

    private mutating func put(
        _ operation: SyncOperation,
        _ texts: LineTexts,
        bucket: Int64,
        lastAppliedOp: OpID,
        _ sums: inout Sums
    ) throws {
        let data = try unsafe texts[operation.data]
        let row = unsafe OplogRows.Row(bucket: bucket, opID: operation.opID, data: data, hash: operation.checksum)
        sums.op += operation.checksum
        // Without a type or an id the row cannot be shown, but its checksum counts.
        guard let type = try unsafe texts[operation.objectType], let id = try unsafe texts[operation.objectID] else {
            try rows.insertUnidentified(row)
            return
        }
        unsafe key.set(type: type, id: id, subkey: try texts[operation.subkey])
        try unsafe rows.replace(row, identity: OplogRows.Identity(type: type, id: id), key: key) { sums.supersede($0) }
        if operation.opID <= lastAppliedOp { try unsafe recordUpdated(type: type, id: id) }
    }

    private mutating func remove(
        _ operation: SyncOperation,
        _ texts: LineTexts,
        bucket: Int64,
        isKnownEmpty: Bool,
        _ sums: inout Sums
    ) throws {
        sums.add += operation.checksum
        guard !isKnownEmpty, let type = try unsafe texts[operation.objectType],
            let id = try unsafe texts[operation.objectID]
        else {
            return
        }
        unsafe key.set(type: type, id: id, subkey: try texts[operation.subkey])
        // A key that was not there was not visible either.
        try rows.delete(bucket: bucket, key: key) { sums.supersede($0) }
    }

    /// Records a row that the next complete apply has to evaluate.
    private func recordUpdated(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
        let record = try recordUpdatedRow.prepared()
        try unsafe record.bind(checkedText: type, at: 1, .inPlace)
        try unsafe record.bind(checkedText: id, at: 2, .inPlace)
        try record.run()
    }
}

/// The texts of one line, checked against the bounds of its buffer.
///
/// `@safe`: each range is compared with the number of bytes, and it lives inside the closure that lends them.
@safe private struct LineTexts {
    /// The readable bytes of the line's buffer.
    var bytes: UnsafeRawBufferPointer
    /// Named in errors.
    var bucket: BucketName

    /// The bytes of a range; `nil` for `nil`.
    subscript(range: TextRange?) -> UnsafeRawBufferPointer? {
        get throws {
            guard let range else { return nil }
            let start = Int(range.offset)
            let end = start + Int(range.count)
            guard unsafe end <= bytes.count else {
                throw SyncEngineError(
                    .protocol,
                    unsafe "Line with data of bucket \(bucket) refers to bytes \(start)..<\(end), but has \(bytes.count)"
                )
            }
            return unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        }
    }
}
