import PowerSyncSyncConfig

/// Reads the tables of a PostgreSQL database from its catalogue, with the types that clients get (docs/postgres.md "Types").
///
/// Of a table that a publication has with a list of columns, it has these. Generated columns are replicated when the
/// publication has them, from PostgreSQL 18 on; before, the view names them though it has not.
enum PostgresTables {
    /// Ordinary tables that are logged, a row for each column; the first argument is the name of the publication.
    ///
    /// The type is the built-in one that the column has, below all domains; NULL for a type of somebody else. A domain's own
    /// NOT NULL does not count: PostgreSQL does not check it everywhere.
    private static let query = """
        SELECT n.nspname, c.relname, a.attname, b.type, a.attnotnull
        FROM pg_catalog.pg_class c
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN (
            SELECT v.schemaname, v.tablename, pg_catalog.to_jsonb(v) -> 'attnames' AS columns
            FROM pg_catalog.pg_publication_tables v WHERE v.pubname = $1
        ) p ON p.schemaname = n.nspname AND p.tablename = c.relname
        JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            AND (a.attgenerated = '' OR pg_catalog.current_setting('server_version_num')::int >= 180000
                AND p.columns ? a.attname::text)
            AND (coalesce(pg_catalog.jsonb_typeof(p.columns), 'null') = 'null' OR p.columns ? a.attname::text)
        CROSS JOIN LATERAL (
            WITH RECURSIVE types AS (
                SELECT t.typtype, t.typbasetype, t.typname, t.typnamespace
                FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid
                UNION ALL
                SELECT t.typtype, t.typbasetype, t.typname, t.typnamespace
                FROM types d JOIN pg_catalog.pg_type t ON t.oid = d.typbasetype WHERE d.typtype = 'd'
            )
            SELECT CASE WHEN t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace THEN t.typname END AS type
            FROM types t WHERE t.typtype <> 'd'
        ) b
        WHERE c.relkind = 'r' AND c.relpersistence = 'p'
            AND n.nspname <> 'information_schema' AND left(n.nspname, 3) <> 'pg_'
        ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
        """

    /// Reads the tables.
    ///
    /// - Parameters:
    ///   - publication: The name of the publication, which need not exist.
    ///   - connection: A connection to the database.
    /// - Returns: The tables, by schema and name.
    /// - Throws: `PostgresError`, or `CancellationError`.
    static func all(in publication: String, _ connection: PostgresConnection) async throws -> [DeclaredTable] {
        let rows = try await connection.query(query, [publication], activity: "reading the tables")
        var tables: [DeclaredTable] = []
        for row in rows {
            // None of these is NULL in the catalogue.
            guard row.count == 5, let schema = row[0], let table = row[1], let column = row[2] else { continue }
            let name = SourceTableName(schema: schema, name: table)
            if tables.last?.name != name { tables.append(DeclaredTable(name: name, columns: [])) }
            tables[tables.count - 1].columns.append(
                .init(name: column, type: declaration(of: row[3]), isNotNull: row[4] == "t")
            )
        }
        return tables
    }

    /// A declaration that the generator knows, for what clients get of a type.
    ///
    /// - Parameter type: The name of a built-in type in the catalogue: `int4`, `_int4` for an array; `nil` for another type.
    /// - Returns: The declaration.
    private static func declaration(of type: String?) -> String {
        switch type {
        case "bool": "boolean"
        case "int2", "int4", "int8", "oid": "integer"
        case "float4", "float8": "real"
        case "numeric": "numeric"
        case "timestamp", "timestamptz": "timestamp"
        case "bytea": "bytea"
        // As printed: UUIDs, JSON, days, arrays, enums, composites, money with its currency.
        default: "text"
        }
    }
}
