import PowerSyncServiceCore
import GRDB
import PowerSyncRules
import PowerSyncSQLite

/// The `current_data` of one stream, inside one transaction.
struct RowStateTable {
    private let select: PreparedStatement
    private let upsert: PreparedStatement
    private let remove: PreparedStatement
    private let list: PreparedStatement
    private let streamID: ReplicationStreamID

    /// Prepares the statements.
    init(_ db: Database, streamID: ReplicationStreamID) throws {
        self.streamID = streamID
        func statement(_ sql: String) throws -> PreparedStatement {
            try PreparedStatement(db, sql: sql, interruption: .cancellation)
        }
        select = try statement(
            "SELECT buckets, lookups FROM current_data WHERE group_id = ? AND source_table = ? AND source_key = ?"
        )
        upsert = try statement(
            """
            INSERT OR REPLACE INTO current_data (group_id, source_table, source_key, buckets, lookups)
            VALUES (?, ?, ?, ?, ?)
            """
        )
        remove = try statement("DELETE FROM current_data WHERE group_id = ? AND source_table = ? AND source_key = ?")
        list = try statement(
            """
            SELECT buckets, lookups, source_key FROM current_data
            WHERE group_id = ? AND source_table = ?
            ORDER BY source_key LIMIT ?
            """
        )
    }

    /// The state of a row, `nil` when nothing is stored of it.
    func find(_ row: SourceRowKey) throws -> RowState? {
        bind(row, to: select)
        var state: RowState?
        while try select.step() { state = try decode(select, tableID: row.tableID) }
        return state
    }

    /// Replaces the state of a row.
    func store(_ state: RowState, of row: SourceRowKey) throws {
        bind(row, to: upsert)
        _ = RowState.encode(state.buckets).withUnsafeBytes { upsert.bind(blob: $0, at: 4, .copied) }
        _ = RowState.encode(state.lookups).withUnsafeBytes { upsert.bind(blob: $0, at: 5, .copied) }
        try upsert.run()
    }

    /// Forgets a row.
    func delete(_ row: SourceRowKey) throws {
        bind(row, to: remove)
        try remove.run()
    }

    /// Some rows of a table.
    func first(_ limit: Int, of tableID: String) throws -> [(key: ReplicaID, state: RowState)] {
        list.bind(streamID.rawValue, at: 1)
        list.bind(tableID, at: 2)
        list.bind(Int64(limit), at: 3)
        var rows: [(key: ReplicaID, state: RowState)] = []
        while try list.step() {
            rows.append((ReplicaID(bytes: list.blob(at: 2)), try decode(list, tableID: tableID)))
        }
        return rows
    }

    private func bind(_ row: SourceRowKey, to statement: PreparedStatement) {
        statement.bind(streamID.rawValue, at: 1)
        statement.bind(row.tableID, at: 2)
        row.key.withBytes { statement.bind(blob: $0, at: 3, .copied) }
    }

    private func decode(_ statement: PreparedStatement, tableID: String) throws -> RowState {
        do {
            return RowState(
                buckets: try RowState.decodeBuckets(statement.blob(at: 0)),
                lookups: try RowState.decodeLookups(statement.blob(at: 1))
            )
        } catch {
            statement.reset()
            throw BucketStorageError(
                .corrupted,
                "A row state of source table \(tableID) in stream \(streamID) cannot be read.",
                underlyingError: error
            )
        }
    }
}
