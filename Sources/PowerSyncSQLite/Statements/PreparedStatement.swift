package import GRDB
// Public for the sake of what is inlined, as is `@usableFromInline`: with less, every call of a column is one into this module.
public import GRDBSQLite

/// A prepared statement that is bound, stepped and read through SQLite's C API: the one place where our targets meet its
/// pointers.
///
/// It exists for what GRDB's `Statement` is not made for; everything else goes through GRDB.
///
/// - Loops with one execution for every operation or row. GRDB makes a Swift value of each argument and column, where bytes go
///   from a line to a parameter here, and from a column to a line, and has observers look at each execution.
/// - Connections that GRDB does not know, and statements inside of SQL functions and virtual tables.
/// - Texts with a NUL, at which GRDB's values end, and texts that are not UTF-8, which they repair.
///
/// GRDB's observers do not see an execution: its caller tells them.
///
/// ```swift
/// let rows = try PreparedStatement(db, sql: "SELECT id, data FROM t WHERE id > ?1")
/// defer { rows.reset() }
/// rows.bind(lastID, at: 1)
/// while try rows.step() { read(rows.integer(at: 0), rows.text(at: 1)) }
/// ```
///
/// An execution ends with ``run()``, with a ``step()`` that returns `false` or throws, or with ``reset()``. Each of them
/// forgets the bound values, so that none is used twice by mistake, and no text that was bound in place outlives its memory. The
/// statement can then be bound and stepped again, after an error, too.
///
/// Errors are GRDB's `DatabaseError`, wherever the statement was prepared: with the extended code, SQLite's message and the SQL,
/// and without the values.
///
/// `@safe`: its owner keeps the statement from being finalised as long as the value lives, and SQLite checks the numbers of parameters and
/// columns. What lends or takes memory has a pointer in its interface, which marks its callers.
@safe @usableFromInline
package struct PreparedStatement {
    /// The statement, for calls that are not here.
    @usableFromInline
    package let handle: OpaquePointer
    /// Keeps the statement from being finalised.
    ///
    /// `nil` when another owner does.
    private let owner: AnyObject?

    /// Takes a statement from the cache of a connection of GRDB, or prepares it.
    ///
    /// Two values with the same SQL share the statement, so they must not be stepped at the same time.
    ///
    /// - Parameters:
    ///   - db: The connection.
    ///   - sql: One statement.
    /// - Throws: `DatabaseError` when SQLite does not understand the text.
    package init(_ db: Database, sql: String) throws {
        let cached = try db.cachedStatement(sql: sql)
        let statement = cached.isPrepared(from: sql) ? cached : try db.makeStatement(sql: sql)
        unsafe handle = statement.sqliteStatement
        owner = statement
        reset()
    }

    /// Prepares a statement on a connection of GRDB or of another library.
    ///
    /// The last copy of the value finalises it, which has to be before the connection is closed. `nil` when there is no
    /// statement in the text.
    ///
    /// - Parameters:
    ///   - sql: The text, of which only the first statement is prepared.
    ///   - connection: The `sqlite3 *`.
    ///   - isPersistent: Whether the statement will be kept for long.
    /// - Throws: `DatabaseError` when SQLite does not understand the text.
    package init?(
        preparing sql: String,
        on connection: OpaquePointer,
        isPersistent: Bool = false
    ) throws(DatabaseError) {
        var rest = sql[...]
        try unsafe self.init(preparingFirstOf: &rest, on: connection, isPersistent: isPersistent)
    }

    /// Prepares the first statement of a text, and takes it out of the text.
    ///
    /// - Parameters:
    ///   - sql: The text; afterwards what follows the statement.
    ///   - connection: The `sqlite3 *`.
    ///   - isPersistent: Whether the statement will be kept for long.
    /// - Throws: `DatabaseError` when SQLite does not understand the text.
    package init?(
        preparingFirstOf sql: inout Substring,
        on connection: OpaquePointer,
        isPersistent: Bool = false
    ) throws(DatabaseError) {
        var statement: OpaquePointer?
        let flags = isPersistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        var length = 0
        let code = unsafe sql.withCString { text in
            var end: UnsafePointer<CChar>?
            let code = unsafe sqlite3_prepare_v3(connection, text, -1, flags, &statement, &end)
            length = unsafe end.map { unsafe $0 - text } ?? 0
            return code
        }
        guard code == SQLITE_OK else { throw unsafe DatabaseError(code, reportedBy: connection, sql: String(sql)) }
        sql = Substring(sql.utf8.dropFirst(length))
        guard let statement = unsafe statement else { return nil }
        unsafe handle = statement
        owner = unsafe Finaliser(statement: statement)
    }

    /// A statement of another owner, which keeps it as long as this value is used.
    package init(borrowing handle: OpaquePointer) {
        unsafe self.handle = handle
        owner = nil
    }

    /// Finalises a statement with the last value that uses it.
    ///
    /// `@safe`: it alone finalises the statement, once.
    @safe private final class Finaliser {
        private let statement: OpaquePointer

        init(statement: OpaquePointer) {
            unsafe self.statement = statement
        }

        deinit {
            unsafe sqlite3_finalize(statement)
        }
    }
}

// MARK: - Running

extension PreparedStatement {
    /// Advances to the next row.
    ///
    /// - Returns: Whether there is one. After `false` the execution has ended.
    /// - Throws: `DatabaseError`; the execution has ended.
    @inlinable
    package func step() throws -> Bool {
        let code = unsafe sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        guard code == SQLITE_DONE else { throw failure(code) }
        reset()
        return false
    }

    /// Steps the statement to its end, whatever rows it has.
    ///
    /// - Throws: As ``step()``.
    @inlinable
    package func run() throws {
        while try step() {}
    }

    /// Runs a statement once, to its end.
    ///
    /// - Parameters:
    ///   - sql: The statement, without parameters.
    ///   - connection: The `sqlite3 *`.
    /// - Returns: The text in the first column of the first row; `nil` for NULL, and when there is no row.
    /// - Throws: `DatabaseError`.
    @discardableResult
    package static func firstText(_ sql: String, on connection: OpaquePointer) throws -> String? {
        guard let statement = try unsafe PreparedStatement(preparing: sql, on: connection), try statement.step() else {
            return nil
        }
        let text = statement.string(at: 0)
        try statement.run()
        return text
    }

    /// Ends the execution and forgets the bound values.
    ///
    /// A statement that is not reset keeps its transaction open.
    @inlinable
    package func reset() {
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    /// The error of a step, or of binding, which ends the execution.
    @usableFromInline
    package func failure(_ code: CInt) -> any Error {
        let sql = unsafe sqlite3_sql(handle).map { unsafe String(cString: $0) }
        // SQLite knows the error until the connection is used again, for example by the reset.
        let error = unsafe DatabaseError(code, reportedBy: sqlite3_db_handle(handle), sql: sql)
        reset()
        return error
    }
}

extension Statement {
    /// Whether the statement was prepared from exactly this text.
    ///
    /// GRDB's cache takes texts for equal that only differ in composed and decomposed letters, which may name different
    /// tables. `Statement.sql` is not compared, since it makes a new text each time.
    package func isPrepared(from sql: String) -> Bool {
        guard let text = unsafe sqlite3_sql(sqliteStatement) else { return false }
        var sql = sql
        return sql.withUTF8 { bytes in
            // The text ends at its first NUL, and so does the comparison.
            for index in bytes.indices where unsafe text[index] == 0 || UInt8(bitPattern: text[index]) != bytes[index] {
                return false
            }
            return unsafe text[bytes.count] == 0
        }
    }
}
