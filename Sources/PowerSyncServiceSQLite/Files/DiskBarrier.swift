import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite
import PowerSyncServiceCore

/// Waits for the disk, which commits do not do by themselves; callers that wait at the same time share one commit.
final class DiskBarrier: Sendable {
    private struct Counts {
        var asked: UInt64 = 0
        /// How many of those that asked have what they asked for.
        var served: UInt64 = 0
    }

    private let pool: DatabasePool
    private let turns = ConcurrencyQueue(maximumRunning: 1, maximumWaiting: .max)
    private let counts = NIOLockedValueBox(Counts())

    /// Creates the barrier of a file.
    init(_ pool: DatabasePool) {
        self.pool = pool
    }

    /// Waits until the disk has everything that was committed before the call.
    ///
    /// - Throws: `DatabaseError`, or `CancellationError`.
    func wait() async throws {
        let own = counts.withLockedValue { counts in
            counts.asked += 1
            return counts.asked
        }
        try await turns.withSlot {
            let (served, asked) = counts.withLockedValue { ($0.served, $0.asked) }
            guard served < own else { return }
            try await pool.uncancelledWriteWithoutTransaction { db in
                try db.transactionOnDisk { db in
                    try db.execute(sql: "UPDATE op_sequence SET synced = synced + 1 WHERE id = 1")
                }
            }
            counts.withLockedValue { $0.served = asked }
        }
    }
}

extension Database {
    /// Runs a transaction, and waits until the disk has it, if it writes anything: a power failure does not take it back.
    ///
    /// In WAL mode, the setting decides whether a commit waits for the disk. The WAL is one file, written from its beginning to its end:
    /// everything that was committed before is on the disk, too.
    func transactionOnDisk<Result>(_ body: (Database) throws -> Result) throws -> Result {
        try execute(sql: "PRAGMA synchronous = FULL")
        defer { try? execute(sql: "PRAGMA synchronous = NORMAL") }
        return try transaction(.immediate, body)
    }
}
