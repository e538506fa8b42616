import GRDB
import GRDBSQLite
import PowerSyncSQLite

/// What is done about a row that a foreign key refuses.
struct ForeignKeyException {
    /// Why.
    let refusal: Refusal
    /// Whether the row is deleted, because it violates the foreign key as it is, too; otherwise it stays as it is.
    var isDeleted = false
}

/// Foreign keys are checked when the transaction is committed, too late to tell the row. So violations are looked for when
/// all rows are written.
extension RowPublisher {
    /// Whether SQLite would refuse to commit.
    var hasViolatedForeignKeys: Bool {
        var (current, highest): (CInt, CInt) = (0, 0)
        unsafe sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current > 0
    }

    /// Finds the rows that violate foreign keys, and decides what to do about them.
    ///
    /// A synced row that refers to nothing stays as it was; if that does not help, it is deleted. For other rows that refer to
    /// nothing, which only the app can delete, the rows that they refer to are not deleted.
    ///
    /// - Parameters:
    ///   - keys: The foreign keys of all tables.
    ///   - savepoint: The beginning of the publication, which is undone.
    ///   - schema: What is known of the file's tables.
    /// - Throws: GRDB's `DatabaseError` that names the foreign key when nothing more can be done.
    mutating func addExceptions(
        _ keys: [ForeignKey],
        _ savepoint: Savepoint,
        _ schema: inout KnownSchema
    ) throws {
        let types = try typesByTable(&schema)
        var isChanged = false
        var orphans: [Orphan] = []
        for key in keys {
            for orphan in try self.orphans(of: key, type: types[key.child]) {
                if let row = orphan.row, try isSynced(row) {
                    isChanged = add(row, key) || isChanged
                } else {
                    orphans.append(orphan)
                }
            }
        }
        try savepoint.undo()
        var isKept = try keepParents(of: orphans, keys.filter(\.actsOnDelete), types)
        // What they refer to may be gone because it refers to nothing itself.
        if !isChanged, !isKept { isKept = try keepParents(of: orphans, keys, types) }
        if isKept {
            for row in exceptions.keys { exceptions[row]?.isDeleted = false }
        }
        guard isChanged || isKept else {
            throw DatabaseError(
                resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY,
                message: "FOREIGN KEY constraint failed" + (orphans.first.map { ": \($0.key.text)" } ?? "")
            )
        }
    }

    /// A row that refers to nothing.
    private struct Orphan {
        let key: ForeignKey
        /// The row itself; `nil` for one of a table that has no synced rows.
        let row: RowKey?
        /// What holds for the row that it refers to, as ``ForeignKey/parentConditions(hasID:)`` has it.
        let parentCondition: String
    }

    private func orphans(of key: ForeignKey, type: String?) throws -> [Orphan] {
        let find = try PreparedStatement(db, sql: key.parentConditions(hasID: type != nil))
        defer { find.reset() }
        var orphans: [Orphan] = []
        while try find.step() {
            guard let condition = unsafe find.text(at: 1) else { continue }
            var row: RowKey?
            if let type, let id = unsafe find.text(at: 0) { row = unsafe RowKey(type: Array(type.utf8), id: Array(id)) }
            unsafe orphans.append(
                Orphan(key: key, row: row, parentCondition: String(decoding: condition, as: UTF8.self))
            )
        }
        return orphans
    }

    private mutating func add(_ row: RowKey, _ key: ForeignKey) -> Bool {
        guard let exception = exceptions[row] else {
            exceptions[row] = ForeignKeyException(refusal: Refusal(key))
            return true
        }
        guard !exception.isDeleted else { return false }
        exceptions[row]?.isDeleted = true
        return true
    }

    /// Keeps the rows that others refer to, which are there again.
    ///
    /// - Returns: Whether there are any that were not kept before.
    private mutating func keepParents(
        of orphans: [Orphan],
        _ keys: [ForeignKey],
        _ types: [ExactText: String]
    ) throws -> Bool {
        var kept: [RowKey: ForeignKeyException] = [:]
        for orphan in orphans {
            for row in try parents(of: orphan, keys, types) {
                kept[row] = ForeignKeyException(refusal: Refusal(orphan.key))
            }
        }
        exceptions.merge(kept) { $1 }
        return !kept.isEmpty
    }

    /// Finds the row that another one refers to; if that is kept already, or not synced, the rows that it may have gone with.
    private func parents(
        of orphan: Orphan,
        _ keys: [ForeignKey],
        _ types: [ExactText: String]
    ) throws -> [RowKey] {
        let parent = "main.\(SQLText.identifier(orphan.key.parentTable)) AS row0"
        var levels = [(table: orphan.key.parent, rows: "\(parent) WHERE \(orphan.parentCondition)")]
        for depth in 0..<Self.depthOfParents {
            let found = try levels.flatMap { table, rows in
                try types[table].map { try self.rows(of: $0, "SELECT row\(depth).id FROM \(rows)") } ?? []
            }
            let added = found.filter { exceptions[$0] == nil }
            guard added.isEmpty else { return added }
            levels = levels.flatMap { table, rows in
                keys.filter { $0.child == table }.map { key in
                    let parent = "main.\(SQLText.identifier(key.parentTable)) AS row\(depth + 1)"
                    let join = key.join(child: "row\(depth)", parent: "row\(depth + 1)")
                    return (table: key.parent, rows: "\(parent) WHERE EXISTS (SELECT 1 FROM \(rows) AND \(join))")
                }
            }
        }
        return []
    }

    /// How many rows may have gone with one another.
    private static let depthOfParents = 4

    private func rows(of type: String, _ sql: String) throws -> [RowKey] {
        let ids = try PreparedStatement(db, sql: sql)
        defer { ids.reset() }
        var rows: [RowKey] = []
        while try ids.step() {
            guard let id = unsafe ids.text(at: 0) else { continue }
            unsafe rows.append(RowKey(type: Array(type.utf8), id: Array(id)))
        }
        return rows
    }

    /// Whether the service has the row, and the app has no say in it.
    private func isSynced(_ row: RowKey) throws -> Bool {
        guard !kept.contains(row) else { return false }
        let find = try PreparedStatement(db, sql: "SELECT 1 FROM ps_oplog WHERE row_type = ?1 AND row_id = ?2 LIMIT 1")
        defer { find.reset() }
        try find.bind(checkedText: row.type, at: 1)
        try find.bind(checkedText: row.id, at: 2)
        return try find.step()
    }

    /// The types of the rows that are in tables, by the names of the tables without case.
    ///
    /// Data tables and direct tables are those of the file, as ``RowDestination`` has them.
    func typesByTable(_ schema: inout KnownSchema) throws -> [ExactText: String] {
        var types: [ExactText: String] = [:]
        for table in rawTables where table.structure?.direct == nil {
            let rows = RawTableRows(db, table: table, statements: schema.rawTableStatements)
            guard let name = try? rows.rowTable?.name else { continue }
            types[ExactText(ignoringCaseOf: name)] = table.name
        }
        for table in try StoredDirectTable.fetchAll(db) where !table.isLocalOnly {
            types[ExactText(ignoringCaseOf: table.name)] = table.name
        }
        for table in try DataTable.fetchAll(db) where !table.isLocalOnly {
            types[ExactText(ignoringCaseOf: table.internalName)] = table.name
        }
        return types
    }
}
