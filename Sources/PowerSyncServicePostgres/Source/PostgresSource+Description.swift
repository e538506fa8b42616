package import PowerSyncRules
package import PowerSyncServiceCore

/// The source as operators see it.
extension PostgresSource: DescribedSource {
    /// Ordinary and partitioned tables of all schemas but the system's, whether they are published or not.
    private static let tables = """
        SELECT n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relkind IN ('r', 'p') AND c.relpersistence = 'p' AND n.nspname <> 'information_schema'
            AND n.nspname NOT LIKE 'pg\\_%'
        ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C", a.attnum
        """

    package func describeTables() async throws -> [DescribedTable] {
        let rows = try await pool.withConnection { connection in
            try await connection.query(Self.tables, activity: "reading the tables")
        }
        var tables: [DescribedTable] = []
        for (position, row) in rows.enumerated() {
            guard row.count == 4, let schema = row[0], let table = row[1], let column = row[2], let type = row[3] else {
                throw PostgresCatalogError(query: "tables", row: position, column: "attname")
            }
            let name = SourceTableName(schema: schema, name: table)
            if tables.last?.name != name { tables.append(DescribedTable(name: name, columns: [])) }
            tables[tables.count - 1].columns.append(
                .init(name: column, type: type, sqliteType: Self.sqliteType(of: type))
            )
        }
        return tables
    }

    package func logSize(from earlier: LSN, to later: LSN) -> Int64? {
        guard let earlier = WALPosition(earlier), let later = WALPosition(later) else { return nil }
        return Int64(clamping: later.rawValue >= earlier.rawValue ? later.rawValue - earlier.rawValue : 0)
    }

    package func findings(for plan: SyncPlan) async throws -> [SourceFinding] {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
        let found = try await pool.withConnection { try await check.findings(on: $0, plan: plan) }
        return found.map { finding in
            let isFatal = finding.severity == .error || finding.leavesTableOut
            let code = finding.code.map { "[\($0)] " } ?? ""
            let remedy = finding.remedy.map { " \($0)" } ?? ""
            return SourceFinding(table: finding.table, isFatal: isFatal, message: code + finding.message + remedy)
        }
    }

    package func logRetention(for slotName: String) async throws -> LogRetention? {
        let slots = try await pool.withConnection { try await $0.slots(withPrefix: slotName) }
        guard let slot = slots.first(where: { $0.name == slotName }) else { return nil }
        return LogRetention(status: slot.walStatus, safeBytes: slot.safeBytes, maximumBytes: slot.maximumBytes)
    }

    /// What values of a type become (docs/postgres.md "Types").
    private static func sqliteType(of type: String) -> String {
        switch type {
        case "smallint", "integer", "bigint", "boolean", "oid": "integer"
        case "real", "double precision": "real"
        case "bytea": "blob"
        default: "text"
        }
    }
}
