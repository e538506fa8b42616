/// What a publication has, as queries ask for it.
///
/// The view `pg_publication_tables` is not asked: from version 16 on, it locks every table of the publication, and waits for those
/// that another session has locked, whoever needs them.
enum PostgresPublication {
    /// A subquery with one row if the publication `p` has the table `c`, and none if it has not.
    ///
    /// Its columns: `attributes`, the numbers of the columns that are published (`int2[]`), NULL for all; `filter`, the condition for
    /// rows, NULL for all. Both are those of the table itself: publications with `publish_via_partition_root` are refused. A table with
    /// a condition is locked for the moment in which that is read.
    ///
    /// - Parameter serverVersion: Conditions, lists of columns and publications of schemas exist since version 15.
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
            SELECT CASE WHEN NOT l.is_whole THEN \(attributes) END AS attributes, CASE WHEN NOT l.is_whole THEN \(filter) END AS filter
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
}
