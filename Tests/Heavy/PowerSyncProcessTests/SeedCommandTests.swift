import Foundation
import GRDB
import IntegrationTestSupport
import NIOCore
import NIOPosix
import PowerSync
import PowerSyncService
import TestSupport
import Testing

/// The command `seed` over a real service, and clients that begin with what it makes.
@Suite(.timeLimit(.minutes(3))) struct SeedCommandTests {
    private let service: TodoService
    private let folder: TemporaryFolder
    private var seed: String { folder.path("seed.db") }

    init() async throws {
        (service, folder) = (try TodoService(), try TemporaryFolder())
        try await service.writeToSource { db in
            for statement in TodoService.statements { try db.execute(sql: statement) }
            try db.execute(
                sql: """
                    INSERT INTO lists VALUES ('l1', 'anna', 'one'), ('l2', 'bert', 'two');
                    INSERT INTO todos VALUES ('t1', 'l1', 'Milk', 0), ('t2', 'l1', 'Bread', 1), ('t3', 'l2', 'Salt', 0);
                    """
            )
        }
    }

    /// Makes the seed of anna, with the lines that a service needs to be asked.
    private func makeSeed(_ address: BoundAddress, _ arguments: String...) async throws -> CommandRun {
        let token = try service.configuration.makeDevelopmentToken(userID: "anna")
        return try await CommandRun(
            ["seed", "--token", token, "--endpoint", address.url, "--output", "seed.db"] + arguments,
            in: folder
        )
    }

    /// A database that begins with the seed.
    private func client(_ name: String = "client") -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: TodoService.schema,
            dbFilename: folder.path("\(name).db"),
            logger: DefaultLogger(minSeverity: .fault),
            seedFile: URL(filePath: seed)
        )
    }

    private func todos(_ client: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await client.getAll("SELECT title FROM todos ORDER BY id") { try $0.getString(index: 0) }
    }

    /// The bytes of operations that the client has ever downloaded, with those of the seed.
    private func downloaded(_ client: any PowerSyncDatabaseProtocol) async throws -> Int {
        try await client.get("SELECT sum(downloaded_size) FROM ps_buckets") { try $0.getInt(index: 0) }
    }

    /// The bytes of operations that the client has ever downloaded for the lists, with those of the seed.
    private func downloadedLists(_ client: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await client.getAll("SELECT name || ' ' || downloaded_size FROM ps_buckets WHERE name GLOB '*lists|*'") {
            try $0.getString(index: 0)
        }
    }

    /// Connects as a user, and waits for a complete checkpoint.
    private func sync(_ client: any PowerSyncDatabaseProtocol, as user: String, _ address: BoundAddress) async throws {
        try await client.waitForReady()
        let before = client.currentStatus.lastSyncedAt
        try await client.connect(connector: try service.connector(user, address.url), options: nil)
        try await client.waitForStatus { $0.lastSyncedAt.map { $0 != before } ?? false }
    }

    @Test func clientThatBeginsWithItDownloadsWhatCameLater() async throws {
        try await service.run { address in
            let run = try await makeSeed(address)
            #expect(run.status == 0, "\(run)")
            #expect(run.text.hasPrefix("seed.db: 3 rows, "), "\(run)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["seed.db"])
            let client = client()
            #expect(try await todos(client) == ["Milk", "Bread"])
            #expect(client.currentStatus.hasSynced == true)
            let size = try await downloaded(client)
            try await sync(client, as: "anna", address)
            #expect(try await downloaded(client) == size)
            // Then it is as any other client.
            try await service.writeToSource { try $0.execute(sql: "INSERT INTO todos VALUES ('t4', 'l1', 'Tea', 0)") }
            let rows = try await service.sourceRows("todos").filter { $0[1] == "l1" }
            try await client.waitForRows(of: "todos", toEqual: rows)
            #expect(try await downloaded(client) < size * 2)
            try await client.execute("UPDATE todos SET done = 1 WHERE id = 't1'")
            try await client.waitForEmptyQueue()
            try await client.close()
        }
    }

    @Test func otherUserSeesNothingOfIt() async throws {
        try await service.run { address in
            #expect(try await makeSeed(address).status == 0)
            let client = client()
            try await sync(client, as: "bert", address)
            #expect(try await todos(client) == ["Salt"])
            let texts = try await client.getAll("SELECT data FROM ps_oplog") { try $0.getString(index: 0) }
            #expect(!texts.contains { $0.contains("Milk") })
            try await client.close()
        }
    }

    @Test func compactionAndDeploymentInBetweenCostWhatDiffers() async throws {
        let run = try await service.run { address in try await makeSeed(address) }
        #expect(run.status == 0, "\(run)")
        // The operations that the seed has are replaced by others.
        try await service.run { address in
            for number in 0..<5 {
                try await service.writeToSource { db in
                    try db.execute(sql: "UPDATE todos SET title = 'Milk \(number)' WHERE id = 't1'")
                }
            }
            try await service.writeToSource { try $0.execute(sql: "DELETE FROM todos WHERE id = 't2'") }
            let reader = service.client("reader")
            try await reader.connect(connector: try service.connector("anna", address.url), options: nil)
            try await reader.waitForRows(of: "todos", toEqual: [["t1", "l1", "Milk 4", "0"]])
            try await reader.close()
        }
        _ = try await SyncService.compact(service.configuration)
        var changed = service.configuration
        changed.syncConfig = .content(
            TodoService.syncConfig.replacing(
                "SELECT * FROM todos WHERE",
                with: "SELECT id, list_id, title, 7 AS done FROM todos WHERE"
            )
        )
        try await service.run(changed) { address in
            let client = client()
            #expect(try await todos(client) == ["Milk", "Bread"])
            let lists = try await downloadedLists(client)
            #expect(lists.count == 1)
            try await sync(client, as: "anna", address)
            try await client.waitForRows(of: "todos", toEqual: [["t1", "l1", "Milk 4", "7"]])
            // Nothing of them was downloaded again.
            #expect(try await downloadedLists(client) == lists)
            #expect(try await client.get("SELECT name FROM lists") { try $0.getString(index: 0) } == "one")
            try await client.close()
        }
    }

    @Test func seedIsReplacedAndAnotherFileIsNot() async throws {
        try await service.run { address in
            #expect(try await makeSeed(address).status == 0)
            try await service.writeToSource { try $0.execute(sql: "INSERT INTO todos VALUES ('t4', 'l1', 'Tea', 0)") }
            // Until the service has it.
            let reader = service.client("reader")
            try await reader.connect(connector: try service.connector("anna", address.url), options: nil)
            try await reader.waitForRows(
                of: "todos",
                toEqual: try await service.sourceRows("todos").filter { $0[1] == "l1" }
            )
            try await reader.close()
            let second = try await makeSeed(address)
            #expect(second.status == 0, "\(second)")
            let client = client()
            #expect(try await todos(client) == ["Milk", "Bread", "Tea"])
            try await client.close()
            try Data("mine".utf8).write(to: URL(filePath: seed))
            let third = try await makeSeed(address)
            #expect(third.status == 1)
            #expect(third.errors.contains("is no seed, which is not replaced"), "\(third)")
            #expect(try Data(contentsOf: URL(filePath: seed)) == Data("mine".utf8))
        }
    }

    @Test func secondCommandForOneOutputIsRefusedUntilTheFirstHasEnded() async throws {
        // A service that never answers: who has connected is at work.
        let (connections, connected) = AsyncStream.makeStream(of: Void.self)
        let silence = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                connected.yield()
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let port = try #require(silence.localAddress?.port)
        let token = try service.configuration.makeDevelopmentToken(userID: "anna")
        let arguments = ["seed", "--token", token, "--endpoint", "http://127.0.0.1:\(port)", "--output", seed]
        let first = try RunningCommand(arguments)
        for await _ in connections { break }
        let second = try await CommandRun(arguments, in: folder)
        #expect(second.status == 1)
        #expect(second.errors.contains("A seed is being made at \(seed) just now"), "\(second)")
        first.signal(SIGKILL)
        #expect(await first.waitForExit() == SIGKILL)
        try await silence.close()
        // The lock has gone with its process, and what that has left goes now.
        try await service.run { address in
            let third = try await makeSeed(address)
            #expect(third.status == 0, "\(third)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["seed.db"])
    }

    @Test func whatIsMissingIsSaid() async throws {
        let neither = try await CommandRun(["seed", "--output", "seed.db"], in: folder)
        #expect(neither.status == 64 && neither.errors.contains("Give either --user or --token"), "\(neither)")
        try await service.run { address in
            let other = try await CommandRun(
                ["seed", "--token", "opaque", "--endpoint", address.url, "--output", "seed.db"],
                in: folder
            )
            #expect(other.status == 1 && other.errors.contains("has no sub"), "\(other)")
            // Signed by nobody that the service knows.
            let payload = Data(#"{"sub":"anna"}"#.utf8).base64EncodedString().replacing("=", with: "")
            let refused = try await CommandRun(
                [
                    "seed", "--token", "eyJhbGciOiJub25lIn0.\(payload).c2ln", "--endpoint", address.url, "--output",
                    "seed.db",
                ],
                in: folder
            )
            #expect(refused.status == 1 && refused.errors.contains("is not accepted by the service"), "\(refused)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }

    @Test func schemaOfTheAppHasItsTablesAndIndexesMadeInTheSeed() async throws {
        let schema = Schema(
            Table(name: "lists", columns: [.text("name")], direct: true),
            Table(name: "todos", columns: [.text("title")], indexes: [.ascending(name: "by_title", column: "title")])
        )
        try JSONEncoder().encode(schema).write(to: URL(filePath: folder.path("schema.json")))
        try await service.run { address in
            let run = try await makeSeed(address, "--schema", "schema.json")
            #expect(run.status == 0, "\(run)")
        }
        let queue = try DatabaseQueue(path: seed)
        let names = try await queue.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT name FROM sqlite_schema WHERE type IN ('table', 'index') AND sql IS NOT NULL"
            )
        }
        #expect(names.contains("lists") && names.contains("ps_data__todos__by_title"), "\(names)")
        #expect(try await queue.read { try String.fetchAll($0, sql: "SELECT name FROM lists") } == ["one"])
        try queue.close()
    }

    @Test func userOfTheConfigurationIsEnoughAndStreamsAreNamed() async throws {
        _ = try await CommandRun(["init", "app", "--port", "\(FreePort.take())"], in: folder)
        let app = URL(filePath: folder.path("app"), directoryHint: .isDirectory)
        let syncConfig = """
            config: {edition: 3}
            streams:
              lists:
                auto_subscribe: true
                query: SELECT * FROM lists WHERE owner_id = auth.user_id()
              todos:
                query: SELECT * FROM todos WHERE list_id = subscription.parameter('list')
            """
        try syncConfig.write(to: app.appending(path: "sync.yaml"), atomically: true, encoding: .utf8)
        let development = try ShellLine("powersync dev", in: app)
        _ = await development.lines { DevelopmentLines.isLast($0) }
        let arguments = ["seed", "--user", "user-1", "--config", "app/powersync.yaml", "--output", "seed.db"]
        let plain = try await CommandRun(arguments, in: folder)
        #expect(plain.status == 0 && plain.text.hasPrefix("seed.db: 1 row, "), "\(plain)")
        let run = try await CommandRun(arguments + ["--stream", #"todos={"list":"groceries"}"#], in: folder)
        #expect(run.status == 0 && run.text.hasPrefix("seed.db: 3 rows, "), "\(run)")
        #expect(await development.end() == 0)
        let inspected = try await CommandRun(["inspect", "seed.db"], in: folder)
        #expect(inspected.status == 0, "\(inspected)")
        #expect(inspected.text.contains("The file is a seed"))
    }
}
