package import GRDB
import PowerSyncSQLite

/// A SQLite table that holds the rows of a client table.
///
/// Layout: `id TEXT PRIMARY KEY NOT NULL, data TEXT`, where data is a JSON object. The column order is read by position
/// elsewhere, and the table is never altered.
package struct DataTable: Sendable, Hashable {
    private static let syncedPrefix = "ps_data__"
    private static let localPrefix = "ps_data_local__"

    /// The client table's name.
    package let name: String
    /// Whether the rows never leave the device.
    package let isLocalOnly: Bool

    /// Creates the description of a table that exists or will.
    package init(name: String, isLocalOnly: Bool) {
        self.name = name
        self.isLocalOnly = isLocalOnly
    }

    /// Recognises a table of ours by its SQLite name.
    package init?(internalName: String) {
        // Bytes, not characters: a table's name may start with a combining mark.
        let bytes = internalName.utf8
        for (prefix, isLocalOnly) in [(Self.localPrefix.utf8, true), (Self.syncedPrefix.utf8, false)] {
            if bytes.starts(with: prefix) {
                self.init(name: String(Substring(bytes.dropFirst(prefix.count))), isLocalOnly: isLocalOnly)
                return
            }
        }
        return nil
    }

    /// The SQLite name: `ps_data__<name>`, or `ps_data_local__<name>`.
    package var internalName: String {
        (isLocalOnly ? Self.localPrefix : Self.syncedPrefix) + name
    }

    package static func == (lhs: DataTable, rhs: DataTable) -> Bool {
        lhs.isLocalOnly == rhs.isLocalOnly && ExactText(lhs.name) == ExactText(rhs.name)
    }

    package func hash(into hasher: inout Hasher) {
        ExactText(name).hash(into: &hasher)
        hasher.combine(isLocalOnly)
    }

    /// The data tables that exist.
    package static func fetchAll(_ db: Database) throws -> [DataTable] {
        try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB 'ps_data_*'")
            .compactMap(DataTable.init(internalName:))
    }
}
