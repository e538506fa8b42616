import GRDB
import PowerSyncServiceCore

/// The tables that the configuration wants in the embedded source.
///
/// The statements run in an empty database in memory first: that finds mistakes before the file is touched, and tells
/// which objects they make. Only objects that the file does not have are created there, so the same statements can run
/// at every start.
struct EmbeddedSchema {
    private struct Object {
        var type: String
        var name: String
        var sql: String
    }

    private let objects: [Object]
    private let tables: [TableDefinition]

    /// Evaluates statements.
    ///
    /// - Parameter statements: `CREATE TABLE`, `CREATE INDEX`, `CREATE VIEW` and `CREATE TRIGGER`; each text may hold
    ///   several.
    /// - Throws: ``ReplicationSourceError`` that tells which statement is wrong.
    init(statements: [String]) throws {
        let scratch = try DatabaseQueue()
        (objects, tables) = try scratch.writeWithoutTransaction { db in
            for (index, statement) in statements.enumerated() {
                do {
                    try db.execute(sql: statement)
                } catch let error as DatabaseError {
                    throw ReplicationSourceError(
                        .configuration,
                        """
                        Statement \(index + 1) of the embedded source's schema is wrong: \
                        \(error.message ?? "SQLite cannot run it").
                        """
                    )
                }
            }
            guard db.totalChangesCount == 0 else {
                throw ReplicationSourceError(
                    .configuration,
                    "The embedded source's schema may contain CREATE statements only: rows are written at run time."
                )
            }
            let objects = try Row.fetchAll(
                db,
                sql: """
                    SELECT type, name, sql FROM sqlite_master
                    WHERE sql IS NOT NULL AND name NOT GLOB 'sqlite_*' ORDER BY rowid
                    """
            )
            .map { Object(type: $0["type"], name: $0["name"], sql: $0["sql"]) }
            if let reserved = objects.first(where: { $0.name.hasPrefix("_ps_") }) {
                throw ReplicationSourceError(
                    .configuration,
                    "“\(reserved.name)” cannot be created: names that begin with “_ps_” belong to the service."
                )
            }
            return (
                objects,
                try objects.filter { $0.type == "table" }.map { try TableDefinition(of: $0.name, db) }
            )
        }
    }

    /// Creates what the file does not have.
    ///
    /// - Throws: ``ReplicationSourceError`` that names the table when the file has it with other columns.
    func apply(_ db: Database) throws {
        let existing = Set(try String.fetchAll(db, sql: "SELECT name FROM sqlite_master"))
        for table in tables where existing.contains(table.name) {
            let found = try TableDefinition(of: table.name, db)
            if let missing = table.columns.first(where: { !found.columns.contains($0) }) {
                throw ReplicationSourceError(
                    .configuration,
                    """
                    Table “\(table.name)” of the embedded source has no column “\(missing)”, but the configuration \
                    declares it. Add it with ALTER TABLE, or delete the file.
                    """
                )
            }
            guard found.key == table.key else {
                throw ReplicationSourceError(
                    .configuration,
                    """
                    Table “\(table.name)” of the embedded source has another primary key than the configuration \
                    declares. Recreate the table, or delete the file.
                    """
                )
            }
        }
        for object in objects where !existing.contains(object.name) {
            try db.execute(sql: object.sql)
        }
    }
}
