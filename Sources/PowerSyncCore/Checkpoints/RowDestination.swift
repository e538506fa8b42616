import GRDB
import PowerSyncSQLite

/// Where the rows of one type go.
enum RowDestination {
    /// A table of ours.
    case dataTable(DataTableRows)
    /// A table of the application.
    case rawTable(RawTableRows)

    /// Finds the destination of a type.
    ///
    /// Asks the database for data tables and direct tables, and not the schema that the app had when the iteration began: another process may
    /// have changed them since. Names are compared byte by byte.
    init(_ db: Database, type: String, rawTables: [ClientRawTable], schema: inout KnownSchema) throws {
        let dataTable = DataTable(name: type, isLocalOnly: false).internalName
        if try schema.hasTable(db, named: dataTable) {
            self = .dataTable(try DataTableRows(db, table: dataTable, schema: &schema))
        } else if let rawTable = try Self.rawTable(db, type, rawTables, &schema) {
            self = .rawTable(RawTableRows(db, table: rawTable, statements: schema.rawTableStatements))
        } else {
            self = .dataTable(try DataTableRows(untyped: db, schema: &schema))
        }
    }

    private static func rawTable(
        _ db: Database,
        _ type: String,
        _ rawTables: [ClientRawTable],
        _ schema: inout KnownSchema
    ) throws -> ClientRawTable? {
        let declared = rawTables.first { ExactText($0.name) == ExactText(type) }
        if let declared, declared.structure?.direct == nil { return declared }
        guard try schema.directTableKind(db, named: type) == .synced else { return nil }
        return declared ?? ClientTable(name: type, columns: [], options: .init(), isDirect: true).rawTable
    }

    /// Writes a row, or deletes it when there is no data.
    func write(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?
    ) throws {
        switch self {
        case .dataTable(let rows): try unsafe rows.write(type: type, id: id, data: data)
        case .rawTable(let rows): try unsafe rows.write(id: id, data: data)
        }
    }

    /// Whether a row is there; for a table of the application, whose statements may put it anywhere, it may be.
    func mayShow(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
        switch self {
        case .dataTable(let rows): try unsafe rows.contains(type: type, id: id)
        case .rawTable: true
        }
    }

    /// The table that the rows are in, as far as it is known.
    var table: RowTable? {
        get throws {
            switch self {
            case .dataTable(let rows): rows.table
            case .rawTable(let rows): try rows.rowTable
            }
        }
    }

    /// Whether a statement of the app puts the rows, which may delete a row to put it anew.
    var hasOwnStatement: Bool {
        switch self {
        case .dataTable: false
        case .rawTable(let rows): rows.hasOwnStatement
        }
    }

    /// Whether nothing is left of a row's columns when it is written.
    var writesWholeRows: Bool {
        switch self {
        case .dataTable: true
        case .rawTable(let rows): rows.writesWholeRows
        }
    }

    /// What reads the rows.
    var reader: StoredRow.Reader {
        switch self {
        case .dataTable: .sqlite
        case .rawTable: .rawTable
        }
    }

    /// What has changed with the rows so far.
    var written: WrittenTables {
        switch self {
        case .dataTable(let rows): rows.written
        case .rawTable(let rows): rows.written
        }
    }
}

/// Writes synced rows to a table `ps_data__…`, or to `ps_untyped`.
///
/// What happens to a row that is there already depends on what the app has added to the table:
///
/// | The app's | The row |
/// | --- | --- |
/// | nothing, or triggers for insertions only | is replaced: triggers see an insertion |
/// | foreign keys that refer to it, or triggers for insertions and for updates | is updated |
/// | unique index | is updated; with triggers for insertions only, it is deleted and inserted |
///
/// REPLACE deletes the row without its triggers and with the foreign key actions, and deletes other rows that have the value of
/// a unique index. The update is a statement of its own, since in an upsert SQLite ignores the conflict clauses of triggers.
struct DataTableRows {
    /// What changes with the rows.
    let written: WrittenTables
    /// The table; `nil` for that of types that are not in the schema.
    let table: RowTable?
    private let existing: Existing
    private let put: PreparedStatement
    private let delete: StatementOnDemand
    private let find: StatementOnDemand
    private let db: Database

    /// What is done about a row that is there.
    private enum Existing {
        case isReplaced
        case isUpdated(PreparedStatement)
        case isDeleted
    }

    /// Prepares writing to a data table.
    init(_ db: Database, table: String, schema: inout KnownSchema) throws {
        let name = SQLText.identifier(table)
        self.db = db
        self.table = RowTable(name: table, isDataTable: true)
        let isReferenced = try schema.isReferenced(db, table: table)
        written = try isReferenced ? .anything : Self.written(db, to: table, schema: &schema)
        let additions = try schema.additions(db, to: table)
        delete = StatementOnDemand(db, sql: "DELETE FROM \(name) WHERE id = ?1")
        find = StatementOnDemand(db, sql: "SELECT 1 FROM \(name) WHERE id = ?1")
        let insert = "INTO \(name) (id, data) VALUES (?1, ?2)"
        if isReferenced || (additions.hasInsertTrigger ? additions.hasUpdateTrigger : additions.hasUniqueIndex) {
            existing = .isUpdated(try PreparedStatement(db, sql: "UPDATE \(name) SET data = ?2 WHERE id = ?1"))
            // A trigger may have ignored the update.
            put = try PreparedStatement(db, sql: "INSERT \(insert) ON CONFLICT (id) DO NOTHING")
        } else if additions.hasUniqueIndex {
            existing = .isDeleted
            put = try PreparedStatement(db, sql: "INSERT \(insert)")
        } else {
            existing = .isReplaced
            put = try PreparedStatement(db, sql: "REPLACE \(insert)")
        }
    }

    /// Prepares writing to the table for types that are not in the schema.
    init(untyped db: Database, schema: inout KnownSchema) throws {
        self.db = db
        table = nil
        existing = .isReplaced
        written = try Self.written(db, to: "ps_untyped", schema: &schema)
        put = try PreparedStatement(db, sql: "REPLACE INTO ps_untyped (id, data, type) VALUES (?1, ?2, ?3)")
        delete = StatementOnDemand(db, sql: "DELETE FROM ps_untyped WHERE id = ?1 AND type = ?2")
        find = StatementOnDemand(db, sql: "SELECT 1 FROM ps_untyped WHERE id = ?1 AND type = ?2")
    }

    /// Writes a row, or deletes it when there is no data.
    func write(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?
    ) throws {
        guard let data = unsafe data else { return try unsafe run(delete.prepared(), type: type, id: id) }
        switch existing {
        case .isReplaced: break
        case .isUpdated(let update):
            try unsafe run(update, type: type, id: id, data: data)
            guard db.changesCount == 0 else { return }
        case .isDeleted:
            let savepoint = try Savepoint(db, "powersync_row")
            do {
                try unsafe run(delete.prepared(), type: type, id: id)
                try unsafe run(put, type: type, id: id, data: data)
            } catch {
                // A trigger may have ended the transaction.
                if db.isInsideTransaction {
                    try savepoint.undo()
                    try savepoint.end()
                }
                throw error
            }
            return try savepoint.end()
        }
        try unsafe run(put, type: type, id: id, data: data)
    }

    private func run(
        _ statement: PreparedStatement,
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer? = nil
    ) throws {
        try unsafe statement.bind(checkedText: id, at: 1, .inPlace)
        if let data = unsafe data { try unsafe statement.bind(checkedText: data, at: 2, .inPlace) }
        if table == nil { try unsafe statement.bind(checkedText: type, at: data == nil ? 2 : 3, .inPlace) }
        try statement.run()
    }

    /// Whether a row is there.
    func contains(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
        let find = try self.find.prepared()
        try unsafe find.bind(checkedText: id, at: 1, .inPlace)
        if table == nil { try unsafe find.bind(checkedText: type, at: 2, .inPlace) }
        defer { find.reset() }
        return try find.step()
    }

    /// Triggers of the user may write anywhere.
    private static func written(
        _ db: Database,
        to table: String,
        schema: inout KnownSchema
    ) throws -> WrittenTables {
        try schema.hasTriggers(db, on: table) ? .anything : .tables([ExactText(table)])
    }
}
