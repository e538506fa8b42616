import NIOCore
package import PowerSyncMySQLConnection
import PowerSyncSyncConfig

/// What `information_schema` says of tables, as texts: each row has the values of its query's columns, in their order.
struct CatalogueRows: Sendable {
    /// Which tables to describe.
    struct Selection: Sendable {
        /// A condition over `TABLE_SCHEMA` and `TABLE_NAME`.
        fileprivate var condition: String
        /// The schemas that the tables are in; `nil` for any but the system's.
        fileprivate var schemas: [String]?

        /// Those that a plan may read.
        ///
        /// The server may compare without case: what it finds is compared again.
        init(of plan: SyncPlan) {
            self.init(
                plan.tablePatterns.filter { !$0.hasSchemaWildcard }.map { pattern in
                    (schema: pattern.schema ?? plan.defaultSchema, condition: Self.condition(pattern.table))
                }
            )
        }

        /// Some tables.
        init(_ tables: [SourceTableName]) {
            self.init(tables.map { (schema: $0.schema, condition: "TABLE_NAME = \(MySQLText.literal($0.name))") })
        }

        private init(_ names: [(schema: String, condition: String)]) {
            let conditions = names.map { "(TABLE_SCHEMA = \(MySQLText.literal($0.schema)) AND \($0.condition))" }
            condition = conditions.isEmpty ? "FALSE" : conditions.joined(separator: " OR ")
            schemas = Set(names.map(\.schema)).sorted()
        }

        private init(condition: String) {
            self.condition = condition
        }

        /// All tables of all schemas but the system's.
        static let all = Selection(
            condition: "TABLE_SCHEMA NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')"
        )

        /// The condition for the name of a table, of which `%` at the end stands for any text.
        private static func condition(_ pattern: String) -> String {
            guard pattern.utf8.last == UInt8(ascii: "%") else { return "TABLE_NAME = \(MySQLText.literal(pattern))" }
            var escaped = ""
            for scalar in pattern.unicodeScalars.dropLast() {
                if "%_\\".unicodeScalars.contains(scalar) { escaped += "\\" }
                escaped.unicodeScalars.append(scalar)
            }
            return "TABLE_NAME LIKE \(MySQLText.literal(escaped + "%"))"
        }
    }

    /// Schema, name, type, engine, time of creation, estimated number of rows.
    var tables: [[String?]] = []
    /// Schema, table, name, position from 1, type, charset, collation, `YES` for nullable, extra, generation expression.
    var columns: [[String?]] = []
    /// Parts of unique keys: schema, table, index, position from 1, column, length of a prefix, kind of the index, `YES` if queries may
    /// name it.
    ///
    /// The column is `NULL` for a part that is an expression.
    var keys: [[String?]] = []
    /// The numbers of InnoDB's tables: name, number; `nil` without the privilege `PROCESS`.
    var incarnations: [[String?]]?

    /// Asks a server.
    ///
    /// - Parameters:
    ///   - selection: Which tables.
    ///   - connection: A connection.
    /// - Returns: The answers.
    /// - Throws: ``MySQLConnectionError``, or `CancellationError`.
    static func read(_ selection: Selection, _ connection: MySQLConnection) async throws -> CatalogueRows {
        var rows = CatalogueRows()
        // The invisible primary keys that MySQL makes are columns of the log like others, whatever the server shows.
        if !connection.isMariaDB {
            try await connection.execute(
                "/*!80030 SET SESSION show_gipk_in_create_table_and_information_schema = ON */"
            )
        }
        // First: a table that becomes another one meanwhile has the new columns with the old number, and is another one at the next look.
        rows.incarnations = try await incarnations(selection, connection)
        rows.tables = try await connection.texts(
            """
            SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE, ENGINE, CREATE_TIME, TABLE_ROWS FROM information_schema.TABLES
            WHERE \(selection.condition)
            """
        )
        rows.columns = try await connection.texts(
            """
            SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME,
                IS_NULLABLE, EXTRA, GENERATION_EXPRESSION
            FROM information_schema.COLUMNS WHERE \(selection.condition)
            """
        )
        let isUsable = connection.isMariaDB ? "CASE IGNORED WHEN 'NO' THEN 'YES' END" : "IS_VISIBLE"
        rows.keys = try await connection.texts(
            """
            SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART, INDEX_TYPE, \(isUsable)
            FROM information_schema.STATISTICS WHERE NON_UNIQUE = 0 AND (\(selection.condition))
            """
        )
        return rows
    }

    private static func incarnations(
        _ selection: Selection,
        _ connection: MySQLConnection
    ) async throws -> [[String?]]? {
        let table = connection.isMariaDB ? "INNODB_SYS_TABLES" : "INNODB_TABLES"
        var query = "SELECT NAME, TABLE_ID FROM information_schema.\(table)"
        if let schemas = selection.schemas {
            guard !schemas.isEmpty else { return [] }
            // A schema that is stored in lower case is found, too.
            let names = schemas.map { FileNameEncoding.encoded($0) }
            let conditions = names.map { name in
                "LOWER(NAME) LIKE LOWER(\(MySQLText.literal("\(name.replacing("_", with: "\\_"))/%")))"
            }
            query += " WHERE \(conditions.joined(separator: " OR "))"
        }
        do {
            return try await connection.texts(query)
        } catch let error as MySQLConnectionError where error.serverCode == MySQLServerCode.privilegeMissing {
            return nil
        }
    }
}

extension MySQLConnection {
    /// The rows of a small answer as texts.
    package func texts(_ query: String) async throws -> [[String?]] {
        try await self.query(query).rows.map { row in row.values.map { $0.map { String(buffer: $0) } } }
    }
}

/// Numbers of errors of a server.
enum MySQLServerCode {
    /// The statement needs a privilege of the whole server: `ER_SPECIFIC_ACCESS_DENIED_ERROR`.
    static let privilegeMissing: UInt16 = 1227
    /// The account may not use the schema.
    static let schemaDenied: UInt16 = 1044
    /// Wrong user or password.
    static let accountDenied: UInt16 = 1045
    /// The account may not read the table.
    static let tableDenied: UInt16 = 1142
    /// The account may not read a column.
    static let columnDenied: UInt16 = 1143
    /// There is no such table.
    static let noSuchTable: UInt16 = 1146
    /// There is no such schema.
    static let noSuchSchema: UInt16 = 1049
    static let tooManyConnections: UInt16 = 1040
    /// The machine had too many failed connections.
    static let hostBlocked: UInt16 = 1129
    /// No account may connect from the machine.
    static let hostNotAllowed: UInt16 = 1130
    /// The account may connect by TLS only.
    static let secureTransportNeeded: UInt16 = 3159

    /// Those of missing privileges.
    static let denials: Set<UInt16> = [privilegeMissing, schemaDenied, tableDenied, columnDenied]
}
