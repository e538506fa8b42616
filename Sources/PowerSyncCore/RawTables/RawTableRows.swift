import GRDB
import PowerSyncSQLite

/// Writes synced rows to one raw or direct table.
///
/// A class for the sake of its statements, which are looked up when the first row needs them.
final class RawTableRows {
    private let table: ClientRawTable
    private let statements: RawTableStatements
    private let db: Database
    /// The statements that put a row, each of which is run unless the one before it has changed the row.
    private var put: (statements: [PreparedStatement], binding: RawTableBinding)?
    /// The statement that puts a row whose values have the types of their columns; `nil` where there is none.
    private var typed: (statement: PreparedStatement, binding: TypedRowBinding)?
    private var delete: (statement: PreparedStatement, parameterCount: CInt)?
    /// What the statements so far can write to.
    private(set) var written = WrittenTables.none

    /// Prepares nothing yet: a definition that fits no table is a mistake only when there are rows.
    init(_ db: Database, table: ClientRawTable, statements: RawTableStatements) {
        self.db = db
        self.table = table
        self.statements = statements
    }

    /// Puts a row, or deletes it when there is no data.
    ///
    /// - Throws: ``RawTableError``.
    func write(id: UnsafeRawBufferPointer, data: UnsafeRawBufferPointer?) throws {
        do {
            if let data = unsafe data {
                try unsafe put(id, data)
            } else {
                try unsafe delete(id)
            }
        } catch {
            throw unsafe failure(error, id: id, data: data)
        }
    }

    /// Puts a row of a direct table whose values have the types of their columns.
    ///
    /// One pass over its text both checks that it is JSON and binds the values.
    ///
    /// - Returns: `false` for any other row, of which nothing is written.
    /// - Throws: ``RawTableError``.
    func putTyped(id: UnsafeRawBufferPointer, data: UnsafeRawBufferPointer) throws -> Bool {
        do {
            if put == nil { try preparePut() }
            guard let statement = typed?.statement else { return false }
            guard try unsafe typed?.binding.bind(id: id, data: data, to: statement) == true else { return false }
            try statement.run()
            return true
        } catch {
            throw unsafe failure(error, id: id, data: data)
        }
    }

    private func failure(
        _ error: any Error,
        id: UnsafeRawBufferPointer,
        data: UnsafeRawBufferPointer?
    ) -> RawTableError {
        let id = unsafe String(decoding: id, as: UTF8.self)
        let context =
            unsafe data.map {
                unsafe "replacing into \(table.name), id = \(id), data = \(String(decoding: $0, as: UTF8.self))"
            }
            ?? "deleting from \(table.name), id = \(id)"
        return RawTableError(table: table.name, context: context, error)
    }

    /// The table that the rows are in, as far as it is known.
    ///
    /// - Throws: As ``write(id:data:)``, for a definition that fits no table.
    var rowTable: RowTable? {
        get throws {
            let name = try table.structure?.tableName ?? find(.put).table
            guard let name else { return nil }
            let spelling = try String.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT name FROM main.sqlite_master AS "table"
                        WHERE type = 'table' AND name = ?1 COLLATE NOCASE
                            AND EXISTS (SELECT 1 FROM pragma_table_info("table".name, 'main') WHERE name = 'id')
                        """
                ),
                arguments: [name]
            )
            return try spelling.map {
                RowTable(name: $0, isDataTable: false, writtenColumns: try writtenColumns)
            }
        }
    }

    /// The columns that putting a row sets; a statement of the app is taken to set those of the names that it is given.
    private var writtenColumns: Set<ExactText> {
        get throws {
            guard let put = table.put else {
                return Set(try RawTableStructure(db, table).columns.map { ExactText($0) })
            }
            return Set(
                put.parameters.compactMap { parameter in
                    if case .column(let name) = parameter { ExactText(name) } else { nil }
                }
            )
        }
    }

    /// Whether the table is one of ours, with columns of declared types.
    var isDirect: Bool { table.structure?.direct != nil }

    /// Whether a statement of the app puts the rows.
    var hasOwnStatement: Bool { table.put != nil }

    /// Whether nothing is left of a row's columns when it is put; a statement of the app is taken to leave nothing.
    var writesWholeRows: Bool { hasOwnStatement || table.structure?.syncedColumns == nil }

    private func preparePut() throws {
        let found = try find(.put)
        let isSplit = table.put == nil && found.firesConflictClauses
        let kinds: [RawTableStatements.Kind] = isSplit ? [.update, .insert] : [.put]
        put = (
            try kinds.map { try PreparedStatement(db, sql: find($0).sql) },
            RawTableBinding(found.parameters, direct: table.structure?.direct)
        )
        guard !isSplit, let typed = found.typed else { return }
        self.typed = (try PreparedStatement(db, sql: typed.sql), TypedRowBinding(typed.columns))
    }

    private func put(_ id: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer) throws {
        if put == nil { try preparePut() }
        let statements = put?.statements ?? []
        for (index, statement) in statements.enumerated() {
            try unsafe put?.binding.bind(id: id, data: data, to: statement)
            try statement.run()
            if index < statements.count - 1, db.changesCount > 0 { return }
        }
    }

    private func delete(_ id: UnsafeRawBufferPointer) throws {
        if delete == nil {
            let found = try find(.delete)
            delete = (try PreparedStatement(db, sql: found.sql), CInt(found.parameters.count))
        }
        guard let delete else { return }
        for index in 0..<delete.parameterCount {
            try unsafe delete.statement.bind(checkedText: id, at: index + 1, .inPlace)
        }
        try delete.statement.run()
    }

    private func find(_ kind: RawTableStatements.Kind) throws -> RawTableStatement {
        let statement = try statements.statement(db, kind, of: table)
        written.formUnion(statement.written)
        return statement
    }
}
