import GRDB
import PowerSyncSQLite

/// Takes from empty direct tables what costs time with each row, while the first rows of a database are published (docs/client-sync.md
/// "Publishing rows").
///
/// The triggers for local writes run for each row, to find that it is none: without them a row takes less than two thirds of the time. They
/// are dropped, and made again from the same texts in the same transaction. Indexes stay: foreign keys and triggers of the app may search by
/// them meanwhile.
///
/// A table with any other trigger stays as it is: in which order triggers run depends on when they were made.
struct DirectTableFilling {
    /// From how many rows of a table on it is worth four statements about the schema.
    static let fewestRows = 1_000

    /// What was dropped, in the order in which it was made.
    private let statements: [String]

    /// Drops triggers of the tables that many rows will come to.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction, with the indexes of `ps_oplog`.
    ///   - tables: The raw and direct tables of the schema.
    /// - Throws: GRDB's `DatabaseError`.
    init(_ db: Database, _ tables: [ClientRawTable]) throws {
        var statements: [String] = []
        for table in tables {
            guard let structure = table.structure, structure.direct != nil,
                try Self.awaitsManyRows(db, type: table.name, in: structure.tableName)
            else {
                continue
            }
            for object in try Self.droppable(db, of: structure.tableName) {
                try db.execute(sql: "DROP TRIGGER main.\(SQLText.identifier(object.name))")
                statements.append(object.sql)
            }
        }
        self.statements = statements
    }

    /// Makes again what was dropped.
    func end(_ db: Database) throws {
        for statement in statements { try db.execute(sql: statement) }
    }

    private static func awaitsManyRows(_ db: Database, type: String, in table: String) throws -> Bool {
        let isMany = "SELECT EXISTS (SELECT 1 FROM ps_oplog WHERE row_type = ? LIMIT 1 OFFSET ?)"
        guard try Bool.fetchOne(db, sql: isMany, arguments: [type, fewestRows - 1]) == true else { return false }
        // It may be gone or somebody else's by now, which is found out when it is written to.
        return try db.hasTable(table) && !db.hasRows(table)
    }

    /// The triggers of a direct table that run for inserted and updated rows; none if it has one that is not ours, or if a temporary table
    /// hides it.
    private static func droppable(_ db: Database, of table: String) throws -> [(name: String, sql: String)] {
        let prefix = StoredDirectTable.namePrefix
        let triggers = try Row.fetchAll(
            db,
            sql: """
                SELECT name, sql, rowid AS place FROM main.sqlite_master
                WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
                UNION ALL SELECT name, NULL, 0 FROM temp.sqlite_master
                WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE OR name = ?1 COLLATE NOCASE
                ORDER BY place
                """,
            arguments: [table]
        ).map { row in (name: row[0] as String, sql: row[1] as String?) }
        let isOfSync = "WHEN NOT powersync_in_sync_operation()"
        guard triggers.allSatisfy({ $0.name.hasPrefix(prefix) && $0.sql?.contains(isOfSync) == true }) else {
            return []
        }
        return triggers.compactMap { trigger in
            guard !trigger.name.hasPrefix("\(prefix)delete_"), let sql = trigger.sql else { return nil }
            return (trigger.name, sql)
        }
    }
}
