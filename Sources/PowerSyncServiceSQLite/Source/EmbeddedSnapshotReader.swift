import GRDB
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// Copies a table of the embedded source in the order of its primary key, each chunk in a read transaction of its own.
struct EmbeddedSnapshotReader: SnapshotReader {
    let source: EmbeddedSource
    let table: CapturedTable
    /// The version of the file's schema in which the table looks like ``table``.
    let schemaVersion: Int64
    /// The key to continue after.
    var lastKey: EmbeddedKey?

    /// What one look at the file has found.
    private struct Page: Sendable {
        var rows: [SourceRow] = []
        /// The key of the last row; `nil` at the end of the table.
        var lastKey: EmbeddedKey?
        /// That of the last row that can be read.
        var lastReadableKey: [SQLValue]?
        /// Whether there are rows that cannot.
        var hasUnreadable = false
    }

    mutating func next() async throws -> SnapshotChunk? {
        while true {
            let page = try await read(after: lastKey)
            if page.hasUnreadable { source.warnOfUnreadableKeys(table) }
            guard let key = page.lastKey else { return nil }
            lastKey = key
            guard let readable = page.lastReadableKey else { continue }
            return SnapshotChunk(rows: page.rows, lastKey: SnapshotKey(readable))
        }
    }

    private func read(after lastKey: EmbeddedKey?) async throws -> Page {
        try await source.pool.uncancelledRead { [table, schemaVersion] db in
            guard try ChangeCapture.schemaVersion(db) == schemaVersion else {
                throw ReplicationSourceError(
                    .tablesChanged,
                    "The schema of the embedded source has changed while table “\(table.name)” was copied."
                )
            }
            let sql = table.snapshotQuery(isFirst: lastKey == nil)
            let statement = try PreparedStatement(db, sql: sql)
            defer { statement.reset() }
            lastKey?.bind(to: statement)
            let keyIndexes = table.keyIndexes
            var page = Page()
            var count = 0
            var bytes = 0
            while count < SnapshotChunk.maximumRows, bytes < SnapshotChunk.maximumBytes, try statement.step() {
                count += 1
                let key = EmbeddedKey(statement, at: keyIndexes)
                page.lastKey = key
                guard let readable = key.readable else {
                    page.hasUnreadable = true
                    continue
                }
                page.lastReadableKey = readable
                let row = statement.row(of: table.layout, from: 0)
                bytes += row.estimatedBytes
                page.rows.append(row)
            }
            return page
        }
    }
}
