import PowerSyncCore
import PowerSyncSQLite

// The rows that the app reads.

extension Inspection {
    mutating func readUntypedRows() throws {
        guard has("ps_untyped") else { return }
        try connection.forEachRow("SELECT type, count(*) FROM ps_untyped GROUP BY type ORDER BY type") { row in
            report.untypedRows.append(
                DatabaseReport.UntypedRows(table: row.string(at: 0) ?? "", rows: Int(row.integer(at: 1)))
            )
        }
    }

    mutating func readTables() {
        var stored: [DatabaseReport.Table] = []
        section("sqlite_master") { inspection in
            let sql = """
                SELECT name, sql, \(StoredDirectTable.isDirect) FROM sqlite_master
                WHERE type = 'table' AND (name GLOB 'ps_data_*' OR \(StoredDirectTable.isDirect)) ORDER BY name
                """
            try inspection.connection.forEachRow(sql) { row in
                let name = row.string(at: 0) ?? ""
                if row.integer(at: 2) != 0 {
                    let table = StoredDirectTable(name: name, sql: row.string(at: 1) ?? "")
                    stored.append(DatabaseReport.Table(name: name, isLocalOnly: table.isLocalOnly, isDirect: true))
                } else if let table = DataTable(internalName: name) {
                    stored.append(DatabaseReport.Table(name: table.name, isLocalOnly: table.isLocalOnly))
                }
            }
        }
        for table in stored {
            section(table.nameInSQLite) { try $0.read(table) }
        }
    }

    private mutating func read(_ data: DatabaseReport.Table) throws {
        var table = data
        let name = SQLText.identifier(data.nameInSQLite)
        // Rows that are no JSON make every statement on the view fail.
        let isUnreadable = "data IS NOT NULL AND (typeof(data) <> 'text' OR NOT json_valid(data))"
        let unreadable = data.isDirect ? "0" : "ifnull(sum(\(isUnreadable)), 0)"
        try connection.forEachRow("SELECT count(*), \(unreadable) FROM \(name)") { row in
            table.rows = Int(row.integer(at: 0))
            table.unreadableRows = Int(row.integer(at: 1))
        }
        if !data.isLocalOnly, try canCompareOperations {
            let isUpdated = "EXISTS (SELECT 1 FROM ps_updated_rows WHERE row_type = ?1 AND row_id = "
            table.missingRows = try connection.integer(
                """
                SELECT count(DISTINCT operation.row_id)
                FROM ps_oplog AS operation JOIN ps_buckets ON ps_buckets.id = operation.bucket
                WHERE operation.row_type = ?1 AND operation.op_id <= ps_buckets.last_applied_op
                  AND NOT EXISTS (SELECT 1 FROM \(name) AS data WHERE data.id = operation.row_id)
                  AND NOT \(isUpdated) operation.row_id)
                """,
                data.name
            ).map { Int($0) }
            table.unexplainedRows = try connection.integer(
                """
                SELECT count(*) FROM \(name) AS data
                WHERE NOT EXISTS (SELECT 1 FROM ps_oplog WHERE row_type = ?1 AND row_id = data.id)
                  AND NOT \(isUpdated) data.id)
                """,
                data.name
            ).map { Int($0) }
        }
        report.tables.append(table)
    }

    /// Whether rows and operations can be compared: not before version 5, and not without an index, row by row.
    private var canCompareOperations: Bool {
        get throws {
            guard version >= 5, has("ps_oplog"), has("ps_buckets"), has("ps_updated_rows") else { return false }
            return try connection.integer(
                "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND name = 'ps_oplog_row'"
            ) == 1
        }
    }
}
