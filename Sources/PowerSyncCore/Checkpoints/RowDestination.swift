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
    /// Asks the database for a data table and not the schema of the app; names are compared byte by byte.
    init(type: String, rawTables: [ClientRawTable], _ schema: inout KnownSchema, _ db: Database) throws {
        let dataTable = DataTable(name: type, isLocalOnly: false).internalName
        if try schema.hasTable(dataTable, db) {
            self = .dataTable(try DataTableRows(dataTable, &schema, db))
        } else if let rawTable = rawTables.first(where: { ExactText($0.name) == ExactText(type) }) {
            self = .rawTable(RawTableRows(rawTable, db))
        } else {
            self = .dataTable(try DataTableRows(untyped: db, &schema))
        }
    }

    /// Writes a row, or deletes it when there is no data.
    func write(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?
    ) throws {
        switch self {
        case .dataTable(let rows): try rows.write(type: type, id: id, data: data)
        case .rawTable(let rows): try rows.write(id: id, data: data)
        }
    }

    /// Whether a row is there; for a table of the application, whose statements may put it anywhere, it may be.
    func mayShow(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
        switch self {
        case .dataTable(let rows): try rows.contains(type: type, id: id)
        case .rawTable: true
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
/// A row is written with REPLACE, not with an update, since triggers of users on these tables expect insertions. The exception is
/// a table that foreign keys of the app refer to: for their actions, REPLACE deletes the row that is there, and the rows that
/// refer to it with it.
struct DataTableRows {
    /// What changes with the rows.
    let written: WrittenTables
    private let put: PreparedStatement
    private let delete: PreparedStatement
    private let find: PreparedStatement
    private let isUntyped: Bool

    /// Prepares writing to a data table.
    init(_ table: String, _ schema: inout KnownSchema, _ db: Database) throws {
        let name = SQLText.identifier(table)
        isUntyped = false
        if try schema.isReferenced(table, db) {
            written = .anything
            put = try PreparedStatement(
                db,
                sql: """
                    INSERT INTO \(name) (id, data) VALUES (?1, ?2)
                    ON CONFLICT (id) DO UPDATE SET data = excluded.data WHERE data IS NOT excluded.data
                    """
            )
        } else {
            written = try Self.written(to: table, &schema, db)
            put = try PreparedStatement(db, sql: "REPLACE INTO \(name) (id, data) VALUES (?1, ?2)")
        }
        delete = try PreparedStatement(db, sql: "DELETE FROM \(name) WHERE id = ?1")
        find = try PreparedStatement(db, sql: "SELECT 1 FROM \(name) WHERE id = ?1")
    }

    /// Prepares writing to the table for types that are not in the schema.
    init(untyped db: Database, _ schema: inout KnownSchema) throws {
        isUntyped = true
        written = try Self.written(to: "ps_untyped", &schema, db)
        put = try PreparedStatement(db, sql: "REPLACE INTO ps_untyped (id, data, type) VALUES (?1, ?2, ?3)")
        delete = try PreparedStatement(db, sql: "DELETE FROM ps_untyped WHERE id = ?1 AND type = ?2")
        find = try PreparedStatement(db, sql: "SELECT 1 FROM ps_untyped WHERE id = ?1 AND type = ?2")
    }

    /// Writes a row, or deletes it when there is no data.
    func write(
        type: UnsafeRawBufferPointer,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?
    ) throws {
        if let data {
            try put.bind(checkedText: id, at: 1, .inPlace)
            try put.bind(checkedText: data, at: 2, .inPlace)
            if isUntyped { try put.bind(checkedText: type, at: 3, .inPlace) }
            try put.run()
        } else {
            try delete.bind(checkedText: id, at: 1, .inPlace)
            if isUntyped { try delete.bind(checkedText: type, at: 2, .inPlace) }
            try delete.run()
        }
    }

    /// Whether a row is there.
    func contains(type: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws -> Bool {
        try find.bind(checkedText: id, at: 1, .inPlace)
        if isUntyped { try find.bind(checkedText: type, at: 2, .inPlace) }
        defer { find.reset() }
        return try find.step()
    }

    /// Triggers of the user may write anywhere.
    private static func written(
        to table: String,
        _ schema: inout KnownSchema,
        _ db: Database
    ) throws -> WrittenTables {
        try schema.hasTriggers(on: table, db) ? .anything : .tables([ExactText(table)])
    }
}
