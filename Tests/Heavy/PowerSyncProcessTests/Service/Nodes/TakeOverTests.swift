import Foundation
import IntegrationTestSupport
import PostgresTestSupport
import PowerSync
import TestSupport
import Testing

/// Two processes of `powersync serve` over one storage: what happens to both when the one that replicates stops
/// (docs/postgres-storage.md "One writer").
@Suite(.timeLimit(.minutes(5))) struct TakeOverTests {
    private static let follows = "Another process replicates the stream"

    private let service: TodoService
    private let source: TestDatabase

    init() throws {
        service = try TodoService()
        source = try TestDatabase(
            """
            \(TodoService.postgresTables)
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
        try await writer.start(saying: ServiceNode.isReady, Self.follows)
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
        try await writer.start(saying: ServiceNode.isReady, Self.follows)
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
    private struct Node {
        let process: ServiceNode
        let client: any PowerSyncDatabaseProtocol
        var command: RunningCommand { process.command }

        init(_ name: String, _ service: TodoService, config: String) async throws {
            process = try ServiceNode(config: config)
            client = service.client(name)
            var options = ConnectOptions()
            options.retryDelay = 0.1
            try await client.connect(connector: try service.connector("anna", process.url), options: options)
        }

        /// Starts the process again.
        func start(saying first: String, _ second: String) async throws {
            try process.start()
            try await command.wait(for: first, second)
        }
    }

    /// Starts a node that replicates, and then one that waits for its end.
    private func startTwoNodes(_ storage: String) async throws -> (writer: Node, follower: Node) {
        let config = try ServiceNode.writeConfig(of: service, source: source.uri, storage: storage)
        let writer = try await Node("writer", service, config: config)
        try await writer.command.wait(for: ServiceNode.isReady)
        let follower = try await Node("follower", service, config: config)
        try await follower.command.wait(for: ServiceNode.isReady, Self.follows)
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
        for node in nodes { try await node.client.waitForRows(of: "anna", in: source) }
    }

    /// How often the lease of each stream was taken.
    private func epochs(_ storage: TestDatabase) throws -> [[String?]] {
        try storage.run("SELECT id, writer_epoch FROM powersync_storage.replication_streams ORDER BY id")
    }

    private func stop(_ nodes: [Node]) async throws {
        for node in nodes {
            try await node.client.close()
            node.command.signal(SIGTERM)
            #expect(await node.command.waitForExit() == 0, "\(node.command.said)")
        }
    }
}
