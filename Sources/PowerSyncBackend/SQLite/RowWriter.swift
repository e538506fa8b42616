import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncUpload

/// Writes rows of uploads into the tables of the app, for the time of one request.
///
/// Names are compared by their bytes, and quoted. Values are bound as they are: integers of 64 bits, reals, texts with
/// everything in them. Booleans become 1 and 0, arrays and objects their JSON text.
struct RowWriter {
    /// A table of the app.
    private struct Table {
        let name: String
        /// The columns that can be written.
        let columns: Set<ExactText>
        let key: [String]
        let ids: IdentityColumn
        /// `" OR ABORT"` when the table would resolve conflicts of unique columns by itself: a row may not vanish by a write of another.
        let conflictClause: String
    }

    private let idColumn: String
    /// The names of the tables that may be written to.
    private let names: Set<ExactText>
    private var tables: [ExactText: Table] = [:]
    /// How many statements are kept.
    private static let statementLimit = 100
    /// Statements by their text.
    ///
    /// Clients choose the columns, so GRDB must not keep them for ever.
    private var statements: [ExactText: Statement] = [:]

    /// Looks at the names of the tables; those with a quote are left out, because GRDB 7 does not escape it when it looks them up.
    init(_ options: UploadApplierOptions, _ db: Database) throws {
        idColumn = options.idColumn
        let existing = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM pragma_table_list
                WHERE schema = 'main' AND type = 'table' AND name NOT GLOB 'sqlite_*' AND name NOT GLOB '_ps_*'
                    AND instr(name, '"') = 0
                """
        )
        let allowed = options.tables.map { Set($0.map { ExactText($0) }) }
        names = Set(existing.map { ExactText($0) }.filter { allowed?.contains($0) ?? true })
    }

    /// Checks that a write names a table that can be written, and one row of it.
    ///
    /// - Returns: The column of the table with the ids.
    /// - Throws: ``WriteRefusal``, or `DatabaseError`.
    mutating func check(_ entry: UploadEntry, _ db: Database) throws -> IdentityColumn {
        let ids = try table(entry.table, db).ids
        try ids.check(entry.id, db)
        return ids
    }

    private mutating func table(_ name: String, _ db: Database) throws -> Table {
        let key = ExactText(name)
        guard names.contains(key) else {
            throw WriteRefusal(unknownTable: name)
        }
        let table: Table
        if let known = tables[key] {
            table = known
        } else {
            let columns = try Row.fetchAll(
                db,
                sql: "SELECT name, pk, hidden FROM pragma_table_xinfo(?)",
                arguments: [name]
            )
            table = Table(
                name: name,
                columns: Set(columns.filter { $0["hidden"] == 0 }.map { ExactText($0["name"]) }),
                key: columns.filter { $0["pk"] > 0 }.map { $0["name"] },
                ids: try IdentityColumn(idColumn, of: name, db),
                conflictClause: try Self.resolvesConflicts(name, db) ? " OR ABORT" : ""
            )
            tables[key] = table
        }
        guard table.key.count == 1, table.key.first.map({ ExactText($0) }) == ExactText(idColumn) else {
            throw WriteRefusal(keyOf: name, isNot: idColumn)
        }
        return table
    }

    private static func resolvesConflicts(_ table: String, _ db: Database) throws -> Bool {
        let sql = try String.fetchOne(
            db,
            sql: "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?",
            arguments: [table]
        )
        return sql.map { UniqueConflicts.areResolved(by: $0) } ?? false
    }

    /// Writes a row.
    ///
    /// A row that is put is inserted, or gets the given columns; those that are not given stay. Nothing happens when a row is
    /// patched or deleted that is not there. A row is there when its id has the bytes of the write's; see ``IdentityColumn``.
    ///
    /// - Parameters:
    ///   - entry: What to do with which row.
    ///   - values: The columns; the id among them is ignored.
    ///   - db: The writer, inside a transaction.
    /// - Throws: ``WriteRefusal`` when the values are at fault, else `DatabaseError`.
    mutating func write(_ entry: UploadEntry, _ values: JsonParam, _ db: Database) throws {
        let table = try table(entry.table, db)
        let id = ExactText(idColumn)
        let members =
            entry.op == .delete
            ? [] : JSONObject(values).members.filter { ExactText($0.name) != id }
        if let unknown = members.first(where: { !table.columns.contains(ExactText($0.name)) }) {
            throw WriteRefusal(unknownColumn: unknown.name, of: table.name)
        }
        // No upsert: SQLite checks all of the new row, and runs the triggers for one, before it finds the row that is there.
        let stored = try table.ids.storedID(entry.id, db)
        guard let sql = statement(for: entry.op, table, columns: members.map(\.name), exists: stored != nil) else {
            return
        }
        try run(sql, members.map(\.value), stored ?? .text(entry.id), in: table, db)
        try db.notifyChanges(in: GRDB.Table(table.name))
    }

    /// Runs a statement; its parameters are the values, then the id.
    ///
    /// - Throws: ``WriteRefusal`` when the values are at fault, else `DatabaseError`.
    private mutating func run(
        _ sql: String,
        _ values: [ExactJSON],
        _ id: IdentityColumn.StoredID,
        in table: Table,
        _ db: Database
    ) throws {
        let prepared = try statements[ExactText(sql)] ?? db.makeStatement(sql: sql)
        if statements.count >= Self.statementLimit { statements = [:] }
        statements[ExactText(sql)] = prepared
        defer { withExtendedLifetime(prepared) {} }
        let statement = unsafe PreparedStatement(borrowing: prepared.sqliteStatement)
        var code: CInt = 0
        for (index, value) in values.enumerated() {
            code = max(code, statement.bind(value, at: CInt(index + 1)))
        }
        code = max(code, statement.bind(id, at: CInt(values.count + 1)))
        guard code == 0 else {
            statement.reset()
            throw WriteRefusal(
                code: .constraint,
                message: "A value for table “\(table.name)” is longer than the database allows."
            )
        }
        do {
            try statement.run()
        } catch let error as DatabaseError where error.isAboutValues {
            // After an error, resetting it may not be enough to run it again.
            statements[ExactText(sql)] = nil
            throw WriteRefusal(
                code: .constraint,
                message: "Table “\(table.name)” refuses the row: \(error.message ?? error.resultCode.description)."
            )
        }
    }

    /// The statement of a write; its parameters are the columns in order, then the id.
    ///
    /// `nil` when there is nothing to do.
    private func statement(for op: UpdateType, _ table: Table, columns: [String], exists: Bool) -> String? {
        let name = SQLText.identifier(table.name)
        let columns = columns.map(SQLText.identifier)
        switch op {
        case .put where !exists:
            let placeholders = Array(repeating: "?", count: columns.count + 1).joined(separator: ", ")
            let all = (columns + [SQLText.identifier(idColumn)]).joined(separator: ", ")
            return "INSERT\(table.conflictClause) INTO \(name) (\(all)) VALUES (\(placeholders))"
        case .put, .patch:
            guard exists, !columns.isEmpty else { return nil }
            let updates = columns.enumerated().map { "\($1) = ?\($0 + 1)" }.joined(separator: ", ")
            let condition = table.ids.condition(columns.count + 1)
            return "UPDATE\(table.conflictClause) \(name) SET \(updates) WHERE \(condition)"
        case .delete:
            return exists ? "DELETE FROM \(name) WHERE \(table.ids.condition(1))" : nil
        }
    }
}

extension DatabaseError {
    /// Whether a statement that could be prepared failed because of its values.
    ///
    /// `SQLITE_ERROR` is what expressions of generated columns and triggers report, for example of text that is not JSON.
    fileprivate var isAboutValues: Bool {
        switch resultCode {
        case .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_TOOBIG, .SQLITE_ERROR: true
        default: false
        }
    }
}

extension PreparedStatement {
    /// Binds a value of an upload.
    fileprivate func bind(_ value: ExactJSON, at index: CInt) -> CInt {
        switch value {
        case .null: bindNull(at: index)
        case .bool(let bool): bind(bool ? 1 : 0 as Int64, at: index)
        case .integer(let integer): bind(integer, at: index)
        case .double(let double): bind(double, at: index)
        case .string(let string): bind(string, at: index)
        case .array, .object: bind(value.text, at: index)
        }
    }
}
