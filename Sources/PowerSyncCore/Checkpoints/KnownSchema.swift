import GRDB
import PowerSyncSQLite

/// What was asked about the tables of the file, remembered until the schema changes.
///
/// A look into `sqlite_master` reads all of it, which takes longer than to publish a row when an app has many tables.
///
/// Part of the engine's value: what is learned in a transaction that is rolled back is forgotten with it. A version number
/// never stands for two schemas therefore.
struct KnownSchema: Sendable {
    /// Counted by SQLite with every change; temporary tables and triggers have a number of their own.
    private struct Version: Sendable, Equatable {
        var main: Int64?
        var temporary: Int64?
    }

    private var version: Version?
    private var tables: [ExactText: Bool] = [:]
    private var directTables: [ExactText: DirectTableKind] = [:]
    private var triggers: [ExactText: Bool] = [:]
    private var additions: [ExactText: TableAdditions] = [:]
    /// Whether all foreign keys are deferred before a publication writes anything, which an earlier one has shown to be necessary.
    var mustDeferForeignKeys = false
    /// `nil` before it is asked for.
    private var foreignKeys: [ForeignKey]?
    private var regions: [ExactText: DatabaseRegion] = [:]
    /// The statements that write to raw tables.
    let rawTableStatements = RawTableStatements()

    /// Forgets everything if the schema is not the one that was asked about.
    mutating func revalidate(_ db: Database) throws {
        let current = Version(
            main: try db.firstInteger("PRAGMA main.schema_version"),
            temporary: try db.firstInteger("PRAGMA temp.schema_version")
        )
        guard version != current else { return }
        self = KnownSchema()
        version = current
    }

    /// Whether the file has a table.
    mutating func hasTable(_ db: Database, named name: String) throws -> Bool {
        try tables.value(for: ExactText(name)) { try db.hasTable(name) }
    }

    /// What a table is to the SDK, whatever the schema of this process says: another process may have changed the file since.
    enum DirectTableKind {
        /// No direct table, or none at all.
        case none
        case synced
        case localOnly
    }

    /// Whether a table is a direct one, and of which kind.
    mutating func directTableKind(_ db: Database, named name: String) throws -> DirectTableKind {
        try directTables.value(for: ExactText(name)) {
            let table = try StoredDirectTable.fetchAll(db).first { ExactText($0.name) == ExactText(name) }
            return table.map { $0.isLocalOnly ? .localOnly : .synced } ?? .none
        }
    }

    /// Whether any triggers run when a table changes, except for those of table diffs.
    mutating func hasTriggers(_ db: Database, on table: String) throws -> Bool {
        try triggers.value(for: ExactText(table)) {
            let statement = try db.cachedStatement(
                sql: """
                    SELECT EXISTS (
                        SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
                    ) OR EXISTS (
                        SELECT 1 FROM sqlite_temp_master WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
                            AND name NOT GLOB '\(TableDiffRecording.namePrefix)*'
                    )
                    """
            )
            return try Bool.fetchOne(statement, arguments: [table]) == true
        }
    }

    /// What of the app's keeps a table's rows from being replaced without further thought.
    mutating func additions(_ db: Database, to table: String) throws -> TableAdditions {
        try additions.value(for: ExactText(table)) { try TableAdditions(db, to: table) }
    }

    /// Whether a table of the app has a foreign key to a table, and SQLite enforces it.
    mutating func isReferenced(_ db: Database, table: String) throws -> Bool {
        try enforcedForeignKeys(db).contains { $0.parent == ExactText(ignoringCaseOf: table) }
    }

    /// The foreign keys of the app's tables; none when SQLite does not enforce them.
    mutating func enforcedForeignKeys(_ db: Database) throws -> [ForeignKey] {
        let keys = try foreignKeys ?? ForeignKey.fetchAll(db)
        foreignKeys = keys
        guard !keys.isEmpty else { return [] }
        // An app may turn them on and off between transactions.
        return try Bool.fetchOne(db.cachedStatement(sql: "PRAGMA foreign_keys")) == true ? keys : []
    }

    /// All of a table, as GRDB's observers know it.
    mutating func region(_ db: Database, of table: String) throws -> DatabaseRegion {
        try regions.value(for: ExactText(table)) { try Table(table).databaseRegion(db) }
    }
}

extension Dictionary {
    /// The value of a key, which is found out when it is asked for first.
    fileprivate mutating func value(for key: Key, _ find: () throws -> Value) rethrows -> Value {
        if let value = self[key] { return value }
        let value = try find()
        self[key] = value
        return value
    }
}
