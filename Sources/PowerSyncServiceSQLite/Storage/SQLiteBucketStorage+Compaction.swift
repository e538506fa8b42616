import Foundation
import GRDB
import PowerSyncProtocol
package import PowerSyncServiceCore

/// Compaction (docs/service.md "Compaction").
extension SQLiteBucketStorage {
    package func compact() async throws -> CompactionResult {
        var result = CompactionResult()
        result.deletedRequests = try await deleteOldRequests()
        guard let compaction = try await pool.read({ db in try StreamCompaction(db) }) else { return result }
        while true {
            try Task.checkCancellation()
            let step = try await pool.write { db in try compaction.removeSuperseded(db) }
            result.movedOperations += step.moved
            result.deletedEntries += step.deleted
            if step.isLast { break }
        }
        while true {
            try Task.checkCancellation()
            guard let cleared = try await pool.write({ db in try compaction.clear(db) }) else { break }
            result.clearedOperations += cleared
        }
        return result
    }

    /// Deletes numbers that clients have chosen, and have not asked for since long.
    ///
    /// A client that comes back learns from the answer to its next request that its number was not recorded. Those that still
    /// wait for replication stay, or a client that waits with them would do so for ever. So do numbers that this service
    /// counts: a client may remember them.
    private func deleteOldRequests() async throws -> Int {
        let before = now().addingTimeInterval(-Self.requestRetention).ISO8601Format()
        return try await pool.write { db in
            var arguments = try Self.publishedPosition(db)
            arguments["before"] = before
            try db.execute(
                sql: "DELETE FROM write_checkpoints WHERE checkpoint_requested_at < :before AND \(Self.isPublished)",
                arguments: StatementArguments(arguments)
            )
            return db.changesCount
        }
    }

    /// How long checkpoint requests are kept, in seconds.
    static let requestRetention: TimeInterval = 3600
}
