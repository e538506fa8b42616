import NIOConcurrencyHelpers
import NIOCore
package import PowerSyncMySQLConnection

/// A database of its own in the server of `scripts/with-mysql`, or in another one.
///
/// It is dropped some time after the last reference to it has gone: when the next one is made.
package final class TestMySQLDatabase: Sendable {
    /// The names of those that are not used any more, and their servers.
    private static let left = NIOLockedValueBox<[(server: TestMySQL, name: String)]>([])

    /// The name.
    package let name: String
    /// The server.
    package let server: TestMySQL
    private let isShared: Bool
    private let pool: MySQLPool

    /// Makes a database.
    ///
    /// - Parameters:
    ///   - server: That of `scripts/with-mysql` if there is none.
    ///   - statements: Make its tables.
    /// - Throws: ``TestMySQL/Failure`` when there is no server.
    package convenience init(server: TestMySQL? = nil, _ statements: String...) async throws {
        try await self.init(server: server, statements)
    }

    /// Makes a database.
    package init(server: TestMySQL? = nil, _ statements: [String]) async throws {
        isShared = server == nil
        self.server = try server ?? .shared()
        name = "test_\(String(UInt64.random(in: .min ... .max), radix: 36))"
        let connector = MySQLConnector(self.server.settings(database: name), logger: TestMySQL.logger)
        pool = MySQLPool(connector, maximumConnections: 2)
        let connection = try await self.server.open()
        defer { connection.close() }
        let old = Self.left.withLockedValue { left in
            defer { left = [] }
            return left.filter { $0.server.port == self.server.port }
        }
        for (_, name) in old { try await connection.execute("DROP DATABASE IF EXISTS \(name)") }
        try await connection.execute("CREATE DATABASE \(name) CHARACTER SET utf8mb4")
        for statement in statements { try await run(statement) }
    }

    /// Goes on with a database that there is.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - server: Where it is.
    package init(named name: String, in server: TestMySQL) {
        isShared = false
        self.server = server
        self.name = name
        let connector = MySQLConnector(server.settings(database: name), logger: TestMySQL.logger)
        pool = MySQLPool(connector, maximumConnections: 2)
    }

    deinit {
        pool.close()
        if isShared { Self.left.withLockedValue { $0.append((server, name)) } }
    }

    /// The settings of a connection to the database.
    package var settings: MySQLConnectionSettings { server.settings(database: name) }

    /// The URI of the database, in the form of the service's configuration; connections to it are in plain text.
    package var uri: String { server.uri(database: name) }

    /// Runs a statement, each time on a connection whose default schema is the database.
    ///
    /// - Parameters:
    ///   - sql: The statement.
    ///   - timeout: How long it may take; `nil` for what statements of the source may.
    /// - Returns: The rows as text, in the order of the columns.
    /// - Throws: An error of the server or of the connection.
    @discardableResult
    package func run(_ sql: String, timeout: Duration? = nil) async throws -> [[String?]] {
        try await pool.withConnection { connection in
            try await connection.query(sql, timeout: timeout).rows.map { row in
                row.values.map { $0.map { String(buffer: $0) } }
            }
        }
    }

    /// Runs statements on one connection, such as those of a transaction.
    package func run(_ statements: [String]) async throws {
        try await pool.withConnection { connection in
            for statement in statements { try await connection.execute(statement) }
        }
    }

    /// Opens a connection to the database, for sessions with settings of their own; the caller closes it.
    package func open() async throws -> MySQLConnection { try await server.open(database: name) }
}
