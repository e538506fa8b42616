package import Foundation
import NIOConcurrencyHelpers
import PowerSyncCore
package import PowerSyncProtocol

/// The status that a handle of a file shows, live: every property reads the newest state of the file.
///
/// Flows and waits end with the handle, the status of the file does not.
package final class LiveSyncStatus: SyncStatus {
    private let file: FileStatus
    private let audience: FileStatus.Audience
    private let isFinished = NIOLockedValueBox(false)
    @MainActor private var observableStatus: ObservableSyncStatus?

    /// Creates the view of a status.
    ///
    /// - Parameter file: The status; by default that of a file that was not opened.
    init(of file: FileStatus = FileStatus()) {
        self.file = file
        audience = file.newAudience()
    }

    /// The newest status, as one consistent value.
    package var snapshot: SyncStatusSnapshot { file.snapshot }

    private func values() -> AsyncStream<SyncStatusSnapshot> {
        let values = file.values(for: audience)
        // Afterwards: an end that comes later finds the subscription.
        if isFinished.withLockedValue({ $0 }) { file.finish(audience) }
        return values
    }

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
        let status = ObservableSyncStatus(following: values(), from: snapshot)
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
        for await status in values() {
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
        let (values, last) = (self.values(), NIOLockedValueBox<UInt64?>(nil))
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

    /// Ends all flows and waits: the database is closed.
    func finish() {
        isFinished.withLockedValue { $0 = true }
        file.finish(audience)
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
