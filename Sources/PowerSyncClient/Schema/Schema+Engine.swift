import PowerSyncCore

extension ClientSchema {
    /// The engine's form of an app's schema.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for an index over an unknown column, or a table of
    ///   another type; in a debug build, ``TypedRowError`` for a type of rows that does not fit its table.
    init(_ schema: any SchemaProtocol) throws {
        try (schema as? Schema)?.checkTypes()
        #if DEBUG
        try (schema as? Schema)?.checkRowTypes()
        #endif
        self.init(
            tables: try schema.tables.map(ClientTable.init),
            rawTables: schema.rawTables.map(ClientRawTable.init)
        )
    }
}

extension ClientTable {
    init(_ table: Table) throws {
        self.init(
            name: table.name,
            viewNameOverride: table.viewNameOverride,
            columns: table.columns.map { column in
                ClientColumn(
                    name: column.name,
                    type: ColumnType(column.type),
                    constraints: column.constraints.map(\.sql),
                    formerName: column.renamedFrom,
                    kind: column.kind.map(ClientColumn.Kind.init)
                )
            },
            indexes: try table.indexes.filter { !$0.isFullText }.map { index in
                ClientIndex(
                    name: index.name,
                    columns: try index.columns.map { column in
                        ClientIndex.Column(
                            name: column.column,
                            isDescending: !column.ascending,
                            type: ColumnType(try table.type(of: column, in: index))
                        )
                    }
                )
            },
            options: ClientTableOptions(table.options),
            isDirect: table.direct,
            constraints: table.constraints.map(\.sql),
            fullTextIndexes: try table.indexes.filter { $0.isFullText }.map { index in
                FullTextIndex(
                    name: index.name,
                    columns: try index.columns.map { column in
                        _ = try table.type(of: column, in: index)
                        return column.column
                    },
                    tokenizer: index.tokenizer
                )
            }
        )
    }
}

extension Table {
    /// The type of an indexed column.
    ///
    /// The implicit `id` is text.
    fileprivate func type(of column: any IndexedColumnProtocol, in index: Index) throws -> ColumnData {
        if let declared = columns.first(where: { $0.name.utf8.elementsEqual(column.column.utf8) }) {
            return declared.type
        }
        guard column.column == "id" else {
            throw PowerSyncError.noColumn(column.column, ofIndex: index.name, table: name)
        }
        return .text
    }
}

extension ClientTableOptions {
    init(_ options: TableOptions) {
        self.init(
            isLocalOnly: options.localOnly,
            isInsertOnly: options.insertOnly,
            tracksMetadata: options.trackMetadata,
            trackPreviousValues: options.trackPreviousValues.map {
                PreviousValues(columns: $0.columnFilter, onlyWhenChanged: $0.onlyWhenChanged)
            },
            ignoresEmptyUpdates: options.ignoreEmptyUpdates
        )
    }
}

extension ClientRawTable {
    init(_ table: RawTable) {
        self.init(
            name: table.name,
            structure: table.schema.map { schema in
                Structure(
                    tableName: schema.tableName ?? table.name,
                    syncedColumns: schema.syncedColumns,
                    options: ClientTableOptions(schema.options)
                )
            },
            put: table.put.map(Statement.init),
            delete: table.delete.map(Statement.init),
            clear: table.clear
        )
    }
}

extension ClientRawTable.Statement {
    init(_ statement: PendingStatement) {
        self.init(
            sql: statement.sql,
            parameters: statement.parameters.map(ClientRawTable.Parameter.init)
        )
    }
}

extension ClientRawTable.Parameter {
    init(_ parameter: PendingStatementParameter) {
        self =
            switch parameter {
            case .id: .id
            case .column(let name): .column(name)
            case .rest: .rest
            }
    }
}

extension ColumnType {
    init(_ type: ColumnData) {
        self =
            switch type {
            case .text: .text
            case .integer: .integer
            case .real: .real
            }
    }
}
