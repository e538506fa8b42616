import Foundation
import IntegrationTestSupport
import PostgresTestSupport
import PowerSync
import TestSupport
import Testing

/// A service of three nodes over two PostgreSQL servers, its clients, and all that may happen to them.
///
/// While it lives, each client is watched: it sees transactions of the source whole, in their order and only when they are
/// committed, and its own rows never go away.
final class NodeModel {
    private var random: SeededGenerator
    private let service: TodoService
    private let sourceServer: TestCluster
    private let storageServer: TestCluster
    private let source: TestDatabase
    private let storage: TestDatabase
    private let config: String
    private let nodes: [ServiceNode]
    private var clients: [Client] = []
    /// Nodes that were stopped, by index.
    private var stopped: Set<Int> = []
    private var isSourceDown = false
    private var isStorageDown = false
    /// How many transactions the source has had.
    private var transactions = 0
    /// Transactions that never end.
    private var open: [Session] = []
    /// What has happened, for the one who reads of a failure.
    private(set) var story: [String] = []

    /// What the servers of source and storage have said last.
    var endOfLogs: [Substring] { [sourceServer.endOfLog, storageServer.endOfLog] }

    /// Starts servers, nodes and clients, all at once.
    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        service = try TodoService()
        sourceServer = try TestCluster()
        storageServer = try TestCluster()
        source = try TestDatabase(
            server: sourceServer.uri,
            """
            \(TodoService.postgresTables)
            INSERT INTO lists VALUES ('first', 'anna', '0'), ('last', 'anna', '0');
            INSERT INTO lists SELECT 'l' || n, CASE n % 10 WHEN 0 THEN 'anna' ELSE 'bert' END, 'first'
                FROM generate_series(1, 3000) n
            """
        )
        storage = try TestDatabase(server: storageServer.uri)
        config = try ServiceNode.writeConfig(of: service, source: source.uri, storage: storage.uri)
        nodes = try ["unified", "unified", "api"].map { [config] in try ServiceNode(config: config, role: $0) }
        clients = try (0..<3).map { try Client("client\($0)", service, source) }
    }

    // MARK: A life

    /// A random number of random deeds.
    func live() async throws {
        for client in clients where !client.isConnected || random.number(below: 3) == 0 {
            try await client.connect(to: nodes[random.number(below: nodes.count)])
        }
        for _ in 0...random.number(below: 16) {
            try await happen()
            try await ContinuousClock().sleep(for: .milliseconds(random.number(below: 150)))
        }
    }

    private func happen() async throws {
        let node = random.number(below: nodes.count)
        switch random.number(below: 24) {
        case 0...6:
            try write()
        case 7, 8:
            try await clients[random.number(below: clients.count)].write()
        case 9:
            let client = random.number(below: clients.count)
            story.append("client \(client) to node \(node)")
            try await clients[client].connect(to: nodes[node])
        case 10, 11, 12:
            guard stopped.insert(node).inserted else { return }
            story.append("kill node \(node)")
            nodes[node].command.signal(SIGKILL)
            _ = await nodes[node].command.waitForExit()
        case 13:
            guard nodes[node].command.isRunning, stopped.insert(node).inserted else { return }
            story.append("end node \(node)")
            nodes[node].command.signal(SIGTERM)
            let status = await nodes[node].command.waitForExit()
            #expect(status == 0 || !nodes[node].hasBeenReady, "\(story) \(nodes[node].command.said)")
        case 14, 15:
            guard stopped.remove(node) != nil else { return }
            story.append("start node \(node)")
            try nodes[node].start()
        case 16:
            story.append("node \(node) pauses")
            nodes[node].command.signal(SIGSTOP)
            try await ContinuousClock().sleep(for: .milliseconds(random.number(below: 500)))
            nodes[node].command.signal(SIGCONT)
        case 17:
            guard !isSourceDown else { return }
            try stop(sourceServer, "source")
            isSourceDown = true
        case 18:
            guard !isStorageDown else { return }
            try stop(storageServer, "storage")
            isStorageDown = true
        case 19:
            try startServers()
        case 20:
            let isSource = random.number(below: 2) == 0
            guard !(isSource ? isSourceDown : isStorageDown) else { return }
            story.append("disconnect everybody of \(isSource ? "source" : "storage")")
            open = []
            try (isSource ? source : storage).disconnectEverybody()
        case 21:
            let isSource = random.number(below: 2) == 0
            guard !(isSource ? isSourceDown : isStorageDown) else { return }
            let server = isSource ? sourceServer : storageServer
            story.append("freeze \(isSource ? "source" : "storage")")
            try server.freeze()
            try await ContinuousClock().sleep(for: .milliseconds(random.number(below: 1_000)))
            try server.thaw()
        case 22:
            guard !isSourceDown else { return }
            if random.number(below: 3) == 0 {
                story.append("drop slots")
                try source.dropSlots()
            } else {
                story.append("a transaction that does not end")
                let session = try source.connect()
                try session.run("BEGIN; INSERT INTO lists VALUES ('open\(open.count)', 'anna', '\(Client.never)')")
                open.append(session)
            }
        default:
            story.append("compact")
            let compaction = try RunningCommand(["compact", "--config", config], environment: ["PS_PORT": "0"])
            _ = await compaction.waitForExit()
        }
    }

    private func stop(_ server: TestCluster, _ name: String) throws {
        let shutdown: TestCluster.Shutdown = random.number(below: 3) == 0 ? .fast : .immediate
        story.append("stop \(name) (\(shutdown))")
        open = []
        try server.stop(shutdown)
    }

    private func startServers() throws {
        if isSourceDown {
            story.append("start source")
            try sourceServer.start()
            try source.disconnect()
        }
        if isStorageDown {
            story.append("start storage")
            try storageServer.start()
            try storage.disconnect()
        }
        isSourceDown = false
        isStorageDown = false
    }

    /// A transaction of the source.
    ///
    /// Its number is in two rows, the first and the last that it writes.
    private func write() throws {
        guard !isSourceDown else { return }
        transactions += 1
        story.append("transaction \(transactions)")
        let first = random.number(below: 3_000)
        try source.run(
            """
            UPDATE lists SET name = '\(transactions)' WHERE id = 'first';
            UPDATE lists SET name = 'n\(transactions)' WHERE id BETWEEN 'l\(first)' AND 'l\(first)9';
            DELETE FROM todos WHERE id < '\(first)';
            INSERT INTO todos SELECT (n * \(first))::text, 'l' || n, 'todo', 0 FROM generate_series(1, 50) n
                ON CONFLICT (id) DO UPDATE SET title = 'again \(transactions)';
            UPDATE lists SET name = '\(transactions)' WHERE id = 'last'
            """
        )
    }

    // MARK: Peace

    /// Starts what was stopped, and waits until every client has what the source has and has uploaded what it wrote.
    func converge(_ comment: Comment) async throws {
        try startServers()
        open = []
        for (index, node) in nodes.enumerated() {
            if stopped.remove(index) != nil {
                try node.start()
            } else if node.hasBeenReady {
                #expect(node.command.isRunning, "\(comment): node \(index) has ended by itself: \(story)")
            }
        }
        for node in nodes { try await node.ready() }
        for client in clients { try await client.database.waitForEmptyQueue() }
        for client in clients { try await client.database.waitForRows(of: "anna", in: source) }
        for client in clients { #expect(client.faults.isEmpty, "\(comment): \(client.faults), after \(story)") }
        story = []
    }

    /// Ends clients and nodes.
    func end() async throws {
        for client in clients { try await client.database.close() }
        for node in nodes {
            node.command.signal(SIGTERM)
            #expect(await node.command.waitForExit() == 0, "\(node.command.said)")
        }
    }
}
