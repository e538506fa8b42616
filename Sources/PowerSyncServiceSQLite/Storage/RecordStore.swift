import PowerSyncServiceCore
import GRDB
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncSQLite

/// Writes records in one storage transaction: operations, parameter entries and row states
/// (docs/service.md "Rows and operations").
///
/// For every record at most one row state is read and one written, and one statement runs per operation and parameter
/// entry. All statements are prepared once.
struct RecordStore {
    /// What a transaction has stored.
    struct Outcome: Sendable {
        /// The highest op id given out.
        var lastOp: OpID
        /// The buckets that got operations.
        var buckets: Set<BucketName>
        /// The lookups that got entries.
        var lookups: Set<ParameterLookup>
    }

    private let db: Database
    private let streamID: ReplicationStreamID
    private let states: RowStateTable
    private let insertOperation: PreparedStatement
    private let insertEntry: PreparedStatement

    private let firstOp: Int64
    private var lastOp: Int64
    private var buckets: Set<BucketName> = []
    private var lookups: Set<ParameterLookup> = []

    /// Begins to write in the current transaction.
    init(_ db: Database, streamID: ReplicationStreamID) throws {
        self.db = db
        self.streamID = streamID
        states = try RowStateTable(db, streamID: streamID)
        insertOperation = try PreparedStatement(db, sql: Self.insertOperationSQL, interruption: .cancellation)
        insertEntry = try PreparedStatement(db, sql: Self.insertEntrySQL, interruption: .cancellation)
        firstOp = try OpID.last(db).rawValue
        lastOp = firstOp
    }

    /// Writes one record.
    mutating func write(_ record: PendingRecord) throws {
        let row = SourceRowKey(tableID: record.tableID, key: record.beforeKey)
        var existing: RowState?
        if record.skipsStoredRow || record.kind != .insert {
            existing = try states.find(row)
            if record.skipsStoredRow, existing != nil { return }
        }
        guard let content = record.content else {
            try remove(existing, of: row)
            if existing != nil { try states.delete(row) }
            return
        }
        let newRow = SourceRowKey(tableID: record.tableID, key: content.key)
        if newRow != row {
            try remove(existing, of: row)
            if existing != nil { try states.delete(row) }
            existing = nil
        }
        // A row that is too large keeps what is stored of it, so that a later change or delete can remove that.
        var state = existing ?? RowState()
        if !content.isTooLarge {
            state = try put(content, replacing: state, of: newRow)
        }
        try states.store(state, of: newRow)
    }

    /// Removes rows of a table from everywhere.
    ///
    /// - Returns: Whether no row is left.
    mutating func removeRows(of tableID: String, limit: Int) throws -> Bool {
        let found = try states.first(limit, of: tableID)
        for (key, state) in found {
            let row = SourceRowKey(tableID: tableID, key: key)
            try remove(state, of: row)
            try states.delete(row)
        }
        return found.count < limit
    }

    /// Stores the op ids that were given out.
    ///
    /// - Returns: `nil` when there are none.
    consuming func finish() throws -> Outcome? {
        guard lastOp > firstOp else { return nil }
        try db.execute(sql: "UPDATE op_sequence SET last_op_id = ? WHERE id = 1", arguments: [lastOp])
        return Outcome(lastOp: OpID(lastOp), buckets: buckets, lookups: lookups)
    }

    // MARK: Operations

    private mutating func put(
        _ content: PendingRecord.Content,
        replacing old: RowState,
        of row: SourceRowKey
    ) throws -> RowState {
        for (bucketRow, checksum) in content.rows {
            try insert(
                "PUT",
                bucket: bucketRow.bucket,
                table: bucketRow.table,
                id: bucketRow.id,
                checksum: checksum,
                data: bucketRow.data,
                of: row
            )
        }
        for membership in old.buckets where !content.rows.contains(where: { membership.matches($0.row) }) {
            try remove(membership, of: row)
        }
        for entry in content.entries { try insert(entry, of: row) }
        for lookup in old.lookups where !content.entries.contains(where: { $0.lookup == lookup }) {
            try insert(ParameterEntry(lookup: lookup, rows: []), of: row)
        }
        return RowState(
            buckets: content.rows.map {
                RowState.Membership(bucket: $0.row.bucket, table: $0.row.table, id: $0.row.id)
            },
            lookups: content.entries.map(\.lookup)
        )
    }

    private mutating func remove(_ state: RowState?, of row: SourceRowKey) throws {
        guard let state else { return }
        for membership in state.buckets { try remove(membership, of: row) }
        for lookup in state.lookups { try insert(ParameterEntry(lookup: lookup, rows: []), of: row) }
    }

    private mutating func remove(_ membership: RowState.Membership, of row: SourceRowKey) throws {
        try insert(
            "REMOVE",
            bucket: membership.bucket,
            table: membership.table,
            id: membership.id,
            checksum: Checksum.remove(subkey: row.subkey),
            data: nil,
            of: row
        )
    }

    private mutating func insert(
        _ name: String,
        bucket: BucketName,
        table: String,
        id: String,
        checksum: Checksum,
        data: String?,
        of row: SourceRowKey
    ) throws {
        lastOp += 1
        insertOperation.bind(streamID.rawValue, at: 1)
        insertOperation.bind(bucket.rawValue, at: 2)
        insertOperation.bind(lastOp, at: 3)
        insertOperation.bind(name, at: 4)
        insertOperation.bind(Int64(checksum.rawValue), at: 5)
        insertOperation.bind(row.tableID, at: 6)
        row.key.withBytes { insertOperation.bind(blob: $0, at: 7, .copied) }
        insertOperation.bind(table, at: 8)
        insertOperation.bind(id, at: 9)
        if let data { insertOperation.bind(data, at: 10) }
        try insertOperation.run()
        buckets.insert(bucket)
    }

    private mutating func insert(_ entry: ParameterEntry, of row: SourceRowKey) throws {
        lastOp += 1
        insertEntry.bind(streamID.rawValue, at: 1)
        insertEntry.bind(entry.lookup.rawValue, at: 2)
        insertEntry.bind(row.tableID, at: 3)
        row.key.withBytes { insertEntry.bind(blob: $0, at: 4, .copied) }
        insertEntry.bind(lastOp, at: 5)
        _ = StoredValues.encode(entry.rows).withUnsafeBytes { insertEntry.bind(blob: $0, at: 6, .copied) }
        try insertEntry.run()
        lookups.insert(entry.lookup)
    }

    private static let insertOperationSQL = """
        INSERT INTO bucket_data (
            group_id, bucket_name, op_id, op, checksum, source_table, source_key, table_name, row_id, data)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    private static let insertEntrySQL = """
        INSERT INTO bucket_parameters (group_id, lookup, source_table, source_key, id, bucket_parameters)
        VALUES (?, ?, ?, ?, ?, ?)
        """
}

/// A row of the source, as the storage knows it.
struct SourceRowKey: Hashable {
    /// The id of the table's record.
    var tableID: String
    /// The identity of the row.
    var key: ReplicaID

    /// What distinguishes source rows with one row id: `<table id>/<replica id>`.
    var subkey: [UInt8] {
        var text = Array(tableID.utf8)
        text.append(UInt8(ascii: "/"))
        key.appendText(to: &text)
        return text
    }
}
