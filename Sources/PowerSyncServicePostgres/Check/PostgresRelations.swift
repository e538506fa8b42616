import PowerSyncSyncConfig
import PowerSyncServiceCore

/// What a sync config could name: tables, and what looks like one.
enum PostgresRelations {
    /// The relations of all schemas but the system's, with their columns.
    private static func query(_ condition: String) -> String {
        """
        SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE \(condition) AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%'
        ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
        """
    }

    /// Ordinary and partitioned tables that are logged, whether they are published or not.
    static func tables(_ connection: PostgresConnection) async throws -> [DescribedTable] {
        try await described(query("c.relkind IN ('r', 'p') AND c.relpersistence = 'p'"), connection)
    }

    /// Everything that has columns.
    static func all(_ connection: PostgresConnection) async throws -> [DescribedTable] {
        try await described(query("c.relkind IN ('r', 'p', 'v', 'm', 'f')"), connection)
    }

    private static func described(_ query: String, _ connection: PostgresConnection) async throws -> [DescribedTable] {
        var tables: [DescribedTable] = []
        for (position, row) in try await connection.query(query, activity: "reading the tables").enumerated() {
            guard row.count == 4, let schema = row[0], let table = row[1], let column = row[2], let type = row[3] else {
                throw PostgresCatalogError(query: "tables", row: position, column: "attname")
            }
            let name = SourceTableName(schema: schema, name: table)
            if tables.last?.name != name { tables.append(DescribedTable(name: name, columns: [])) }
            tables[tables.count - 1].columns.append(DescribedTable.Column(name: column, postgresType: type))
        }
        return tables
    }
}

extension DescribedTable.Column {
    /// A column with what values of its type become (docs/postgres.md "Types").
    init(name: String, postgresType type: String) {
        let (clientType, values): (String, SourceSchema.ColumnType.Values) =
            switch type {
            case "boolean": ("integer", .boolean)
            case "smallint", "integer", "bigint", "oid": ("integer", .number)
            case "real", "double precision": ("real", .number)
            case "bytea": ("blob", .bytes)
            default: ("text", .text)
            }
        self.init(name: name, type: type, clientType: clientType, values: values)
    }
}
