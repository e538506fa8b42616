import GRDB
import PowerSyncProtocol
import PowerSyncRules
import PowerSyncSQLite
import PowerSyncServiceCore

/// Writes records in one storage transaction: operations, parameter entries and row states
/// (docs/service.md "Rows and operations").
///
/// For every record at most one row state is read and one written, and one statement runs per operation and parameter
/// entry, and one for each that is superseded. All statements are prepared once.
struct RecordStore {
    private let states: RowStateTable
    private var names: NameTable
    private var log: OperationLog

    /// Begins to write in the current transaction.
    init(_ db: Database, streamID: ReplicationStreamID) throws {
        states = try RowStateTable(db)
        names = try NameTable(db)
        log = try OperationLog(db, streamID: streamID)
    }

    /// Writes one record.
    mutating func write(_ record: PendingRecord) throws {
        let row = try SourceRowKey(record.tableID, number: names.id(of: record.tableID), key: record.beforeKey)
        var existing: StoredRow?
        if record.skipsStoredRow || record.kind != .insert {
            existing = try states.find(row.key, of: row.table)
            if record.skipsStoredRow, existing != nil { return }
        }
        guard let content = record.content else {
            try remove(existing, of: row)
            return
        }
        var newRow = row
        newRow.key = content.key
        if newRow.key != row.key {
            try remove(existing, of: row)
            existing = nil
        }
        // A row that is too large keeps what is stored of it, so that a later change or delete can remove that.
        var state = existing ?? StoredRow()
        if !content.isTooLarge {
            state = try put(content, replacing: state, of: newRow)
        }
        try states.store(state, of: newRow.key, of: newRow.table)
    }

    /// Removes rows of a table from everywhere.
    ///
    /// - Returns: Whether no row is left.
    mutating func removeRows(of tableID: String, limit: Int) throws -> Bool {
        let table = try names.id(of: tableID)
        let found = try states.first(limit, of: table)
        for (key, state) in found { try remove(state, of: SourceRowKey(tableID, number: table, key: key)) }
        return found.count < limit
    }

    /// Stores the op ids that were given out, and the states of buckets.
    ///
    /// - Returns: The last op id; `nil` when there are none.
    consuming func finish() throws -> OpID? {
        try log.finish()
    }

    private mutating func put(
        _ content: PendingRecord.Content,
        replacing old: StoredRow,
        of row: SourceRowKey
    ) throws -> StoredRow {
        var state = StoredRow()
        var visible: [Membership: Int64] = [:]
        for (bucketRow, checksum) in content.rows {
            let table = try names.id(of: bucketRow.table)
            let membership = Membership(
                bucket: try log.bucket(bucketRow.bucket),
                table: table,
                id: Array(bucketRow.id.utf8)
            )
            let opID = try log.append(.put(bucketRow.data, checksum), membership, of: row)
            visible[membership] = opID
            state.puts.append(StoredRow.Put(opID: opID, membership: membership))
        }
        for put in old.puts {
            if let later = visible[put.membership] {
                try log.supersede(put, by: later)
            } else {
                try remove(put, of: row)
            }
        }
        var found: [Int64: Int64] = [:]
        for entry in content.entries {
            let lookup = try log.lookup(entry.lookup)
            let opID = try log.append(entry.rows, lookup: lookup, of: row)
            found[lookup] = opID
            state.entries.append(opID)
        }
        for opID in old.entries {
            let lookup = try log.lookup(of: opID)
            if let later = found[lookup] {
                try log.supersedeEntry(opID, by: later)
            } else {
                try removeEntry(opID, lookup, of: row)
            }
        }
        return state
    }

    /// Removes a row from everywhere, if something is stored of it.
    private mutating func remove(_ state: StoredRow?, of row: SourceRowKey) throws {
        guard let state else { return }
        for put in state.puts { try remove(put, of: row) }
        for opID in state.entries { try removeEntry(opID, try log.lookup(of: opID), of: row) }
        try states.delete(row.key, of: row.table)
    }

    private mutating func remove(_ put: StoredRow.Put, of row: SourceRowKey) throws {
        let removal = try log.append(.remove, put.membership, of: row)
        try log.supersede(put, by: removal)
    }

    private mutating func removeEntry(_ opID: Int64, _ lookup: Int64, of row: SourceRowKey) throws {
        let tombstone = try log.append([], lookup: lookup, of: row)
        try log.supersedeEntry(opID, by: tombstone)
        // Once nothing before it is left, a tombstone says nothing.
        try log.supersedeEntry(tombstone, by: tombstone)
    }
}

/// A row of the source, as the storage knows it.
struct SourceRowKey: Hashable {
    /// The id of the table's record.
    var tableID: String
    /// Its number in `names`.
    var table: Int64
    /// The identity of the row.
    var key: ReplicaID

    /// Creates a key.
    init(_ tableID: String, number: Int64, key: ReplicaID) {
        self.tableID = tableID
        table = number
        self.key = key
    }

    /// What distinguishes source rows with one row id: `<table id>/<replica id>`.
    var subkey: [UInt8] {
        var text = Array(tableID.utf8)
        text.append(UInt8(ascii: "/"))
        key.appendText(to: &text)
        return text
    }
}
