import Foundation
import PowerSyncProtocol
package import PowerSyncSyncConfig
import PowerSyncTerminal

extension SourceSchema {
    /// The tables of a SQLite database, or those that statements make.
    ///
    /// - Parameter path: A database file, a text file with statements, or a folder of such files.
    /// - Throws: ``UnreadableFile`` when it is none of these.
    package init(contentsOf path: String) throws {
        switch try SchemaFile(path) {
        case .database(let database): self = SourceSchema(sqlite: try database.declaredTables())
        case .statements(let text): self = try SchemaFile.naming(path) { try SourceSchema(statements: text) }
        case .folder(let texts): self.init(statements: try DeclaredTable.all(madeBy: texts, of: path))
        }
    }

    /// The tables that some `CREATE TABLE` statements make; types mean what PostgreSQL means by them.
    ///
    /// - Parameter statements: The statements.
    /// - Throws: ``UnreadableFile`` when they cannot be executed.
    package init(statements: String) throws {
        self.init(statements: try DeclaredTable.all(madeBy: statements))
    }

    private init(statements tables: [DeclaredTable]) {
        self.init(tables) { ColumnType(postgres: $0) }
        defaultSchemaAliases = Self.aliases
    }

    private init(sqlite tables: [DeclaredTable]) {
        self.init(tables) { ColumnType(sqlite: $0) }
    }

    /// The default schema of the sources for which people write statements down.
    private static let aliases: Set<String> = ["public"]
}

extension DeclaredTable {
    /// The tables of a SQLite database, or those that statements make, in the order of their names.
    ///
    /// - Parameter path: A database file, a text file with statements, or a folder of such files.
    /// - Returns: The tables.
    /// - Throws: ``UnreadableFile`` when it is none of these; it does not show an address of a server, which may have a password.
    static func all(in path: String) throws -> [DeclaredTable] {
        switch try SchemaFile(path) {
        case .database(let database): try database.declaredTables()
        case .statements(let text): try SchemaFile.naming(path) { try all(madeBy: text) }
        case .folder(let texts): try all(madeBy: texts, of: path)
        }
    }

    /// The tables that files of statements make, one after the other.
    ///
    /// - Parameters:
    ///   - texts: The files.
    ///   - path: The folder.
    /// - Returns: The tables, in the order of their names.
    /// - Throws: ``UnreadableFile`` when there is none.
    fileprivate static func all(madeBy texts: [String], of path: String) throws -> [DeclaredTable] {
        var schema = DDLSchema()
        for text in texts { schema.run(text) }
        guard !schema.tables.isEmpty else {
            throw UnreadableFile("\(path) has no file *.sql that makes a table")
        }
        sayWhatIsSkipped(of: schema)
        return schema.tables
    }

    private static func sayWhatIsSkipped(of schema: DDLSchema) {
        guard schema.skipped > 0 else { return }
        printToStandardError(
            """
            note: the schema has \(schema.tables.count.counted("table")); \
            \(schema.skipped.counted("other statement was", "other statements were")) skipped
            """
        )
    }

    /// The tables that some `CREATE TABLE` statements make.
    ///
    /// - Parameter statements: The statements.
    /// - Returns: The tables.
    /// - Throws: ``UnreadableFile`` when SQLite cannot execute them, and they make no table of another database.
    static func all(madeBy statements: String) throws -> [DeclaredTable] {
        let database = try SQLiteFile(nil)
        do {
            try SchemaText(statements).run(in: database)
        } catch {
            var schema = DDLSchema()
            schema.run(statements)
            guard !schema.tables.isEmpty else { throw error }
            sayWhatIsSkipped(of: schema)
            return schema.tables
        }
        return try database.declaredTables()
    }
}

/// What a file for `--schema` is.
private enum SchemaFile {
    case database(SQLiteFile)
    case statements(String)
    /// The files of a folder and those below it, in the order of their paths, which is that of migrations.
    case folder([String])

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
        let attributes = try? FileManager.default.attributesOfItem(
            atPath: URL(filePath: path).resolvingSymlinksInPath().path
        )
        if attributes?[.type] as? FileAttributeType == .typeDirectory {
            self = .folder(try Self.texts(in: path))
            return
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

    /// The most bytes of all files of a folder: 64 MiB.
    private static let maximumBytes = 64 << 20

    /// The texts of a folder, without those that take a migration back.
    private static func texts(in folder: String) throws -> [String] {
        let paths = (FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? [])
            .filter { path in
                let name = path.split(separator: "/").last?.lowercased() ?? ""
                let takesBack = name == "down.sql" || name.hasSuffix(".down.sql") || name.hasSuffix("_down.sql")
                return name.hasSuffix(".sql") && !takesBack && !path.contains("node_modules/")
            }
            .sorted()
        var bytes = 0
        return try paths.map { path in
            let whole = "\(folder)/\(path)"
            guard let text = try? String(contentsOfFile: whole, encoding: .utf8) else {
                throw UnreadableFile("\(whole) is not UTF-8 text that may be read")
            }
            bytes += text.utf8.count
            guard bytes <= maximumBytes else {
                throw UnreadableFile("\(folder) has more than \(maximumBytes >> 20) MiB of statements")
            }
            return text
        }
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
