import Foundation
import GRDB
import TestSupport
import Testing

/// Clients that ask for large rows, and do not read.
@Suite(.timeLimit(.minutes(3))) struct UnreadClientsTests {
    private static let users = 24
    private static let clients = 200
    private static let rowBytes = 10 << 20
    /// What the service may read ahead for all of them.
    private static let limit = 32 << 20
    /// What it keeps for those who come later.
    private static let kept = 32 << 20
    /// Reads that may go on at the same time.
    private static let reads = 2

    @Test(.enabled(if: ProcessMemory.isKnown))
    func takeNoMoreMemoryThanTheLimit() async throws {
        let service = try await MeasuredService(
            parameters: [
                ("max_concurrent_connections", 2 * Self.clients), ("max_read_ahead_bytes", Self.limit),
                ("max_data_fetch_concurrency", Self.reads),
            ],
            logLevel: "info"
        ) { db in
            for user in 0..<Self.users {
                let row = "('list-\(user)', 'user-\(user)', hex(zeroblob(\(Self.rowBytes / 2))))"
                try db.execute(sql: "INSERT INTO lists VALUES \(row)")
            }
        }
        let readers = try (0..<Self.users).map { try service.clients(of: "user-\($0)") }
        let (command, memory) = (service.command, service.memory)
        try memory.forgetPeak()
        let before = try memory.now
        let silent = try await IdleConnections(
            saying: (0..<Self.clients).map { readers[$0 % Self.users].request },
            to: service.port
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
