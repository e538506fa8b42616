import Foundation
import GRDB
import IntegrationTestSupport
import PowerSyncService
import TestSupport
import Testing

/// Clients that have many buckets, and everything that is in them.
@Suite("idle streams with many buckets", .timeLimit(.minutes(3))) struct IdleStreamMemoryTests {
    private static let buckets = 900
    private static let clients = 100

    @Test("keep neither their first line nor what they began with", .enabled(if: ProcessMemory.isKnown))
    func memory() async throws {
        let service = try TodoService()
        try await service.writeToSource { db in
            for statement in TodoService.statements { try db.execute(sql: statement) }
            for number in 0..<Self.buckets {
                let id = "3f6a9d2e-0b7c-4c55-9e1a-\(100_000_000_000 + number)"
                try db.execute(sql: "INSERT INTO lists VALUES (?, 'anna', 'list')", arguments: [id])
            }
        }
        let (config, port) = (service.folder.appending(path: "powersync.yaml").path, FreePort.take())
        let tables = TodoService.statements.map { "\"\($0)\"" }.joined(separator: ", ")
        try """
        replication: {connections: [{type: embedded, path: source.db, tables: [\(tables)]}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {path: sync.yaml}
        api: {parameters: {max_concurrent_connections: 1000, max_streams_per_user: 1000}}
        host: 127.0.0.1
        port: \(port)
        client_auth: \(TodoService.clientAuth)
        system: {logging: {level: warning, format: text}}
        """.write(toFile: config, atomically: true, encoding: .utf8)
        try service.writeSyncConfig()
        let command = try RunningCommand(["serve", "--config", config])
        try await command.wait(for: "The service is ready.")

        let readers = RawClients(port: port, token: try service.configuration.makeDevelopmentToken(userID: "anna"))
        let memory = ProcessMemory(of: command.processIdentifier)
        let first = try await readers.readCheckpoint()
        #expect(first.utf8.count > 100 * Self.buckets)
        // What is needed once, however many there are.
        try await readers.withStreams(Self.clients / 5) {
            let before = try memory.now
            try await readers.withStreams(Self.clients) {
                let growth = (try memory.now - before) / Self.clients
                // 207 KiB; with a second copy of everything it was 381.
                #expect(growth < 300 * 1024, "\(growth) bytes for each")
                command.signal(SIGTERM)
            }
        }
        #expect(await command.waitForExit() == 0, "\(command.said)")
    }
}
