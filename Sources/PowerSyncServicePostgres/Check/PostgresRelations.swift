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

    /// About how many rows tables have, and those with partitions all of theirs: what the last VACUUM or ANALYZE has found.
    static func estimatedRows(_ connection: PostgresConnection) async throws -> [SourceTableName: Int64] {
        // Below 0, or 0 in a table without pages before version 14: neither has run.
        let rows = try await connection.query(
            """
            SELECT n.nspname, c.relname, sum(p.reltuples)::bigint
            FROM pg_class c
            JOIN pg_namespace n ON n.oid = c.relnamespace
            CROSS JOIN LATERAL (
                SELECT c.oid WHERE c.relkind = 'r' UNION ALL SELECT t.relid FROM pg_partition_tree(c.oid) t WHERE c.relkind = 'p'
            ) AS t (oid)
            JOIN pg_class p ON p.oid = t.oid AND p.relkind = 'r'
            WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname <> 'information_schema'
                AND n.nspname NOT LIKE 'pg\\_%'
            GROUP BY c.oid, n.nspname, c.relname
            HAVING min(p.reltuples) >= 0
            """,
            activity: "estimating the rows of tables"
        )
        return Dictionary(
            rows.compactMap { row in
                guard row.count == 3, let schema = row[0], let name = row[1], let count = row[2].flatMap({ Int64($0) })
                else {
                    return nil
                }
                return (SourceTableName(schema: schema, name: name), count)
            }
        ) { first, _ in first }
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
