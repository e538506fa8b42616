import Foundation
import GRDB
import IntegrationTestSupport
import PowerSync
import PowerSyncService
import TestSupport
import Testing

/// A service in a process of its own that is killed in the middle of its work.
@Suite(.timeLimit(.minutes(3)))
struct ServiceKillTests {
    /// The seed of the moments; printed with a failure by the argument.
    @Test("nothing is lost, and no upload is applied twice", arguments: [UInt64(20_260_101)])
    func kills(seed: UInt64) async throws {
        let service = try TodoService()
        let process = try ServiceProcess(service)
        var random = SeededGenerator(seed: seed)
        let (first, second) = (service.client("first"), service.client("second"))
        var options = ConnectOptions()
        options.retryDelay = 0.1
        options.crudThrottle = 0.05
        try await process.start()
        // What the backend has applied, write by write.
        try await service.writeToSource { db in
            try db.execute(
                sql: """
                    CREATE TABLE applied(name TEXT);
                    CREATE TRIGGER applied_insert AFTER INSERT ON lists BEGIN INSERT INTO applied VALUES (new.name); END;
                    CREATE TRIGGER applied_update AFTER UPDATE ON lists BEGIN INSERT INTO applied VALUES (new.name); END;
                    """
            )
        }
        var written: Set<String> = []
        for client in [first, second] {
            try await client.connect(connector: service.connector("anna", process.address.url), options: options)
        }
        for round in 0..<8 {
            // The kill comes while these are being uploaded, replicated and sent.
            for write in 0..<20 {
                let client = write % 2 == 0 ? first : second
                let list = Int.random(in: 0..<10, using: &random)
                let name = "round \(round), write \(write)"
                written.insert(name)
                try await client.execute(
                    sql: "INSERT OR REPLACE INTO lists(id, owner_id, name) VALUES (?, 'anna', ?)",
                    parameters: ["l\(list)", name]
                )
            }
            let bulk = Int.random(in: 1...400, using: &random)
            try await service.writeToSource { db in
                for number in 0..<bulk {
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO lists(id, owner_id, name) VALUES (?, 'anna', ?)",
                        arguments: ["bulk-\(number)", "round \(round)"]
                    )
                }
            }
            await process.kill()
            try await process.start()
        }
        try await first.waitForEmptyQueue()
        try await second.waitForEmptyQueue()
        let rows = try await service.sourceRows("lists")
        try await first.waitForRows(of: "lists", toEqual: rows)
        try await second.waitForRows(of: "lists", toEqual: rows)
        let applied = try await DatabaseQueue(path: service.sourcePath).read { db in
            try String.fetchAll(db, sql: "SELECT name FROM applied WHERE name LIKE '%write%'")
        }
        #expect(applied.count == written.count)
        #expect(Set(applied) == written)
        for client in [first, second] {
            try await client.close()
        }
        await process.kill()
    }
}

/// `powersync serve` as a child process.
private final class ServiceProcess {
    /// Where it listens; the same after every start.
    let address: Address
    private let executable: URL
    private let config: String
    private var running: (process: Process, exits: AsyncStream<Void>)?

    struct Address {
        let port: Int
        var url: String { "http://127.0.0.1:\(port)" }
    }

    init(_ service: TodoService) throws {
        // The test bundle and the command are built into the same folder.
        executable = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent().appending(path: "powersync")
        // Where neither the kernel nor the other servers of the tests take one: it has to be free after each kill.
        address = Address(port: Int.random(in: 10_000..<20_000))
        config = service.folder.appending(path: "powersync.yaml").path
        let secret = Data("integration-test-key-0123456789ab".utf8).base64EncodedString()
            .replacingOccurrences(of: "=", with: "")
        let tables = TodoService.statements.map { "        - \($0)" }.joined(separator: "\n")
        let yaml = """
            replication:
              connections:
                - type: embedded
                  path: source.db
                  tables:
            \(tables)
            storage: {type: sqlite, path: buckets.db}
            development: {write_endpoint: true}
            sync_config: {path: sync.yaml}
            host: 127.0.0.1
            port: \(address.port)
            client_auth:
              audience: [powersync-test]
              jwks: {keys: [{kty: oct, alg: HS256, kid: test, k: \(secret)}]}
            system: {logging: {level: error, format: text}}
            """
        try yaml.write(toFile: config, atomically: true, encoding: .utf8)
        try TodoService.syncConfig.write(
            to: service.folder.appending(path: "sync.yaml"),
            atomically: true,
            encoding: .utf8
        )
    }

    deinit {
        running?.process.terminate()
    }

    /// Starts the command and waits until it says that it is ready.
    func start() async throws {
        let process = Process()
        process.executableURL = executable
        process.arguments = ["serve", "--config", config]
        let output = Pipe()
        process.standardOutput = output
        let (texts, continuation) = AsyncStream.makeStream(of: Data.self)
        output.fileHandleForReading.readabilityHandler = { handle in
            let data = handle.availableData
            if data.isEmpty {
                continuation.finish()
            } else {
                continuation.yield(data)
            }
        }
        defer { output.fileHandleForReading.readabilityHandler = nil }
        let (exits, exit) = AsyncStream.makeStream(of: Void.self)
        process.terminationHandler = { _ in exit.finish() }
        try process.run()
        running = (process, exits)
        var said = ""
        for await text in texts {
            said += String(decoding: text, as: UTF8.self)
            if said.contains("The service is ready.") { return }
        }
        throw Ended(output: said)
    }

    /// `kill -9`; returns when the process is gone.
    func kill() async {
        guard let (process, exits) = running else { return }
        running = nil
        Foundation.kill(process.processIdentifier, SIGKILL)
        for await _ in exits {}
    }

    /// The service ended before it was ready.
    struct Ended: Error {
        let output: String
    }
}
