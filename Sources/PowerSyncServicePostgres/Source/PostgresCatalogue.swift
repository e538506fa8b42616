import PowerSyncRules
import PowerSyncServiceCore

/// The queries for the tables that a publication has (docs/postgres.md "Changed tables").
enum PostgresCatalogue {
    /// Which tables to describe.
    struct Selection: Sendable {
        /// Patterns for `schema.name`, as of `LIKE`.
        var names: [String] = []
        /// Numbers of relations.
        var oids: [PostgresOID] = []

        /// Those that a plan may read.
        init(of plan: SyncPlan) {
            names = plan.tablePatterns.map { pattern in
                "\(Self.likePattern(pattern.schema ?? PostgresSource.defaultSchema)).\(Self.likePattern(pattern.table))"
            }
        }

        /// One table.
        init(_ oid: PostgresOID) {
            oids = [oid]
        }

        /// The name with everything escaped but `%` at its end.
        private static func likePattern(_ name: String) -> String {
            let isWildcard = name.utf8.last == UInt8(ascii: "%")
            let scalars = isWildcard ? name.unicodeScalars.dropLast() : name.unicodeScalars[...]
            let pattern = PostgresText.escaped(scalars, "%", "_", "\\", with: "\\")
            return isWildcard ? pattern + "%" : pattern
        }
    }

    private static let columnCount = 18

    /// Describes the tables of a publication that are replicated: ordinary ones that are logged.
    ///
    /// Parameters: the publication, patterns (`text[]`), numbers (`oid[]`). One row for each column of a table. Row filters
    /// and column lists exist since version 15, and so do publications of schemas. Generated columns are not in the change stream.
    private static func query(serverVersion: Int) -> String {
        let schemas = "SELECT s.oid FROM pg_publication_namespace s WHERE s.pnpubid = p.oid AND s.pnnspid = n.oid"
        let ofSchema = serverVersion < 150_000 ? "NULL" : "(\(schemas))"
        return """
            SELECT c.oid, n.nspname, c.relname, pg_relation_filenode(c.oid), c.relreplident, coalesce(x.indexrelid, 0),
                t.published ->> 'rowfilter',
                (SELECT string_agg(pr.oid::text, ',' ORDER BY pr.oid) FROM pg_publication_rel pr
                    WHERE pr.prpubid = p.oid
                        AND (pr.prrelid = c.oid OR pr.prrelid IN (SELECT relid FROM pg_partition_ancestors(c.oid)))),
                p.oid, p.xmin, a.attnum, a.attname, a.atttypid, a.atttypmod,
                CASE c.relreplident WHEN 'f' THEN true WHEN 'n' THEN false
                    ELSE coalesce(a.attnum = ANY((x.indkey::int2[])[0:x.indnkeyatts - 1]), false) END,
                a.xmin, \(ofSchema),
                (SELECT string_agg(i.xmin::text, ',' ORDER BY i.inhrelid, i.inhparent) FROM pg_inherits i
                    WHERE i.inhrelid = c.oid OR i.inhrelid IN (SELECT relid FROM pg_partition_ancestors(c.oid)))
            FROM pg_publication p
            JOIN LATERAL (
                SELECT to_jsonb(v) AS published FROM pg_publication_tables v WHERE v.pubname = p.pubname
            ) t ON true
            JOIN pg_namespace n ON n.nspname = t.published ->> 'schemaname'
            JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = t.published ->> 'tablename'
            LEFT JOIN pg_index x ON x.indrelid = c.oid
                AND (c.relreplident = 'd' AND x.indisprimary OR c.relreplident = 'i' AND x.indisreplident)
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
                AND (t.published -> 'attnames' IS NULL OR jsonb_typeof(t.published -> 'attnames') = 'null'
                    OR t.published -> 'attnames' ? a.attname::text)
            WHERE p.pubname = $1 AND c.relkind = 'r' AND c.relpersistence = 'p'
                AND ((n.nspname || '.' || c.relname) LIKE ANY($2::text[]) OR c.oid = ANY($3::oid[]))
            ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
            """
    }

    /// Reads the descriptions.
    ///
    /// - Parameters:
    ///   - selection: Which tables.
    ///   - publication: The publication.
    ///   - connection: A connection.
    /// - Returns: The tables, by schema and name.
    /// - Throws: ``PostgresError``, or ``PostgresCatalogError``.
    static func tables(
        _ selection: Selection,
        in publication: String,
        _ connection: PostgresConnection
    ) async throws -> [PostgresTable] {
        let rows = try await connection.query(
            query(serverVersion: connection.serverVersion),
            [
                publication, PostgresText.array(selection.names),
                PostgresText.array(selection.oids.map(\.description)),
            ],
            activity: "reading the catalogue"
        )
        var tables: [PostgresTable] = []
        var print = Fingerprint()
        for (position, row) in rows.enumerated() {
            guard row.count == columnCount, let oid = row[0].flatMap({ PostgresOID($0) }), let schema = row[1],
                let name = row[2], let column = row[11], let type = row[12].flatMap({ PostgresOID($0) })
            else { throw PostgresCatalogError(query: "tables", row: position, column: "oid") }
            if tables.last?.oid != oid {
                tables.append(
                    PostgresTable(
                        oid: oid,
                        name: SourceTableName(schema: schema, name: name),
                        columns: [],
                        rowFilter: row[6],
                        isIdentityFull: row[4] == "f",
                        fingerprint: 0
                    )
                )
                print = Fingerprint()
                for field in row[3...9] { print.add(field) }
                // A table that was not published for a while, with its schema or its partitioned table, comes back as it was.
                for field in row[16...17].compactMap(\.self) { print.add(field) }
            }
            let isInIdentity = row[14] == "t"
            for field in [row[10], row[11], row[12], row[14]] { print.add(field) }
            // A key that was given another name, and its own again, was another one in between. Others come back as they were.
            if isInIdentity { print.add(row[15]) }
            tables[tables.count - 1].columns.append(.init(name: column, type: type, isInIdentity: isInIdentity))
            tables[tables.count - 1].fingerprint = print.value
        }
        return tables
    }

    /// A number that differs when one of many texts does (FNV-1a).
    private struct Fingerprint {
        private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

        mutating func add(_ text: String?) {
            for byte in text?.utf8 ?? "\u{1}".utf8 { add(byte) }
            add(0)
        }

        private mutating func add(_ byte: UInt8) {
            value = (value ^ UInt64(byte)) &* 0x100_0000_01b3
        }
    }
}
