import PowerSyncSyncConfig
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

    private static let columnCount = 25

    /// Describes the tables of a publication that are replicated: ordinary ones that are logged, and of a publication with
    /// `publish_via_partition_root` the ones with partitions in the place of these.
    ///
    /// Parameters: the publication, patterns (`text[]`), numbers (`oid[]`). One row for each column of a table. Row filters
    /// and column lists exist since version 15, and so do publications of schemas. Columns that the publication leaves out, as
    /// generated ones before version 18, are not in the change stream; they have rows all the same: they may be part of the key.
    private static func query(serverVersion: Int) -> String {
        let schemas = "SELECT s.oid FROM pg_publication_namespace s WHERE s.pnpubid = p.oid AND s.pnnspid = n.oid"
        let ofSchema = serverVersion < 150_000 ? "NULL" : "(\(schemas))"
        return """
            SELECT c.oid, n.nspname, c.relname, CASE c.relkind WHEN 'p' THEN (\(filesOfPartitions))
                    ELSE pg_relation_filenode(c.oid)::text END,
                CASE WHEN \(namesRowsByKey) THEN 'd' ELSE c.relreplident::text END,
                coalesce((SELECT k.oid FROM pg_constraint k WHERE k.conindid = x.indexrelid AND k.contype IN ('p', 'u')),
                    x.indexrelid, 0),
                t.filter,
                (SELECT string_agg(pr.oid::text, ',' ORDER BY pr.oid) FROM pg_publication_rel pr
                    WHERE pr.prpubid = p.oid
                        AND (pr.prrelid = c.oid OR pr.prrelid IN (SELECT relid FROM pg_partition_ancestors(c.oid)))),
                p.oid, p.xmin, a.attnum, a.attname, a.atttypid, a.atttypmod,
                CASE WHEN c.relreplident = 'f' AND x.indexrelid IS NULL THEN true WHEN c.relreplident = 'n' THEN false
                    ELSE coalesce(a.attnum = ANY((x.indkey::int2[])[0:x.indnkeyatts - 1]), false) END,
                a.xmin, \(ofSchema),
                (SELECT string_agg(i.xmin::text, ',' ORDER BY i.inhrelid, i.inhparent) FROM pg_inherits i
                    WHERE i.inhrelid = c.oid OR i.inhrelid IN (SELECT relid FROM pg_partition_ancestors(c.oid))
                        OR c.relkind = 'p' AND i.inhrelid IN (SELECT relid FROM pg_partition_tree(c.oid))),
                \(PostgresPublication.publishes("a", "t")),
                e.operator, e.takes_arrays, e.type,
                c.relkind, CASE WHEN c.relispartition THEN (\(PostgresPublication.wholes)) END,
                coalesce(a.attnum = ANY((y.indkey::int2[])[0:y.indnkeyatts - 1]), false)
            FROM pg_publication p
            CROSS JOIN pg_namespace n
            JOIN pg_class c ON c.relnamespace = n.oid
            JOIN LATERAL (\(PostgresPublication.membership(serverVersion: serverVersion))) t ON true
            LEFT JOIN pg_index x ON x.indrelid = c.oid
                AND (c.relreplident = 'd' AND x.indisprimary OR c.relreplident = 'i' AND x.indisreplident
                    OR c.relreplident = 'f' AND x.indisprimary AND x.indimmediate AND NOT EXISTS (\(unreplicatedKey)))
            LEFT JOIN pg_index y ON y.indrelid = c.oid AND c.relreplident = 'i' AND y.indexrelid <> x.indexrelid
                AND y.indisprimary AND y.indimmediate
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            LEFT JOIN LATERAL (\(keyOperator)) e ON true
            WHERE p.pubname = $1 AND c.relpersistence = 'p'
                AND (c.relkind = 'r' OR c.relkind = 'p' AND p.pubviaroot)
                AND NOT (p.pubviaroot AND c.relispartition AND EXISTS (\(PostgresPublication.publishedWhole(serverVersion: serverVersion))))
                AND ((n.nspname || '.' || c.relname) LIKE ANY($2::text[]) OR c.oid = ANY($3::oid[])
                    OR c.relispartition AND c.oid IN (\(partitionsOfNamed)))
            ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
            """
    }

    /// The partitions of all tables with a name that is asked for: once for each of these, not for each partition that there is.
    private static let partitionsOfNamed = """
        SELECT t.relid::oid FROM pg_class r JOIN pg_namespace o ON o.oid = r.relnamespace
        CROSS JOIN LATERAL pg_partition_tree(r.oid) t
        WHERE r.relkind = 'p' AND (o.nspname || '.' || r.relname) LIKE ANY($2::text[])
        """

    /// Whether the primary key `x` tells rows apart although it is not asked for by `DEFAULT`: old rows have all columns, and the others say
    /// nothing about which row it is, or its index is named.
    private static let namesRowsByKey =
        "(c.relreplident = 'f' AND x.indexrelid IS NOT NULL OR c.relreplident = 'i' AND x.indisprimary)"

    /// The files of the partitions of `c`.
    ///
    /// To truncate a partition changes its file, and is not in the change stream of a publication with `publish_via_partition_root`.
    private static let filesOfPartitions = """
        SELECT string_agg(t.relid::oid || ':' || coalesce(pg_relation_filenode(t.relid), 0), ',' ORDER BY t.relid::oid)
        FROM pg_partition_tree(c.oid) t
        """

    /// Columns of the key `x` that are not in the change stream.
    private static let unreplicatedKey = """
        SELECT FROM pg_attribute k
        WHERE k.attrelid = c.oid AND k.attnum = ANY((x.indkey::int2[])[0:x.indnkeyatts - 1])
            AND NOT \(PostgresPublication.publishes("k", "t"))
        """

    /// How the index `x` compares its column `a` for equality: the third operator of a class for B-trees (403).
    ///
    /// One for arrays of any type (`anyarray`) takes no arrays of arrays, and one for composites of any type (`record`) has to
    /// be told which.
    private static let keyOperator = """
        SELECT format('OPERATOR(%I.%s)', s.nspname, o.oprname) AS operator,
            o.oprright NOT IN ('anyarray'::regtype, 'record'::regtype) AS takes_arrays,
            CASE o.oprright WHEN 'record'::regtype THEN format_type(a.atttypid, -1) END AS type
        FROM unnest(x.indkey::int2[], x.indclass::oid[]) AS k(attnum, opclass)
        JOIN pg_opclass oc ON oc.oid = k.opclass
        JOIN pg_amop m ON m.amopfamily = oc.opcfamily AND m.amopmethod = 403 AND m.amopstrategy = 3
            AND m.amoplefttype = oc.opcintype AND m.amoprighttype = oc.opcintype
        JOIN pg_operator o ON o.oid = m.amopopr
        JOIN pg_namespace s ON s.oid = o.oprnamespace
        WHERE k.attnum = a.attnum
        LIMIT 1
        """

    /// Reads the descriptions.
    ///
    /// - Parameters:
    ///   - selection: Which tables.
    ///   - publication: The publication.
    ///   - isRead: Whether a table is read under a name. A partition that is not read under its own is a part of the nearest table above
    ///     it that is read.
    ///   - readColumns: Which columns of a table are read; `nil` for all. Others may come, go and change.
    ///   - connection: A connection.
    /// - Returns: The tables, by schema and name, with all columns.
    /// - Throws: ``PostgresError``, or ``PostgresCatalogError``.
    static func tables(
        _ selection: Selection,
        in publication: String,
        where isRead: (SourceTableName) -> Bool,
        reading readColumns: (SourceTableName) -> Set<String>?,
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
        var read: Set<String>?
        for (position, row) in rows.enumerated() {
            guard var found = Row(row) else {
                throw PostgresCatalogError(query: "tables", row: position, column: "oid")
            }
            if tables.last?.oid != found.table.oid {
                if !isRead(found.table.name) { found.table.whole = found.wholes.first { isRead($0.name) } }
                tables.append(found.table)
                read = readColumns(found.table.syncedName)
            }
            if found.column.isInIdentity { tables[tables.count - 1].fingerprint.add(keyColumnOf: found) }
            if found.isReplicated, read?.contains(found.column.name) ?? true {
                tables[tables.count - 1].readColumns[found.column.name] = "\(found.number) \(found.column.type)"
            }
            tables[tables.count - 1].add(found.column, isReplicated: found.isReplicated)
        }
        return tables.filter { !$0.columns.isEmpty || !$0.unreplicatedKey.isEmpty }
    }

    /// A row of the query.
    fileprivate struct Row {
        var fields: [String?]
        /// The table, without columns.
        var table: PostgresTable
        var column: PostgresTable.Column
        /// The number of the column, which no other one of its table ever has.
        var number: String
        var isReplicated: Bool

        /// The tables that the table is a partition of, from the nearest one on.
        var wholes: [PostgresTable.Whole] { PostgresTable.Whole.all(in: fields[23]) }

        /// Reads a row; `nil` when it does not have what the query asks for.
        init?(_ fields: [String?]) {
            guard fields.count == columnCount, let oid = fields[0].flatMap({ PostgresOID($0) }), let schema = fields[1],
                let name = fields[2], let number = fields[10], let column = fields[11],
                let type = fields[12].flatMap({ PostgresOID($0) })
            else { return nil }
            self.fields = fields
            self.number = number
            table = PostgresTable(
                oid: oid,
                name: SourceTableName(schema: schema, name: name),
                columns: [],
                rowFilter: fields[6],
                isIdentityFull: fields[4] == "f",
                fingerprint: TableFingerprint()
            )
            self.column = PostgresTable.Column(
                name: column,
                type: type,
                isInIdentity: fields[14] == "t",
                isInPrimaryKey: fields[24] == "t"
            )
            if let operation = fields[19] {
                self.column.equality = .init(operation: operation, takesArrays: fields[20] == "t", cast: fields[21])
            }
            isReplicated = fields[18] == "t"
            table.hasPartitions = fields[22] == "p"
            table.fingerprint = TableFingerprint(tableOf: self)
        }
    }
}

extension TableFingerprint {
    fileprivate init(tableOf row: PostgresCatalogue.Row) {
        self.init()
        add(row.fields[3], to: .rewrite)
        // The key by its constraint: REINDEX CONCURRENTLY makes another index of it, and is no change.
        for field in row.fields[4...5] { add(field, to: .identity) }
        for field in row.fields[6...8] { add(field, to: .publication) }
        add(row.fields[9], to: .options)
        // A table that was not published for a while, with its schema or its partitioned table, comes back as it was.
        if let schemas = row.fields[16] { add(schemas, to: .publication) }
        if let roots = row.fields[17] { add(roots, to: .partitions) }
    }

    /// Adds a column of the identity.
    fileprivate mutating func add(keyColumnOf row: PostgresCatalogue.Row) {
        guard row.isReplicated || row.table.isKey(row.column) else { return }
        // A key that was given another name, and its own again, was another one in between. Others come back as they were.
        for field in [row.fields[10], row.fields[15]] { add(field, to: .identity) }
    }
}
