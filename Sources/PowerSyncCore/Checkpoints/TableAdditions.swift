import GRDB
import PowerSyncSQLite

/// What the app has added to a data table that decides how a synced row takes the place of the one that is there.
struct TableAdditions: Sendable {
    /// Whether an index of the app allows a value only once.
    let hasUniqueIndex: Bool
    /// Whether a trigger runs when a row is inserted.
    let hasInsertTrigger: Bool
    /// Whether a trigger runs when the data of a row is updated.
    let hasUpdateTrigger: Bool

    /// Asks SQLite, whose programs name the triggers that a statement fires; those of table diffs do not count.
    init(_ db: Database, to table: String) throws {
        hasUniqueIndex =
            try Bool.fetchOne(
                db.cachedStatement(
                    sql: "SELECT EXISTS (SELECT 1 FROM pragma_index_list(?, 'main') WHERE \"unique\" AND origin = 'c')"
                ),
                arguments: [table]
            ) == true
        let name = SQLText.identifier(table)
        func firesTrigger(_ sql: String) throws -> Bool {
            try StatementEffects.triggers(db, of: sql).contains { !$0.hasPrefix(TableDiffRecording.namePrefix) }
        }
        hasInsertTrigger = try firesTrigger("INSERT INTO \(name) (id, data) VALUES (NULL, NULL)")
        hasUpdateTrigger = try firesTrigger("UPDATE \(name) SET data = NULL")
    }
}
