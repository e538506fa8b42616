package import GRDB
import PowerSyncSQLite

/// Bringing the tables, indexes and views of a database in line with a schema (docs/database.md "Applying a schema").
extension ClientSchema {
    /// Creates, changes and drops tables, indexes and views so that they are those of this schema.
    ///
    /// Rows of a synced table that is no longer declared wait in `ps_untyped`, and come back with the table. Rows of a
    /// local-only table stay while a synced one of the name is declared; those of one that is not declared at all are lost. Nothing is executed for what is unchanged: every change of
    /// a database's schema makes all connections prepare their statements again.
    ///
    /// Direct tables are made anew when their columns or constraints change, with their rows, see ``DirectTableChanges``.
    ///
    /// Raw tables get the rows that wait for them in `ps_untyped`, see ``WaitingRows``, and are not touched otherwise. The
    /// connection remembers them for the next sync iteration and for ``LocalData/clear(_:_:)``.
    ///
    /// Call it inside a write transaction, on a migrated database. Names are not validated here, but by the SDK above, which
    /// only warns: the schema of another implementation may have names that it would not accept.
    ///
    /// - Throws: ``LocalDatabaseError`` when no transaction is open, a name contains NUL, and as ``check()``; GRDB's
    ///   `DatabaseError` when SQLite refuses, for example because a table of the application has the name of a view.
    package func apply(to db: Database) throws {
        guard db.isInsideTransaction else { throw LocalDatabaseError.notInTransaction }
        try check()
        try checkPaths(db)
        var existing = try SchemaObjects.fetch(db)
        var directTables = DirectTableChanges(db, self, existing)
        existing.tables.formUnion(try directTables.giveUpTables())
        try dropUnwantedIndexes(db, existing)
        try applyTables(db, existing)
        let wanted = views.map(ViewDefinition.init)
        let outdated = wanted.filter { existing.views[ExactText($0.name)]?.matches($0) != true }
        try repairRows(db, existing, outdated)
        try applyIndexes(db, existing)
        try applyViews(db, existing, wanted, outdated)
        try directTables.makeTables()
        try FullTextChanges.apply(self, to: db)
        try ConnectionState.of(db).didApply(db, rawTables: publishedTables)
        var schema = KnownSchema()
        // What is wrong with a raw table is told when syncing starts: it must not keep the database from being opened, and the app from
        // mending it.
        let savepoint = try Savepoint(db, "powersync_waiting")
        do {
            _ = try WaitingRows.publish(db, to: publishedTables, schema: &schema)
        } catch  where db.isInsideTransaction {
            try savepoint.undo()
        }
        try savepoint.end()
    }

    // MARK: - Tables

    /// Drops come first: a table that changes its kind, or the case of its name, hands its rows over.
    private func applyTables(_ db: Database, _ existing: SchemaObjects) throws {
        let wanted = views.map { DataTable(name: $0.name, isLocalOnly: $0.isLocalOnly) }
        // A table that is synced now may be local-only again; a direct one takes its rows when it is made.
        let kept = tables.map { DataTable(name: $0.name, isLocalOnly: true) }
        for table in existing.tables.subtracting(wanted).subtracting(kept).sorted(by: {
            $0.internalName < $1.internalName
        }) {
            if !table.isLocalOnly {
                try run(
                    """
                    INSERT OR REPLACE INTO ps_untyped(type, id, data)
                    SELECT ?, id, data FROM \(SQLText.identifier(table.internalName))
                    """,
                    [table.name],
                    db: db
                )
            }
            try run("DROP TABLE \(SQLText.identifier(table.internalName))", db: db)
        }
        for table in wanted where !existing.tables.contains(table) {
            let name = SQLText.identifier(table.internalName)
            try run("CREATE TABLE \(name)(id TEXT PRIMARY KEY NOT NULL, data TEXT)", db: db)
            guard !table.isLocalOnly else { continue }
            try run(
                "INSERT INTO \(name)(id, data) SELECT id, data FROM ps_untyped WHERE type = ?",
                [table.name],
                db: db
            )
            try run("DELETE FROM ps_untyped WHERE type = ?", [table.name], db: db)
        }
    }

    /// Repairs rows that were written under the triggers of another implementation, or of a version before them.
    ///
    /// Before the indexes, which cannot be made over a row that is not JSON. Rows that were written under ours are JSON.
    private func repairRows(
        _ db: Database,
        _ existing: SchemaObjects,
        _ outdated: [ViewDefinition]
    ) throws {
        guard !outdated.isEmpty else { return }
        let names = Set(outdated.map { ExactText($0.name) })
        for table in views where names.contains(ExactText(table.viewName)) {
            let dataTable = DataTable(name: table.name, isLocalOnly: table.isLocalOnly)
            let view = existing.views[ExactText(table.viewName)]
            let isOurs = view?.triggers.contains(where: TriggerText.isOurs) ?? false
            if isOurs, existing.tables.contains(dataTable) { continue }
            try StoredRow.repairAll(db, in: dataTable)
        }
    }

    // MARK: - Indexes

    /// Before tables are created: one may get the name of an index that is no longer declared.
    private func dropUnwantedIndexes(_ db: Database, _ existing: SchemaObjects) throws {
        let wanted = Set(views.flatMap { table in table.indexes.map { ExactText($0.nameOnDisk(in: table)) } })
        for name in existing.indexes.keys.filter({ !wanted.contains($0) }).map(\.text).sorted() {
            try run("DROP INDEX \(SQLText.identifier(name))", db: db)
        }
    }

    private func applyIndexes(_ db: Database, _ existing: SchemaObjects) throws {
        for table in views {
            for index in table.indexes {
                let sql = index.sql(in: table)
                let name = index.nameOnDisk(in: table)
                if let old = existing.indexes[ExactText(name)] {
                    guard ExactText(old) != ExactText(sql) else { continue }
                    // Gone already if its table was dropped above.
                    try run("DROP INDEX IF EXISTS \(SQLText.identifier(name))", db: db)
                }
                try run(sql, db: db)
            }
        }
    }

    // MARK: - Views

    /// Views that are not wanted go first.
    ///
    /// If only the case of a name changed, dropping the old one later would drop the new one.
    private func applyViews(
        _ db: Database,
        _ existing: SchemaObjects,
        _ wanted: [ViewDefinition],
        _ outdated: [ViewDefinition]
    ) throws {
        let names = Set(wanted.map { ExactText($0.name) })
        for name in existing.views.keys.filter({ !names.contains($0) }).map(\.text).sorted() {
            try run("DROP VIEW IF EXISTS \(SQLText.identifier(name))", db: db)
        }
        for view in outdated {
            try run("DROP VIEW IF EXISTS \(SQLText.identifier(view.name))", db: db)
            try run(view.sql, db: db)
            for trigger in view.triggers {
                try run(trigger.sql, db: db)
            }
        }
    }

    // MARK: - Statements

    private func run(_ sql: String, _ arguments: StatementArguments = [], db: Database) throws {
        try db.execute(sql: SQLText.withoutNUL(sql), arguments: arguments)
    }
}

extension ClientIndex {
    /// The name in SQLite.
    func nameOnDisk(in table: ClientTable) -> String {
        "\(table.isDirect ? StoredDirectTable.namePrefix : "")\(table.internalName)__\(name)"
    }

    fileprivate func sql(in table: ClientTable) -> String {
        let expressions = columns.map { column in
            let value = ViewDefinition.extraction(of: column.name, as: table.type(of: column))
            return column.isDescending ? value + " DESC" : value
        }
        let name = SQLText.identifier(nameOnDisk(in: table))
        return
            "CREATE INDEX \(name) ON \(SQLText.identifier(table.internalName))(\(expressions.joined(separator: ", ")))"
    }
}
