package import PowerSyncProtocol
package import PowerSyncSyncConfig

/// Where the records of one storage transaction are written; ``RecordStore`` decides what.
package protocol RecordTables {
    /// The number of a text that is stored again and again: the id of a source table, or the name of one on clients.
    mutating func number(of name: String) throws -> Int64
    /// The number of a bucket; a new one when there is none.
    mutating func bucket(_ name: BucketName) throws -> Int64
    /// The number of a lookup; a new one when there is none.
    mutating func lookup(_ lookup: ParameterLookup) throws -> Int64

    /// What is stored of a row, as this transaction has left it; `nil` when nothing is.
    mutating func row(_ key: SourceRowKey) throws -> StoredRow?
    /// Some rows of a table.
    ///
    /// - Parameters:
    ///   - table: The number of its id.
    ///   - limit: The most rows.
    ///   - byteLimit: The bytes of states after which no other row is read: one row may be in any number of buckets.
    /// - Returns: The rows, one at least if there is one, and whether the table has no others.
    /// - Throws: ``BucketStorageError`` with code `corrupted`, or an error of the database.
    mutating func rows(
        of table: Int64,
        limit: Int,
        byteLimit: Int
    ) throws -> (found: [(key: ReplicaID, state: StoredRow)], isAll: Bool)
    /// Replaces what is stored of a row.
    mutating func store(_ state: StoredRow, of key: SourceRowKey) throws
    /// Forgets a row.
    mutating func delete(_ key: SourceRowKey) throws

    /// Appends an operation.
    ///
    /// - Returns: Its op id.
    mutating func append(_ change: OperationChange, _ membership: Membership, of row: SourceRowKey) throws -> Int64
    /// Appends a parameter entry; one without outputs is a tombstone.
    ///
    /// - Returns: Its op id.
    mutating func append(_ outputs: [ParameterRow], lookup: Int64, of row: SourceRowKey) throws -> Int64
    /// The lookup of a stored parameter entry.
    mutating func lookup(ofEntry opID: Int64) throws -> Int64
    /// Notes that a `PUT` has become useless, so that compaction need not look for it.
    mutating func supersede(_ put: StoredRow.Put, by later: Int64) throws
    /// Notes that a parameter entry has become useless.
    mutating func supersedeEntry(_ opID: Int64, by later: Int64) throws

    /// Stores the op ids that were given out, and the states of buckets.
    ///
    /// - Returns: The last op id; `nil` when there are none.
    consuming func finish() throws -> OpID?
}

/// What happens to a row in a bucket.
package enum OperationChange {
    /// The row has this content, and the operation this checksum.
    case put(String, Checksum)
    /// The row is gone.
    case remove
}

/// Turns records into operations, parameter entries and row states, in one storage transaction
/// (docs/service.md "Rows and operations").
///
/// For every record at most one row state is read and one written. What a row gives to a bucket or an index that has the same of
/// it already makes no operation and no entry; a record that changes nothing writes nothing, but perhaps
/// the state in another order after rows were added to some parts.
package struct RecordStore<Tables: RecordTables> {
    private var tables: Tables
    /// Whether a record was of a row that an earlier record of its table may have, and that was not found there: it was deleted, or has
    /// another primary key.
    package private(set) var hasUnmatched = false

    /// Begins to write in the current transaction.
    package init(_ tables: Tables) {
        self.tables = tables
    }

    /// Writes one record.
    package mutating func write(_ record: PendingRecord) throws {
        let row = SourceRowKey(record.tableID, number: try tables.number(of: record.tableID), key: record.beforeKey)
        var existing: StoredRow?
        if record.readsStoredRow {
            existing = try tables.row(row)
            if record.skipsStoredRow, existing != nil { return }
            if record.keepsLargerNumber, let stored = existing?.entries.first?.hash.keyed,
                record.content?.entries.contains(where: { $0.hash.keyed > stored }) != true
            {
                return
            }
        }
        // What was in another place, or is in none, is not stored where the row is now.
        var isInPlace = existing != nil
        if existing == nil, let earlier = record.earlier { existing = try take(earlier) }
        guard let content = record.content else {
            try remove(existing, of: row)
            return
        }
        var newRow = row
        newRow.key = content.key
        if let primaryKey = content.primaryKey {
            existing = try keep(existing, of: row, as: newRow, primaryKey, &isInPlace)
        } else if newRow.key != row.key {
            try remove(existing, of: row)
            existing = nil
        }
        let state = try put(content, replacing: existing ?? StoredRow(), of: newRow)
        if !isInPlace || state != existing { try tables.store(state, of: newRow) }
    }

    /// Takes what the earlier record of a table has of a row.
    private mutating func take(_ earlier: PendingRecord.Earlier) throws -> StoredRow? {
        if let key = earlier.key {
            let place = SourceRowKey(earlier.tableID, number: try tables.number(of: earlier.tableID), key: key)
            if var state = try tables.row(place) {
                state.origin = StoredRow.Origin(state.owner(at: place))
                try tables.delete(place)
                return state
            }
        }
        if !earlier.isKnown { hasUnmatched = true }
        return nil
    }

    /// Keeps what is stored of a row that is known by other columns than those of its primary key, also if these have other values now.
    ///
    /// - Parameters:
    ///   - existing: What is stored of the row.
    ///   - row: Where it was before the change.
    ///   - newRow: Where it is after the change.
    ///   - primaryKey: The identity by the primary key: with another one it is another row.
    ///   - isInPlace: Whether that is what is stored under `newRow`.
    /// - Returns: What to replace; `nil` when the row is another one.
    /// - Throws: An error of the database.
    private mutating func keep(
        _ existing: StoredRow?,
        of row: SourceRowKey,
        as newRow: SourceRowKey,
        _ primaryKey: ReplicaID,
        _ isInPlace: inout Bool
    ) throws -> StoredRow? {
        var (place, found) = (row, existing)
        if newRow.key != row.key, existing == nil {
            // The change may have been stored before.
            (place, found) = (newRow, try tables.row(newRow))
            isInPlace = found != nil
        }
        guard let found else { return nil }
        guard found.owner(at: place).key == primaryKey else {
            try remove(found, of: place)
            isInPlace = false
            return nil
        }
        if place.key != newRow.key {
            try tables.delete(place)
            isInPlace = false
        }
        return found
    }

    /// Removes rows of a table from everywhere, as many as one transaction should have.
    ///
    /// - Parameters:
    ///   - tableID: The id of the table's record.
    ///   - limit: The most rows.
    /// - Returns: Whether no row is left.
    /// - Throws: An error of the database.
    package mutating func removeRows(of tableID: String, limit: Int = RemovalLimits.rows) throws -> Bool {
        let table = try tables.number(of: tableID)
        let (found, isAll) = try tables.rows(of: table, limit: limit, byteLimit: RemovalLimits.stateBytes)
        var removed = 0
        for (index, (key, state)) in found.enumerated() {
            try remove(state, of: SourceRowKey(tableID, number: table, key: key))
            removed += state.puts.count + state.entries.count
            if removed >= RemovalLimits.removed { return isAll && index == found.count - 1 }
        }
        return isAll
    }

    /// Stores the op ids that were given out, and the states of buckets.
    ///
    /// - Returns: The last op id; `nil` when there are none.
    package consuming func finish() throws -> OpID? {
        try tables.finish()
    }

    private mutating func put(
        _ content: PendingRecord.Content,
        replacing old: StoredRow,
        of row: SourceRowKey
    ) throws -> StoredRow {
        var state = StoredRow()
        state.origin = old.origin ?? content.primaryKey.map { StoredRow.Origin(key: $0) }
        let row = state.owner(at: row)
        let known = PutsByMembership(old.puts)
        for (bucketRow, hash) in content.rows {
            let membership = try membership(of: bucketRow)
            var put = StoredRow.Put(opID: 0, membership: membership, hash: hash)
            if let stored = known[membership], stored.hash == hash {
                put.opID = stored.opID
            } else {
                put.opID = try tables.append(.put(bucketRow.data, hash.checksum), membership, of: row)
            }
            state.puts.append(put)
        }
        let visible = PutsByMembership(state.puts)
        let withheld = old.puts.isEmpty ? [] : Set(try content.withheld.map { try membership(of: $0) })
        for put in old.puts {
            if let later = visible[put.membership]?.opID {
                if later != put.opID { try tables.supersede(put, by: later) }
            } else if content.isAddition || withheld.contains(put.membership) {
                // It stays, so that a later change or delete can remove it.
                state.puts.append(put)
            } else {
                try remove(put, of: row)
            }
        }
        try putEntries(of: content, replacing: old.entries, in: &state, of: row)
        return state
    }

    private mutating func putEntries(
        of content: PendingRecord.Content,
        replacing old: [StoredRow.Entry],
        in state: inout StoredRow,
        of row: SourceRowKey
    ) throws {
        let oldLookups = try old.map { try tables.lookup(ofEntry: $0.opID) }
        let known = Dictionary(zip(oldLookups, old)) { $1 }
        var found: [Int64: Int64] = [:]
        for (entry, hash) in content.entries {
            let lookup = try tables.lookup(entry.lookup)
            var stored = StoredRow.Entry(opID: 0, hash: hash)
            if let same = known[lookup], same.hash == hash {
                stored.opID = same.opID
            } else {
                stored.opID = try tables.append(entry.rows, lookup: lookup, of: row)
            }
            found[lookup] = stored.opID
            state.entries.append(stored)
        }
        for (entry, lookup) in zip(old, oldLookups) {
            if let later = found[lookup] {
                if later != entry.opID { try tables.supersedeEntry(entry.opID, by: later) }
            } else if content.isAddition {
                state.entries.append(entry)
            } else {
                try removeEntry(entry.opID, lookup, of: row)
            }
        }
    }

    private mutating func membership(of row: BucketRow) throws -> Membership {
        let table = try tables.number(of: row.table)
        return Membership(bucket: try tables.bucket(row.bucket), table: table, id: Array(row.id.utf8))
    }

    /// Removes a row from everywhere, if something is stored of it.
    private mutating func remove(_ state: StoredRow?, of row: SourceRowKey) throws {
        guard let state else { return }
        let owner = state.owner(at: row)
        for put in state.puts { try remove(put, of: owner) }
        for entry in state.entries { try removeEntry(entry.opID, try tables.lookup(ofEntry: entry.opID), of: owner) }
        try tables.delete(row)
    }

    private mutating func remove(_ put: StoredRow.Put, of row: SourceRowKey) throws {
        let removal = try tables.append(.remove, put.membership, of: row)
        try tables.supersede(put, by: removal)
    }

    private mutating func removeEntry(_ opID: Int64, _ lookup: Int64, of row: SourceRowKey) throws {
        let tombstone = try tables.append([], lookup: lookup, of: row)
        try tables.supersedeEntry(opID, by: tombstone)
        // Once nothing before it is left, a tombstone says nothing.
        try tables.supersedeEntry(tombstone, by: tombstone)
    }
}

/// What a row gives to buckets, by these: most rows are in a few of them, among which looking is faster than hashing.
private struct PutsByMembership {
    private let puts: [StoredRow.Put]
    private let table: [Membership: StoredRow.Put]?

    init(_ puts: [StoredRow.Put]) {
        self.puts = puts
        table = puts.count > 8 ? Dictionary(puts.map { ($0.membership, $0) }) { $1 } : nil
    }

    subscript(membership: Membership) -> StoredRow.Put? {
        if let table { return table[membership] }
        return puts.last { $0.membership == membership }
    }
}

extension StoredRow {
    /// Under what the operations of the row were given.
    ///
    /// - Parameter place: Where the state is.
    /// - Returns: The key of its primary key, if it is stored under another one.
    package func owner(at place: SourceRowKey) -> SourceRowKey {
        guard let origin else { return place }
        guard origin.table == 0 else {
            return SourceRowKey(String(decoding: origin.tableID, as: UTF8.self), number: origin.table, key: origin.key)
        }
        var owner = place
        owner.key = origin.key
        return owner
    }
}

/// How much is removed in one storage transaction: what becomes of it is kept in memory until its end.
package enum RemovalLimits {
    /// The most rows.
    package static let rows = 2000
    /// Operations and parameter entries after which no other row is removed.
    fileprivate static let removed = 50_000
    /// Bytes of row states after which no other one is read.
    fileprivate static let stateBytes = 1 << 20
}

extension PendingRecord {
    /// Whether what is stored of the row decides about what is written.
    package var readsStoredRow: Bool { skipsStoredRow || kind != .insert }
}

/// A row of the source, as a storage knows it.
package struct SourceRowKey: Hashable, Sendable {
    /// The id of the table's record.
    package let tableID: String
    /// Its number.
    package let table: Int64
    /// The identity of the row.
    package var key: ReplicaID

    /// Creates a key.
    package init(_ tableID: String, number: Int64, key: ReplicaID) {
        self.tableID = tableID
        table = number
        self.key = key
    }

    /// What distinguishes source rows with one row id: `<table id>/<replica id>`.
    package var subkey: [UInt8] {
        var text = Array(tableID.utf8)
        text.append(UInt8(ascii: "/"))
        key.appendText(to: &text)
        return text
    }
}
