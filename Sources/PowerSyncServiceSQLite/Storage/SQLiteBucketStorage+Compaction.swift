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
    /// A client that comes back learns from the answer to its next request that its number was not recorded. Numbers that
    /// this service counts stay: a client may remember them for ever.
    private func deleteOldRequests() async throws -> Int {
        let before = now().addingTimeInterval(-Self.requestRetention).ISO8601Format()
        return try await pool.write { db in
            try db.execute(
                sql: "DELETE FROM write_checkpoints WHERE checkpoint_requested_at < ?",
                arguments: [before]
            )
            return db.changesCount
        }
    }

    /// How long checkpoint requests are kept, in seconds.
    static let requestRetention: TimeInterval = 3600
}
