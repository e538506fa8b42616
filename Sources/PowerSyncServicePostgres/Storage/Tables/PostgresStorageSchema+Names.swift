/// Finding what has a name.
extension PostgresStorageSchema {
    /// What follows `JOIN` to get the row that a name has in a table of a stream, if it has one.
    ///
    /// Each name is looked up in the index. A join of the tables would depend on statistics, which a partition has not got in its
    /// first minute: then each row is compared with each name, and the digest of that computed every time.
    ///
    /// - Parameters:
    ///   - table: `names`, `buckets` or `lookups`, with the name of their schema. Parameter 1 of the statement is the stream.
    ///   - name: The expression of the name.
    ///   - alias: What the row is called.
    /// - Returns: SQL.
    static func named(_ table: String, _ name: String, as alias: String) -> String {
        "LATERAL (SELECT * FROM \(table) WHERE stream = $1 AND digest = sha256(\(name)) LIMIT 1) AS \(alias) ON true"
    }
}
