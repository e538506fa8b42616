import Foundation
import PowerSyncCore

extension PowerSyncDatabaseProtocol {
    /// What the database holds, does and waits for now: the upload queue, waits, buckets with their progress, subscriptions and the last
    /// errors.
    ///
    /// ```swift
    /// let inspection = try await database.inspection()
    /// print(inspection)
    /// ```
    ///
    /// The queue and the buckets are of one state of the file, the rest is of the moment after. Nothing is changed, and nothing waits: it can
    /// be called while a transaction runs, connected or not.
    ///
    /// - Returns: The values.
    /// - Throws: ``PowerSyncError``, also for a database that is not of this SDK.
    /// - Complexity: O(*n*) in the number of writes in the upload queue and of buckets.
    public func inspection() async throws -> DatabaseInspection {
        let database = try requireOwn(for: "inspection")
        let (queue, buckets) = try await database.local.readTransaction { db in
            let queue = DatabaseInspection.Queue(
                writes: try UploadQueue.count(db),
                transactions: try UploadQueue.transactionCount(db),
                bytes: try UploadQueue.size(db),
                rejectedWrites: try RejectedWrites.count(db)
            )
            return (queue, try StoredBucket.all(db))
        }
        let status = database.local.file.status
        return DatabaseInspection(
            date: database.sync.environment.now(),
            status: status.snapshot,
            queue: queue,
            stored: buckets,
            tracked: status.trackedBuckets
        )
    }
}
