import GRDB
import PowerSyncProtocol
import PowerSyncSQLite
import PowerSyncUpload

/// Writes rows of uploads into the tables of the app, for the time of one request.
///
/// Names are compared by their bytes, and quoted. Values are bound as they are: integers of 64 bits, reals, texts with
/// everything in them. Booleans become 1 and 0, arrays and objects their JSON text.
struct RowWriter {
    /// What a statement does.
    private struct StatementKey: Hashable {
        enum Kind {
            case insert, update, delete
        }

        let kind: Kind
        let table: ExactText
        let columns: [ExactText]
        /// Whether the table resolves conflicts of unique columns by itself.
        let resolvesConflicts: Bool
    }

    private let idColumn: String
    /// The names of the tables that may be written to.
    private let names: Set<ExactText>
    private let tables: AppTables
    /// How many statements are kept.
    private static let statementLimit = 100
    /// Statements by what they do.
    ///
    /// Clients choose the columns, so GRDB must not keep them for ever.
    private var statements: [StatementKey: Statement] = [:]
    /// The tables whose changes observers of the database know of.
    private var announcedTables: Set<ExactText> = []

    /// Looks at the names of the tables; those with a quote are left out, because GRDB 7 does not escape it when it looks them up.
    init(_ options: UploadApplierOptions, _ db: Database) throws {
        tables = AppTables(idColumn: options.idColumn)
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
    /// - Returns: The row.
    /// - Throws: ``WriteRefusal``, or `DatabaseError`.
    func check(_ entry: UploadEntry, _ db: Database) throws -> TargetRow {
        try TargetRow(entry.id, in: table(entry.table, db), tables, db)
    }

    /// Forgets what is known of tables, after a rollback.
    mutating func forgetTables() {
        tables.forget()
        announcedTables = []
    }

    private func table(_ name: String, _ db: Database) throws -> AppTable {
        guard names.contains(ExactText(name)) else { throw WriteRefusal(unknownTable: name) }
        let table = try tables.table(name, db)
        guard table.key.count == 1, table.key.first.map({ ExactText($0) }) == ExactText(idColumn) else {
            throw WriteRefusal(keyOf: name, isNot: idColumn)
        }
        return table
    }

    /// Writes a row.
    ///
    /// A row that is put is inserted, or gets the given columns; those that are not given stay. Nothing happens when a row is
    /// patched or deleted that is not there. A row is there when its id has the bytes of the write's; see ``IdentityColumn``.
    ///
    /// - Parameters:
    ///   - entry: What to do with which row.
    ///   - values: The columns; the id among them is ignored.
    ///   - row: What ``check(_:_:)`` has returned for the write.
    ///   - db: The writer, inside a transaction.
    /// - Throws: ``WriteRefusal`` when the values are at fault, else `DatabaseError`.
    mutating func write(_ entry: UploadEntry, _ values: JsonParam, to row: TargetRow, _ db: Database) throws {
        let table = try table(entry.table, db)
        let id = ExactText(idColumn)
        let members =
            entry.op == .delete
            ? [] : JSONObject(values).members.filter { ExactText($0.name) != id }
        let columns = members.map { ExactText($0.name) }
        if let unknown = columns.first(where: { !table.writableColumns.contains($0) }) {
            throw WriteRefusal(unknownColumn: unknown.text, of: table.name)
        }
        // No upsert: SQLite checks all of the new row, and runs the triggers for one, before it finds the row that is there.
        let stored = try row.storedID(db)
        let kind: StatementKey.Kind
        switch entry.op {
        case .put where stored == nil: kind = .insert
        case .put, .patch:
            guard stored != nil, !columns.isEmpty else { return }
            kind = .update
        case .delete:
            guard stored != nil else { return }
            kind = .delete
        }
        try run(kind, columns, members.map(\.value), stored ?? .text(entry.id), in: table, db)
        // Observers look at what has changed when the request is committed: once is enough.
        guard announcedTables.insert(ExactText(table.name)).inserted else { return }
        try db.notifyChanges(in: GRDB.Table(table.name))
    }

    /// Runs a statement; its parameters are the values, then the id.
    ///
    /// - Throws: ``WriteRefusal`` when the values are at fault, else `DatabaseError`.
    private mutating func run(
        _ kind: StatementKey.Kind,
        _ columns: [ExactText],
        _ values: [ExactJSON],
        _ id: IdentityColumn.StoredID,
        in table: AppTable,
        _ db: Database
    ) throws {
        let key = StatementKey(
            kind: kind,
            table: ExactText(table.name),
            columns: columns,
            resolvesConflicts: table.resolvesConflicts
        )
        let prepared = try statements[key] ?? makeStatement(key, table, db)
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
            statements[key] = nil
            throw WriteRefusal(
                code: .constraint,
                message: "Table “\(table.name)” refuses the row: \(error.message ?? error.resultCode.description)."
            )
        }
    }

    /// Prepares a statement, and keeps it; its parameters are the columns in order, then the id.
    private mutating func makeStatement(_ key: StatementKey, _ table: AppTable, _ db: Database) throws -> Statement {
        let name = SQLText.identifier(table.name)
        let columns = key.columns.map { SQLText.identifier($0.text) }
        // A row may not vanish by a write of another.
        let clause = table.resolvesConflicts ? " OR ABORT" : ""
        let sql: String
        switch key.kind {
        case .insert:
            let placeholders = Array(repeating: "?", count: columns.count + 1).joined(separator: ", ")
            let all = (columns + [SQLText.identifier(idColumn)]).joined(separator: ", ")
            sql = "INSERT\(clause) INTO \(name) (\(all)) VALUES (\(placeholders))"
        case .update:
            let updates = columns.enumerated().map { "\($1) = ?\($0 + 1)" }.joined(separator: ", ")
            sql = "UPDATE\(clause) \(name) SET \(updates) WHERE \(table.ids.condition(columns.count + 1))"
        case .delete:
            sql = "DELETE FROM \(name) WHERE \(table.ids.condition(1))"
        }
        let statement = try db.makeStatement(sql: sql)
        if statements.count >= Self.statementLimit { statements = [:] }
        statements[key] = statement
        return statement
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
