import GRDB
import PowerSyncRules
import PowerSyncSQLite
import PowerSyncServiceCore

/// What is stored of one row of the source: where it is visible, so that it can be removed there.
///
/// Stored as one list of numbers (LEB128: seven bits a byte, the lowest first, the eighth bit says that more follow): how
/// many operations, their op ids, and those of the parameter entries.
struct StoredRow: Equatable {
    /// The op ids of the `PUT`s that are not superseded.
    var operations: [Int64] = []
    /// The op ids of the parameter entries that are not superseded.
    var entries: [Int64] = []

    /// The stored form.
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: UInt64(operations.count))
        for opID in operations + entries { bytes.append(number: UInt64(opID)) }
        return bytes
    }

    /// Creates a row that is nowhere.
    init() {}

    /// Reads the stored form.
    init(_ bytes: UnsafeRawBufferPointer) throws(StoredValues.Corruption) {
        var rest = bytes[...]
        let count = try rest.readNumber()
        while !rest.isEmpty {
            let opID = Int64(truncatingIfNeeded: try rest.readNumber())
            if operations.count < count { operations.append(opID) } else { entries.append(opID) }
        }
        guard operations.count == count else { throw StoredValues.Corruption() }
    }
}

extension [UInt8] {
    fileprivate mutating func append(number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }
}

extension Slice<UnsafeRawBufferPointer> {
    fileprivate mutating func readNumber() throws(StoredValues.Corruption) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = popFirst() else { throw StoredValues.Corruption() }
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
        }
        throw StoredValues.Corruption()
    }
}

/// The `row_states` of a stream, inside one transaction.
///
/// The key of a row is a hash already (``ReplicaID``), so states are found in one step, in no order of the source.
struct RowStateTable {
    private let select: PreparedStatement
    private let upsert: PreparedStatement
    private let remove: PreparedStatement
    private let list: PreparedStatement

    /// Prepares the statements.
    init(_ db: Database) throws {
        func statement(_ sql: String) throws -> PreparedStatement {
            try PreparedStatement(db, sql: sql, interruption: .cancellation)
        }
        select = try statement("SELECT state FROM row_states WHERE source_table = ? AND source_key = ?")
        upsert = try statement("INSERT OR REPLACE INTO row_states (source_table, source_key, state) VALUES (?, ?, ?)")
        remove = try statement("DELETE FROM row_states WHERE source_table = ? AND source_key = ?")
        list = try statement(
            "SELECT state, source_key FROM row_states WHERE source_table = ? ORDER BY source_key LIMIT ?"
        )
    }

    /// The state of a row, `nil` when nothing is stored of it.
    func find(_ key: ReplicaID, of table: Int64) throws -> StoredRow? {
        bind(key, of: table, to: select)
        var state: StoredRow?
        while try select.step() { state = try decode(select) }
        return state
    }

    /// Replaces the state of a row.
    func store(_ state: StoredRow, of key: ReplicaID, of table: Int64) throws {
        bind(key, of: table, to: upsert)
        _ = state.encoded.withUnsafeBytes { upsert.bind(blob: $0, at: 3, .copied) }
        try upsert.run()
    }

    /// Forgets a row.
    func delete(_ key: ReplicaID, of table: Int64) throws {
        bind(key, of: table, to: remove)
        try remove.run()
    }

    /// Some rows of a table.
    func first(_ limit: Int, of table: Int64) throws -> [(key: ReplicaID, state: StoredRow)] {
        list.bind(table, at: 1)
        list.bind(Int64(limit), at: 2)
        var rows: [(key: ReplicaID, state: StoredRow)] = []
        while try list.step() {
            rows.append((ReplicaID(bytes: list.blob(at: 1)), try decode(list)))
        }
        return rows
    }

    private func bind(_ key: ReplicaID, of table: Int64, to statement: PreparedStatement) {
        statement.bind(table, at: 1)
        key.withBytes { statement.bind(blob: $0, at: 2, .copied) }
    }

    private func decode(_ statement: PreparedStatement) throws -> StoredRow {
        do {
            return try StoredRow(statement.blob(at: 0))
        } catch {
            statement.reset()
            throw BucketStorageError(
                .corrupted,
                "The state of a source row in the bucket storage cannot be read.",
                underlyingError: error
            )
        }
    }
}
