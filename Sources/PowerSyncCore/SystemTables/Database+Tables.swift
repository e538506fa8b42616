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
        try firstInteger("SELECT EXISTS (SELECT 1 FROM \(SQLText.identifier(table)))") == 1
    }

    /// What a statement returns that is run for each checkpoint: the first column of its first row.
    ///
    /// Without a cursor and without observers that look at the execution, as GRDB's `fetchOne` has them.
    ///
    /// - Parameter sql: One statement without parameters, which is kept.
    /// - Returns: The integer; `nil` for NULL, or when there is no row.
    /// - Throws: `DatabaseError`.
    func firstInteger(_ sql: String) throws -> Int64? {
        let statement = try PreparedStatement(self, sql: sql)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return statement.isNull(at: 0) ? nil : statement.integer(at: 0)
    }
}
