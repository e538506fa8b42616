import Foundation
package import GRDB
package import PowerSyncSyncConfig
import PowerSyncTerminal

extension SourceSchema {
    /// The tables of a SQLite database, or those that some `CREATE TABLE` statements make.
    ///
    /// - Parameter path: A database file, or a text file with statements.
    /// - Throws: ``UnreadableFile`` when it is neither.
    package init(contentsOf path: String) throws {
        switch try SchemaFile(path) {
        case .database(let database): self = try database.sourceSchema()
        case .statements(let text): self = try SchemaFile.naming(path) { try SourceSchema(statements: text) }
        }
    }

    /// The tables that some `CREATE TABLE` statements make; types mean what PostgreSQL means by them.
    ///
    /// - Parameter statements: The statements.
    /// - Throws: ``UnreadableFile`` when they cannot be executed.
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
    /// - Throws: ``UnreadableFile`` when it is neither; it does not show an address of a server, which may have a password.
    static func all(in path: String) throws -> [DeclaredTable] {
        switch try SchemaFile(path) {
        case .database(let database): try database.declaredTables()
        case .statements(let text): try SchemaFile.naming(path) { try all(madeBy: text) }
        }
    }

    /// The tables that some `CREATE TABLE` statements make.
    ///
    /// - Parameter statements: The statements.
    /// - Returns: The tables.
    /// - Throws: ``UnreadableFile`` when they cannot be executed.
    static func all(madeBy statements: String) throws -> [DeclaredTable] {
        let queue = try DatabaseQueue()
        let text = SchemaText(statements)
        try queue.write { db in try text.run(in: db) }
        return try queue.declaredTables()
    }

    /// The tables of an embedded source: those of its file, and those that the next start of a service makes in it.
    ///
    /// - Parameters:
    ///   - path: The file, which need not be there.
    ///   - statements: `CREATE` statements.
    /// - Returns: The tables, in the order of their names.
    /// - Throws: `DatabaseError` when the file cannot be read, ``UnreadableFile`` when the statements cannot be executed.
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

/// What a file for `--schema` is.
private enum SchemaFile {
    case database(DatabaseQueue)
    case statements(String)

    /// Looks into a file.
    ///
    /// - Throws: ``UnreadableFile``, which does not show an address of a server: it may have a password.
    init(_ path: String) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            guard !path.contains("://"), !path.contains("@") else {
                throw UnreadableFile("--schema takes a file; the address of a database is for --source")
            }
            throw UnreadableFile("\(path) does not exist")
        }
        do {
            if let database = try DatabaseQueue.existing(at: path) {
                self = .database(database)
                return
            }
        } catch {
            throw UnreadableFile("\(path) cannot be read as a SQLite database: \(error.sqliteMessage)")
        }
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw UnreadableFile("\(path) is neither a SQLite database nor UTF-8 text that may be read")
        }
        self = .statements(text)
    }

    /// Names the file in an error about its statements.
    static func naming<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as UnreadableFile {
            throw UnreadableFile("\(path): \(error.description)")
        }
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
