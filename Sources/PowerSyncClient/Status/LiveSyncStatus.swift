package import Foundation
import NIOConcurrencyHelpers
import PowerSyncCore
package import PowerSyncProtocol

/// The status of a database, live: every property reads the newest state.
///
/// A connection publishes here what it has reached, and reads nothing: what it decides by is in its `ConnectionProgress`.
package final class LiveSyncStatus: SyncStatus {
    private let value = LatestValue(SyncStatusSnapshot())
    @MainActor private var observableStatus: ObservableSyncStatus?

    /// Creates the status of a database that has not been opened.
    init() {}

    /// The newest status, as one consistent value.
    package var snapshot: SyncStatusSnapshot { value.current }

    package func asFlow() -> AsyncStream<any SyncStatusData> {
        let statuses = elements()
        return AsyncStream {
            for await status in statuses { return status }
            return nil
        }
    }

    @available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
    @MainActor package var observable: ObservableSyncStatus {
        if let observableStatus { return observableStatus }
        let status = ObservableSyncStatus(following: value.values(), from: snapshot)
        observableStatus = status
        return status
    }

    /// Whether a complete checkpoint that repeats this write checkpoint, or a greater one, was applied.
    package func hasApplied(_ checkpoint: WriteCheckpoint) -> Bool {
        snapshot.applied.map { $0 >= checkpoint } == true
    }

    /// Waits for a status.
    ///
    /// - Throws: What `isReached` throws, `CancellationError`, or ``PowerSyncError`` when the database is closed.
    package func wait(until isReached: @Sendable (SyncStatusSnapshot) throws -> Bool) async throws {
        for await status in value.values() {
            if try isReached(status) { return }
        }
        try Task.checkCancellation()
        throw PowerSyncError.closed(while: "waiting for a sync status")
    }

    /// The present status, then the newest one after changes of what ``SyncStatusData`` shows without the activity.
    func elements() -> AsyncStream<SyncStatusSnapshot> {
        changes { $0.elements }
    }

    /// The present activity, then the newest one after changes.
    func newestActivities() -> AsyncStream<ConnectionActivity> {
        let statuses = changes { $0.activities }
        return AsyncStream {
            for await status in statuses { return status.connectionActivity }
            return nil
        }
    }

    private func changes(
        of count: @escaping @Sendable (SyncStatusSnapshot) -> UInt64
    ) -> AsyncStream<SyncStatusSnapshot> {
        let (values, last) = (value.values(), NIOLockedValueBox<UInt64?>(nil))
        return AsyncStream {
            for await status in values {
                let isNew = last.withLockedValue { last in
                    defer { last = count(status) }
                    return last != count(status)
                }
                if isNew { return status }
            }
            return nil
        }
    }

    /// Changes the status.
    ///
    /// - Parameter change: Changes the status, under the lock, and returns what has changed.
    func publish(_ change: (inout SyncStatusSnapshot) -> SyncStatusSnapshot.News) {
        value.update { status in
            let news = change(&status)
            if news.contains(.element) { status.elements += 1 }
            if news.contains(.activity) { status.activities += 1 }
            return !news.isEmpty
        }
    }

    /// Ends all flows and waits: the database is closed.
    func finish() {
        value.finish()
    }
}

// MARK: - What the database says while no connection does

extension LiveSyncStatus {
    /// What the database knew of earlier syncs was removed.
    ///
    /// Before the database is opened the status says nothing, and that stays so.
    func syncStateWasReset(to download: DownloadStatus) {
        publish { status in
            status.applied = nil
            guard status.download.hasSynced != nil, status.download != download else { return [] }
            status.download = download
            return .element
        }
    }

    /// The state on disk was read while no connection was active.
    ///
    /// - Parameters:
    ///   - download: What the database says.
    ///   - earlier: What the status has shown before the database was read. If it shows anything else now, a connection or another
    ///     transaction has published what is newer. `nil` when the database was just opened.
    /// - Returns: Whether the status shows it now.
    @discardableResult
    func offlineStateLoaded(_ download: DownloadStatus, replacing earlier: DownloadStatus? = nil) -> Bool {
        var isShown = false
        publish { status in
            isShown = earlier == nil || status.download == earlier
            guard isShown, status.download != download else { return [] }
            status.download = download
            return .element
        }
        return isShown
    }

    /// A subscription was stored, and no iteration of this database's connection deals with it.
    ///
    /// - Parameter stream: What the database says of it.
    func subscriptionStored(_ stream: StreamStatus) {
        publish { $0.download.show(stream) ? .element : [] }
    }
}

// The newest state, property by property.
extension LiveSyncStatus {
    package var connected: Bool { snapshot.connected }
    package var connecting: Bool { snapshot.connecting }
    package var downloading: Bool { snapshot.downloading }
    package var downloadProgress: (any SyncDownloadProgress)? { snapshot.downloadProgress }
    package var uploading: Bool { snapshot.uploading }
    package var lastSyncedAt: Date? { snapshot.lastSyncedAt }
    package var hasSynced: Bool? { snapshot.hasSynced }
    package var uploadError: Any? { snapshot.uploadError }
    package var downloadError: Any? { snapshot.downloadError }
    package var anyError: Any? { snapshot.anyError }
    package var priorityStatusEntries: [PriorityStatusEntry] { snapshot.priorityStatusEntries }
    package func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        snapshot.statusForPriority(priority)
    }
    package var syncStreams: [SyncStreamStatus]? { snapshot.syncStreams }
    package func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? {
        snapshot.forStream(stream: stream)
    }
}

extension LiveSyncStatus: CustomStringConvertible {
    /// The newest status, in a line.
    package var description: String { snapshot.description }
}
