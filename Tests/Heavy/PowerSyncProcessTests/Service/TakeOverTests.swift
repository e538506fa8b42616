import Foundation
import IntegrationTestSupport
import PostgresTestSupport
import PowerSync
import TestSupport
import Testing

/// Two processes of `powersync serve` over one storage: what happens to both when the one that replicates stops
/// (docs/postgres-storage.md "One writer").
@Suite("take-over between processes", .timeLimit(.minutes(5))) struct TakeOverTests {
    private static let isReady = "The service is ready."
    private static let follows = "Another process replicates the stream"

    private let service: TodoService
    private let source: TestDatabase

    init() throws {
        service = try TodoService()
        source = try TestDatabase(
            """
            CREATE TABLE lists (id text PRIMARY KEY, owner_id text, name text);
            CREATE TABLE todos (id text PRIMARY KEY, list_id text, title text, done int);
            INSERT INTO lists SELECT 'l' || n, CASE n % 3 WHEN 0 THEN 'bert' ELSE 'anna' END, 'first'
                FROM generate_series(1, 300) n
            """
        )
    }

    // MARK: The writer stops

    @Test func theOtherOneGoesOnAfterAKill() async throws {
        let storage = try TestDatabase()
        let (writer, follower) = try await startTwoNodes(storage.uri)
        try await expectChanges(toReach: [writer, follower])
        writer.command.signal(SIGKILL)
        _ = await writer.command.waitForExit()
        try await expectChanges(toReach: [follower])
        try await writer.start(saying: Self.isReady, Self.follows)
        try await expectChanges(toReach: [writer, follower])
        try await stop([writer, follower])
    }

    @Test func theOtherOneGoesOnAfterAnOrderlyEnd() async throws {
        let storage = try TestDatabase()
        let (writer, follower) = try await startTwoNodes(storage.uri)
        try await expectChanges(toReach: [writer, follower])
        writer.command.signal(SIGTERM)
        #expect(await writer.command.waitForExit() == 0, "\(writer.command.said)")
        try await expectChanges(toReach: [follower])
        try await writer.start(saying: Self.isReady, Self.follows)
        try await expectChanges(toReach: [writer, follower])
        try await stop([writer, follower])
    }

    /// It takes as long as a writer may be silent: half a minute.
    @Test func aWriterThatWakesUpLaterFollows() async throws {
        let storage = try TestDatabase()
        let (writer, follower) = try await startTwoNodes(storage.uri)
        try await expectChanges(toReach: [writer, follower])
        writer.command.signal(SIGSTOP)
        try await expectChanges(toReach: [follower])
        let epochs = try epochs(storage)
        writer.command.signal(SIGCONT)
        try await writer.command.wait(for: Self.follows)
        try await expectChanges(toReach: [writer, follower])
        // Nobody has taken the lease since.
        #expect(try self.epochs(storage) == epochs)
        #expect(writer.command.isRunning)
        #expect(follower.command.isRunning)
        try await stop([writer, follower])
    }

    @Test func bothSurviveThatTheServerOfTheStorageCrashes() async throws {
        let cluster = try TestCluster()
        let (writer, follower) = try await startTwoNodes(cluster.uri)
        try await expectChanges(toReach: [writer, follower])
        try cluster.stop(.immediate)
        try source.run("UPDATE lists SET name = 'while the storage was away' WHERE id < 'l2'")
        try cluster.start()
        try await expectChanges(toReach: [writer, follower])
        #expect(writer.command.isRunning)
        #expect(follower.command.isRunning)
        try await stop([writer, follower])
    }

    // MARK: Nodes

    /// A process, and a client that is connected to it.
    private final class Node {
        let client: any PowerSyncDatabaseProtocol
        private(set) var command: RunningCommand
        private let arguments: [String]
        private let environment: [String: String]

        init(_ name: String, _ service: TodoService, config: String) async throws {
            let port = FreePort.take()
            arguments = ["serve", "--config", config]
            environment = ["PS_PORT": String(port)]
            client = service.client(name)
            command = try RunningCommand(arguments, environment: environment)
            var options = ConnectOptions()
            options.retryDelay = 0.1
            let connector = try service.connector("anna", "http://127.0.0.1:\(port)")
            try await client.connect(connector: connector, options: options)
        }

        /// Starts the process again.
        func start(saying first: String, _ second: String) async throws {
            command = try RunningCommand(arguments, environment: environment)
            try await command.wait(for: first, second)
        }
    }

    /// Starts a node that replicates, and then one that waits for its end.
    private func startTwoNodes(_ storage: String) async throws -> (writer: Node, follower: Node) {
        let secret = Data("integration-test-key-0123456789ab".utf8).base64EncodedString()
            .replacingOccurrences(of: "=", with: "")
        let config = service.folder.appending(path: "powersync.yaml").path
        try """
        replication: {connections: [{type: postgresql, uri: "\(source.uri)", sslmode: disable}]}
        storage: {type: postgresql, uri: "\(storage)", sslmode: disable}
        sync_config: {path: sync.yaml}
        host: 127.0.0.1
        port: !env PS_PORT::number
        client_auth:
          audience: [powersync-test]
          jwks: {keys: [{kty: oct, alg: HS256, kid: test, k: \(secret)}]}
        system: {logging: {level: notice, format: text}}
        """.write(toFile: config, atomically: true, encoding: .utf8)
        try TodoService.syncConfig.write(
            to: service.folder.appending(path: "sync.yaml"),
            atomically: true,
            encoding: .utf8
        )
        let writer = try await Node("writer", service, config: config)
        try await writer.command.wait(for: Self.isReady)
        let follower = try await Node("follower", service, config: config)
        try await follower.command.wait(for: Self.isReady, Self.follows)
        return (writer, follower)
    }

    /// Changes the source, and waits until the clients of the nodes have what it has.
    private func expectChanges(toReach nodes: [Node]) async throws {
        let change = "n\(UInt32.random(in: .min ... .max))"
        try source.run(
            """
            INSERT INTO lists VALUES ('\(change)', 'anna', 'new');
            INSERT INTO todos VALUES ('\(change)', '\(change)', 'new', 0);
            UPDATE lists SET name = '\(change)' WHERE id = 'l1';
            DELETE FROM lists WHERE id = (SELECT max(id) FROM lists WHERE owner_id = 'anna' AND name = 'first')
            """
        )
        for (table, condition) in [
            ("lists", "owner_id = 'anna'"), ("todos", "list_id IN (SELECT id FROM lists WHERE owner_id = 'anna')"),
        ] {
            let columns = TodoService.schema.tables.first { $0.name == table }?.columns.map(\.name) ?? []
            let rows = try source.run(
                """
                SELECT id, \(columns.joined(separator: ", ")) FROM \(table) WHERE \(condition) ORDER BY id COLLATE "C"
                """
            )
            for node in nodes { try await node.client.waitForRows(of: table, toEqual: rows) }
        }
    }

    /// How often the lease of each stream was taken.
    private func epochs(_ storage: TestDatabase) throws -> [[String?]] {
        try storage.run("SELECT id, writer_epoch FROM powersync_storage.streams ORDER BY id")
    }

    private func stop(_ nodes: [Node]) async throws {
        for node in nodes {
            try await node.client.close()
            node.command.signal(SIGTERM)
            #expect(await node.command.waitForExit() == 0, "\(node.command.said)")
        }
    }
}
