package import PowerSyncRules

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
    func column(_ name: String) -> Column? {
        columns.first { $0.name.utf8.elementsEqual(name.utf8) }
    }
}

extension SourceSchema {
    /// The names of what was declared.
    package init(_ tables: [DeclaredTable], defaultSchema: String = "main") {
        self.init(
            tables: tables.map { Table(name: $0.name, columns: $0.columns.map(\.name)) },
            defaultSchema: defaultSchema
        )
    }
}
