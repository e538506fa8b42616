package import GRDB
import PowerSyncSQLite

/// Brings the direct tables of a file in line with a schema (docs/database.md "Direct tables").
///
/// A table that is not as it is declared is given up and made anew, and its rows move as JSON objects: those of a synced table through
/// `ps_untyped`, from where a view or a raw table of the same name gets them, too, those of a local-only table through `ps_data_local__…`.
/// So columns that come later have the values that were downloaded before, and tables change their kind without loss.
///
/// In one transaction with the rest of the schema. What the app has added to a table is made again with it, unless it needs a column
/// that is gone: such an index cannot be made, and such a trigger would make every write fail, those of syncing too.
struct DirectTableChanges {
    private let db: Database
    private let wanted: [DirectTable]
    private let existing: [StoredDirectTable]
    /// The SQL of what the app had added to tables that were given up.
    private var additions: [ExactText: [String]] = [:]
    /// The names of the tables that are in the file.
    private var kept: Set<ExactText> = []

    init(_ db: Database, _ schema: ClientSchema, _ objects: SchemaObjects) {
        self.db = db
        wanted = schema.tables.filter(\.isDirect).map(DirectTable.init)
        // The table is that of a raw table now, as which other implementations open the file.
        let rawTables = Set(
            schema.rawTables.map { ExactText(ignoringCaseOf: $0.structure?.tableName ?? $0.name) }
        )
        existing = objects.directTables.filter { !rawTables.contains(ExactText(ignoringCaseOf: $0.name)) }
    }

    /// Drops the tables that are not as they are declared, or not declared any more, and keeps their rows.
    ///
    /// Before views and data tables are made.
    ///
    /// - Returns: The tables that local-only rows were moved to.
    mutating func giveUpTables() throws -> Set<DataTable> {
        let definitions = Dictionary(wanted.map { (ExactText($0.name), $0.sql) }) { $1 }
        var outdated: [StoredDirectTable] = []
        for table in existing {
            if definitions[ExactText(table.name)].map({ ExactText($0) }) == ExactText(table.sql) {
                kept.insert(ExactText(table.name))
            } else {
                outdated.append(table)
            }
        }
        var localTables: Set<DataTable> = []
        for table in outdated {
            try checkForeignKeys(to: table)
            additions[ExactText(table.name)] = try table.additions(db)
            if table.isLocalOnly { localTables.insert(DataTable(name: table.name, isLocalOnly: true)) }
            try moveRows(of: table)
        }
        for table in outdated { try run("DROP TABLE \(SQLText.identifier(table.name))") }
        return localTables
    }

    /// Makes the tables that are missing, with their rows, and the triggers and indexes that are not as they should be.
    ///
    /// After views and data tables are made.
    func makeTables() throws {
        let missing = wanted.filter { !kept.contains(ExactText($0.name)) }
        for table in missing {
            guard try !isTaken(table.name) else {
                throw LocalDatabaseError.invalidArgument(
                    """
                    the direct table '\(table.name)' cannot be made, since the file has a table of this name that is not one: \
                    give one of them another name, or declare the table as a raw table
                    """
                )
            }
            try run(table.sql)
        }
        for table in missing { try fill(table) }
        for table in missing {
            for sql in additions[ExactText(table.name)] ?? [] { try add(sql, to: table) }
        }
        for table in wanted { try applyObjects(of: table) }
    }

    /// Makes an index or a trigger of the app again, if the table can have it.
    private func add(_ sql: String, to table: DirectTable) throws {
        let savepoint = try Savepoint(db, "powersync_addition")
        do {
            try run(sql)
            // Compiled and not run: SQLite reads the body of a trigger when a statement is compiled that fires it.
            for write in try table.writes(db) { _ = try PreparedStatement(db, sql: write) }
        } catch let error as DatabaseError
            where db.isInsideTransaction && [.SQLITE_ERROR, .SQLITE_CONSTRAINT].contains(error.resultCode)
        {
            try savepoint.undo()
        }
        try savepoint.end()
    }

    // MARK: - Rows

    /// Has the rows wait that operations have and no table has: the app may have dropped the table, or renamed it.
    ///
    /// Not those that were written locally, which may be deleted: the next complete checkpoint after their upload looks at them.
    private func recoverRows(of table: DirectTable) throws {
        guard try OplogIndexes.exist(db) else { return }
        try run(
            """
            INSERT OR IGNORE INTO ps_untyped(type, id, data)
            SELECT ?1, id, data FROM (
                SELECT o.row_id AS id, iif(max(o.op_id), o.data, NULL) AS data FROM ps_oplog AS o
                CROSS JOIN ps_buckets AS b ON b.id = o.bucket
                WHERE o.row_type = ?1 AND o.op_id <= b.last_applied_op GROUP BY o.row_id
            ) AS published
            WHERE data IS NOT NULL AND id IS NOT NULL
                AND NOT EXISTS (SELECT 1 FROM ps_updated_rows WHERE row_type = ?1 AND row_id = published.id)
            """,
            [table.name]
        )
    }

    private func moveRows(of table: StoredDirectTable) throws {
        let name = SQLText.identifier(table.name)
        let data = try table.rowData(db)
        guard table.isLocalOnly else {
            return try run(
                "INSERT OR REPLACE INTO ps_untyped(type, id, data) SELECT ?1, id, \(data) FROM \(name) AS ps_old",
                [table.name]
            )
        }
        let rows = SQLText.identifier(DataTable(name: table.name, isLocalOnly: true).internalName)
        try run("CREATE TABLE IF NOT EXISTS \(rows)(id TEXT PRIMARY KEY NOT NULL, data TEXT)")
        try run("INSERT OR REPLACE INTO \(rows)(id, data) SELECT id, \(data) FROM \(name) AS ps_old")
    }

    /// Writes the rows that wait for a table.
    ///
    /// Synced rows that a constraint refuses are looked at again by the next complete checkpoint.
    private func fill(_ table: DirectTable) throws {
        let rawTable = ClientRawTable(name: table.name, structure: table.table.rawStructure)
        let destination = RawTableRows(db, table: rawTable, statements: RawTableStatements())
        guard table.table.isLocalOnly else {
            try recoverRows(of: table)
            var refused = SetAsideRows()
            let waiting = "SELECT id, data FROM ps_untyped WHERE type = ?1 ORDER BY id"
            try unsafe forEachRow(waiting, [table.name]) { id, data in
                do {
                    try unsafe destination.write(id: id, data: data)
                } catch {
                    guard db.isInsideTransaction, let refusal = Refusal(error) else { throw error }
                    let key = unsafe RowKey(type: Array(table.name.utf8), id: Array(id))
                    refused.add(key, refusal.reason)
                }
            }
            try refused.mark(db)
            return try run("DELETE FROM ps_untyped WHERE type = ?1", [table.name])
        }
        let local = DataTable(name: table.name, isLocalOnly: true).internalName
        guard try db.hasTable(local) else { return }
        try unsafe forEachRow("SELECT id, data FROM \(SQLText.identifier(local)) ORDER BY id", []) { id, data in
            try unsafe destination.write(id: id, data: data)
        }
        try run("DROP TABLE \(SQLText.identifier(local))")
    }

    private func forEachRow(
        _ sql: String,
        _ arguments: [String],
        _ body: (_ id: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer) throws -> Void
    ) throws {
        try Publishing.whilePublishing(db) {
            let rows = try PreparedStatement(db, sql: sql)
            defer { rows.reset() }
            for (index, argument) in arguments.enumerated() {
                try rows.bind(checkedText: argument, at: CInt(index + 1))
            }
            while try rows.step() {
                guard let id = unsafe rows.text(at: 0), let data = unsafe rows.text(at: 1) else { continue }
                switch try unsafe StoredRow.readable(db, data, for: .rawTable) {
                case .asIs: try unsafe body(id, data)
                case .repaired(let bytes), .nothing(let bytes):
                    try unsafe bytes.withUnsafeBytes { try unsafe body(id, $0) }
                }
            }
        }
    }

    // MARK: - Triggers and indexes

    private func applyObjects(of table: DirectTable) throws {
        var old = kept.contains(ExactText(table.name)) ? storedObjects(of: table.name) : [:]
        let indexes = table.indexes.map { (type: "index", name: $0.name, sql: $0.sql) }
        let triggers = try table.triggers(db).map { (type: "trigger", name: $0.name, sql: $0.sql) }
        let wanted = indexes + triggers
        let isCurrent = { (object: (type: String, name: String, sql: String)) in
            old[ExactText(object.name)].map { ExactText($0.sql) } == ExactText(object.sql)
        }
        let missing = wanted.filter { !isCurrent($0) }
        for object in wanted where isCurrent(object) { old[ExactText(object.name)] = nil }
        for (name, object) in old.sorted(by: { $0.key.text < $1.key.text }) {
            try run("DROP \(object.type) \(SQLText.identifier(name.text))")
        }
        for object in missing { try run(object.sql) }
    }

    private func storedObjects(of name: String) -> [ExactText: (type: String, sql: String)] {
        existing.first { ExactText($0.name) == ExactText(name) }?.objects ?? [:]
    }

    // MARK: - Checks

    private func isTaken(_ name: String) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE)"
        return try Bool.fetchOne(db, sql: sql, arguments: [name]) == true
    }

    /// Dropping a table that others refer to would delete or change their rows, as if each of its rows was deleted.
    private func checkForeignKeys(to table: StoredDirectTable) throws {
        guard try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == true else { return }
        let parent = ExactText(ignoringCaseOf: table.name)
        guard try ForeignKey.fetchAll(db).contains(where: { $0.parent == parent }) else { return }
        throw LocalDatabaseError.invalidArgument(
            """
            the direct table '\(table.name)' is made anew, and other tables refer to it: apply the schema outside of a transaction, or \
            with PRAGMA foreign_keys = OFF
            """
        )
    }

    private func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try db.execute(sql: SQLText.withoutNUL(sql), arguments: arguments)
    }
}

extension ClientSchema {
    /// Runs a closure that applies the schema, without the actions of foreign keys if any table is direct.
    ///
    /// A table that is made anew is dropped first, which would delete the rows that refer to it.
    ///
    /// - Parameters:
    ///   - db: The writer, outside of a transaction.
    ///   - body: Applies the schema.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, and GRDB's `DatabaseError`.
    package func withoutForeignKeys<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        guard try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") == true,
            try tables.contains(where: \.isDirect) || !StoredDirectTable.fetchAll(db).isEmpty
        else { return try body() }
        try db.execute(sql: "PRAGMA foreign_keys = OFF")
        let result = Swift.Result { try body() }
        try db.execute(sql: "PRAGMA foreign_keys = ON")
        return try result.get()
    }
}
