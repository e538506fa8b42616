import Foundation
import GRDB
import GRDBSQLite
import PowerSyncCore
import PowerSyncSQLite

/// Runs the app's statements on one GRDB connection.
///
/// Statements are prepared and stepped by GRDB, so that its observation sees their effects; parameters are bound and
/// columns read through the C API, because GRDB insists on the exact number of parameters and cuts texts at a NUL.
struct StatementRunner {
    let db: Database
    let logger: any LoggerProtocol

    /// Runs a statement to its end.
    ///
    /// - Returns: What `sqlite3_changes64` tells: the rows changed by the statement itself, not by its triggers.
    func execute(sql: String, parameters: [(any Sendable)?]?) throws -> Int64 {
        let statement = try prepare(sql, parameters)
        defer { letGoOfValues(statement) }
        try running(statement, sql: sql) { try statement.execute() }
        return Int64(sqlite3_changes64(db.sqliteConnection))
    }

    /// Prepares a statement to run it again and again like ``execute(sql:parameters:)``.
    func preparedRun(sql: String) throws -> ([(any Sendable)?]) throws -> Int64 {
        let statement = try firstStatement(of: sql)
        return { parameters in
            let statement = try bind(parameters, to: statement, sql: sql)
            try running(statement, sql: sql) { try statement.execute() }
            return Int64(sqlite3_changes64(db.sqliteConnection))
        }
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
        let statement = try prepare(sql, parameters)
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
        if statement.isReadonly { SlowJoins(db: db, logger: logger).look(at: sql) }
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
            let cursor = rowCursor ?? RowCursor(PreparedStatement(borrowing: statement.sqliteStatement))
            rowCursor = cursor
            cursor.didStep()
            do {
                rows.append(try mapper(cursor))
            } catch {
                // What has been written is committed all the same, and GRDB tells of it at the end only.
                if !statement.isReadonly { while (try? running(statement, sql: sql, { try steps.next() })) != nil {} }
                throw error
            }
            // A function that it calls may have written: GRDB tells of that at the end of the statement.
            if rows.count >= limit, statement.isReadonly, !Announcement.hasUntoldCommit(db) { break }
        }
        return rows
    }

    /// Prepares a statement that is not kept: what it reads is what the schema says now.
    func prepareUncached(_ sql: String, _ parameters: [(any Sendable)?]?) throws -> Statement {
        try bind(parameters, to: try firstStatement(of: sql), sql: sql)
    }

    private func prepare(_ sql: String, _ parameters: [(any Sendable)?]?) throws -> Statement {
        guard !StatementRunner.mayHoldSeveralStatements(sql) else { return try prepareUncached(sql, parameters) }
        let statement = try reportingErrors(of: sql) {
            try AppStatements.of(db)?.statement(sql: sql, db) ?? db.makeStatement(sql: sql)
        }
        return try bind(parameters, to: statement, sql: sql)
    }

    /// Whether the text needs to be looked at statement by statement: it is empty or has a `;` before its end.
    private static func mayHoldSeveralStatements(_ sql: String) -> Bool {
        let isIgnored = { (byte: UInt8) in byte == UInt8(ascii: ";") || byte <= UInt8(ascii: " ") }
        guard let end = sql.utf8.lastIndex(where: { !isIgnored($0) }) else { return true }
        return sql.utf8[..<end].contains(UInt8(ascii: ";"))
    }

    private func firstStatement(of sql: String) throws -> Statement {
        let statements = try db.allStatements(sql: sql)
        guard let statement = try reportingErrors(of: sql, { try statements.next() }) else {
            throw PowerSyncError.noStatement(in: sql)
        }
        // A second statement that does not compile is ignored as well.
        if (try? statements.next()) != nil {
            logger.warning("Only the first statement runs of: \(sql)", tag: LogTag.database)
        }
        return statement
    }

    private func bind(_ parameters: [(any Sendable)?]?, to statement: Statement, sql: String) throws -> Statement {
        // Resets the statement and tells GRDB that its parameters are taken care of.
        statement.setUncheckedArguments(StatementArguments())
        do {
            let parameterised = PreparedStatement(borrowing: statement.sqliteStatement)
            for (index, parameter) in (parameters ?? []).enumerated() {
                let code = try PowerSyncDataType.value(of: parameter).bind(to: parameterised, at: CInt(index + 1))
                guard code == SQLITE_OK else {
                    throw PowerSyncError(DatabaseError(code, reportedBy: db.sqliteConnection, sql: sql), sql: sql)
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
            if !statement.isReadonly, Announcement.hasUntoldCommit(db) { try? db.inTransaction(.deferred) { .commit } }
            throw error
        }
    }

    /// A statement is kept for longer than anybody needs the values that it ran with.
    private func letGoOfValues(_ statement: Statement) {
        sqlite3_clear_bindings(statement.sqliteStatement)
    }

    private func reportingErrors<T>(of sql: String, _ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch let error as DatabaseError {
            let offset = sqlite3_error_offset(db.sqliteConnection)
            AppStatements.of(db)?.forget(sql: sql)
            throw PowerSyncError(error, sql: sql, offset: offset < 0 ? nil : offset)
        }
    }
}
