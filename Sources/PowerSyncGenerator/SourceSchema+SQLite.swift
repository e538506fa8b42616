import Foundation
package import GRDB
package import PowerSyncRules

extension SourceSchema {
    /// The tables of a SQLite database, or those that some `CREATE TABLE` statements make.
    ///
    /// - Parameter path: A database file, or a text file with statements.
    /// - Throws: `DatabaseError` when it is neither.
    package init(contentsOf path: String) throws {
        if let database = try DatabaseQueue.existing(at: path) {
            self = try database.sourceSchema()
        } else {
            try self.init(statements: String(contentsOfFile: path, encoding: .utf8))
        }
    }

    /// The tables that some `CREATE TABLE` statements make; types mean what PostgreSQL means by them.
    ///
    /// - Parameter statements: The statements.
    /// - Throws: `DatabaseError` when they cannot be executed.
    package init(statements: String) throws {
        self.init(try DeclaredTable.all(madeBy: statements)) { ColumnType(postgres: $0) }
        defaultSchemaAliases = Self.aliases
    }

    /// The default schema of the sources for which people write statements down.
    private static let aliases: Set<String> = ["public"]
}

extension DeclaredTable {
    /// The tables of a SQLite database, or those that some `CREATE TABLE` statements make, in the order of their names.
    ///
    /// - Parameter path: A database file, or a text file with statements.
    /// - Returns: The tables.
    /// - Throws: `DatabaseError` when it is neither.
    static func all(in path: String) throws -> [DeclaredTable] {
        if let database = try DatabaseQueue.existing(at: path) { return try database.declaredTables() }
        return try all(madeBy: try String(contentsOfFile: path, encoding: .utf8))
    }

    /// The tables that some `CREATE TABLE` statements make.
    ///
    /// - Parameter statements: The statements.
    /// - Returns: The tables.
    /// - Throws: `DatabaseError` when they cannot be executed.
    static func all(madeBy statements: String) throws -> [DeclaredTable] {
        let queue = try DatabaseQueue()
        try queue.write { db in try db.execute(sql: statements) }
        return try queue.declaredTables()
    }

    /// The tables of an embedded source: those of its file, and those that the next start of a service makes in it.
    ///
    /// - Parameters:
    ///   - path: The file, which need not be there.
    ///   - statements: `CREATE` statements.
    /// - Returns: The tables, in the order of their names.
    /// - Throws: `DatabaseError` when the file cannot be read, or the statements cannot be executed.
    package static func all(inEmbeddedSource path: String, statements: [String]) throws -> [DeclaredTable] {
        var tables: [DeclaredTable] = []
        if FileManager.default.fileExists(atPath: path) {
            tables = try DatabaseQueue(path: path, configuration: .readOnly).declaredTables()
                // What begins so is the service's own.
                .filter { !$0.name.name.hasPrefix("_ps_") }
        }
        // SQLite ignores case in names.
        let present = Set(tables.map { $0.name.name.lowercased() })
        // On a line of its own, the semicolon is in no comment.
        tables += try all(madeBy: statements.joined(separator: "\n;\n"))
            .filter { !present.contains($0.name.name.lowercased()) }
        return tables.sorted { $0.name.name < $1.name.name }
    }
}

extension Configuration {
    fileprivate static var readOnly: Configuration {
        var configuration = Configuration()
        configuration.readonly = true
        return configuration
    }
}

extension DatabaseQueue {
    /// The database in a file, or `nil` when the file is none.
    fileprivate static func existing(at path: String) throws -> DatabaseQueue? {
        guard let queue = try? DatabaseQueue(path: path, configuration: .readOnly), try queue.isSQLite() else {
            return nil
        }
        return queue
    }

    /// The tables with their columns, whose types mean what SQLite means by them.
    package func sourceSchema() throws -> SourceSchema {
        SourceSchema(try declaredTables()) { SourceSchema.ColumnType(sqlite: $0) }
    }

    /// The tables with their columns.
    func declaredTables() throws -> [DeclaredTable] {
        try read { db in
            let names = try String.fetchAll(
                db,
                sql:
                    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            )
            return try names.map { name in
                DeclaredTable(
                    name: SourceTableName(schema: "main", name: name),
                    columns: try db.columns(in: name).map { column in
                        DeclaredTable.Column(name: column.name, type: column.type, isNotNull: column.isNotNull)
                    }
                )
            }
        }
    }

    /// Whether the file is a database: SQLite opens any file, and looks into it later.
    fileprivate func isSQLite() throws -> Bool {
        do {
            return try read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") ?? 0 } > 0
        } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            return false
        }
    }
}
