import GRDB
import GRDBSQLite

/// A statement of one connection that is prepared on its first use and kept until the connection closes.
///
/// For SQL functions and virtual tables, which also work on connections that GRDB does not know. SQLite refuses to close a
/// connection that has statements: call ``close()`` before.
///
/// It may be run while it runs, as by a trigger that it fires: that run has a statement of its own.
///
/// `@safe`: its owner calls ``close()`` before the connection closes, and runs it no more.
@safe @usableFromInline
package final class KeptStatement {
    private let connection: OpaquePointer
    private let sql: String
    private var statement: PreparedStatement?

    /// Prepares nothing yet.
    ///
    /// - Parameters:
    ///   - connection: The `sqlite3 *`.
    ///   - sql: One statement.
    package init(_ connection: OpaquePointer, _ sql: String) {
        unsafe self.connection = connection
        self.sql = sql
    }

    /// Runs the statement to its end, or to its first row: at that, SQLite has made all changes.
    ///
    /// - Parameter bind: Binds the parameters. What is bound in place needs to stay there until this returns.
    /// - Returns: The integer in the first column of the first row, 0 if there was no row.
    /// - Throws: `DatabaseError`, and what `bind` throws.
    @discardableResult
    @inlinable
    package func run(_ bind: (PreparedStatement) throws -> Void = { _ in }) throws -> Int64 {
        try firstRow(bind) { $0.integer(at: 0) } ?? 0
    }

    /// Runs the statement to its end, or to its first row: at that, SQLite has made all changes.
    ///
    /// - Parameters:
    ///   - bind: Binds the parameters. What is bound in place needs to stay there until this returns.
    ///   - read: Reads the columns of the first row.
    /// - Returns: What was read, `nil` if there was no row.
    /// - Throws: `DatabaseError`, and what `bind` throws.
    @inlinable
    package func firstRow<Value>(
        _ bind: (PreparedStatement) throws -> Void,
        _ read: (PreparedStatement) -> Value
    ) throws -> Value? {
        let statement = try prepared()
        try bind(statement)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return read(statement)
    }

    /// Finalises the statement.
    ///
    /// The next run prepares it again. Virtual tables may be disconnected with it, those that triggers of the statement write to, and
    /// may call this: so it is released when it is no longer here.
    package func close() {
        let last = statement
        statement = nil
        withExtendedLifetime(last) {}
    }

    @usableFromInline
    func prepared() throws -> PreparedStatement {
        if let statement, unsafe sqlite3_stmt_busy(statement.handle) == 0 { return statement }
        let prepared = try unsafe PreparedStatement(preparing: sql, on: connection, isPersistent: true)
        guard let prepared else {
            throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "there is no statement in the text", sql: sql)
        }
        if statement == nil { statement = prepared }
        return prepared
    }
}
