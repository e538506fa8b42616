import PowerSync
import PowerSyncBackend
import PowerSyncMySQLConnection
import PowerSyncServiceMySQL

/// Two tables in a MySQL or MariaDB server as the source of the demo.
///
/// Each call has a connection of its own: one that is cancelled is of no use afterwards.
struct MySQLDemoSource: UploadingDemoSource {
    /// Where the tables are.
    let server: MySQLConnectionSettings

    private static let schema = MySQLDemoPlace.schema

    /// The tables.
    ///
    /// Ids and users are compared byte by byte, as everywhere else.
    static let statements = [
        "CREATE TABLE \(schema).lists (id VARCHAR(255) PRIMARY KEY, owner_id VARCHAR(255), name TEXT, photo_id VARCHAR(255)) \(charset)",
        "CREATE TABLE \(schema).todos (id VARCHAR(255) PRIMARY KEY, list_id VARCHAR(255), title TEXT, done INT) \(charset)",
    ]

    private static let charset = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"

    func apply(_ upload: UploadRequest) async throws {
        try await transaction { connection in
            for entry in upload.entries {
                let table = "\(Self.schema).\(MySQLText.identifier(entry.table))"
                let id = MySQLText.literal(entry.id)
                let values = (entry.data ?? [:]).sorted { $0.key < $1.key }.map { name, value in
                    (name: MySQLText.identifier(name), value: Self.literal(value))
                }
                let changes = values.map { "\($0.name) = \($0.value)" }.joined(separator: ", ")
                switch entry.op {
                case .delete:
                    try await connection.execute("DELETE FROM \(table) WHERE id = \(id)")
                case .patch:
                    guard !changes.isEmpty else { continue }
                    try await connection.execute("UPDATE \(table) SET \(changes) WHERE id = \(id)")
                case .put:
                    let names = ["id"] + values.map(\.name)
                    let row = [id] + values.map(\.value)
                    try await connection.execute(
                        """
                        INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(row.joined(separator: ", ")))
                        ON DUPLICATE KEY UPDATE \(changes.isEmpty ? "id = id" : changes)
                        """
                    )
                }
            }
        }
    }

    private static func literal(_ value: JsonValue) -> String {
        switch value {
        case .string(let text): MySQLText.literal(text)
        case .int(let number): "\(number)"
        case .double(let number): "\(number)"
        case .bool(let flag): flag ? "1" : "0"
        default: "NULL"
        }
    }

    func mayUse(photo: String, user: String) async throws -> Bool {
        try await query(
            """
            SELECT COUNT(*) = 0 OR MAX(owner_id = \(MySQLText.literal(user))) FROM \(Self.schema).lists
            WHERE photo_id = \(MySQLText.literal(photo))
            """
        ) == [["1"]]
    }

    func rows(of table: String, visibleTo user: String) async throws -> [DemoClient.Row] {
        let columns = DemoApp.schema.tables.first { $0.name == table }?.columns.map(\.name) ?? []
        let list = table == "lists" ? "id" : "list_id"
        return try await query(
            """
            SELECT id, \(columns.joined(separator: ", ")) FROM \(Self.schema).\(table)
            WHERE \(list) IN (SELECT id FROM \(Self.schema).lists WHERE owner_id = \(MySQLText.literal(user))) ORDER BY id
            """
        )
    }

    func bulkLoad(todos: Int, lists: Int, owner user: String) async throws {
        try await transaction { connection in
            let owner = MySQLText.literal(user)
            let rows = (0..<lists).map { "('bulk-\($0)', \(owner), 'Imported list \($0)')" }
            try await connection.execute(
                "INSERT INTO \(Self.schema).lists (id, owner_id, name) VALUES \(rows.joined(separator: ", "))"
            )
            for first in stride(from: 0, to: todos, by: Self.rowsOfStatement) {
                let rows = (first..<min(first + Self.rowsOfStatement, todos)).map { number in
                    """
                    ('bulk-todo-\(number)', 'bulk-\(number % lists)', 'Imported todo number \(number), with a title of a common length', \
                    \(number % 3 == 0 ? 1 : 0))
                    """
                }
                try await connection.execute(
                    "INSERT INTO \(Self.schema).todos (id, list_id, title, done) VALUES \(rows.joined(separator: ", "))"
                )
            }
        }
    }

    /// A statement of so many rows is below every server's limit.
    private static let rowsOfStatement = 1000

    private func transaction(_ body: (MySQLConnection) async throws -> Void) async throws {
        let connection = try await MySQLConnection.open(server, logger: .demo)
        // What is not committed is undone.
        defer { connection.close() }
        try await connection.execute("START TRANSACTION")
        try await body(connection)
        try await connection.execute("COMMIT")
    }

    private func query(_ sql: String) async throws -> [[String?]] {
        let connection = try await MySQLConnection.open(server, logger: .demo)
        defer { connection.close() }
        return try await connection.texts(sql)
    }
}
