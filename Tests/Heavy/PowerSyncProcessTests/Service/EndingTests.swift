import Foundation
import GRDB
import IntegrationTestSupport
import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncService
import PowerSyncTesting
import TestSupport
import Testing

/// `powersync serve` is told to end in the middle of something: it does so in time, with 0, and the next one goes on.
///
/// `POWERSYNC_RECONNECTS` says how many clients come back at once; 500 by default.
@Suite(.timeLimit(.minutes(3))) struct EndingTests {
    private static let isReady = "The service is ready."
    private static let isServed = "Clients are served the next sync config from now on"
    private static let reconnects =
        ProcessInfo.processInfo.environment["POWERSYNC_RECONNECTS"].flatMap(Int.init) ?? 500
    /// A handler that hangs is cancelled after 15 s: nothing here is one.
    private static let patience = Duration.seconds(14)
    /// So many that their copy goes on when a service is told to end, also on a busy machine.
    private static let todos = 60_000
    /// Connections that say nothing: as many as the limits of open files of both ends allow.
    private static let silentConnections = min(1000, (Int(sysconf(Int32(_SC_OPEN_MAX))) - 100) / 2)

    private let service: TodoService
    private let config: String
    /// Where neither the kernel nor the other servers of the tests take one.
    private let port: Int
    private let clients: RawClients

    init() throws {
        service = try TodoService()
        config = service.folder.appending(path: "powersync.yaml").path
        port = FreePort.take()
        clients = RawClients(port: port, token: try service.configuration.makeDevelopmentToken(userID: "anna"))
        try write(TodoService.syncConfig, to: "sync.yaml")
    }

    // MARK: Before its work

    @Test func whileItWaitsForItsFirstSyncConfig() async throws {
        let command = try serve(syncConfig: "api: {tokens: [an-admin-token]}")
        try await command.wait(for: "port=\(port)", "Running on port")
        await expectEnd(of: command)
        #expect(!command.said.contains { $0.contains(Self.isReady) }, "\(command.said)")
    }

    // MARK: In the middle of its work

    @Test func duringTheFirstCopy() async throws {
        try await service.fillSource(todos: Self.todos)
        let command = try serve()
        try await command.wait(for: "replication_stream=1 rows=1 table=main.lists")
        await expectEnd(of: command)
        #expect(!command.said.contains { $0.contains(Self.isReady) }, "it was not in the middle: \(command.said)")
        let next = try serve()
        try await next.wait(for: Self.isReady)
        #expect(try await clients.firstLine(ofStream: 1).contains(#""count":\#(Self.todos),"#))
        await expectEnd(of: next)
    }

    @Test func duringADeployment() async throws {
        try await service.fillSource(todos: Self.todos)
        let command = try serve()
        try await command.wait(for: Self.isReady)
        let changed = TodoService.syncConfig.replacingOccurrences(
            of: "SELECT * FROM todos",
            with: "SELECT id FROM todos"
        )
        try write(changed, to: "sync.yaml")
        command.signal(SIGHUP)
        try await command.wait(for: "The file of the sync config has been read")
        await expectEnd(of: command)
        #expect(!command.said.contains { $0.contains(Self.isServed) }, "it was not in the middle: \(command.said)")
        // The next one serves the former config, and goes on with the new one: what both have stays as it is.
        let next = try serve()
        try await next.wait(for: Self.isReady, Self.isServed)
        let line = try await clients.firstLine(withBucket: "1#todos|0:2[")
        #expect(line.contains(#""count":\#(Self.todos),"#) && line.contains(#""bucket":"1#lists|0["#), "\(line)")
        await expectEnd(of: next)
    }

    @Test func whileARestoredSourceIsCopiedAgain() async throws {
        try await service.fillSource(todos: Self.todos)
        let backup = try service.backUpSource()
        try await service.writeToSource { db in
            try db.execute(sql: "INSERT INTO todos VALUES ('lost', 'l1', 'since the backup', 0)")
        }
        let first = try serve()
        try await first.wait(for: Self.isReady)
        await expectEnd(of: first)
        try service.restoreSource(from: backup)

        let command = try serve()
        try await command.wait(for: "replication starts again", "replication_stream=2 rows=1 table=main.lists")
        await expectEnd(of: command, mayComplain: true)
        // The next one serves what there was, and goes on with the copy.
        let next = try serve()
        try await next.wait(for: Self.isReady)
        #expect(try await clients.firstLine(ofStream: 2).contains(#""count":\#(Self.todos),"#))
        await expectEnd(of: next)
    }

    @Test func whileAnotherProcessCompacts() async throws {
        try await service.fillSource(todos: 5_000)
        let command = try serve()
        try await command.wait(for: Self.isReady)
        let compaction = try RunningCommand(["compact", "--config", config])
        try await compaction.wait(for: "Compacting …")
        await expectEnd(of: command)
        #expect(await compaction.waitForExit() == 0, "\(compaction.said)")
    }

    // MARK: With clients

    @Test func whateverItsConnectionsSayOrDoNotRead() async throws {
        try await service.fillSource(todos: 3_000, titleBytes: 2_000)
        let command = try serve()
        try await command.wait(for: Self.isReady)
        let connections = try await IdleConnections(
            20,
            silent: Self.silentConnections,
            ofEachKindTo: port,
            token: clients.token
        )
        // One that does read gets everything beside them.
        #expect(try await clients.readCheckpoint().hasSuffix(RawClients.completion))
        await expectEnd(of: command)
        await connections.close()
    }

    @Test func whileClientsComeAndGo() async throws {
        try await service.fillSource(todos: 20)
        let command = try serve()
        try await command.wait(for: Self.isReady)
        let read = NIOLockedValueBox(0)
        let enough = Signal()
        try await withThrowingTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    while (try? await clients.readCheckpoint().hasSuffix(RawClients.completion)) == true {
                        read.withLockedValue { $0 += 1 }
                        enough.fire()
                    }
                }
            }
            try await enough.wait { read.withLockedValue { $0 >= 200 } ? () : nil }
            await expectEnd(of: command)
            // Nobody is answered any more, and nobody is left waiting.
            try await group.waitForAll()
        }
    }

    @Test func whileClientsComeBackAllAtOnce() async throws {
        try await service.fillSource(todos: 20)
        let command = try serve()
        try await command.wait(for: Self.isReady)
        try await clients.withStreams(Self.reconnects) {
            command.signal(SIGKILL)
            _ = await command.waitForExit()
        }
        let next = try serve()
        try await next.wait(for: Self.isReady)
        try await clients.withStreams(Self.reconnects) { await expectEnd(of: next) }
    }

    // MARK: In need

    @Test func afterItsFolderWasDeleted() async throws {
        let command = try serve(storage: "data/buckets.db")
        try await command.wait(for: Self.isReady)
        try FileManager.default.removeItem(at: service.folder.appending(path: "data"))
        await expectEnd(of: command, mayComplain: true)
        let next = try serve(storage: "data/buckets.db")
        try await next.wait(for: Self.isReady)
        await expectEnd(of: next)
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func whileItsDiskIsFull() async throws {
        let disk = try SmallDisk(at: service.folder.appending(path: "disk"), size: "4m")
        defer { disk.remove() }
        let command = try serve(storage: "disk/buckets.db")
        try await command.wait(for: Self.isReady)
        try await service.writeToSource { db in
            for number in 0..<8 {
                try db.execute(sql: "INSERT INTO lists VALUES ('l\(number)', 'anna', hex(zeroblob(500000)))")
            }
        }
        try await command.wait(for: "Replication failed")
        await expectEnd(of: command, mayComplain: true)
        try disk.grow(to: "64m")
        let next = try serve(storage: "disk/buckets.db")
        try await next.wait(for: Self.isReady)
        #expect(try await clients.readCheckpoint().hasSuffix(RawClients.completion))
        await expectEnd(of: next)
    }

    @Test(.enabled(if: SmallDisk.isPossible)) func whileTheDiskOfItsSourceIsFull() async throws {
        let disk = try SmallDisk(at: service.folder.appending(path: "disk"), size: "4m")
        defer { disk.remove() }
        let command = try serve(source: Self.embedded("disk/source.db"))
        try await command.wait(for: Self.isReady)
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        let source = try DatabaseQueue(
            path: disk.url.appending(path: "source.db").path,
            configuration: configuration
        )
        let error = await #expect(throws: DatabaseError.self) {
            for number in 0..<100 {
                try await source.write { db in
                    try db.execute(sql: "INSERT INTO lists VALUES ('l\(number)', 'anna', hex(zeroblob(100000)))")
                }
            }
        }
        #expect(error?.resultCode == .SQLITE_FULL)
        try source.close()
        await expectEnd(of: command, mayComplain: true)
        try disk.grow(to: "64m")
        let next = try serve(source: Self.embedded("disk/source.db"))
        try await next.wait(for: Self.isReady)
        #expect(try await clients.readCheckpoint().hasSuffix(RawClients.completion))
        await expectEnd(of: next)
    }

    @Test func besideAnotherOneThatWasRefused() async throws {
        try await service.fillSource(todos: 20)
        let command = try serve()
        try await command.wait(for: Self.isReady)
        let other = try RunningCommand(["serve", "--config", config])
        #expect(await other.waitForExit() != 0)
        #expect(other.said.joined(separator: " ").contains("used by another process"), "\(other.said)")
        #expect(try await clients.readCheckpoint().hasSuffix(RawClients.completion))
        await expectEnd(of: command)
    }

    enum Server: CaseIterable {
        case source, storage
    }

    enum Trouble: CaseIterable {
        case isGone, hangs
    }

    @Test(arguments: Server.allCases, Trouble.allCases)
    func whileAServer(_ server: Server, _ trouble: Trouble) async throws {
        let cluster = try TestCluster()
        let other = try TestDatabase()
        let source = try server == .source ? TestDatabase(server: cluster.uri) : other
        try source.run(TodoService.statements.joined(separator: ";"))
        let storage = server == .storage ? cluster.uri : other.uri
        // A server that hangs does not drop a database, either.
        defer { withExtendedLifetime(source) { try? cluster.thaw() } }
        let command = try serve(
            source: #"{type: postgresql, uri: "\#(source.uri)", sslmode: disable}"#,
            storage: #"{type: postgresql, uri: "\#(storage)", sslmode: disable}"#
        )
        try await command.wait(for: Self.isReady)
        // Somebody looks at what it does.
        let dashboard = try ShellLine(
            "curl -sSN -H 'Authorization: Bearer an-admin-token' http://127.0.0.1:\(port)/dashboard/events",
            in: service.folder
        )
        #expect(await dashboard.lines { $0.hasPrefix("data: ") }.last?.hasPrefix("data: ") == true)
        try source.run("INSERT INTO lists SELECT 'l' || n, 'anna', 'x' FROM generate_series(1, 20000) n")
        switch trouble {
        case .isGone: try cluster.stop(.immediate)
        case .hangs: try cluster.freeze()
        }
        await expectEnd(of: command, mayComplain: true)
        await dashboard.end(by: SIGKILL)
    }

    // MARK: Commands

    /// Starts the command.
    ///
    /// - Parameters:
    ///   - source: An item of `replication.connections`.
    ///   - storage: A file beside the configuration, or a section.
    ///   - syncConfig: Where the sync config comes from, and what clients may do.
    /// - Returns: The command, which is not ready yet.
    /// - Throws: An error of starting it.
    private func serve(
        source: String = Self.embedded("source.db"),
        storage: String = "buckets.db",
        syncConfig: String = Self.syncConfig
    ) throws -> RunningCommand {
        let yaml = """
            replication: {connections: [\(source)]}
            storage: \(storage.hasPrefix("{") ? storage : "{type: sqlite, path: \(storage)}")
            \(syncConfig)
            host: 127.0.0.1
            port: \(port)
            client_auth: \(TodoService.clientAuth)
            system: {logging: {level: notice, format: text}}
            """
        try write(yaml, to: "powersync.yaml")
        return try RunningCommand(["serve", "--config", config])
    }

    /// The embedded source, in a file beside the configuration.
    private static func embedded(_ path: String) -> String {
        let tables = TodoService.statements.map { "\"\($0)\"" }.joined(separator: ", ")
        return "{type: embedded, path: \(path), tables: [\(tables)]}"
    }

    /// The file of the sync config, and room for as many streams as a test opens.
    private static let syncConfig = """
        sync_config: {path: sync.yaml}
        api: {tokens: [an-admin-token], parameters: {max_concurrent_connections: 15000, max_streams_per_user: 15000}}
        """

    private func write(_ text: String, to file: String) throws {
        try text.write(to: service.folder.appending(path: file), atomically: true, encoding: .utf8)
    }

    /// Tells a service to end, and waits.
    ///
    /// - Parameters:
    ///   - command: The service.
    ///   - mayComplain: Whether its log may have errors.
    private func expectEnd(of command: RunningCommand, mayComplain: Bool = false) async {
        command.signal(SIGTERM)
        var status: Int32?
        let duration = await ContinuousClock().measure { status = await command.waitForExit() }
        #expect(status == 0, "\(command.said)")
        #expect(duration < Self.patience, "\(command.said)")
        if !mayComplain { #expect(!command.said.contains { $0.contains(" error ") }, "\(command.said)") }
    }
}
