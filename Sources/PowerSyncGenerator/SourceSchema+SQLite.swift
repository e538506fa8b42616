import Foundation
package import PowerSyncSyncConfig
import PowerSyncTerminal

extension SourceSchema {
    /// The tables of a SQLite database, or those that some `CREATE TABLE` statements make.
    ///
    /// - Parameter path: A database file, or a text file with statements.
    /// - Throws: ``UnreadableFile`` when it is neither.
    package init(contentsOf path: String) throws {
        switch try SchemaFile(path) {
        case .database(let database): self = SourceSchema(sqlite: try database.declaredTables())
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

    private init(sqlite tables: [DeclaredTable]) {
        self.init(tables) { ColumnType(sqlite: $0) }
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
        let database = try SQLiteFile(nil)
        try SchemaText(statements).run(in: database)
        return try database.declaredTables()
    }
}

/// What a file for `--schema` is.
private enum SchemaFile {
    case database(SQLiteFile)
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
            if let database = try SQLiteFile.existing(at: path) {
                self = .database(database)
                return
            }
        } catch {
            throw UnreadableFile("\(path) cannot be read as a SQLite database: \(error)")
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

extension SQLiteFile {
    /// The database in a file, or `nil` when the file is none, or empty.
    fileprivate static func existing(at path: String) throws(SQLiteFailure) -> SQLiteFile? {
        guard let database = try? SQLiteFile(path) else { return nil }
        var isEmpty = true
        do {
            try database.run("SELECT 1 FROM sqlite_schema LIMIT 1", row: { _ in isEmpty = false })
        } catch {
            guard error.isNoDatabase else { throw error }
            return nil
        }
        return isEmpty ? nil : database
    }
}
