import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncServiceCore

/// Captures which rows of `source.db` change, by any writer (docs/service.md "The embedded source").
///
/// The service adds four tables to the file:
///
/// - `_ps_log(seq, table_id, token, k0 … k7)`: one entry for every touched key, in the order of the writes. `seq` only
///   grows, also when old entries are deleted (`AUTOINCREMENT`). `token` is a random number; together they are the source
///   position, see ``EmbeddedPosition``. `table_id` 0 is a marker without a row. Key columns have no type, so values are
///   kept exactly.
/// - `_ps_tables(id, name, definition)`: the captured tables. `definition` is the list of columns and of key columns; a
///   table whose definition changed gets a new `id`, and is copied again.
/// - `_ps_streams(name, acknowledged, seen)`: the streams that need the log, each with the `seq` below which it does not,
///   and when it was last heard of, in seconds since 1970. One that is not heard of for long is forgotten.
/// - `_ps_history(id, version)`: one row with the id of the history that positions belong to, which changes when the file turns out
///   not to be what it was, and with the version of these tables, 1.
///
/// An entry says "look at this key again", not what happened to it. The reader fetches the row in the same read
/// transaction: a row that is there is stored, one that is not is removed. A read transaction sees whole transactions
/// only and is read to its end before a checkpoint is made, so every checkpoint is a state that the source had.
/// The alternative, to log all values, doubles every write, and makes `ALTER TABLE … DROP COLUMN` fail while triggers
/// mention the column. Entries for keys that did not change do no harm, which the triggers use:
///
/// - `AFTER INSERT`, `AFTER DELETE`: the key. `AFTER UPDATE`: the new key, and the old one if it differs.
/// - `BEFORE INSERT`, `BEFORE UPDATE`: the keys of other rows with the same values in a unique index (of columns or
///   expressions, compared as the index does), or with the same row number. `INSERT OR REPLACE` deletes these, and SQLite
///   fires delete triggers for them only on connections with `recursive_triggers`, which other programs do not set.
enum ChangeCapture {
    /// The version of the tables that this service reads and writes.
    static let version = 1
    /// The most columns of a primary key.
    static let maximumKeyColumns = 8

    /// What is captured, valid for one version of the file's schema.
    struct State: Sendable, Equatable {
        /// `PRAGMA schema_version` when the tables were looked at.
        var schemaVersion: Int64
        /// The captured tables, by name.
        var tables: [CapturedTable]
        /// Tables that cannot be captured because of their primary key.
        var unkeyedTables: [String]
    }

    /// Creates the tables of the service.
    ///
    /// Those of an earlier build, which have no version, are made anew with another history: all tables are copied again.
    ///
    /// - Parameters:
    ///   - db: The connection, in a transaction.
    ///   - version: The version of the tables that the service reads and writes.
    /// - Throws: ``ReplicationSourceError`` with code `configuration` when a newer service has made them, or an error of the database.
    static func install(_ db: Database, version: Int = ChangeCapture.version) throws {
        let found = try installedVersion(db)
        if let found, found > version {
            throw ReplicationSourceError(
                .configuration,
                """
                The capture log (_ps_log) of the embedded source has version \(found), this service can use versions up to \
                \(version). Use the service version that made it, or drop the triggers and tables whose names begin with _ps_; then \
                everything is copied again.
                """
            )
        }
        if found == nil { try uninstall(db) }
        let keyColumns = (0..<maximumKeyColumns).map { "k\($0)" }.joined(separator: ", ")
        try db.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS _ps_log (
                    seq INTEGER PRIMARY KEY AUTOINCREMENT,
                    table_id INTEGER NOT NULL,
                    token INTEGER NOT NULL DEFAULT (random()),
                    \(keyColumns)
                );
                CREATE TABLE IF NOT EXISTS _ps_tables (
                    id INTEGER PRIMARY KEY AUTOINCREMENT,
                    name TEXT NOT NULL UNIQUE,
                    definition TEXT NOT NULL
                );
                CREATE TABLE IF NOT EXISTS _ps_streams (
                    name TEXT PRIMARY KEY,
                    acknowledged INTEGER NOT NULL,
                    seen INTEGER NOT NULL
                );
                CREATE TABLE IF NOT EXISTS _ps_history (id TEXT NOT NULL, version INTEGER NOT NULL);
                INSERT INTO _ps_history (id, version)
                    SELECT lower(hex(randomblob(16))), \(version) WHERE NOT EXISTS (SELECT 1 FROM _ps_history);
                """
        )
    }

    /// The version of the tables; `nil` when there are none, or an earlier build has made them.
    private static func installedVersion(_ db: Database) throws -> Int? {
        guard try db.tableExists("_ps_history"),
            try db.columns(in: "_ps_history").contains(where: { $0.name == "version" })
        else { return nil }
        return try Int.fetchOne(db, sql: "SELECT version FROM _ps_history")
    }

    /// Drops the triggers and the tables of the service, if they are there.
    ///
    /// Triggers that are installed later begin another history, which is not taken for a continuation.
    static func uninstall(_ db: Database) throws {
        for trigger in try CaptureTrigger.existing(db) { try trigger.drop(db) }
        for table in ["_ps_log", "_ps_tables", "_ps_streams", "_ps_history"] {
            try db.execute(sql: "DROP TABLE IF EXISTS \(table)")
        }
    }

    /// The version of the file's schema.
    static func schemaVersion(_ db: Database) throws -> Int64 {
        try Int64.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
    }

    /// Brings records and triggers in line with the tables of the file.
    ///
    /// - Returns: What is captured from the end of this transaction on.
    static func synchronise(_ db: Database) throws -> State {
        let triggers = try CaptureTrigger.existing(db)
        var records = try Row.fetchAll(db, sql: "SELECT id, name, definition FROM _ps_tables")
            .reduce(into: [String: (id: Int64, definition: String)]()) { $0[$1["name"]] = ($1["id"], $1["definition"]) }
        var state = State(schemaVersion: 0, tables: [], unkeyedTables: [])

        for name in try tableNames(db) {
            let definition = try TableDefinition(of: name, db)
            guard definition.canBeCaptured else {
                state.unkeyedTables.append(name)
                continue
            }
            let found = triggers.filter { $0.table == name }
            var id = records.removeValue(forKey: name).flatMap { record in
                record.definition == definition.text && CaptureTrigger.isComplete(found, tableID: record.id)
                    ? record.id : nil
            }
            if id == nil {
                try db.execute(sql: "DELETE FROM _ps_tables WHERE name = ?", arguments: [name])
                try db.execute(
                    sql: "INSERT INTO _ps_tables (name, definition) VALUES (?, ?)",
                    arguments: [name, definition.text]
                )
                id = db.lastInsertedRowID
            }
            guard let id else { continue }
            let wanted = CaptureTrigger.all(tableID: id, definition: definition)
            if Set(found) != Set(wanted) {
                for trigger in found { try trigger.drop(db) }
                for trigger in wanted { try trigger.create(db) }
            }
            let layout = RowLayout(definition.columns)
            state.tables.append(
                CapturedTable(
                    id: id,
                    name: name,
                    layout: layout,
                    key: definition.key,
                    keyCollations: definition.keyCollations
                )
            )
        }
        for name in records.keys {
            try db.execute(sql: "DELETE FROM _ps_tables WHERE name = ?", arguments: [name])
        }
        state.schemaVersion = try schemaVersion(db)
        return state
    }

    /// The tables of the application, in the order of their names.
    private static func tableNames(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_ps_*'
                ORDER BY name
                """
        )
    }
}
