/// What a publication has, as queries ask for it.
///
/// The view `pg_publication_tables` is not asked: from version 16 on, it locks every table of the publication, and waits for those
/// that another session has locked, whatever stream needs them.
enum PostgresPublication {
    /// A subquery with one row if the publication `p` has the table `c`, and none if it has not.
    ///
    /// Its columns: `attributes`, the numbers of the columns that are published (`int2[]`), NULL for all; `filter`, the condition for
    /// rows, NULL for all; `has_generated`, whether all columns include the generated ones that are stored. The first two are those of
    /// the table itself: with `publish_via_partition_root`, they are asked for of the root. A table with a condition is locked for the moment
    /// in which that is read.
    ///
    /// - Parameter serverVersion: Conditions, lists of columns and publications of schemas exist since version 15, published generated
    ///   columns since version 18.
    /// - Returns: SQL.
    static func membership(serverVersion: Int) -> String {
        let hasLists = serverVersion >= 150_000
        let ofSchema = """
            EXISTS (SELECT FROM pg_catalog.pg_publication_namespace s
                WHERE s.pnpubid = p.oid AND s.pnnspid = k.relnamespace)
            """
        let (attributes, filter) =
            hasLists
            ? (
                "r.prattrs::int2[]",
                "CASE WHEN r.prqual IS NOT NULL THEN pg_catalog.pg_get_expr(r.prqual, r.prrelid) END"
            )
            : ("NULL::int2[]", "NULL::text")
        return """
            SELECT CASE WHEN NOT l.is_whole THEN \(attributes) END AS attributes, CASE WHEN NOT l.is_whole THEN \(filter) END AS filter,
                \(serverVersion >= 180_000 ? "p.pubgencols = 's'" : "false") AS has_generated
            FROM (
                SELECT p.puballtables OR coalesce(bool_or(k.oid = c.oid AND \(hasLists ? ofSchema : "false")), false) AS is_whole,
                    p.puballtables OR coalesce(bool_or(\(hasLists ? "\(ofSchema) OR " : "")EXISTS (
                        SELECT FROM pg_catalog.pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = k.oid
                    )), false) AS is_published
                FROM pg_catalog.pg_class k
                WHERE k.oid = c.oid
                    OR c.relispartition AND k.oid IN (SELECT relid FROM pg_catalog.pg_partition_ancestors(c.oid))
            ) l
            LEFT JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid AND r.prrelid = c.oid
            WHERE l.is_published AND c.oid >= 16384
            """
    }

    /// A subquery for the tables that `c` is a partition of, from the nearest one on (``PostgresTable/Whole/all(in:)``).
    static let wholes = """
        SELECT pg_catalog.json_agg(pg_catalog.json_build_array(r.oid::text, o.nspname, r.relname) ORDER BY a.place)::text
        FROM pg_catalog.pg_partition_ancestors(c.oid) WITH ORDINALITY a(relid, place)
        JOIN pg_catalog.pg_class r ON r.oid = a.relid JOIN pg_catalog.pg_namespace o ON o.oid = r.relnamespace
        WHERE r.oid <> c.oid
        """

    /// A subquery for the tables that `c` is a partition of and that the publication `p` has.
    static func publishedWhole(serverVersion: Int) -> String {
        let ofSchema =
            serverVersion < 150_000
            ? ""
            : """
            OR EXISTS (SELECT FROM pg_catalog.pg_publication_namespace s
                WHERE s.pnpubid = p.oid AND s.pnnspid = r.relnamespace)
            """
        return """
            SELECT FROM pg_catalog.pg_partition_ancestors(c.oid) a JOIN pg_catalog.pg_class r ON r.oid = a.relid
            WHERE r.oid <> c.oid AND (p.puballtables OR EXISTS (
                SELECT FROM pg_catalog.pg_publication_rel l WHERE l.prpubid = p.oid AND l.prrelid = r.oid) \(ofSchema))
            """
    }

    /// Whether a column is published with its table.
    ///
    /// A list of columns names generated ones, too. Without a list these are left out, unless the publication has them.
    ///
    /// - Parameters:
    ///   - column: The alias of its row of `pg_attribute`.
    ///   - membership: The alias of the row of ``membership(serverVersion:)``.
    /// - Returns: SQL, never NULL. Without such a row, as if the publication had all columns but generated ones.
    static func publishes(_ column: String, _ membership: String) -> String {
        """
        CASE WHEN \(membership).attributes IS NOT NULL THEN \(column).attnum = ANY(\(membership).attributes)
            ELSE \(column).attgenerated = '' OR \(column).attgenerated = 's' AND coalesce(\(membership).has_generated, false) END
        """
    }
}
