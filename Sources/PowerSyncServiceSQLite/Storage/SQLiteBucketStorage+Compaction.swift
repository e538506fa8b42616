import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSyncProtocol
import PowerSyncSQLite
package import PowerSyncServiceCore

/// Compaction (docs/service.md "Compaction").
extension SQLiteBucketStorage {
    package func seal() async throws {
        // Nothing has become longer.
        let last = try await read { db in try OpID.last(db) }
        guard sealingProgress.withLockedValue({ $0.lastOp != last }) else { return }
        var bucket: Int64 = 0
        var sealed = 0
        while true {
            try Task.checkCancellation()
            let step = try await write { [sealingLimits, bucket] db in
                try BucketSealing(db, limits: sealingLimits).seal(after: bucket)
            }
            bucket = step.bucket
            sealed += step.sealed
            if step.isLast { break }
        }
        // A third of what is looked at is dead when as many operations become dead as are swept.
        var left = 3 * sealed
        var opID = sealingProgress.withLockedValue { $0.sweptOp }
        while left > 0 {
            try Task.checkCancellation()
            let next = try await write { [sealingLimits, opID] db in
                try BucketSealing(db, limits: sealingLimits).sweep(after: opID)
            }
            left -= BucketSealing.sweepBatch
            opID = next ?? 0
            if next == nil { break }
        }
        sealingProgress.withLockedValue { [opID] in $0 = SealingProgress(lastOp: last, sweptOp: opID) }
    }

    package func compact() async throws -> CompactionResult {
        var result = CompactionResult()
        result.deletedRequests = try await deleteOldRequests()
        guard let stream = try await readStreams("looking for something to compact", { try StreamCompaction($0) })
        else { return result }
        result.deletedLeftovers = try await removeLeftovers(of: stream)
        let compaction = SQLiteCompaction(stream: stream, sealing: sealingLimits)
        try await result.count { _ in try await write { db in try compaction.removeEntries(db) } }
        try await result.count { bucket in
            try await write { db in try compaction.compactBuckets(after: bucket, db) }
        }
        var opID: Int64? = 0
        while let next = opID {
            try Task.checkCancellation()
            opID = try await write { [sealingLimits] db in
                try BucketSealing(db, limits: sealingLimits).sweep(after: next)
            }
        }
        return result
    }

    /// How far sealing has come; lost with the process, and then it begins again.
    struct SealingProgress {
        /// The last op id when tails were looked at.
        var lastOp = OpID.zero
        /// Where sweeping goes on.
        var sweptOp: Int64 = 0
    }

    /// Deletes numbers that clients have chosen and not asked for since long, and those of clients that are gone
    /// (``WriteCheckpointRetention``).
    ///
    /// A client that comes back learns from the answer to its next request that its number was not recorded. Those that still
    /// wait for replication stay, or a client that waits with them would do so for ever.
    private func deleteOldRequests() async throws -> Int {
        let now = now()
        return try await writeBriefly { db in
            var arguments = try Self.publishedArguments(db)
            arguments["requested_before"] = now.timeIntervalSince1970 - WriteCheckpointRetention.ofRequests
            arguments["used_before"] = now.timeIntervalSince1970 - WriteCheckpointRetention.ofClients
            return try Self.deleteWriteCheckpoints(
                where:
                    "(requested_at < :requested_before OR used_at < :used_before) AND \(Self.isPublished)",
                arguments,
                db
            )
        }
    }
}
