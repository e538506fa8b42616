import GRDB
import PowerSyncSQLite

/// Rows that wait in `ps_untyped` for a raw table, since they came before the app declared it or made it.
///
/// They move into it when the schema is applied or a sync iteration starts, once the table is there. `ps_untyped` may be older
/// than the raw table: rows that came while the raw table was declared are not there, also as deletions. So a row gets its newest
/// published data, and what no operation has is looked at again by the next complete checkpoint.
enum WaitingRows {
    /// Moves the rows of raw tables that are there.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - rawTables: The raw tables of the schema.
    ///   - schema: What is known of the file's tables.
    /// - Returns: The rows that constraints of the tables refuse. The next complete checkpoint looks at them again.
    /// - Throws: GRDB's `DatabaseError`, and ``RawTableError``.
    /// - Complexity: O(number of raw tables) when no row waits.
    static func publish(
        _ db: Database,
        to rawTables: [ClientRawTable],
        schema: inout KnownSchema
    ) throws -> SetAsideRows {
        var refused = SetAsideRows()
        // In an interrupted bulk load, the rows could not be found without reading all operations for each of them.
        guard !rawTables.isEmpty, try db.hasRows("ps_untyped"), try OplogIndexes.exist(db) else { return refused }
        try schema.revalidate(db)
        for rawTable in rawTables where try isWaitedFor(db, by: rawTable, schema: &schema) {
            let rawRows = RawTableRows(db, table: rawTable, statements: schema.rawTableStatements)
            guard let table = try? rawRows.rowTable else { continue }
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id)
                    SELECT type, id FROM ps_untyped AS waiting
                    WHERE type = ? AND NOT \(hasOperation) AND NOT \(isPresent(in: table))
                    """,
                arguments: [rawTable.name]
            )
            let rows = ChangedRows.waiting(type: rawTable.name, table: table)
            var kept = KeptRows()
            let outcome = try RowPublisher.publish(
                db,
                rows,
                except: &kept,
                rawTables: rawTables,
                schema: &schema
            )
            refused.formUnion(outcome.setAside)
            try db.execute(sql: "DELETE FROM ps_untyped WHERE type = ?", arguments: [rawTable.name])
        }
        try refused.mark(db)
        return refused
    }

    /// Whether rows wait that the raw table would get if they came now.
    private static func isWaitedFor(_ db: Database, by table: ClientRawTable, schema: inout KnownSchema) throws -> Bool
    {
        let (type, isDirect) = (table.name, table.structure?.direct != nil)
        guard try !schema.hasTable(db, named: DataTable(name: type, isLocalOnly: false).internalName) else {
            return false
        }
        if isDirect, try schema.directTableKind(db, named: type) != .synced { return false }
        let statement = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM ps_untyped WHERE type = ?)")
        return try Bool.fetchOne(statement, arguments: [type]) == true
    }

    private static let isUpdated = """
        EXISTS (
            SELECT 1 FROM ps_updated_rows AS updated
            WHERE updated.row_type = waiting.type AND updated.row_id = waiting.id
        )
        """

    private static let hasOperation = """
        EXISTS (SELECT 1 FROM ps_oplog AS o WHERE o.row_type = waiting.type AND o.row_id = waiting.id)
        """

    /// The rows of type `?1` with the data to write.
    ///
    /// What the table has is newer for rows that were written locally, and for those that no operation has.
    static func sql(_ table: RowTable) -> String {
        """
        SELECT type, id, iif(\(isUpdated), waiting.data, coalesce((
            SELECT iif(max(o.op_id), o.data, NULL) FROM ps_oplog AS o
            CROSS JOIN ps_buckets AS b ON b.id = o.bucket
            WHERE o.row_type = waiting.type AND o.row_id = waiting.id AND o.op_id <= b.last_applied_op
        ), waiting.data)) AS data
        FROM ps_untyped AS waiting
        WHERE type = ?1 AND waiting.data IS NOT NULL
            AND (\(hasOperation) AND NOT \(isUpdated) OR NOT \(isPresent(in: table)))
        ORDER BY id
        """
    }

    private static func isPresent(in table: RowTable) -> String {
        "EXISTS (SELECT 1 FROM main.\(SQLText.identifier(table.name)) AS present WHERE present.id = waiting.id)"
    }
}
