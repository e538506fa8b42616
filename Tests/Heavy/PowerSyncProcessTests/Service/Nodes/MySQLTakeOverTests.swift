import Foundation
import IntegrationTestSupport
import MySQLTestSupport
import PostgresTestSupport
import PowerSync
import TestSupport
import Testing

/// Two processes of `powersync serve` over one MySQL or MariaDB server and one storage: the one that reads the log stands still.
///
/// It takes as long as a writer may be silent: half a minute. With `POWERSYNC_SLOW` (`make soak`) it stands still for a minute more.
@Suite(.timeLimit(.minutes(5))) struct MySQLTakeOverTests {
    private static let follows = "Another process replicates the stream"
    private static let isSlow = ProcessInfo.processInfo.environment["POWERSYNC_SLOW"] != nil

    private let service: TodoService
    private let database: TestMySQLDatabase
    /// The account of the service, by whose name its sessions are told.
    private let account: TestAccount

    init() async throws {
        service = try TodoService()
        database = try await TestMySQLDatabase([
            "CREATE TABLE lists (id VARCHAR(40) PRIMARY KEY, owner_id VARCHAR(40), name VARCHAR(100))",
            "CREATE TABLE todos (id VARCHAR(40) PRIMARY KEY, list_id VARCHAR(40), title TEXT, done INT)",
            "INSERT INTO lists VALUES ('l1', 'anna', 'first')",
        ])
        account = try await TestAccount(password: "service")
        try await account.grantReplication(of: database)
    }

    @Test func aReaderOfTheLogThatStandsStillIsReplaced() async throws {
        let storage = try TestDatabase()
        let uri = "mysql://\(account.name):service@127.0.0.1:\(database.server.port)/\(database.name)"
        let config = try ServiceNode.writeConfig(
            of: service,
            connection: #"{type: mysql, uri: "\#(uri)", sslmode: disable}"#,
            storage: storage.uri
        )
        let writer = try ServiceNode(config: config)
        try await writer.command.wait(for: ServiceNode.isReady)
        let follower = try ServiceNode(config: config)
        try await follower.command.wait(for: ServiceNode.isReady, Self.follows)
        let clients = try await [client("of the writer", writer), client("of the follower", follower)]
        try await expectChange("one", toReach: clients)
        #expect(try await readersOfTheLog() == 1)

        writer.command.signal(SIGSTOP)
        try await expectChange("two", toReach: [clients[1]])
        // The server has ended the dump of the process that stands still: both read as the same replica.
        #expect(try await readersOfTheLog() == 1)
        // Short dumps, as those that look at the begin of a file, end none.
        for _ in 0..<3 { try await database.server.readBeginOfLog() }
        if Self.isSlow { try await database.run("DO SLEEP(60)", timeout: .seconds(120)) }
        try await expectChange("three", toReach: [clients[1]])
        #expect(try await readersOfTheLog() == 1)

        writer.command.signal(SIGCONT)
        try await writer.command.wait(for: Self.follows)
        try await expectChange("four", toReach: clients)
        #expect(try await readersOfTheLog() == 1)
        #expect(writer.command.isRunning)
        for client in clients { try await client.close() }
        for node in [writer, follower] {
            node.command.signal(SIGTERM)
            #expect(await node.command.waitForExit() == 0, "\(node.command.said)")
        }
    }

    private func client(_ name: String, _ node: ServiceNode) async throws -> any PowerSyncDatabaseProtocol {
        let client = service.client(name)
        var options = ConnectOptions()
        options.retryDelay = 0.1
        try await client.connect(connector: try service.connector("anna", node.url), options: options)
        return client
    }

    /// Writes a list, and waits until clients have it.
    private func expectChange(_ id: String, toReach clients: [any PowerSyncDatabaseProtocol]) async throws {
        try await database.run("INSERT INTO lists VALUES ('\(id)', 'anna', 'new')")
        for client in clients {
            let ids = try client.watch("SELECT id FROM lists", mapper: { try $0.getString(index: 0) })
            for try await ids in ids where ids.contains(id) { break }
        }
    }

    /// How many sessions of the service read the log and wait for more.
    private func readersOfTheLog() async throws -> Int {
        let sessions = try await database.run("SHOW FULL PROCESSLIST")
        return sessions.count { $0[1] == account.name && $0[4]?.hasPrefix("Binlog Dump") == true }
    }
}
