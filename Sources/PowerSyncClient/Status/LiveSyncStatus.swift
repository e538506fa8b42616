package import Foundation
import NIOConcurrencyHelpers
import PowerSyncCore
package import PowerSyncProtocol

/// The status of a database, live: every property reads the newest state.
package final class LiveSyncStatus: SyncStatus {
    private let flow = StatusFlow()
    @MainActor private var observableStatus: ObservableSyncStatus?

    private struct Owner {
        weak var database: SyncedDatabase?
    }

    private let owner = NIOLockedValueBox(Owner())

    /// Creates the status of a database that has not been opened.
    init() {}

    /// The database whose status this is, as long as it lives.
    var database: SyncedDatabase? { owner.withLockedValue { $0.database } }

    /// Says whose status this is.
    func belongs(to database: SyncedDatabase) {
        owner.withLockedValue { $0.database = database }
    }

    /// The newest status, as one consistent value.
    package var snapshot: SyncStatusSnapshot { flow.current }

    package func asFlow() -> AsyncStream<any SyncStatusData> {
        let subscription = flow.subscribe()
        return AsyncStream { await subscription.next() }
    }

    @available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
    @MainActor package var observable: ObservableSyncStatus {
        if let observableStatus { return observableStatus }
        let status = ObservableSyncStatus(
            following: flow.subscribe(),
            activities: activities(),
            from: snapshot
        )
        observableStatus = status
        return status
    }

    /// Begins a subscription whose first element is the present status.
    func subscribe() -> StatusSubscription {
        flow.subscribe()
    }

    /// Whether a complete checkpoint that repeats this write checkpoint, or a greater one, was applied.
    package func hasApplied(_ checkpoint: WriteCheckpoint) -> Bool {
        snapshot.applied.map { $0 >= checkpoint } == true
    }

    /// Waits for a status.
    ///
    /// - Throws: What `isReached` throws, `CancellationError`, or ``PowerSyncError`` when the database is closed.
    package func wait(until isReached: @Sendable (SyncStatusSnapshot) throws -> Bool) async throws {
        let subscription = flow.subscribe()
        while let status = await subscription.next() {
            if try isReached(status) { return }
        }
        try Task.checkCancellation()
        throw PowerSyncError.closed(while: "waiting for a sync status")
    }

    /// Tells that the activity may have changed.
    func activityChanges() -> AsyncStream<Void> {
        flow.activityChanges()
    }

    /// Changes what is being waited for.
    ///
    /// Publishes nothing: the next element has it.
    ///
    /// - Returns: What `change` returns; `nil` when the database is closed.
    func activityChanged(
        _ change: (inout ConnectionActivity.StateMachine) -> SyncWait?
    ) -> SyncWait? {
        var announcement: SyncWait?
        flow.update { status in
            announcement = change(&status.activityState)
            return false
        }
        return announcement
    }

    /// Ends all flows and waits: the database is closed.
    func finish() {
        flow.finish()
    }
}

// What the loops report. Each call publishes at most one element, and none when nothing changes.
extension LiveSyncStatus {
    /// The engine has a new download part.
    ///
    /// - Parameters:
    ///   - download: The new download part.
    ///   - clearsError: Whether a complete checkpoint was applied, which clears the download error in the same element.
    func downloadChanged(to download: DownloadStatus, clearsError: Bool = false) {
        flow.update { status in
            if let checkpoint = download.lastApplied { status.applied = max(status.applied ?? checkpoint, checkpoint) }
            let hasNews = status.download != download || (clearsError && status.lastDownloadError != nil)
            status.download = download
            if download.isConnected { status.activityState.streamOpened() }
            if clearsError {
                status.lastDownloadError = nil
                status.activityState.syncCompleted()
            }
            return hasNews
        }
    }

    /// A complete checkpoint was applied that changes nothing else.
    func downloadSucceeded() {
        flow.update { status in
            defer { status.lastDownloadError = nil }
            status.activityState.syncCompleted()
            return status.lastDownloadError != nil
        }
    }

    /// There is no connection, and none is being opened.
    ///
    /// - Parameter error: Why the last one failed; `nil` keeps the error that is there.
    func disconnected(error: (any Error)? = nil) {
        flow.update { status in
            let previous = status.download
            status.download.isConnected = false
            status.download.isConnecting = false
            status.download.progress = nil
            status.download.lastApplied = nil
            // Progress of single streams belongs to the download that has ended.
            status.download.streams = status.download.streams?.map { stream in
                var stream = stream
                stream.progress = nil
                return stream
            }
            if let error { status.lastDownloadError = error }
            return error != nil || status.download != previous
        }
    }

    /// A new connection begins with a clean slate.
    func errorsCleared() {
        flow.update { status in
            defer {
                status.lastDownloadError = nil
                status.lastUploadError = nil
            }
            return status.lastDownloadError != nil || status.lastUploadError != nil
        }
    }

    /// A call of the app's `uploadData` begins.
    func uploadStarted() {
        flow.update { status in
            defer { status.isUploading = true }
            return !status.isUploading
        }
    }

    /// A call of the app's `uploadData` or a whole pass was successful, or ended with writes that were set aside.
    ///
    /// - Parameters:
    ///   - isUploading: Whether another call follows at once.
    ///   - rejection: The last rejection of local writes in this pass, which stays to be seen.
    func uploadSucceeded(isUploading: Bool, rejection: UploadRejectionError? = nil) {
        flow.update { status in
            let hasNews = status.lastUploadError != nil || rejection != nil || status.isUploading != isUploading
            status.lastUploadError = rejection
            status.isUploading = isUploading
            return hasNews
        }
    }

    /// A call of the app's `uploadData` was told to stop, and does not: the upload goes on, and has failed already.
    func uploadOverdue(_ error: OverdueCallError) {
        flow.update { status in
            status.lastUploadError = error
            return true
        }
    }

    /// An upload attempt ended without success.
    ///
    /// - Parameter error: What went wrong; `nil` when it was only interrupted.
    func uploadEnded(error: (any Error)?) {
        flow.update { status in
            let hasNews = status.isUploading || error != nil
            status.isUploading = false
            if let error { status.lastUploadError = error }
            return hasNews
        }
    }

    /// What the database knew of earlier syncs was removed.
    ///
    /// Before the database is opened the status says nothing, and that stays so.
    func syncStateWasReset(to download: DownloadStatus) {
        flow.update { status in
            status.applied = nil
            guard status.download.hasSynced != nil else { return false }
            defer { status.download = download }
            return status.download != download
        }
    }

    /// Identifies the newest download part.
    var downloadVersion: UInt64 { flow.downloadVersion }

    /// The state on disk was read while no connection was active.
    ///
    /// - Parameters:
    ///   - download: What the database says.
    ///   - version: The version of the download part before reading; if it is no longer the newest, somebody who knows
    ///     better has published in between.
    /// - Returns: Whether the status shows it now.
    @discardableResult
    func offlineStateLoaded(_ download: DownloadStatus, ifDownloadVersionIs version: UInt64? = nil) -> Bool {
        flow.update(ifDownloadVersionIs: version) { status in
            defer { status.download = download }
            return status.download != download
        }
    }
}

// MARK: - Subscriptions

extension LiveSyncStatus {
    /// A subscription was stored, and no iteration of this database's connection deals with it.
    ///
    /// - Parameter stream: What the database says of it.
    func subscriptionStored(_ stream: StreamStatus) {
        flow.update { $0.download.show(stream) }
    }
}

extension LiveSyncStatus: ActivityReporting, ActivityFollowing {
    var connectionActivity: ConnectionActivity { snapshot.connectionActivity }
    var appliedCheckpoint: WriteCheckpoint? { snapshot.applied }

    func followActivities() -> AsyncStream<ConnectionActivity> {
        // The flow and not the status, which ends when its database goes away.
        let (flow, changes) = (flow, flow.activityChanges())
        return AsyncStream {
            for await _ in changes { return flow.current.connectionActivity }
            return nil
        }
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
