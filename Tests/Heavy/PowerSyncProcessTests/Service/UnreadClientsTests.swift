import Foundation
import GRDB
import IntegrationTestSupport
import PowerSyncService
import TestSupport
import Testing

/// Clients that ask for large rows, and do not read.
@Suite("clients that never read", .timeLimit(.minutes(3))) struct UnreadClientsTests {
    private static let users = 24
    private static let clients = 200
    private static let rowBytes = 10 << 20
    /// What the service may read ahead for all of them.
    private static let limit = 32 << 20
    /// What it keeps for those who come later.
    private static let kept = 32 << 20
    /// Reads that may go on at the same time.
    private static let reads = 2

    @Test("take no more memory than the limit", .enabled(if: ProcessMemory.isKnown))
    func memory() async throws {
        let service = try TodoService()
        try await service.writeToSource { db in
            for statement in TodoService.statements { try db.execute(sql: statement) }
            for user in 0..<Self.users {
                let row = "('list-\(user)', 'user-\(user)', hex(zeroblob(\(Self.rowBytes / 2))))"
                try db.execute(sql: "INSERT INTO lists VALUES \(row)")
            }
        }
        let (config, port) = (service.folder.appending(path: "powersync.yaml").path, FreePort.take())
        let tables = TodoService.statements.map { "\"\($0)\"" }.joined(separator: ", ")
        try """
        replication: {connections: [{type: embedded, path: source.db, tables: [\(tables)]}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {path: sync.yaml}
        api:
          parameters:
            max_concurrent_connections: \(2 * Self.clients)
            max_read_ahead_bytes: \(Self.limit)
            max_data_fetch_concurrency: \(Self.reads)
        host: 127.0.0.1
        port: \(port)
        client_auth: \(TodoService.clientAuth)
        system: {logging: {level: info, format: text}}
        """.write(toFile: config, atomically: true, encoding: .utf8)
        try service.writeSyncConfig()
        let command = try RunningCommand(["serve", "--config", config])
        try await command.wait(for: "The service is ready.")

        let readers = try (0..<Self.users).map { user in
            RawClients(port: port, token: try service.configuration.makeDevelopmentToken(userID: "user-\(user)"))
        }
        let memory = ProcessMemory(of: command.processIdentifier)
        try memory.forgetPeak()
        let before = try memory.now
        let silent = try await IdleConnections(
            saying: (0..<Self.clients).map { readers[$0 % Self.users].request },
            to: port
        )
        // They have had what they get when the first ones have been waited for in vain.
        try await command.wait(for: "close_reason=client not reading")
        let growth = try memory.peak - before
        // What several want is kept besides. What is read when there is room comes on top, in the forms that it is read, encoded and
        // written in. Without a limit it is more than twice as much.
        #expect(growth < Self.limit + Self.kept + 6 * Self.reads * Self.rowBytes, "\(growth) bytes more")

        await silent.close()
        #expect(try await readers[0].readCheckpoint().hasSuffix(RawClients.completion))
        command.signal(SIGTERM)
        #expect(await command.waitForExit() == 0, "\(command.said)")
    }
}
