import NIOCore
import PowerSyncBackend
import PowerSyncMySQLConnection
import PowerSyncProtocol
import PowerSyncUpload

/// A connection to MySQL or MariaDB.
struct MySQLServer: UploadServer {
    private let connection: MySQLConnection

    init(_ connection: MySQLConnection) {
        self.connection = connection
    }

    /// Sets what the statements rely on; connections of the pool begin with an empty `sql_mode`.
    func prepare() async throws {
        try await run(
            """
            SET SESSION sql_mode = \
            'STRICT_ALL_TABLES,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO,NO_ZERO_DATE,NO_ZERO_IN_DATE', \
            SESSION innodb_lock_wait_timeout = 5
            """
        )
        // Statements see what was committed before them, and lock no more than their rows.
        try await run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    }

    func begin(isAgain: Bool) async throws {
        try await run("BEGIN")
    }

    func run(_ statement: String) async throws {
        try await connection.execute(statement)
    }

    func transaction(_ statements: AppStatements) -> MySQLUploadTransaction {
        MySQLUploadTransaction(server: self, statements: statements)
    }

    /// Runs a statement, and returns its rows as texts.
    func query(_ sql: String) async throws -> [[String?]] {
        try await connection.query(sql).rows.map { row in row.values.map { $0.map { String(buffer: $0) } } }
    }

    /// Runs a statement, and returns its rows with the names of their columns.
    func storedRows(_ sql: String) async throws -> [StoredRow] {
        let result = try await connection.query(sql)
        let columns = StoredRow.Columns(result.columns.map(\.name))
        return result.rows.map { row in StoredRow(columns, row.values.map { $0.map { String(buffer: $0) } }) }
    }

    // MARK: - Tables

    func tables(named names: [String]) async throws -> [ServerTable] {
        var names = names
        if names.count > 1 {
            // Clients choose names, and each that there is costs two queries.
            let tables = try await query(
                "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()"
            )
            let present = Set(tables.compactMap { $0[0].map { Array($0.utf8) } })
            names.removeAll { !present.contains(Array($0.utf8)) }
        }
        var tables: [ServerTable] = []
        for name in names { if let table = try await table(named: name) { tables.append(table) } }
        return tables
    }

    private func table(named name: String) async throws -> ServerTable? {
        let literal = MySQLText.literal(name)
        let columns = try await query(
            """
            SELECT c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE, c.CHARACTER_MAXIMUM_LENGTH, c.EXTRA, c.COLUMN_KEY, t.TABLE_NAME,
                c.CHARACTER_SET_NAME, t.ENGINE
            FROM information_schema.COLUMNS AS c
            JOIN information_schema.TABLES AS t ON t.TABLE_SCHEMA = c.TABLE_SCHEMA AND t.TABLE_NAME = c.TABLE_NAME
            WHERE c.TABLE_SCHEMA = DATABASE() AND c.TABLE_NAME = \(literal) AND t.TABLE_SCHEMA = DATABASE()
                AND t.TABLE_NAME = \(literal) AND t.TABLE_TYPE = 'BASE TABLE'
            ORDER BY c.ORDINAL_POSITION
            """
        ).filter { $0[6]?.utf8.elementsEqual(name.utf8) == true }
        guard !columns.isEmpty else { return nil }
        let effects = try await query(
            """
            SELECT NOT (\(Self.hasPrivilege("USER", "TRUE"))
                OR \(Self.hasPrivilege("SCHEMA", "REPLACE(TABLE_SCHEMA, '\\_', '_') = DATABASE()"))
                OR \(Self.hasPrivilege("TABLE", "TABLE_SCHEMA = DATABASE() AND TABLE_NAME = \(literal)")))
              OR EXISTS (SELECT 1 FROM information_schema.TRIGGERS
                WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = \(literal))
              OR EXISTS (SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS
                WHERE UNIQUE_CONSTRAINT_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME = \(literal)
                    AND (DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION')))
            """
        )
        return ServerTable(
            name: name,
            sqlName: MySQLText.identifier(name),
            columns: columns.map(Self.column),
            key: columns.filter { $0[5] == "PRI" }.compactMap { $0[0] },
            hasSideEffects: effects.first?.first != "0",
            isTransactional: columns[0][8] == "InnoDB"
        )
    }

    /// Whether the account is known to have the privilege `TRIGGER`, without which it does not see what triggers there are; it may have it
    /// by a role or a pattern, too.
    private static func hasPrivilege(_ scope: String, _ condition: String) -> String {
        """
        EXISTS (SELECT 1 FROM information_schema.\(scope)_PRIVILEGES WHERE PRIVILEGE_TYPE = 'TRIGGER' AND \(condition)
            AND GRANTEE = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), ''''))
        """
    }

    private static func column(_ row: [String?]) -> ServerColumn {
        let name = row[1] ?? ""
        let kind = kind(ofType: name, isUnsigned: row[2]?.contains("unsigned") == true)
        let isText = kind == .text || kind == .fixedText
        let isList = name == "enum" || name == "set"
        return ServerColumn(
            name: row[0] ?? "",
            type: kind == .decimal || isList ? row[2] ?? name : name,
            kind: kind,
            length: isText ? row[3].flatMap { Int($0) } : nil,
            isWritable: row[4].map { !$0.contains("GENERATED") || $0.contains("DEFAULT_GENERATED") } ?? true,
            storesNUL: true,
            isExact: !isText,
            characterSet: isText && row[7] != "utf8mb4" ? row[7] : nil
        )
    }

    private static func kind(ofType name: String, isUnsigned: Bool) -> ServerColumn.Kind {
        switch name {
        case "varchar", "tinytext", "text", "mediumtext", "longtext": .text
        case "char": .fixedText
        case "tinyint": .integer(bytes: 1, isUnsigned: isUnsigned)
        case "smallint": .integer(bytes: 2, isUnsigned: isUnsigned)
        case "mediumint": .integer(bytes: 3, isUnsigned: isUnsigned)
        case "int": .integer(bytes: 4, isUnsigned: isUnsigned)
        case "bigint": .integer(bytes: 8, isUnsigned: isUnsigned)
        case "decimal": .decimal
        case "float", "double": .real
        case "uuid": .uuid
        case "json": .json
        case "binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob": .bytes
        // Its values are bytes, which no text of JSON is.
        case "bit": .bytes
        case "date", "datetime", "timestamp", "time": .time
        default: .other
        }
    }

    func rows(
        of table: ServerTable,
        ids: [String],
        in column: ServerColumn,
        withValues: Bool
    ) async throws -> [StoredRow] {
        let names = withValues ? table.columns.map(\.name) : [column.name]
        let columns = names.map { MySQLText.identifier($0) }.joined(separator: ", ")
        let rowColumns = withValues ? table.rowColumns : StoredRow.Columns(names)
        let id = MySQLText.identifier(column.name)
        let values = ids.map { MySQLText.id($0, for: column) }.joined(separator: ", ")
        // In one order, so that two requests do not wait for each other.
        return try await query(
            "SELECT \(columns) FROM \(table.sqlName) WHERE \(id) IN (\(values)) ORDER BY \(id) FOR UPDATE"
        ).map { StoredRow(rowColumns, $0) }
    }

    func stores(_ text: String, in column: ServerColumn) async throws -> Bool {
        let literal = MySQLText.literal(text)
        let conversion: String
        if let characterSet = column.characterSet {
            conversion = "CONVERT(CONVERT(\(literal) USING \(characterSet)) USING utf8mb4)"
        } else if column.kind == .decimal {
            conversion = "CAST(\(literal) AS \(column.type.split(separator: " ").first ?? "decimal"))"
        } else {
            return false
        }
        // The server converts every text, with a warning.
        let read = try await query("SELECT \(conversion)")
        return read.first?.first.flatMap { $0.map { $0.utf8.elementsEqual(text.utf8) } } ?? false
    }

    func text(of value: ExactJSON, for column: ServerColumn, in table: String) throws -> String? {
        let text = try column.text(of: value, in: table)
        if let text, column.type.hasPrefix("enum(") || column.type.hasPrefix("set("),
            Self.isNumber(text, noneOf: column.type)
        {
            throw column.refusal(in: table)
        }
        return column.kind == .time ? text.map { MySQLTime.text(of: $0, for: column.type) } : text
    }

    /// Whether the server takes a text for the number of a value in `enum('open','done')`.
    private static func isNumber(_ text: String, noneOf list: String) -> Bool {
        text.utf8.allSatisfy { byte in byte < 0x3A && byte != UInt8(ascii: ",") } && !text.isEmpty
            && !["('\(text)'", ",'\(text)'"].contains { list.contains($0) }
    }

    // MARK: - Writing

    func write(_ batch: WriteBatch) async throws {
        let id = MySQLText.identifier(batch.idColumn.name)
        let columns = batch.columns.map { MySQLText.identifier($0.name) }
        func idValue(_ row: WriteBatch.Row) -> String { MySQLText.id(row.id, for: batch.idColumn) }
        func values(_ row: WriteBatch.Row) -> [String] {
            zip(row.values, batch.columns).map { MySQLText.value($0, for: $1) }
        }
        switch batch.kind {
        case .insert:
            let rows = batch.rows.map { row in "(\(([idValue(row)] + values(row)).joined(separator: ", ")))" }
            try await send(
                """
                INSERT INTO \(batch.table.sqlName) (\(([id] + columns).joined(separator: ", ")))
                VALUES \(rows.joined(separator: ", "))
                """,
                of: batch.table
            )
        case .update:
            // The server has no statement that gives several rows values of their own and checks them as an update.
            for row in batch.rows {
                let sets = zip(columns, values(row)).map { "\($0) = \($1)" }.joined(separator: ", ")
                try await send(
                    "UPDATE \(batch.table.sqlName) SET \(sets) WHERE \(id) = \(idValue(row))",
                    of: batch.table
                )
            }
        case .delete:
            let ids = batch.rows.map(idValue).joined(separator: ", ")
            try await run("DELETE FROM \(batch.table.sqlName) WHERE \(id) IN (\(ids))")
        }
    }

    /// Runs a statement with values, unless it is larger than the server takes: it would end the connection.
    private func send(_ statement: String, of table: ServerTable) async throws {
        if statement.utf8.count >= 1 << 19 {
            let limit = try await query("SELECT @@max_allowed_packet").first?.first.flatMap { $0.flatMap { Int($0) } }
            // With the byte that says that it is a statement.
            if let limit, statement.utf8.count + 1 > limit {
                throw WriteRefusal(
                    code: .constraint,
                    message: """
                        Table “\(table.name)” refuses the row: its server takes statements of \(limit) bytes at most.
                        """
                )
            }
        }
        try await run(statement)
    }

    /// The server checks references with each statement.
    func checkReferences(isLast: Bool) async throws {}

    func fault(of error: any Error) -> ServerFault {
        guard let error = error as? MySQLConnectionError, let code = error.serverCode else { return .other }
        let message = ServerMessage.ofMySQL(error.message, number: code)
        switch code {
        case 1062, 1586: return .duplicate(message)
        // Lock wait, deadlock, and a row that has changed since it was read.
        case 1205, 1213, 1020: return .concurrency
        default:
            let isAboutValues =
                Self.valueErrors.contains(code) || ["22", "23", "45"].contains(error.sqlState?.prefix(2) ?? "")
            return isAboutValues ? .values(message) : .other
        }
    }

    func serverError(_ error: any Error) -> UploadServerError? {
        guard let error = error as? MySQLConnectionError, let code = error.serverCode else { return nil }
        return UploadServerError(sqlState: error.sqlState, number: Int(code), message: error.message)
    }

    /// Errors about values that have no SQLSTATE of their own: no default value, ranges, wrong values, texts that are too long or of other
    /// characters, partitions, checks, JSON, and references.
    private static let valueErrors: Set<UInt16> = [
        1264, 1265, 1292, 1364, 1366, 1406, 1451, 1452, 1526, 1690, 3140, 3819, 4025,
    ]
}
