import Foundation
import GRDB
import Logging
import PowerSyncGenerator
import PowerSyncSyncConfig
import PowerSyncService
import PowerSyncServiceCore
import PowerSyncServicePostgres
import PowerSyncTerminal

/// A database as a source, read once from the first row to the last and not changed.
struct SourceDatabase {
    private enum Kind {
        case sqlite(DatabaseQueue)
        case postgres(PostgresSource, PostgresConnectionString, publication: String)
    }

    private let kind: Kind
    /// What messages call it, without secrets.
    let name: String

    /// Opens a database.
    ///
    /// - Throws: `UnreadableFile`, or `ServiceError`.
    init(_ argument: SourceArgument) throws {
        switch argument {
        case .file(let path):
            name = path
            var configuration = Configuration()
            configuration.readonly = true
            do {
                kind = .sqlite(try DatabaseQueue(path: path, configuration: configuration))
            } catch {
                throw UnreadableFile("\(path) cannot be opened as a SQLite database: \(error.sqliteMessage)")
            }
        case .postgres(let settings):
            name = settings.description
            let connection = try settings.connectionString()
            var source = PostgresSource.Settings(connection: connection)
            source.publication = settings.publication
            kind = .postgres(
                PostgresSource(source, logger: .ofCommand),
                connection,
                publication: settings.publication
            )
        }
    }

    /// A plan as a service over this database has it: with the schema that tables without one are in.
    func located(_ plan: SyncPlan) -> SyncPlan {
        var plan = plan
        if case .postgres = kind { plan.defaultSchema = PostgresSource.defaultSchema }
        return plan
    }

    /// The tables with their columns.
    ///
    /// - Throws: `UnreadableFile`.
    func schema() async throws -> SourceSchema {
        try await reading {
            switch kind {
            case .sqlite(let queue): return try queue.sourceSchema()
            case .postgres(_, let string, let publication):
                let connection = try await PostgresConnection.open(string)
                defer { connection.close() }
                let tables = try await PostgresTables.all(in: publication, connection)
                return SourceSchema(tables, defaultSchema: PostgresSource.defaultSchema)
            }
        }
    }

    /// Hands over all rows of the tables that a plan reads.
    ///
    /// - Throws: `UnreadableFile`.
    func forEachRow(readBy plan: SyncPlan, _ body: (SourceRow, SourceTableName) -> Void) async throws {
        try await reading {
            switch kind {
            case .sqlite(let queue): try Self.forEachRow(of: queue, readBy: plan, body)
            case .postgres(let source, _, _):
                for table in try await source.tables(for: plan) {
                    var reader = try await source.snapshot(of: table, after: nil)
                    while let chunk = try await reader.next() {
                        for row in chunk.rows { body(row, table.name) }
                    }
                }
            }
        }
    }

    /// Ends the connections.
    func close() {
        if case .postgres(let source, _, _) = kind { try? source.close() }
    }

    private static func forEachRow(
        of queue: DatabaseQueue,
        readBy plan: SyncPlan,
        _ body: (SourceRow, SourceTableName) -> Void
    ) throws {
        let tables = try queue.sourceSchema().tables
        try queue.read { db in
            for table in tables where plan.readsTable(table.name) {
                let rows = try Row.fetchCursor(db, sql: "SELECT * FROM \(table.name.name.quotedDatabaseIdentifier)")
                let layout = RowLayout(rows.columnNames)
                while let row = try rows.next() {
                    body(SourceRow(layout: layout, values: row.databaseValues.map(SQLValue.init)), table.name)
                }
            }
        }
    }

    /// Says which database cannot be read, and what to do.
    private func reading<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as DatabaseError {
            throw UnreadableFile("\(name) cannot be read as a SQLite database: \(error.sqliteMessage)")
        } catch let error as PostgresError {
            let remedy = PostgresCheck.remedy(for: error).map { " \($0)" } ?? ""
            throw UnreadableFile("the tables of \(name) cannot be read. \(error).\(remedy)")
        }
    }
}

extension DatabaseQueue {
    /// The tables with their columns, whose types mean what SQLite means by them.
    fileprivate func sourceSchema() throws -> SourceSchema {
        do {
            return try SourceSchema(database: path)
        } catch {
            throw DatabaseError(resultCode: ResultCode(rawValue: error.code), message: error.description)
        }
    }
}

extension Error {
    /// What SQLite says, in one line without the statement; what another error says.
    fileprivate var sqliteMessage: String {
        guard let error = self as? DatabaseError else { return "\(self)" }
        let message = error.message ?? "SQLite error \(error.resultCode.rawValue)"
        return String(message.prefix { !$0.isNewline }.prefix(120))
    }
}

extension SQLValue {
    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        case .double(let number): self = .real(number)
        case .string(let text): self = .text(text)
        case .blob(let bytes): self = .blob([UInt8](bytes))
        }
    }
}
