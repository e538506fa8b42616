import PowerSyncCore

extension ClientSchema {
    /// The engine's form of an app's schema.
    ///
    /// - Throws: ``PowerSyncError/operationFailed(message:underlyingError:)`` for an index over an unknown column.
    init(_ schema: any SchemaProtocol) throws {
        self.init(tables: try schema.tables.map(ClientTable.init))
    }
}

extension ClientTable {
    init(_ table: Table) throws {
        self.init(
            name: table.name,
            viewNameOverride: table.viewNameOverride,
            columns: table.columns.map { ClientColumn(name: $0.name, type: ColumnType($0.type)) },
            indexes: try table.indexes.map { index in
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
            isLocalOnly: table.localOnly,
            isInsertOnly: table.insertOnly,
            tracksMetadata: table.trackMetadata,
            trackPreviousValues: table.trackPreviousValues.map {
                PreviousValues(columns: $0.columnFilter, onlyWhenChanged: $0.onlyWhenChanged)
            },
            ignoresEmptyUpdates: table.ignoreEmptyUpdates
        )
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
