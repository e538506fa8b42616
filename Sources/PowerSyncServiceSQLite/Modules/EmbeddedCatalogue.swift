import Foundation
import GRDB
import PowerSyncServiceCore
import PowerSyncSQLite
import PowerSyncSyncConfig

/// The tables of a SQLite file as commands read them, which may belong to a running service: nothing is changed, or captured.
struct EmbeddedCatalogue {
    /// The file, which need not be there.
    let path: String
    /// Statements that the next start of a service runs unless their tables exist.
    let statements: [String]

    /// Reads the tables of the file, and those that the statements make.
    ///
    /// - Throws: ``SourceUnreadable``
    func read() async throws -> SourceTables {
        try await reading {
            var tables: [DeclaredTable] = []
            if FileManager.default.fileExists(atPath: path) {
                tables = try await withFile { queue in try await queue.uncancelledRead { try Self.tables($0) } }
            }
            // SQLite ignores case in names.
            let present = Set(tables.map { $0.name.name.lowercased() })
            tables += try await declaredTables().filter { !present.contains($0.name.name.lowercased()) }
            tables.sort { $0.name.name < $1.name.name }
            return SourceTables(
                tables: tables,
                schema: SourceSchema(tables) { SourceSchema.ColumnType(sqlite: $0) },
                owner: "The embedded source \(path)",
                remedy: "Add it to tables of the source, or correct the sync config; names are case sensitive."
            )
        }
    }

    /// Reads all rows of the tables that a plan reads, in one transaction.
    ///
    /// - Throws: ``SourceUnreadable``
    func forEachRow(
        readBy plan: SyncPlan,
        _ body: @escaping @Sendable (SourceRow, SourceTableName) -> Void
    ) async throws {
        try await reading {
            try await withFile { queue in
                try await queue.uncancelledRead { db in
                    for table in try Self.tables(db) where plan.readsTable(table.name) {
                        let names = table.columns.map(\.name)
                        let columns = names.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
                        let sql = "SELECT \(columns) FROM \(table.name.name.quotedDatabaseIdentifier)"
                        let statement = try PreparedStatement(db, sql: sql)
                        defer { statement.reset() }
                        let layout = RowLayout(names)
                        while try statement.step() { body(statement.row(of: layout, from: 0), table.name) }
                    }
                }
            }
        }
    }

    /// The tables that the statements make.
    private func declaredTables() async throws -> [DeclaredTable] {
        guard !statements.isEmpty else { return [] }
        return try await BlockingWork.run { [statements] in
            let queue = try DatabaseQueue()
            return try queue.write { db in
                for statement in statements { try db.execute(sql: statement) }
                return try Self.tables(db)
            }
        }
    }

    /// The tables of the app with their columns: neither SQLite's own nor the service's.
    private static func tables(_ db: Database) throws -> [DeclaredTable] {
        try EmbeddedDevelopmentDatabase.tables(db).sorted().map { table in
            DeclaredTable(
                name: SourceTableName(schema: "main", name: table),
                columns: try db.columns(in: table).map { column in
                    DeclaredTable.Column(name: column.name, type: column.type, isNotNull: column.isNotNull)
                }
            )
        }
    }

    /// Opens the file for one call.
    private func withFile<Result>(_ body: (DatabaseQueue) async throws -> Result) async throws -> Result {
        let queue = try await BlockingWork.run { [path] in
            var configuration = Configuration()
            configuration.readonly = true
            return try DatabaseQueue(path: path, configuration: configuration)
        }
        defer { try? queue.close() }
        return try await body(queue)
    }

    /// Says which file cannot be read, with SQLite's words in one line and without a statement.
    private func reading<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as DatabaseError {
            let words = error.message ?? "SQLite error \(error.resultCode.rawValue)"
            throw SourceUnreadable(
                "\(path) cannot be read as a SQLite database: \(words.prefix { !$0.isNewline }.prefix(120))",
                isServer: false
            )
        }
    }
}
