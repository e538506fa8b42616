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
        // Not joined: MariaDB would look into each table of the server.
        let columns = try await query(
            """
            SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_MAXIMUM_LENGTH, EXTRA, COLUMN_KEY, CHARACTER_SET_NAME, TABLE_NAME
            FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = \(literal)
            ORDER BY ORDINAL_POSITION
            """
        ).filter { $0[7]?.utf8.elementsEqual(name.utf8) == true }
        guard !columns.isEmpty else { return nil }
        // A reference of another schema changes rows of this one where it is referred to from here.
        let tables = try await query(
            """
            SELECT TABLE_NAME, ENGINE, NOT (\(Self.hasPrivilege("USER", "TRUE"))
                OR \(Self.hasPrivilege("SCHEMA", "REPLACE(TABLE_SCHEMA, '\\_', '_') = DATABASE()"))
                OR \(Self.hasPrivilege("TABLE", "TABLE_SCHEMA = DATABASE() AND TABLE_NAME = \(literal)")))
              OR EXISTS (SELECT 1 FROM information_schema.TRIGGERS
                WHERE EVENT_OBJECT_SCHEMA = DATABASE() AND EVENT_OBJECT_TABLE = \(literal))
              OR EXISTS (SELECT 1 FROM information_schema.REFERENTIAL_CONSTRAINTS
                WHERE CONSTRAINT_SCHEMA = DATABASE()
                    AND (REFERENCED_TABLE_NAME = \(literal) OR BINARY UNIQUE_CONSTRAINT_SCHEMA <> BINARY DATABASE())
                    AND (DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION')))
            FROM information_schema.TABLES
            WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = \(literal) AND TABLE_TYPE = 'BASE TABLE'
            """
        ).filter { $0[0]?.utf8.elementsEqual(name.utf8) == true }
        guard let table = tables.first else { return nil }
        return ServerTable(
            name: name,
            sqlName: MySQLText.identifier(name),
            columns: columns.map(Self.column),
            key: columns.filter { $0[5] == "PRI" }.compactMap { $0[0] },
            hasSideEffects: table[2] != "0",
            isTransactional: table[1] == "InnoDB"
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
            characterSet: isText && row[6] != "utf8mb4" ? row[6] : nil
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
        switch batch.kind {
        case .insert:
            let rows = batch.rows.map { row in
                "(\(([Self.idValue(row, batch)] + Self.values(row, batch)).joined(separator: ", ")))"
            }
            try await send(
                """
                INSERT INTO \(batch.table.sqlName) (\(([id] + columns).joined(separator: ", ")))
                VALUES \(rows.joined(separator: ", "))
                """,
                of: batch.table
            )
        case .update:
            let count = Self.canUpdateSeveral(batch.idColumn) ? Self.updatedRows : 1
            for start in stride(from: 0, to: batch.rows.count, by: count) {
                let rows = batch.rows[start..<min(start + count, batch.rows.count)]
                try await send(Self.update(rows, batch), of: batch.table)
            }
        case .delete:
            let ids = batch.rows.map { Self.idValue($0, batch) }.joined(separator: ", ")
            try await run("DELETE FROM \(batch.table.sqlName) WHERE \(id) IN (\(ids))")
        }
    }

    /// How many rows one statement updates: each row is compared with the ids before its own.
    private static let updatedRows = 32

    /// Whether `CASE` takes the same rows for those with an id as `IN` does, and by the same comparison.
    private static func canUpdateSeveral(_ idColumn: ServerColumn) -> Bool {
        switch idColumn.kind {
        case .text, .fixedText, .integer: true
        default: false
        }
    }

    /// The statement that updates rows.
    ///
    /// There is none that gives several rows values of their own and checks them as an update, but an expression has another value for each row:
    ///
    /// ```sql
    /// UPDATE `todos` SET `title` = CASE `id` WHEN 'a' THEN 'A' WHEN 'b' THEN 'B' END, `done` = 1 WHERE `id` IN ('a', 'b')
    /// ```
    private static func update(_ rows: ArraySlice<WriteBatch.Row>, _ batch: WriteBatch) -> String {
        let id = MySQLText.identifier(batch.idColumn.name)
        let ids = rows.map { idValue($0, batch) }
        let values = rows.map { Self.values($0, batch) }
        let sets = batch.columns.indices.map { column in
            let name = MySQLText.identifier(batch.columns[column].name)
            let first = values[0][column]
            guard values.contains(where: { !$0[column].utf8.elementsEqual(first.utf8) }) else {
                return "\(name) = \(first)"
            }
            let cases = zip(ids, values).map { "WHEN \($0) THEN \($1[column])" }.joined(separator: " ")
            return "\(name) = CASE \(id) \(cases) END"
        }
        let condition = ids.count == 1 ? "= \(ids[0])" : "IN (\(ids.joined(separator: ", ")))"
        return "UPDATE \(batch.table.sqlName) SET \(sets.joined(separator: ", ")) WHERE \(id) \(condition)"
    }

    private static func idValue(_ row: WriteBatch.Row, _ batch: WriteBatch) -> String {
        MySQLText.id(row.id, for: batch.idColumn)
    }

    private static func values(_ row: WriteBatch.Row, _ batch: WriteBatch) -> [String] {
        zip(row.values, batch.columns).map { MySQLText.value($0, for: $1) }
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
