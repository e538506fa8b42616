package import GRDB
import PowerSyncSQLite

/// A direct table as it is in the file (docs/database.md "Direct tables").
package struct StoredDirectTable {
    /// The comment by which tables whose rows are synced are known.
    static let mark = "/* powersync-direct */"
    /// The comment by which local-only tables are known.
    static let localMark = "/* powersync-direct local */"
    /// What the names of our triggers and indexes on direct tables begin with.
    static let namePrefix = "powersync_"

    /// The name in SQLite.
    package let name: String
    /// The `CREATE TABLE` statement.
    let sql: String
    /// Our triggers and indexes, by name.
    var objects: [ExactText: (type: String, sql: String)] = [:]

    /// Whether the rows never leave the device.
    package var isLocalOnly: Bool { sql.contains(Self.localMark) }

    /// Describes a table.
    package init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }

    /// The condition in SQL by which a row of `sqlite_master` is a direct table.
    package static let isDirect = """
        (type = 'table' AND (instr(sql, '(\(Self.mark) ') OR instr(sql, '(\(Self.localMark) ')))
        """

    /// Whether a `CREATE TABLE` statement is one of ours.
    static func isText(ofDirectTable sql: String) -> Bool {
        [Self.mark, Self.localMark].contains { sql.contains("(\($0) ") }
    }

    /// The direct tables that exist, without their triggers and indexes.
    package static func fetchAll(_ db: Database) throws -> [StoredDirectTable] {
        try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE \(isDirect)")
            .map { StoredDirectTable(name: $0[0], sql: $0[1]) }
    }
}
