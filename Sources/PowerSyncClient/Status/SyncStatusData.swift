public import Foundation

/// What a sync client is doing, at one moment.
public protocol SyncStatusData: Sendable {
    /// Whether the connection to the service is open.
    var connected: Bool { get }
    /// Whether the client is opening the connection to the service.
    var connecting: Bool { get }
    /// Whether a checkpoint is being downloaded or applied.
    var downloading: Bool { get }
    /// The progress of the download; not `nil` exactly while ``downloading``.
    var downloadProgress: (any SyncDownloadProgress)? { get }
    /// Whether local writes are being uploaded.
    var uploading: Bool { get }
    /// When a complete checkpoint was last applied. Survives restarts.
    var lastSyncedAt: Date? { get }
    /// Whether a complete checkpoint was ever applied; `nil` while the database has not been opened.
    var hasSynced: Bool? { get }
    /// The error of the last upload attempt (`any Error`); `nil` after a successful one.
    var uploadError: Any? { get }
    /// The error of the last connection (`any Error`); `nil` after a complete checkpoint.
    var downloadError: Any? { get }
    /// ``downloadError``, else ``uploadError``.
    var anyError: Any? { get }
    /// The last syncs per priority, the most urgent first.
    var priorityStatusEntries: [PriorityStatusEntry] { get }
    /// The entry that answers for a priority: the first one that includes it.
    ///
    /// - Parameter priority: The priority of interest.
    /// - Returns: The entry, with its own priority. Without such an entry, one that says "never".
    func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry
    /// The streams that are subscribed to or synced by default; `nil` while the database has not been opened.
    var syncStreams: [SyncStreamStatus]? { get }
    /// The status of one stream, found by name and parameters.
    ///
    /// - Parameter stream: A stream or a subscription.
    /// - Returns: `nil` when the stream is neither subscribed to nor synced by default.
    func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus?
}

/// The status of a database: a live object whose properties always read the newest state.
public protocol SyncStatus: SyncStatusData, Sendable {
    /// The states from now on: the present one, then the newest one after changes, in order.
    ///
    /// Elements are immutable. Changes that follow each other before the consumer takes an element are one element, so that a consumer
    /// that is slow gets the newest state and not those in between.
    func asFlow() -> AsyncStream<any SyncStatusData>

    /// The status for SwiftUI and the Observation framework. The same object on every call.
    @available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
    @MainActor var observable: ObservableSyncStatus { get }
}
