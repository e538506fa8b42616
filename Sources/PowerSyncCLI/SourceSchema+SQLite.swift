import Foundation
import GRDB
import PowerSyncRules

extension SourceSchema {
    /// The tables of a SQLite database, or those that some `CREATE TABLE` statements make.
    ///
    /// - Parameter path: A database file, or a text file with statements.
    /// - Throws: `DatabaseError` when it is neither.
    init(contentsOf path: String) throws {
        if let handle = try? DatabaseQueue(path: path, configuration: Self.readOnly), try handle.isSQLite() {
            self = try handle.sourceSchema()
        } else {
            try self.init(statements: try String(contentsOfFile: path, encoding: .utf8))
        }
    }

    /// The tables that some `CREATE TABLE` statements make.
    ///
    /// - Parameter statements: The statements.
    /// - Throws: `DatabaseError` when they cannot be executed.
    init(statements: String) throws {
        let queue = try DatabaseQueue()
        try queue.write { db in try db.execute(sql: statements) }
        self = try queue.sourceSchema()
    }

    private static var readOnly: Configuration {
        var configuration = Configuration()
        configuration.readonly = true
        return configuration
    }
}

extension DatabaseQueue {
    /// The tables with their columns.
    func sourceSchema() throws -> SourceSchema {
        try read { db in
            let names = try String.fetchAll(
                db,
                sql:
                    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
            )
            return SourceSchema(
                tables: try names.map { name in
                    SourceSchema.Table(
                        name: SourceTableName(schema: "main", name: name),
                        columns: try db.columns(in: name).map(\.name)
                    )
                }
            )
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
