import Foundation
import GRDB
import TestSupport
import Testing

/// Clients that have many buckets, and everything that is in them.
@Suite(.timeLimit(.minutes(3))) struct IdleStreamMemoryTests {
    private static let buckets = 900
    private static let clients = 100
    /// Has glibc give back all but small blocks at once: what was needed for a moment does not count.
    private static let allocator = [
        "MALLOC_MMAP_THRESHOLD_": "8192", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1",
    ]

    @Test(.enabled(if: ProcessMemory.isKnown))
    func keepNeitherTheirFirstLineNorWhatTheyBeganWith() async throws {
        let service = try await MeasuredService(
            parameters: [("max_concurrent_connections", 1000), ("max_streams_per_user", 1000)],
            logLevel: "warning",
            environment: Self.allocator
        ) { db in
            for number in 0..<Self.buckets {
                let id = "3f6a9d2e-0b7c-4c55-9e1a-\(100_000_000_000 + number)"
                try db.execute(sql: "INSERT INTO lists VALUES (?, 'anna', 'list')", arguments: [id])
            }
        }
        let readers = try service.clients(of: "anna")
        #expect(try await readers.readCheckpoint().utf8.count > 100 * Self.buckets)
        // What is needed once, however many there are.
        try await readers.withStreams(Self.clients / 5) {
            let before = try service.memory.own
            try await readers.withStreams(Self.clients) {
                let growth = (try service.memory.own - before) / Self.clients
                // 481 KiB, however busy the machine is; with a second copy of everything it was 647.
                #expect(growth < 540 * 1024, "\(growth) bytes for each")
                service.command.signal(SIGTERM)
            }
        }
        #expect(await service.command.waitForExit() == 0, "\(service.command.said)")
    }
}
