import GRDB
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// The `row_states` of a stream, inside one transaction.
///
/// The key of a row is a hash already (``ReplicaID``), so states are found in one step, in no order of the source.
struct RowStateTable {
    private let select: PreparedStatement
    private let upsert: PreparedStatement
    private let remove: PreparedStatement
    private let list: PreparedStatement
    private let page: PreparedStatement

    /// Prepares the statements.
    init(_ db: Database) throws {
        func statement(_ sql: String) throws -> PreparedStatement {
            try PreparedStatement(db, sql: sql)
        }
        select = try statement("SELECT state FROM row_states WHERE source_table = ? AND source_key = ?")
        upsert = try statement("INSERT OR REPLACE INTO row_states (source_table, source_key, state) VALUES (?, ?, ?)")
        remove = try statement("DELETE FROM row_states WHERE source_table = ? AND source_key = ?")
        list = try statement(
            "SELECT state, source_key FROM row_states WHERE source_table = ? ORDER BY source_key LIMIT ?"
        )
        page = try statement(
            "SELECT state, source_key FROM row_states WHERE source_table = ? AND source_key > ? ORDER BY source_key LIMIT ?"
        )
    }

    /// The state of a row, `nil` when nothing is stored of it.
    func find(_ key: ReplicaID, of table: Int64) throws -> StoredRow? {
        bind(key, of: table, to: select)
        var state: StoredRow?
        while try select.step() { state = try decode(select) }
        return state
    }

    /// Replaces the state of a row, which is given as it is stored.
    func store(_ encoded: [UInt8], of key: ReplicaID, of table: Int64) throws {
        bind(key, of: table, to: upsert)
        upsert.bind(blob: encoded, at: 3)
        try upsert.run()
    }

    /// Forgets a row.
    func delete(_ key: ReplicaID, of table: Int64) throws {
        bind(key, of: table, to: remove)
        try remove.run()
    }

    /// Some rows of a table: at most `limit`, and no other one after states of `byteLimit` bytes.
    ///
    /// - Returns: The rows, and whether the table has no others.
    func first(
        _ limit: Int,
        of table: Int64,
        byteLimit: Int
    ) throws -> (found: [(key: ReplicaID, state: StoredRow)], isAll: Bool) {
        list.bind(table, at: 1)
        list.bind(Int64(limit), at: 2)
        var rows: [(key: ReplicaID, state: StoredRow)] = []
        var bytes = 0
        while try list.step() {
            guard bytes < byteLimit else {
                list.reset()
                return (rows, false)
            }
            unsafe bytes += list.blob(at: 0).count
            unsafe rows.append((ReplicaID(bytes: list.blob(at: 1)), try decode(list)))
        }
        return (rows, rows.count < limit)
    }

    /// The rows of a table after one, in the order of their keys.
    ///
    /// - Parameters:
    ///   - key: The bytes of the key; none for the first rows.
    ///   - table: The number of the table's id.
    ///   - limit: The most rows.
    /// - Returns: The rows.
    /// - Throws: `DatabaseError` of SQLite.
    func rows(after key: [UInt8], of table: Int64, limit: Int) throws -> [(key: ReplicaID, state: StoredRow)] {
        page.bind(table, at: 1)
        page.bind(blob: key, at: 2)
        page.bind(Int64(limit), at: 3)
        var rows: [(key: ReplicaID, state: StoredRow)] = []
        while try page.step() { unsafe rows.append((ReplicaID(bytes: page.blob(at: 1)), try decode(page))) }
        return rows
    }

    private func bind(_ key: ReplicaID, of table: Int64, to statement: PreparedStatement) {
        statement.bind(table, at: 1)
        unsafe key.withBytes { unsafe statement.bind(blob: $0, at: 2, .copied) }
    }

    private func decode(_ statement: PreparedStatement) throws -> StoredRow {
        do {
            return try unsafe Self.decode(statement.blob(at: 0))
        } catch {
            statement.reset()
            throw error
        }
    }

    private static func decode(_ bytes: UnsafeRawBufferPointer) throws -> StoredRow {
        do {
            return try unsafe StoredRow(bytes)
        } catch {
            throw BucketStorageError(
                .corrupted,
                "The state of a source row in the bucket storage cannot be read.",
                underlyingError: error
            )
        }
    }

    /// Reads a state from its stored form.
    static func decode(_ encoded: [UInt8]) throws -> StoredRow {
        try unsafe encoded.withUnsafeBytes { try unsafe decode($0) }
    }
}
