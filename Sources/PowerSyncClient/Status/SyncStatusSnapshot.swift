package import Foundation
package import PowerSyncCore
import PowerSyncProtocol

/// A sync status at one moment: the download part that the engine reports, and what the two loops add.
package struct SyncStatusSnapshot: Sendable {
    /// The part that belongs to the download: connection, progress, last syncs, streams.
    package var download = DownloadStatus()
    /// The greatest write checkpoint that a complete checkpoint has repeated since the data was cleared.
    var applied: WriteCheckpoint?
    /// Whether local writes are being uploaded.
    package var isUploading = false
    /// The error of the last connection.
    package var lastDownloadError: (any Error)?
    /// The error of the last upload attempt.
    package var lastUploadError: (any Error)?
    /// What the connection waits for.
    ///
    /// A change of it alone is not an element of the status.
    var connectionActivity = ConnectionActivity()
    /// The number of elements of the status so far.
    var elements: UInt64 = 0
    /// The number of changes of the activity so far.
    var activities: UInt64 = 0

    /// What a change has changed.
    struct News: OptionSet {
        let rawValue: UInt8
        /// Anything but the activity.
        static let element = News(rawValue: 1)
        /// The activity.
        static let activity = News(rawValue: 2)
    }

    /// Creates the status of a database that has not been opened.
    package init() {}
}

extension SyncStatusSnapshot: SyncStatusData {
    package var connected: Bool { download.isConnected }
    package var connecting: Bool { download.isConnecting }
    package var downloading: Bool { download.progress != nil }
    package var downloadProgress: (any SyncDownloadProgress)? {
        download.progress
    }
    package var uploading: Bool { isUploading }
    package var lastSyncedAt: Date? { download.lastSyncedAt.map(Date.init) }
    package var hasSynced: Bool? { download.hasSynced }
    package var uploadError: Any? { lastUploadError }
    package var downloadError: Any? { lastDownloadError }
    package var anyError: Any? { lastDownloadError ?? lastUploadError }

    package var priorityStatusEntries: [PriorityStatusEntry] {
        download.priorities.map(PriorityStatusEntry.init)
    }

    package func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        if let entry = download.entry(covering: priority.priority) {
            PriorityStatusEntry(entry)
        } else {
            PriorityStatusEntry(priority: priority, lastSyncedAt: lastSyncedAt, hasSynced: hasSynced)
        }
    }

    package var syncStreams: [SyncStreamStatus]? {
        download.streams?.map(SyncStreamStatus.init)
    }

    package func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? {
        // What cannot be subscribed to has no status; it may even be nested too deeply for a key.
        guard (try? Argument.check(stream)) != nil else { return nil }
        return status(of: StreamKey(stream)).map(SyncStreamStatus.init)
    }

    /// The engine's status of a stream.
    func status(of key: StreamKey) -> StreamStatus? {
        download.streams?.first { $0.key == key }
    }
}

extension SyncStatusData {
    /// The newest state, if this is a status of this SDK.
    ///
    /// Apps conform types of theirs to this protocol, which show nothing beyond its requirements.
    var ownSnapshot: SyncStatusSnapshot? {
        self as? SyncStatusSnapshot ?? (self as? LiveSyncStatus)?.snapshot
    }
}

extension SyncStatusSnapshot: CustomStringConvertible {
    /// What the client is doing, in a line: `connected, downloading 40 of 100 operations, last synced at …`.
    package var description: String {
        var parts = [connected ? "connected" : connecting ? "connecting" : "not connected"]
        if let progress = downloadProgress { parts.append("downloading \(progress.operationsText)") }
        if uploading { parts.append("uploading") }
        if let date = lastSyncedAt {
            parts.append("last synced at \(date)")
        } else if hasSynced != nil {
            parts.append("never synced")
        }
        if !download.setAside.isEmpty { parts.append("\(download.setAside.count.counted("row")) set aside") }
        if let activity = activity.waits { parts.append(activity) }
        if let lastDownloadError { parts.append("download error: \(lastDownloadError.lineOfText)") }
        if let lastUploadError { parts.append("upload error: \(lastUploadError.lineOfText)") }
        return parts.joined(separator: ", ")
    }
}

extension Date {
    /// The public form of a point in time.
    init(_ instant: SyncInstant) {
        self.init(timeIntervalSince1970: Double(instant.rawValue) / 1_000_000)
    }
}

extension SyncInstant {
    /// The engine's form of a date: whole microseconds, saturating.
    init(_ date: Date) {
        self.init(microseconds: Int64(saturating: (date.timeIntervalSince1970 * 1_000_000).rounded()))
    }
}

extension PriorityStatusEntry {
    /// Creates the public form of an entry.
    init(_ status: PriorityStatus) {
        self.init(
            priority: BucketPriority(status.priority),
            lastSyncedAt: Date(status.lastSyncedAt),
            hasSynced: true
        )
    }
}

extension SyncStreamStatus {
    /// Creates the public form of a stream's status.
    init(_ status: StreamStatus) {
        self.init(
            progress: status.progress,
            subscription: SyncSubscriptionDescription(
                name: status.key.name,
                parameters: status.key.parameters.map { JsonParam($0) },
                active: status.isActive,
                isDefault: status.isDefault,
                hasExplicitSubscription: status.hasExplicitSubscription,
                expiresAt: status.expiresAt.map { Date($0).timeIntervalSince1970 },
                lastSyncedAt: status.lastSyncedAt.map { Date($0).timeIntervalSince1970 },
                unknownStream: status.unknown.map(UnknownSyncStreamError.init),
                isLeftOut: status.isLeftOut
            )
        )
    }
}

extension StreamKey {
    /// Creates the key of a public stream description.
    init(_ stream: any SyncStreamDescription) {
        self.init(name: stream.name, parameters: stream.parameters.map { JSONObject($0) })
    }
}

/// Shows operation counts to apps: 32 bits, saturating.
extension OperationCounts: ProgressWithOperations, CustomStringConvertible {
    package var totalOperations: Int32 { Int32(clamping: total) }
    package var downloadedOperations: Int32 { Int32(clamping: downloaded) }
    package var description: String { operationsText }
}

/// Shows the progress of a download to apps.
extension DownloadProgress: SyncDownloadProgress, CustomStringConvertible {
    package var totalOperations: Int32 { overall.totalOperations }
    package var downloadedOperations: Int32 { overall.downloadedOperations }
    package var description: String { operationsText }

    package func untilPriority(priority: BucketPriority) -> any ProgressWithOperations {
        untilPriority(priority.priority)
    }
}
