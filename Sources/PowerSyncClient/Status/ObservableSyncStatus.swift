public import Foundation
public import Observation

/// The sync status for SwiftUI and the Observation framework.
///
/// Get it from ``SyncStatus/observable``.
///
/// Follows all changes on the main actor.
@available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
@MainActor
@Observable
public final class ObservableSyncStatus {
    private var snapshot: SyncStatusSnapshot
    /// Copies changes until the status ends or this object goes away.
    @ObservationIgnored private var following: Task<Void, Never>?

    init(following statuses: AsyncStream<SyncStatusSnapshot>, from snapshot: SyncStatusSnapshot) {
        self.snapshot = snapshot
        // A property that returns at once has to leave a task behind; `deinit` cancels it.
        following = Task { [weak self] in
            for await snapshot in statuses {
                guard let self else { return }
                self.snapshot = snapshot
            }
        }
    }

    deinit {
        following?.cancel()
    }

    /// What the connection waits for.
    public var activity: ConnectionActivity { snapshot.connectionActivity }
    /// Whether the connection to the service is open.
    public var connected: Bool { snapshot.connected }
    /// Whether the client is opening the connection to the service.
    public var connecting: Bool { snapshot.connecting }
    /// Whether a checkpoint is being downloaded or applied.
    public var downloading: Bool { snapshot.downloading }
    /// The progress of the download; not `nil` exactly while ``downloading``.
    public var downloadProgress: (any SyncDownloadProgress)? { snapshot.downloadProgress }
    /// Whether local writes are being uploaded.
    public var uploading: Bool { snapshot.uploading }
    /// When a complete checkpoint was last applied.
    public var lastSyncedAt: Date? { snapshot.lastSyncedAt }
    /// Whether a complete checkpoint was ever applied; `nil` while the database has not been opened.
    public var hasSynced: Bool? { snapshot.hasSynced }
    /// The error of the last upload attempt; `nil` after a successful one.
    public var uploadError: Any? { snapshot.uploadError }
    /// The error of the last connection; `nil` after a complete checkpoint.
    public var downloadError: Any? { snapshot.downloadError }
    /// ``downloadError``, else ``uploadError``.
    public var anyError: Any? { snapshot.anyError }
    /// The synced rows that the local database refuses, in the order of table and id.
    public var setAsideRows: [SetAsideRow] { snapshot.setAsideRows }
    /// The last syncs per priority, the most urgent first.
    public var priorityStatusEntries: [PriorityStatusEntry] { snapshot.priorityStatusEntries }
    /// The streams that are subscribed to or synced by default; `nil` while the database has not been opened.
    public var syncStreams: [SyncStreamStatus]? { snapshot.syncStreams }

    /// The entry that answers for a priority: the first one that includes it.
    ///
    /// - Parameter priority: The priority of interest.
    /// - Returns: The entry, with its own priority. Without such an entry, one that says "never".
    public func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        snapshot.statusForPriority(priority)
    }

    /// The status of one stream, found by name and parameters.
    ///
    /// - Parameter stream: A stream or a subscription.
    /// - Returns: `nil` when the stream is neither subscribed to nor synced by default.
    public func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? {
        snapshot.forStream(stream: stream)
    }
}
