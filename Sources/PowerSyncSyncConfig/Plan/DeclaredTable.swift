/// A table of the source with what its declaration says about its columns.
package struct DeclaredTable: Sendable {
    /// A column.
    package struct Column: Sendable {
        /// The name, as the source spells it.
        package var name: String
        /// The type as it is declared; empty without one.
        package var type: String
        /// Whether the column never holds NULL.
        package var isNotNull: Bool

        /// Creates a column.
        package init(name: String, type: String, isNotNull: Bool) {
            self.name = name
            self.type = type
            self.isNotNull = isNotNull
        }
    }

    /// The name.
    package var name: SourceTableName
    /// The columns in their order.
    package var columns: [Column]

    /// Creates a table.
    package init(name: SourceTableName, columns: [Column]) {
        self.name = name
        self.columns = columns
    }

    /// The column of a name, which is compared byte by byte, as in rows.
    package func column(_ name: String) -> Column? {
        columns.first { $0.name.utf8.elementsEqual(name.utf8) }
    }
}

extension SourceSchema {
    /// The names of what was declared.
    ///
    /// - Parameters:
    ///   - tables: The tables.
    ///   - defaultSchema: The schema of tables that a config names without one.
    ///   - type: What a declared type says about the values of a column; nothing by default.
    package init(
        _ tables: [DeclaredTable],
        defaultSchema: String = "main",
        type: (String) -> ColumnType? = { _ in nil }
    ) {
        self.init(
            tables: tables.map { table in
                Table(
                    name: table.name,
                    columns: table.columns.map(\.name),
                    types: Dictionary(table.columns.map { ($0.name, type($0.type)) }) { first, _ in first }
                        .compactMapValues(\.self)
                )
            },
            defaultSchema: defaultSchema
        )
    }
}
