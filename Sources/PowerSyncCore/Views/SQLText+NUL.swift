import PowerSyncSQLite

extension SQLText {
    /// A statement that was put together from names.
    ///
    /// SQL text ends at a NUL, so a name with one would silently become another name.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `malformedSQL` when there is a NUL.
    static func withoutNUL(_ sql: String) throws -> String {
        guard !sql.utf8.contains(0) else {
            throw LocalDatabaseError(
                .malformedSQL,
                "A name in the schema contains a NUL byte, which SQL text cannot hold: \(sql)"
            )
        }
        return sql
    }
}
