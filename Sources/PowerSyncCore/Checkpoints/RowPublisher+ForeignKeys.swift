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
        sqlite3_db_status(db.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return current > 0
    }

    /// Finds the rows that violate foreign keys, and decides what to do about them.
    ///
    /// A synced row that refers to nothing stays as it was; if that does not help, it is deleted. For other rows that refer to
    /// nothing, which only the app can delete, the rows that they refer to are not deleted.
    ///
    /// - Throws: GRDB's `DatabaseError` that names the foreign key when nothing more can be done.
    mutating func addExceptions(_ keys: [ForeignKey], _ schema: inout KnownSchema) throws {
        let types = try typesByTable(&schema)
        var isChanged = false
        var violated: ForeignKey?
        for key in keys {
            if let type = types[key.child] {
                for row in try self.rows(of: type, key.orphans("id")) {
                    violated = key
                    isChanged = try (isSynced(row) ? add(row, key) : keepParents(of: key, row, types)) || isChanged
                }
            } else if try Bool.fetchOne(db, sql: "SELECT EXISTS (\(key.orphans(key.columns[0])))") == true {
                violated = key
                isChanged = try keepParents(of: key, nil, types) || isChanged
            }
        }
        guard isChanged else {
            throw DatabaseError(
                resultCode: .SQLITE_CONSTRAINT_FOREIGNKEY,
                message: "FOREIGN KEY constraint failed" + (violated.map { ": \($0.text)" } ?? "")
            )
        }
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

    /// Keeps the rows that other rows, or one of them, refer to.
    private mutating func keepParents(
        of key: ForeignKey,
        _ child: RowKey?,
        _ types: [ExactText: String]
    ) throws -> Bool {
        guard key.parentColumns == ["id"], let type = types[key.parent] else { return false }
        var sql = key.orphans(key.columns[0])
        if let child { sql += " AND child.id = \(SQLText.literal(child.idText))" }
        var isChanged = false
        for row in try rows(of: type, sql) where exceptions[row] == nil {
            exceptions[row] = ForeignKeyException(refusal: Refusal(key))
            isChanged = true
        }
        return isChanged
    }

    private func rows(of type: String, _ sql: String) throws -> [RowKey] {
        let ids = try PreparedStatement(db, sql: sql)
        defer { ids.reset() }
        var rows: [RowKey] = []
        while try ids.step() {
            guard let id = ids.text(at: 0) else { continue }
            rows.append(RowKey(type: Array(type.utf8), id: Array(id)))
        }
        return rows
    }

    /// Whether the service has the row, and the app has no say in it.
    private func isSynced(_ row: RowKey) throws -> Bool {
        guard !kept.contains(row) else { return false }
        let find = try PreparedStatement(db, sql: "SELECT 1 FROM ps_oplog WHERE row_type = ?1 AND row_id = ?2 LIMIT 1")
        defer { find.reset() }
        try row.type.withUnsafeBytes { try find.bind(checkedText: $0, at: 1, .copied) }
        try row.id.withUnsafeBytes { try find.bind(checkedText: $0, at: 2, .copied) }
        return try find.step()
    }

    /// The types of the rows that are in tables, by the names of the tables without case.
    func typesByTable(_ schema: inout KnownSchema) throws -> [ExactText: String] {
        var types: [ExactText: String] = [:]
        for table in rawTables {
            guard let name = try? RawTableRows(table, db).rowTable?.name else { continue }
            types[ExactText(ignoringCaseOf: name)] = table.name
        }
        for table in try DataTable.fetchAll(db) where !table.isLocalOnly {
            types[ExactText(ignoringCaseOf: table.internalName)] = table.name
        }
        return types
    }
}
