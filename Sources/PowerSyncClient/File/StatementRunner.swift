import Foundation
import GRDB
import GRDBSQLite
import PowerSyncCore
import PowerSyncSQLite

/// Runs the app's statements on one GRDB connection.
///
/// Statements are prepared and stepped by GRDB, so that its observation sees their effects; parameters are bound and
/// columns read through the C API, because GRDB cuts texts at a NUL.
struct StatementRunner {
    let db: Database
    let logger: any LoggerProtocol

    /// Runs all statements of a text to their ends, one after the other; each takes as many of the values as it has parameters.
    ///
    /// - Returns: How many rows they have changed, without those of the app's triggers.
    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        guard StatementRunner.mayHoldSeveralStatements(sql) else {
            let statement = try bind(parameters ?? [], to: try keptStatement(sql), sql: sql)
            defer { letGoOfValues(statement) }
            return try run(statement, sql: sql, table: SQLText.changedTable(sql))
        }
        let statements = try db.allStatements(sql: sql)
        var values = (parameters ?? [])[...]
        var changes: Int64?
        // Each is compiled when those before it have run.
        while let statement = try reportingErrors(of: sql, { try statements.next() }) {
            let count = unsafe PreparedStatement(borrowing: statement.sqliteStatement).parameterCount
            let bound = try bind(Array(values.prefix(count)), to: statement, sql: sql)
            changes = (changes ?? 0) + (try run(bound, sql: sql, table: SQLText.changedTable(statement.sql)))
            values = values.dropFirst(count)
        }
        guard let changes else { throw PowerSyncError.noStatement(in: sql) }
        guard values.isEmpty else {
            let count = parameters?.count ?? 0
            throw PowerSyncError.parameterCount(count, insteadOf: count - values.count, sql: sql)
        }
        return changes
    }

    /// Prepares a statement to run it again and again like ``execute(sql:parameters:)``.
    ///
    /// - Throws: ``PowerSyncError``, also for a text with several statements.
    func preparedRun(sql: String) throws -> ([(any Sendable)?]) throws -> Int64 {
        let statement = try onlyStatement(of: sql)
        let table = SQLText.changedTable(sql)
        return { parameters in
            try run(try bind(parameters, to: statement, sql: sql), sql: sql, table: table)
        }
    }

    /// Runs a statement whose parameters have their values.
    private func run(_ statement: Statement, sql: String, table: String?) throws -> Int64 {
        guard let connection = unsafe db.sqliteConnection else { throw PowerSyncError.databaseIsClosed }
        let changes = unsafe RowChanges(of: table, on: connection)
        try running(statement, sql: sql) { try statement.execute() }
        return changes.count
    }

    /// Maps rows.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - parameters: Values for `?`.
    ///   - limit: How many rows are mapped; `nil` for all.
    ///   - mapper: Makes an element of a row.
    /// - Returns: The elements.
    /// - Throws: ``PowerSyncError``, or what the mapper throws.
    func rows<Row>(
        sql: String,
        parameters: [(any Sendable)?]?,
        limit: Int? = nil,
        mapper: (any SqlCursor) throws -> Row
    ) throws -> [Row] {
        let statement = try bind(parameters ?? [], to: try keptStatement(sql), sql: sql)
        defer { letGoOfValues(statement) }
        return try rows(of: statement, sql: sql, limit: limit, mapper: mapper)
    }

    /// Maps the rows of a prepared statement.
    func rows<Row>(
        of statement: Statement,
        sql: String,
        limit: Int? = nil,
        mapper: (any SqlCursor) throws -> Row
    ) throws -> [Row] {
        #if DEBUG
        if statement.isReadonly { hintAtSlowJoins(of: sql) }
        #endif
        let steps = try running(statement, sql: sql) { try GRDB.Row.fetchCursor(statement) }
        var rowCursor: RowCursor?
        defer { rowCursor?.end() }
        var rows: [Row] = []
        let limit = limit ?? .max
        while try running(statement, sql: sql, { try steps.next() }) != nil {
            // A statement that writes (`INSERT … RETURNING`) has to be stepped to its end to be committed.
            if rows.count >= limit { continue }
            // Its first step may compile a statement anew, for a schema with more columns.
            let cursor = unsafe rowCursor ?? RowCursor(PreparedStatement(borrowing: statement.sqliteStatement))
            rowCursor = cursor
            cursor.didStep()
            do {
                rows.append(try mapper(cursor))
            } catch {
                explain(error, cursor, sql: sql)
                // What has been written is committed all the same, and GRDB tells of it at the end only.
                if !statement.isReadonly { while (try? running(statement, sql: sql, { try steps.next() })) != nil {} }
                throw error
            }
            // A function that it calls may have written: GRDB tells of that at the end of the statement.
            if rows.count >= limit, statement.isReadonly, !Announcements.hasUntoldCommit(db) { break }
        }
        return rows
    }

    /// Logs which statement a mapper has asked for a column that it does not have: the error, which is for the app, has only the name.
    private func explain(_ error: any Error, _ cursor: RowCursor, sql: String) {
        guard case SqlCursorError.columnNotFound(let name)? = error as? SqlCursorError else { return }
        logger.warning(
            """
            A mapper has asked for the column '\(name)', and the statement has the columns '\(cursor.names.joined(separator: "', '"))'. \
            Add the column to the statement, or give it this name with AS: \(sql)
            """,
            tag: LogTag.database
        )
    }

    /// Prepares a statement that is not kept: what it reads is what the schema says now.
    func prepareUncached(_ sql: String, _ parameters: [(any Sendable)?]?) throws -> Statement {
        try bind(parameters ?? [], to: try onlyStatement(of: sql), sql: sql)
    }

    /// Checks that a text is one statement that SQLite understands.
    func check(_ sql: String) throws {
        _ = try onlyStatement(of: sql)
    }

    /// The statement of a text, which is kept for the next time if that is possible.
    private func keptStatement(_ sql: String) throws -> Statement {
        guard !StatementRunner.mayHoldSeveralStatements(sql) else { return try onlyStatement(of: sql) }
        return try reportingErrors(of: sql) {
            try AppStatements.of(db)?.statement(db, sql: sql) ?? db.makeStatement(sql: sql)
        }
    }

    /// Whether the text needs to be looked at statement by statement: it is empty or has a `;` before its end.
    private static func mayHoldSeveralStatements(_ sql: String) -> Bool {
        let isIgnored = { (byte: UInt8) in byte == UInt8(ascii: ";") || byte <= UInt8(ascii: " ") }
        guard let end = sql.utf8.lastIndex(where: { !isIgnored($0) }) else { return true }
        return sql.utf8[..<end].contains(UInt8(ascii: ";"))
    }

    private func onlyStatement(of sql: String) throws -> Statement {
        let statements = try db.allStatements(sql: sql)
        guard let statement = try reportingErrors(of: sql, { try statements.next() }) else {
            throw PowerSyncError.noStatement(in: sql)
        }
        do {
            guard try statements.next() == nil else { throw PowerSyncError.severalStatements(in: sql) }
        } catch is DatabaseError {
            throw PowerSyncError.severalStatements(in: sql)
        }
        return statement
    }

    private func bind(_ parameters: [(any Sendable)?], to statement: Statement, sql: String) throws -> Statement {
        // Resets the statement and tells GRDB that its parameters are taken care of.
        statement.setUncheckedArguments(StatementArguments())
        do {
            let parameterised = unsafe PreparedStatement(borrowing: statement.sqliteStatement)
            let count = parameterised.parameterCount
            guard parameters.count == count else {
                throw PowerSyncError.parameterCount(parameters.count, insteadOf: count, sql: sql)
            }
            for (index, parameter) in parameters.enumerated() {
                let code = try PowerSyncDataType.value(of: parameter).bind(to: parameterised, at: CInt(index + 1))
                guard code == SQLITE_OK else {
                    throw unsafe PowerSyncError(
                        DatabaseError(code, reportedBy: db.sqliteConnection, sql: sql),
                        sql: sql
                    )
                }
            }
        } catch {
            letGoOfValues(statement)
            throw error
        }
        return statement
    }

    /// Runs a step of a statement.
    ///
    /// Outside a transaction SQLite commits what a statement has written that fails half-way, as `INSERT OR FAIL` and triggers with
    /// FAIL do. GRDB does not tell of that: it does at the end of a transaction without a statement, so there is one.
    private func running<T>(_ statement: Statement, sql: String, _ step: () throws -> T) throws -> T {
        do {
            return try reportingErrors(of: sql, step)
        } catch {
            if !statement.isReadonly, Announcements.hasUntoldCommit(db) { try? db.inTransaction(.deferred) { .commit } }
            throw error
        }
    }

    /// A statement is kept for longer than the values that it ran with are needed.
    private func letGoOfValues(_ statement: Statement) {
        unsafe sqlite3_clear_bindings(statement.sqliteStatement)
    }

    private func reportingErrors<T>(of sql: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            let offset = unsafe sqlite3_error_offset(db.sqliteConnection)
            throw PowerSyncError(error, sql: sql, offset: offset < 0 ? nil : offset)
        }
    }
}
