import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// Writes what ``RecordStore`` decides, one statement for each operation, parameter entry and row state.
///
/// All statements are prepared once.
struct SQLiteRecordTables: RecordTables {
    private let states: RowStateTable
    private var names: NameTable
    private var log: OperationLog

    /// Begins to write in the current transaction.
    init(_ db: Database, streamID: ReplicationStreamID) throws {
        states = try RowStateTable(db)
        names = try NameTable(db)
        log = try OperationLog(db, streamID: streamID)
    }

    mutating func number(of name: String) throws -> Int64 { try names.id(of: name) }
    mutating func bucket(_ name: BucketName) throws -> Int64 { try log.bucket(name) }
    mutating func lookup(_ lookup: ParameterLookup) throws -> Int64 { try log.lookup(lookup) }

    func row(_ key: SourceRowKey) throws -> StoredRow? { try states.find(key.key, of: key.table) }

    func rows(
        of table: Int64,
        limit: Int,
        byteLimit: Int
    ) throws -> (found: [(key: ReplicaID, state: StoredRow)], isAll: Bool) {
        try states.first(limit, of: table, byteLimit: byteLimit)
    }

    func store(_ state: StoredRow, of key: SourceRowKey) throws { try states.store(state, of: key.key, of: key.table) }
    func delete(_ key: SourceRowKey) throws { try states.delete(key.key, of: key.table) }

    mutating func append(_ change: OperationChange, _ membership: Membership, of row: SourceRowKey) throws -> Int64 {
        try log.append(change, membership, of: row)
    }

    mutating func append(_ outputs: [ParameterRow], lookup: Int64, of row: SourceRowKey) throws -> Int64 {
        try log.append(outputs, lookup: lookup, of: row)
    }

    func lookup(ofEntry opID: Int64) throws -> Int64 { try log.lookup(of: opID) }
    func supersede(_ put: StoredRow.Put, by later: Int64) throws { try log.supersede(put, by: later) }
    func supersedeEntry(_ opID: Int64, by later: Int64) throws { try log.supersedeEntry(opID, by: later) }
    consuming func finish() throws -> OpID? { try log.finish() }
}
