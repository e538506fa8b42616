import GRDB
import PowerSyncRules
import PowerSyncSQLite
import PowerSyncServiceCore

/// Copies a table of the embedded source in the order of its primary key, each chunk in a read transaction of its own.
struct EmbeddedSnapshotReader: SnapshotReader {
    /// The most rows of a chunk.
    static let maximumRows = 2000
    /// A chunk ends with the row that makes it larger than this.
    static let maximumBytes = 5 * 1024 * 1024

    let pool: DatabasePool
    let table: CapturedTable
    /// The version of the file's schema in which the table looks like ``table``.
    let schemaVersion: Int64
    /// The key to continue after.
    var lastKey: [SQLiteValue]?

    mutating func next() async throws -> SnapshotChunk? {
        let rows = try await pool.read { [table, schemaVersion, lastKey] db in
            guard try ChangeCapture.schemaVersion(db) == schemaVersion else {
                throw ReplicationSourceError(
                    .tablesChanged,
                    "The schema of the embedded source has changed while table “\(table.name)” was copied."
                )
            }
            let sql = table.snapshotQuery(isFirst: lastKey == nil)
            let statement = try PreparedStatement(db, sql: sql, interruption: .cancellation)
            defer { statement.reset() }
            for (index, value) in (lastKey ?? []).enumerated() { statement.bind(value, at: CInt(index + 1)) }
            var rows: [SourceRow] = []
            var bytes = 0
            while rows.count < Self.maximumRows, bytes < Self.maximumBytes, try statement.step() {
                let row = statement.row(named: table.columns, from: 0)
                bytes += row.estimatedBytes
                rows.append(row)
            }
            return rows
        }
        guard let last = rows.last else { return nil }
        let key = table.key.map { last[$0.name] ?? .null }
        lastKey = key
        return SnapshotChunk(rows: rows, lastKey: SnapshotKey(key))
    }
}
