package import PowerSyncRules

/// A source that can tell operators what it has.
package protocol DescribedSource: ReplicationSource {
    /// All tables that could be replicated, by schema and name.
    ///
    /// - Throws: An error of the source.
    func describeTables() async throws -> [DescribedTable]

    /// The size of the log between two positions.
    ///
    /// - Returns: Bytes; `nil` for a source whose positions do not tell.
    func logSize(from earlier: LSN, to later: LSN) -> Int64?
}

/// A table of a source, with the types of its columns.
package struct DescribedTable: Sendable, Hashable {
    /// A column.
    package struct Column: Sendable, Hashable {
        /// The name.
        package var name: String
        /// The type in the source's own words.
        package var type: String
        /// What clients get: `text`, `integer`, `real`, `blob` or `numeric`.
        package var sqliteType: String

        /// Creates a column.
        package init(name: String, type: String, sqliteType: String) {
            self.name = name
            self.type = type
            self.sqliteType = sqliteType
        }
    }

    /// Schema and name.
    package var name: SourceTableName
    /// The columns, as declared.
    package var columns: [Column]

    /// Creates a table.
    package init(name: SourceTableName, columns: [Column]) {
        self.name = name
        self.columns = columns
    }
}

extension SourceSchema {
    /// What sync configs are checked against.
    package init(_ tables: [DescribedTable], defaultSchema: String) {
        self.init(
            tables: tables.map { Table(name: $0.name, columns: $0.columns.map(\.name)) },
            defaultSchema: defaultSchema
        )
    }
}
