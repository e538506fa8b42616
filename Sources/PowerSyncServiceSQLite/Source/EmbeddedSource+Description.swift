import GRDB
package import PowerSyncSyncConfig
import PowerSyncSQLite
package import PowerSyncServiceCore

/// The embedded source as operators see it.
extension EmbeddedSource: DescribedSource {
    package var described: (any DescribedSource)? { self }

    package func describeTables() async throws -> [DescribedTable] {
        let tables = try await synchroniseCapture().tables
        return try await pool.uncancelledRead { db in
            try tables.sorted { $0.name < $1.name }.map { table in
                DescribedTable(
                    name: table.descriptor.name,
                    columns: try db.columns(in: table.name).map { column in
                        DescribedTable.Column(
                            name: column.name,
                            type: column.type,
                            clientType: Self.affinity(of: column.type),
                            values: SourceSchema.ColumnType(sqlite: column.type)?.values
                        )
                    }
                )
            }
        }
    }

    package func estimatedRows(
        where isWanted: @escaping @Sendable (SourceTableName) -> Bool
    ) async throws -> [SourceTableName: Int64] {
        let tables = try await synchroniseCapture().tables.filter { isWanted($0.descriptor.name) }
        return try await pool.uncancelledRead { db in
            var counts: [SourceTableName: Int64] = [:]
            for table in tables {
                counts[table.descriptor.name] = try Int64.fetchOne(
                    db,
                    sql: "SELECT count(*) FROM \(table.name.quotedDatabaseIdentifier)"
                )
            }
            return counts
        }
    }

    package func logSize(from earlier: LSN, to later: LSN) -> Int64? { nil }

    /// What SQLite makes of a declared type (https://www.sqlite.org/datatype3.html "Determination Of Column Affinity").
    private static func affinity(of type: String) -> String {
        let type = type.uppercased()
        func mentions(_ names: String...) -> Bool { names.contains { type.contains($0) } }
        if mentions("INT") { return "integer" }
        if mentions("CHAR", "CLOB", "TEXT") { return "text" }
        if type.isEmpty || mentions("BLOB") { return "blob" }
        return mentions("REAL", "FLOA", "DOUB") ? "real" : "numeric"
    }
}
