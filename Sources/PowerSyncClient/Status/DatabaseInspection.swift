public import Foundation
import PowerSyncCore
import PowerSyncProtocol

/// What a database holds, does and waits for, at one moment: for a screen of an app for its developers, or for a report of a user.
///
/// ```swift
/// let inspection = try await database.inspection()
/// print(inspection)
/// for bucket in inspection.buckets where !bucket.isComplete { show("\(bucket.name): \(bucket.progress ?? 0)") }
/// ```
///
/// It has names of buckets and streams with their parameters, which may name users, and no rows. Errors are those of the app's connector
/// and of the service as they came.
public struct DatabaseInspection: Sendable {
    /// The local writes that are to be uploaded.
    public struct Queue: Sendable, Hashable {
        /// How many writes wait for their upload.
        public let writes: Int
        /// How many transactions they are from.
        public let transactions: Int
        /// The approximate size of their entries in bytes.
        public let bytes: Int64
        /// How many writes the backend has rejected, with those that wait behind them: ``PowerSyncDatabaseProtocol/rejectedWrites()``.
        public let rejectedWrites: Int
    }

    /// A bucket: a part of what the service sends, which several streams may share.
    public struct Bucket: Sendable, Hashable, Identifiable {
        /// The name that the service has given, for example `1#by_owner|0["alice"]`.
        public let name: String
        /// How urgent it is; `nil` while no stream is open, and before its first checkpoint.
        public let priority: BucketPriority?
        /// How many operations were downloaded in all, whether their rows are still there or not.
        public let downloadedOperations: Int64
        /// The size in bytes of everything that was downloaded.
        public let downloadedBytes: Int64
        /// How many operations the newest checkpoint has that the last complete one did not have; `nil` as ``priority``, and 0 when all are
        /// shown.
        public let operationsToDownload: Int64?
        /// How many of ``operationsToDownload`` are here, which are shown with the checkpoint.
        public let operationsOfDownload: Int64?
        /// Whether everything that was downloaded is shown.
        public let isShown: Bool

        /// The name.
        public var id: String { name }
        /// The share of the download that is here, 0 … 1; `nil` when nothing is to be downloaded, and as ``priority``.
        public var progress: Double? {
            guard let operationsToDownload, let operationsOfDownload, operationsToDownload > 0 else { return nil }
            return Double(operationsOfDownload) / Double(operationsToDownload)
        }
        /// Whether all is here that the newest known checkpoint has, and shown.
        public var isComplete: Bool { isShown && (progress ?? 1) == 1 }
    }

    /// When it was made.
    public let date: Date
    /// Whether the connection to the service is open.
    public let isConnected: Bool
    /// What the connection waits for, and since when.
    public let activity: ConnectionActivity
    /// When a complete checkpoint was last applied; `nil` for never.
    public let lastSyncedAt: Date?
    /// The upload queue.
    public let queue: Queue
    /// The buckets, by name: those in the file, and those that are to be downloaded.
    public let buckets: [Bucket]
    /// The streams that are subscribed to or synced by default.
    public let streams: [SyncStreamStatus]
    /// The synced rows that the local database refuses.
    public let setAsideRows: [SetAsideRow]
    /// The error of the last connection; `nil` after a complete checkpoint.
    public let downloadError: (any Error)?
    /// The error of the last upload; `nil` after a successful one.
    public let uploadError: (any Error)?

    init(
        date: Date,
        status: SyncStatusSnapshot,
        queue: Queue,
        stored: [StoredBucket],
        tracked: [BucketName: SyncEngine.TrackedBucket]?
    ) {
        self.date = date
        isConnected = status.connected
        activity = status.activity
        lastSyncedAt = status.lastSyncedAt
        self.queue = queue
        streams = status.syncStreams ?? []
        setAsideRows = status.setAsideRows
        downloadError = status.lastDownloadError
        uploadError = status.lastUploadError
        let known = Set(stored.map(\.name))
        // A bucket without an operation has no row yet.
        let new = (tracked ?? [:]).keys.filter { !known.contains($0) }
        let buckets = stored.map { Bucket($0, tracked?[$0.name]) } + new.map { Bucket($0, tracked?[$0]) }
        self.buckets = buckets.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}

extension DatabaseInspection.Bucket {
    init(_ stored: StoredBucket, _ tracked: SyncEngine.TrackedBucket?) {
        self.init(
            name: stored.name.rawValue,
            priority: tracked.map { BucketPriority($0.priority) },
            downloadedOperations: stored.operations,
            downloadedBytes: stored.bytes,
            operationsToDownload: tracked?.progress.total,
            operationsOfDownload: tracked?.progress.downloaded,
            isShown: stored.lastAppliedOp >= stored.lastOp
        )
    }

    init(_ name: BucketName, _ tracked: SyncEngine.TrackedBucket?) {
        self.init(
            name: name.rawValue,
            priority: tracked.map { BucketPriority($0.priority) },
            downloadedOperations: 0,
            downloadedBytes: 0,
            operationsToDownload: tracked?.progress.total,
            operationsOfDownload: tracked?.progress.downloaded,
            isShown: true
        )
    }
}

extension DatabaseInspection: CustomStringConvertible {
    /// Everything, a line for each thing.
    public var description: String {
        var lines = [
            isConnected ? "connected" : "not connected",
            lastSyncedAt.map { "last synced at \($0)" } ?? "never synced",
            "\(activity)", "\(queue)",
        ]
        if let downloadError { lines.append("download error: \(downloadError.lineOfText)") }
        if let uploadError { lines.append("upload error: \(uploadError.lineOfText)") }
        lines += buckets.map { "bucket \($0)" }
        lines += streams.map { "\($0)" }
        lines += setAsideRows.map { "set aside: \($0.table) \($0.id): \($0.reason)" }
        return lines.joined(separator: "\n")
    }
}

extension DatabaseInspection.Queue: CustomStringConvertible {
    /// What waits, in a line.
    public var description: String {
        let rejected = rejectedWrites > 0 ? ", \(rejectedWrites) rejected" : ""
        return
            "\(writes.counted("write")) of \(transactions.counted("transaction")) to upload, \(bytes.counted("byte"))\(rejected)"
    }
}

extension DatabaseInspection.Bucket: CustomStringConvertible {
    /// The bucket, in a line.
    public var description: String {
        var parts = ["\(name): \(downloadedOperations.counted("operation")), \(downloadedBytes.counted("byte"))"]
        if let priority { parts.append("\(priority)") }
        if let operationsToDownload, let operationsOfDownload, operationsToDownload > 0 {
            parts.append("downloading \(operationsOfDownload) of \(operationsToDownload)")
        }
        if !isShown { parts.append("not shown yet") }
        return parts.joined(separator: ", ")
    }
}
