import GRDB
import PowerSyncSQLite

/// A client table with columns of its own in the file, as SQL text (docs/database.md "Direct tables").
///
/// ```sql
/// CREATE TABLE "todos"(/* powersync-direct */ "id" TEXT NOT NULL PRIMARY KEY, "title" TEXT NOT NULL, "done" INTEGER) STRICT
/// ```
///
/// STRICT, so that `typeof` of a value is the column's type or `null`, whatever is written by whom. The comment is how a table of ours is
/// known; the text is compared with `sqlite_master` byte by byte, and the table is made anew when anything differs.
///
/// Triggers record local writes as those of a raw table do (``RawTableTrigger``). They and the indexes have names with the
/// prefix ``StoredDirectTable/namePrefix``, by which they are known.
struct DirectTable {
    /// The declaration.
    let table: ClientTable

    /// The name in SQLite and in the schema.
    var name: String { table.name }

    /// The `CREATE TABLE` statement.
    var sql: String {
        var parts = ["\"id\" TEXT NOT NULL PRIMARY KEY"]
        parts += table.columns.map { column in
            let type = column.type.rawValue.uppercased()
            return ([SQLText.identifier(column.name), type] + column.constraints).joined(separator: " ")
        }
        if table.tracksMetadata {
            parts += zip(ClientTable.metadataColumns, ["TEXT", "INTEGER"]).map { "\(SQLText.identifier($0)) \($1)" }
        }
        parts += table.constraints
        let mark = table.isLocalOnly ? StoredDirectTable.localMark : StoredDirectTable.mark
        return "CREATE TABLE \(SQLText.identifier(name))(\(mark) \(parts.joined(separator: ", "))) STRICT"
    }

    /// The `CREATE INDEX` statements by the names of the indexes.
    var indexes: [(name: String, sql: String)] {
        table.indexes.map { index in
            let name = index.nameOnDisk(in: table)
            let columns = index.columns.map { SQLText.identifier($0.name) + ($0.isDescending ? " DESC" : "") }
            let place = "\(SQLText.identifier(self.name))(\(columns.joined(separator: ", ")))"
            return (name, "CREATE INDEX \(SQLText.identifier(name)) ON \(place)")
        }
    }

    /// The triggers, for the table as it is in the file.
    func triggers(_ db: Database) throws -> [(name: String, sql: String)] {
        guard !table.isLocalOnly else { return [] }
        let rawTable = ClientRawTable(name: name, structure: table.rawStructure)
        let triggers = try [RawTableTrigger.Write.insert, .update, .delete].flatMap { write in
            let name = "\(StoredDirectTable.namePrefix)\(write.rawValue.lowercased())_\(self.name)"
            let trigger = try RawTableTrigger(db, name: name, write: write, of: rawTable)
            return [(name, trigger.sql)] + (trigger.sqlBeforeWrite.map { [(trigger.nameBeforeWrite, $0)] } ?? [])
        }
        guard table.tracksMetadata, !table.isInsertOnly else { return triggers }
        let name = "\(StoredDirectTable.namePrefix)delete2_\(self.name)"
        return triggers + [(name, try RawTableTrigger.deletionByUpdate(db, name: name, of: rawTable))]
    }
}

extension DirectTable {
    /// A statement of each kind of write, which fires every trigger of the table.
    func writes(_ db: Database) throws -> [String] {
        let table = SQLText.identifier(name)
        let columns = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0",
            arguments: [name]
        ).map(SQLText.identifier)
        let assignments = columns.map { "\($0) = \($0)" }.joined(separator: ", ")
        return ["INSERT INTO \(table) DEFAULT VALUES", "UPDATE \(table) SET \(assignments)", "DELETE FROM \(table)"]
    }
}

extension StoredDirectTable {
    /// An expression for the JSON object of the row `ps_old`.
    ///
    /// A synced row has the members that no column of the table stands for, as they were downloaded. `json_patch` would leave out what is
    /// NULL now: it is added again, since a member that is not there may have its value under a former name.
    func rowData(_ db: Database) throws -> String {
        let columns = try String.fetchAll(
            db,
            sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0 AND name <> 'id'",
            arguments: [name]
        )
        let row = ViewRowValues(table: name, columns: columns).previous(columns, of: "ps_old")
        // In an interrupted bulk load nothing is published, and operations cannot be found by row.
        guard !isLocalOnly, try OplogIndexes.exist(db) else { return row }
        let type = SQLText.literal(name)
        return """
            (SELECT CASE WHEN data IS NULL OR NOT json_valid(data) THEN \(row) WHEN EXISTS (
                SELECT 1 FROM ps_updated_rows WHERE row_type = \(type) AND row_id = ps_old.id
            ) THEN powersync_json_merge(json_patch(data, \(row)), (
                SELECT json_group_object(key, NULL) FROM json_each(\(row)) WHERE type = 'null'
            )) ELSE data END FROM (
                SELECT iif(max(o.op_id), o.data, NULL) AS data FROM ps_oplog AS o
                CROSS JOIN ps_buckets AS b ON b.id = o.bucket
                WHERE o.row_type = \(type) AND o.row_id = ps_old.id AND o.op_id <= b.last_applied_op
            ))
            """
    }

    /// What the app has added to the table: indexes and triggers.
    func additions(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT sql FROM sqlite_master
                WHERE tbl_name = ? COLLATE NOCASE AND type IN ('index', 'trigger') AND sql IS NOT NULL
                    AND name NOT GLOB '\(Self.namePrefix)*' AND name NOT GLOB '\(FullTextTable.triggerPrefix)*'
                ORDER BY rowid
                """,
            arguments: [name]
        )
    }
}
