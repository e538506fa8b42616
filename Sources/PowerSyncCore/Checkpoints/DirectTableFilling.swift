import GRDB
import PowerSyncSQLite

/// Takes from empty direct tables what costs time with each row, while the first rows of a database are published (docs/client-sync.md
/// "Publishing rows").
///
/// The triggers for local writes run for each row, to find that it is none: without them a row takes less than two thirds of the time.
/// Indexes are quicker to make of all rows than of one after the other. Both are dropped, and made again from the same texts in the same
/// transaction.
///
/// Indexes stay where foreign keys, triggers or statements of the app may search by them meanwhile. A table with any trigger that is not ours stays as it
/// is: in which order triggers run depends on when they were made.
struct DirectTableFilling {
    /// From how many rows of a table on it is worth some statements about the schema.
    static let fewestRows = 1_000

    /// An index or a trigger.
    private struct Object {
        let isIndex: Bool
        let name: String
        let sql: String
    }

    /// What was dropped, in the order in which it was made.
    private let objects: [Object]

    /// Drops triggers and indexes of the tables that many rows will come to.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction, with the indexes of `ps_oplog`.
    ///   - tables: The raw and direct tables of the schema.
    ///   - schema: What is known of the file's tables, which is right; it is to be validated again afterwards.
    /// - Throws: GRDB's `DatabaseError`.
    init(_ db: Database, _ tables: [ClientRawTable], _ schema: inout KnownSchema) throws {
        let names = try tables.compactMap { table -> String? in
            guard let structure = table.structure, structure.direct != nil else { return nil }
            return try Self.awaitsManyRows(db, type: table.name, in: structure.tableName) ? structure.tableName : nil
        }
        guard !names.isEmpty else {
            objects = []
            return
        }
        let hasOwnStatements = tables.contains { $0.put != nil || $0.delete != nil }
        let dropsIndexes =
            try !hasOwnStatements && schema.enforcedForeignKeys(db).isEmpty && !Self.hasTriggersOfApp(db)
        objects = try names.flatMap { try Self.droppable(db, of: $0) }.filter { dropsIndexes || !$0.isIndex }
        for object in objects {
            let type = object.isIndex ? "INDEX" : "TRIGGER"
            try db.execute(sql: "DROP \(type) main.\(SQLText.identifier(object.name))")
        }
    }

    /// Makes again what was dropped.
    func end(_ db: Database) throws {
        for object in objects {
            if object.isIndex {
                try OplogIndexes.withSmallCache(db) { try db.execute(sql: object.sql) }
            } else {
                try db.execute(sql: object.sql)
            }
        }
    }

    private static func awaitsManyRows(_ db: Database, type: String, in table: String) throws -> Bool {
        let isMany = "SELECT EXISTS (SELECT 1 FROM ps_oplog WHERE row_type = ? LIMIT 1 OFFSET ?)"
        guard try Bool.fetchOne(db, sql: isMany, arguments: [type, fewestRows - 1]) == true else { return false }
        // It may be gone or somebody else's by now, which is found out when it is written to.
        return try db.hasTable(table) && !db.hasRows(table)
    }

    /// Whether any trigger may run that is not ours, whatever table or view it is on.
    private static func hasTriggersOfApp(_ db: Database) throws -> Bool {
        let ours = [StoredDirectTable.namePrefix, FullTextTable.triggerPrefix, "ps_view_"]
        let isOurs = ours.map { "name GLOB '\($0)*'" }.joined(separator: " OR ")
        return try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'trigger' AND NOT (\(isOurs)))
                    OR EXISTS (SELECT 1 FROM temp.sqlite_master WHERE type = 'trigger')
                """
        ) == true
    }

    /// Our indexes of a direct table, and its triggers that run for inserted and updated rows; none if it has one that is not ours, or if a
    /// temporary table hides it.
    private static func droppable(_ db: Database, of table: String) throws -> [Object] {
        let prefix = StoredDirectTable.namePrefix
        let objects = try Row.fetchAll(
            db,
            sql: """
                SELECT type = 'index', name, sql, rowid AS place FROM main.sqlite_master
                WHERE (type = 'trigger' OR type = 'index' AND sql LIKE 'CREATE INDEX %' AND name GLOB '\(prefix)*')
                    AND tbl_name = ?1 COLLATE NOCASE
                UNION ALL SELECT 0, name, NULL, 0 FROM temp.sqlite_master
                WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE OR name = ?1 COLLATE NOCASE
                ORDER BY place
                """,
            arguments: [table]
        ).map { row in (isIndex: row[0] as Bool, name: row[1] as String, sql: row[2] as String?) }
        let isOfSync = "WHEN NOT powersync_in_sync_operation()"
        let triggers = objects.filter { !$0.isIndex }
        guard triggers.allSatisfy({ $0.name.hasPrefix(prefix) && $0.sql?.contains(isOfSync) == true }) else {
            return []
        }
        return objects.compactMap { object in
            guard !object.name.hasPrefix("\(prefix)delete_") || object.isIndex, let sql = object.sql else { return nil }
            return Object(isIndex: object.isIndex, name: object.name, sql: sql)
        }
    }
}
