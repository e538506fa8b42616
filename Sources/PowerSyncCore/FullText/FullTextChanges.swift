import GRDB
import PowerSyncSQLite

/// Brings the full-text indexes of a file in line with a schema (docs/database.md "Full-text indexes").
///
/// An index of which any text differs or is missing is made anew from the rows, also when another implementation has dropped the table
/// with them.
enum FullTextChanges {
    /// Drops, makes and fills indexes, after all tables were made.
    static func apply(_ schema: ClientSchema, to db: Database) throws {
        let wanted = try schema.tables.flatMap { table in
            try table.fullTextIndexes.map { try FullTextTable($0, of: table, db) }
        }
        let existing = try Existing(db)
        guard !wanted.isEmpty || !existing.rowTables.isEmpty else { return }
        let current = wanted.filter(existing.has)
        let kept = Set(current.map { ExactText($0.rowsName) })
        for rows in existing.rowTables where !kept.contains(ExactText(rows)) {
            let name = FullTextTable.name(ofRows: rows)
            for trigger in existing.triggers(of: name) { try run("DROP TRIGGER \(SQLText.identifier(trigger))", db) }
            try run("DROP TABLE IF EXISTS \(SQLText.identifier(name))", db)
            try run("DROP TABLE \(SQLText.identifier(rows))", db)
        }
        for table in wanted where !kept.contains(ExactText(table.rowsName)) {
            for sql in table.statements { try run(sql, db) }
        }
    }

    private static func run(_ sql: String, _ db: Database) throws {
        try db.execute(sql: SQLText.withoutNUL(sql))
    }

    /// What is there of our indexes.
    private struct Existing {
        /// The names of the tables with row numbers.
        private(set) var rowTables: [String] = []
        private var texts: [ExactText: String] = [:]

        init(_ db: Database) throws {
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT name, sql, instr(sql, '(\(FullTextTable.mark) ') FROM sqlite_master
                    WHERE type = 'table' AND (instr(sql, '(\(FullTextTable.mark) ') OR sql GLOB 'CREATE VIRTUAL TABLE*')
                        OR type = 'trigger' AND name GLOB '\(FullTextTable.triggerPrefix)*'
                    """
            )
            for row in rows {
                let name: String = row[0]
                texts[ExactText(name)] = row[1]
                if row[2] as Int64 > 0, !name.hasPrefix(FullTextTable.triggerPrefix) { rowTables.append(name) }
            }
        }

        func has(_ table: FullTextTable) -> Bool {
            let wanted = [(table.name, table.sql), (table.rowsName, table.rowsSQL)] + table.triggers
            return triggers(of: table.name).count == table.triggers.count
                && wanted.allSatisfy { name, sql in texts[ExactText(name)].map { ExactText($0) } == ExactText(sql) }
        }

        func triggers(of name: String) -> [String] {
            FullTextTable.events.map { "\(FullTextTable.triggerPrefix)\($0)_\(name)" }
                .filter { texts[ExactText($0)] != nil }
        }
    }
}
