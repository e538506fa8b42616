import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// Writes what ``RecordStore`` decides, one statement for each operation, parameter entry and row state.
///
/// All statements are prepared once. The states of rows lie everywhere in their table: they are written at the end, in its order.
struct SQLiteRecordTables: RecordTables {
    private let db: Database
    private let streamID: ReplicationStreamID
    private let states: RowStateTable
    private var changedStates = ChangedStates()
    private var names: NameTable
    private var buckets: BucketTable
    private let insertOperation: PreparedStatement
    private let insertEntry: PreparedStatement
    private let selectEntry: PreparedStatement
    private let insertSupersededOperation: PreparedStatement
    private let insertSupersededEntry: PreparedStatement
    private let selectLookup: PreparedStatement
    private let insertLookup: PreparedStatement

    private let firstOp: Int64
    private var lastOp: Int64
    private var lookups: [ParameterLookup: Int64] = [:]

    /// Begins to write in the current transaction.
    init(_ db: Database, streamID: ReplicationStreamID) throws {
        self.db = db
        self.streamID = streamID
        states = try RowStateTable(db)
        names = try NameTable(db)
        buckets = try BucketTable(db, streamID: streamID)
        func statement(_ sql: String) throws -> PreparedStatement {
            try PreparedStatement(db, sql: sql)
        }
        insertOperation = try statement(
            """
            INSERT INTO operations (op_id, bucket, op, checksum, source_table, source_key, table_name, row_id, data)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        insertEntry = try statement(
            """
            INSERT INTO parameter_entries (op_id, lookup, source_table, source_key, outputs) VALUES (?, ?, ?, ?, ?)
            """
        )
        selectEntry = try statement("SELECT lookup FROM parameter_entries WHERE op_id = ?")
        insertSupersededOperation = try statement(
            "INSERT INTO superseded_operations (bucket, op_id, by_op) VALUES (?, ?, ?)"
        )
        insertSupersededEntry = try statement(
            "INSERT INTO superseded_entries (op_id, stream, by_op) VALUES (?, ?, ?)"
        )
        selectLookup = try statement("SELECT id FROM lookups WHERE stream = ? AND name = ?")
        insertLookup = try statement("INSERT INTO lookups (stream, name) VALUES (?, ?)")
        firstOp = try OpID.last(db).rawValue
        lastOp = firstOp
    }

    consuming func finish() throws -> OpID? {
        for (place, encoded) in changedStates.inOrder {
            if let encoded {
                try states.store(encoded, of: place.key, of: place.table)
            } else {
                try states.delete(place.key, of: place.table)
            }
        }
        guard lastOp > firstOp else { return nil }
        try buckets.store()
        try db.execute(sql: "UPDATE op_sequence SET last_op_id = ? WHERE id = 1", arguments: [lastOp])
        return OpID(lastOp)
    }

    // MARK: Rows

    mutating func number(of name: String) throws -> Int64 { try names.id(of: name) }

    func row(_ key: SourceRowKey) throws -> StoredRow? {
        if let changed = changedStates.state(at: RowPlace(key)) {
            return try changed.map { try RowStateTable.decode($0) }
        }
        return try states.find(key.key, of: key.table)
    }

    func rows(
        of table: Int64,
        limit: Int,
        byteLimit: Int
    ) throws -> (found: [(key: ReplicaID, state: StoredRow)], isAll: Bool) {
        try states.first(limit, of: table, byteLimit: byteLimit)
    }

    mutating func store(_ state: StoredRow, of key: SourceRowKey) {
        changedStates.set(state.encoded, at: RowPlace(key))
    }

    mutating func delete(_ key: SourceRowKey) { changedStates.set(nil, at: RowPlace(key)) }

    // MARK: Operations

    mutating func bucket(_ name: BucketName) throws -> Int64 {
        try buckets.id(of: name)
    }

    mutating func append(_ change: OperationChange, _ membership: Membership, of row: SourceRowKey) throws -> Int64 {
        lastOp += 1
        let checksum: Checksum
        insertOperation.bind(lastOp, at: 1)
        insertOperation.bind(membership.bucket, at: 2)
        switch change {
        case .put(let data, let sum):
            checksum = sum
            insertOperation.bind("P", at: 3)
            insertOperation.bind(data, at: 9)
        case .remove:
            checksum = .remove(subkey: row.subkey)
            insertOperation.bind("R", at: 3)
            insertOperation.bindNull(at: 9)
        }
        insertOperation.bind(Int64(checksum.rawValue), at: 4)
        insertOperation.bind(row.table, at: 5)
        unsafe row.key.withBytes { unsafe insertOperation.bind(blob: $0, at: 6, .copied) }
        insertOperation.bind(membership.table, at: 7)
        insertOperation.bind(text: membership.id, at: 8)
        try insertOperation.run()
        try buckets.add(lastOp, checksum: checksum, to: membership.bucket)
        return lastOp
    }

    // MARK: Parameter entries

    mutating func lookup(_ lookup: ParameterLookup) throws -> Int64 {
        if let id = lookups[lookup] { return id }
        selectLookup.bind(streamID.rawValue, at: 1)
        selectLookup.bind(lookup.rawValue, at: 2)
        var id: Int64?
        while try selectLookup.step() { id = selectLookup.integer(at: 0) }
        if id == nil {
            insertLookup.bind(streamID.rawValue, at: 1)
            insertLookup.bind(lookup.rawValue, at: 2)
            try insertLookup.run()
        }
        let found = id ?? db.lastInsertedRowID
        lookups[lookup] = found
        return found
    }

    mutating func append(_ outputs: [ParameterRow], lookup: Int64, of row: SourceRowKey) throws -> Int64 {
        lastOp += 1
        insertEntry.bind(lastOp, at: 1)
        insertEntry.bind(lookup, at: 2)
        insertEntry.bind(row.table, at: 3)
        unsafe row.key.withBytes { unsafe insertEntry.bind(blob: $0, at: 4, .copied) }
        insertEntry.bind(blob: StoredValues.encode(outputs), at: 5)
        try insertEntry.run()
        return lastOp
    }

    func lookup(ofEntry opID: Int64) throws -> Int64 {
        selectEntry.bind(opID, at: 1)
        var found: Int64?
        while try selectEntry.step() { found = selectEntry.integer(at: 0) }
        guard let found else { throw missing(opID) }
        return found
    }

    // MARK: Compaction

    func supersede(_ put: StoredRow.Put, by later: Int64) throws {
        insertSupersededOperation.bind(put.membership.bucket, at: 1)
        insertSupersededOperation.bind(put.opID, at: 2)
        insertSupersededOperation.bind(later, at: 3)
        try insertSupersededOperation.run()
    }

    func supersedeEntry(_ opID: Int64, by later: Int64) throws {
        insertSupersededEntry.bind(opID, at: 1)
        insertSupersededEntry.bind(streamID.rawValue, at: 2)
        insertSupersededEntry.bind(later, at: 3)
        try insertSupersededEntry.run()
    }

    private func missing(_ opID: Int64) -> BucketStorageError {
        BucketStorageError(.corrupted, "Operation \(opID) of stream \(streamID) is missing in the bucket storage.")
    }
}

/// Where the state of a row is.
private struct RowPlace: Hashable, Comparable {
    let table: Int64
    let key: ReplicaID

    init(_ row: SourceRowKey) { (table, key) = (row.table, row.key) }

    static func < (one: RowPlace, other: RowPlace) -> Bool { (one.table, one.key) < (other.table, other.key) }

    func hash(into hasher: inout Hasher) { hasher.combine(key.prefix) }
}

/// What is to be stored of rows at the end of a transaction, encoded; `nil` for those that are forgotten.
private struct ChangedStates {
    private var indexes: [RowPlace: Int] = [:]
    private var states: [(place: RowPlace, encoded: [UInt8]?)] = []

    /// What is to be stored of a row.
    ///
    /// - Returns: `nil` when nothing has changed.
    func state(at place: RowPlace) -> [UInt8]?? { indexes[place].map { states[$0].encoded } }

    mutating func set(_ encoded: [UInt8]?, at place: RowPlace) {
        if let index = indexes.updateValue(states.count, forKey: place) {
            indexes[place] = index
            states[index].encoded = encoded
        } else {
            states.append((place, encoded))
        }
    }

    /// All of them, in the order of their table.
    ///
    /// The places are sorted alone, as they are copied faster.
    var inOrder: some Sequence<(place: RowPlace, encoded: [UInt8]?)> {
        states.indices.map { (place: states[$0].place, index: $0) }.sorted { $0.place < $1.place }.lazy
            .map { states[$0.index] }
    }
}
