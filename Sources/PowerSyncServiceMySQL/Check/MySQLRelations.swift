import MySQLBinlog
import PowerSyncMySQLConnection
import PowerSyncServiceCore
import PowerSyncSyncConfig

/// What a sync config could name: tables, and what looks like one.
enum MySQLRelations {
    /// Tables, whether their engine can be replicated or not, by schema and name.
    static func tables(_ connection: MySQLConnection) async throws -> [DescribedTable] {
        try await described("t.TABLE_TYPE = 'BASE TABLE'", connection)
    }

    /// Everything that has columns.
    static func all(_ connection: MySQLConnection) async throws -> [DescribedTable] {
        try await described("TRUE", connection)
    }

    private static func described(_ condition: String, _ connection: MySQLConnection) async throws -> [DescribedTable] {
        try await columns(condition, connection).map { table in
            DescribedTable(
                name: table.name,
                columns: table.columns.map { DescribedTable.Column(name: $0.name, mysqlType: $0.type) }
            )
        }
    }

    /// The tables as the generator of client schemas reads them.
    static func declared(_ connection: MySQLConnection) async throws -> [DeclaredTable] {
        try await columns("t.TABLE_TYPE = 'BASE TABLE'", connection).map { table in
            var table = table
            table.columns = table.columns.map { column in
                .init(name: column.name, type: declaration(of: column.type), isNotNull: column.isNotNull)
            }
            return table
        }
    }

    /// A declaration that the generator knows, for what clients get of a type.
    private static func declaration(of type: String) -> String {
        switch MySQLColumnType(declaration: type).kind {
        case .integer, .year: "integer"
        case .float, .double: "real"
        case .decimal: "numeric"
        case .dateTime, .timestamp: "timestamp"
        case .bit, .binary, .varbinary, .blob, .geometry, .vector: "bytea"
        // As printed: days, times, labels, JSON, UUIDs, addresses.
        default: "text"
        }
    }

    /// About how many rows tables have: what their engines guess.
    static func estimatedRows(_ connection: MySQLConnection) async throws -> [SourceTableName: Int64] {
        let rows = try await connection.texts(
            """
            SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_ROWS FROM information_schema.TABLES
            WHERE TABLE_TYPE = 'BASE TABLE' AND TABLE_ROWS IS NOT NULL
                AND TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
            """
        )
        return Dictionary(
            rows.compactMap { row in
                guard row.count == 3, let schema = row[0], let name = row[1], let count = row[2].flatMap({ Int64($0) })
                else {
                    return nil
                }
                return (SourceTableName(schema: schema, name: name), count)
            }
        ) { first, _ in first }
    }

    private static func columns(_ condition: String, _ connection: MySQLConnection) async throws -> [DeclaredTable] {
        let rows = try await connection.texts(
            """
            SELECT c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.COLUMN_TYPE, c.IS_NULLABLE
            FROM information_schema.COLUMNS c
            JOIN information_schema.TABLES t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
            WHERE \(condition)
                AND c.TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
            ORDER BY BINARY c.TABLE_SCHEMA, BINARY c.TABLE_NAME, c.ORDINAL_POSITION
            """
        )
        var tables: [DeclaredTable] = []
        for row in rows {
            guard row.count == 5, let schema = row[0], let table = row[1], let column = row[2], let type = row[3] else {
                continue
            }
            let name = SourceTableName(schema: schema, name: table)
            if tables.last?.name != name { tables.append(DeclaredTable(name: name, columns: [])) }
            tables[tables.count - 1].columns.append(.init(name: column, type: type, isNotNull: row[4] == "NO"))
        }
        return tables
    }
}

extension DescribedTable.Column {
    /// A column with what values of its type become (docs/mysql.md "Types").
    init(name: String, mysqlType type: String) {
        let (clientType, values): (String, SourceSchema.ColumnType.Values?) =
            switch MySQLColumnType(declaration: type).kind {
            // Above 2⁶³ − 1, an unsigned integer is text.
            case .integer(bytes: 8) where MySQLColumnType(declaration: type).isUnsigned: ("integer", nil)
            case .integer, .year: ("integer", .number)
            case .float, .double: ("real", .number)
            case .bit, .binary, .varbinary, .blob, .geometry, .vector: ("blob", .bytes)
            case .unknown: ("text", nil)
            default: ("text", .text)
            }
        self.init(name: name, type: type, clientType: clientType, values: values)
    }
}
