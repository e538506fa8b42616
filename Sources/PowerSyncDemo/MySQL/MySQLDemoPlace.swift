import PowerSyncMySQLConnection
import PowerSyncOperations
import PowerSyncService
import PowerSyncServiceMySQL
import PowerSyncTerminal

/// What the demo makes in a MySQL or MariaDB server, and takes away again: one schema.
///
/// Schemas have no comment, so that a table in it says whose it is; it is the first one that is made.
struct MySQLDemoPlace: Sendable {
    /// The schema of the source's tables.
    static let schema = "powersync_demo"
    /// The table that says whose the schema is.
    private static let marker = "made_by_powersync_demo"
    /// Its comment.
    private static let mark = "Made by powersync demo, which deletes it again."
    /// For how many seconds the server is asked for what another session holds: that of a killed run ends a moment after it.
    private static let patience = 10

    private let terminal: Terminal
    /// Keeps other demos off the server until it is closed.
    private let session: MySQLConnection

    /// Checks that the demo can run on a server, and makes nothing.
    ///
    /// - Parameters:
    ///   - server: Where to connect.
    ///   - configuration: The service that will run there.
    ///   - terminal: For what is taken away.
    /// - Throws: ``DemoFailure`` that says what is missing, or `MySQLConnectionError`.
    init(server: MySQLConnectionSettings, configuration: ServiceConfiguration, terminal: Terminal) async throws {
        try await configuration.checkSourceForDemo()
        self.terminal = terminal
        session = try await MySQLConnection.open(server, logger: .demo)
        let answer = try await session.texts("SELECT GET_LOCK('powersync demo', \(Self.patience))")
        try expect(answer == [["1"]], "another demo runs on this server; wait for its end")
    }

    // MARK: Making

    /// Makes the schema and its tables; what a killed run has left is taken away before.
    ///
    /// - Throws: ``DemoFailure`` when the user may not, or the schema is not of a demo.
    func make() async throws {
        if try await isThere() {
            try expect(
                await isOurs(),
                "the server has a schema \(Self.schema) that no demo has made; use another server"
            )
            try terminal.line("  what a demo left here that was killed is taken away")
            try await remove()
        }
        do {
            try await session.execute("CREATE DATABASE \(Self.schema)")
            try await session.execute(
                "CREATE TABLE \(Self.schema).\(Self.marker) (id INT PRIMARY KEY) COMMENT = '\(Self.mark)'"
            )
            for statement in MySQLDemoSource.statements { try await session.execute(statement) }
        } catch let error as MySQLConnectionError where error.code == .server {
            let user = try await session.texts("SELECT CURRENT_USER()").first?.first ?? nil
            let account = MySQLAccount(user ?? "").quoted
            throw DemoFailure("\(error)\n  GRANT ALL ON \(Self.schema).* TO \(account);")
        }
    }

    // MARK: Taking away

    /// Takes everything away that a demo has made; does nothing when there is nothing.
    ///
    /// - Throws: `MySQLConnectionError`. It can be repeated then.
    func remove() async throws {
        guard try await isThere(), try await isOurs() else { return }
        try await session.execute("DROP DATABASE \(Self.schema)")
    }

    /// Lets other demos in.
    func close() {
        session.close()
    }

    private func isThere() async throws -> Bool {
        try await !session.texts(
            "SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '\(Self.schema)'"
        ).isEmpty
    }

    /// Whether the schema is of a demo: it says so, or has nothing, as that of a demo that was killed at once.
    private func isOurs() async throws -> Bool {
        let tables = try await session.texts(
            "SELECT TABLE_NAME, TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = '\(Self.schema)'"
        )
        return tables.isEmpty || tables.contains { $0 == [Self.marker, Self.mark] }
    }
}
