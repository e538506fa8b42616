import GRDB
import PowerSyncSQLite

extension Database {
    /// Whether the file has a table.
    ///
    /// Asks SQLite: what GRDB remembers of the schema may be older than a table that another connection has made.
    func hasTable(_ name: String) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?)"
        )
        return try Bool.fetchOne(statement, arguments: [name]) ?? false
    }

    /// Whether a table has any rows.
    ///
    /// - Complexity: O(1).
    func hasRows(_ table: String) throws -> Bool {
        let statement = try cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM \(SQLText.identifier(table)))")
        return try Bool.fetchOne(statement) ?? false
    }
}
