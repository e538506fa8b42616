import Foundation
import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol

/// What one connection has reached: the connection decides by it, and the status of the file is made from it.
///
/// Each event changes the facts first and then the status. After ``ended()`` events have no effect: what a method of the connector does
/// after its connection has ended is not shown.
final class ConnectionProgress: Sendable {
    /// What is known at one moment.
    struct Facts: Sendable {
        /// What the loops wait for.
        var activity: ConnectionActivity.StateMachine
        /// Whether the service's response is open.
        var isStreamOpen = false
        /// Whether a checkpoint is being downloaded or applied.
        var isDownloading = false
        /// The greatest write checkpoint that a complete checkpoint has repeated.
        var applied: WriteCheckpoint?
        /// The error of the last attempt to sync; `nil` after a complete checkpoint.
        var downloadError: (any Error)?
        /// The error of the last upload; `nil` after a successful one.
        var uploadError: (any Error)?
        /// Whether the connection has ended.
        var isOver = false
    }

    /// Which halves of syncing the connection does.
    let mode: ConnectionMode
    private let facts: LatestValue<Facts>
    private let status: FileStatus
    /// The version of the activity that the status shows; used inside changes of the status only.
    private let shownActivity = NIOLockedValueBox<UInt64?>(nil)

    /// Creates the progress of a connection that begins.
    ///
    /// - Parameters:
    ///   - status: Shows it.
    ///   - mode: Which halves of syncing the connection does.
    init(_ status: FileStatus, mode: ConnectionMode = .full) {
        self.status = status
        self.mode = mode
        facts = LatestValue(Facts(activity: ConnectionActivity.StateMachine(mode: mode)))
    }

    /// What is known now.
    var current: Facts { facts.current }

    /// What is known from now on, the newest only.
    func changes() -> AsyncStream<Facts> { facts.values() }

    /// Whether a complete checkpoint that repeats this write checkpoint, or a greater one, was applied by this connection.
    func hasApplied(_ checkpoint: WriteCheckpoint) -> Bool {
        current.applied.map { $0 >= checkpoint } == true
    }

    /// Changes what is known, then the status.
    ///
    /// - Parameters:
    ///   - change: Changes the facts.
    ///   - show: Changes the status but for its activity, and returns whether it did.
    private func change(
        _ change: (inout Facts) -> Void,
        show: (inout SyncStatusSnapshot) -> Bool = { _ in false }
    ) {
        facts.update { facts in
            guard !facts.isOver else { return false }
            change(&facts)
            return true
        }
        status.publish { status in
            // Under the lock of the status: of two events at the same time, the last one that is shown shows both.
            let facts = facts.current
            guard !facts.isOver else { return [] }
            var news: SyncStatusSnapshot.News = show(&status) ? .element : []
            let shown = shownActivity.withLockedValue { shown in
                defer { shown = facts.activity.version }
                return shown
            }
            if shown != facts.activity.version {
                status.connectionActivity = facts.activity.activity
                news.insert(.activity)
            }
            return news
        }
    }

    /// What the loops wait for has changed.
    ///
    /// - Parameter change: Changes it, and returns a wait to announce.
    /// - Returns: The wait to announce.
    func activityChanged(_ change: (inout ConnectionActivity.StateMachine) -> SyncWait?) -> SyncWait? {
        var announcement: SyncWait?
        self.change { announcement = change(&$0.activity) }
        return announcement
    }

    /// The connection begins: the status shows what it reaches.
    ///
    /// - Parameter dataWasCleared: Called when synced data was cleared; returns whether an iteration runs that deals with it.
    func begins(_ dataWasCleared: @escaping @Sendable () -> Bool) {
        status.lead { [weak self] in
            self?.change {
                $0.applied = nil
            } show: { status in
                status.applied = nil
                return false
            }
            return dataWasCleared()
        }
        change { _ in }
    }

    /// The connection has ended because the app, or another connection, has asked for it: no error of it is left.
    func ended() {
        facts.update { facts in
            facts.isOver = true
            return true
        }
        status.endLead { status in
            let (download, hadNews) = (status.download, status.isUploading || status.anyError != nil)
            status.download.showDisconnected()
            status.isUploading = false
            status.lastDownloadError = nil
            status.lastUploadError = nil
            status.connectionActivity = ConnectionActivity()
            return hadNews || status.download != download ? [.activity, .element] : .activity
        }
    }
}

// MARK: - The download

extension ConnectionProgress {
    /// The engine has made a step, or `nil` when its iteration has ended.
    func engineStepped(to engine: SyncEngine?) {
        status.engineStepped(to: engine)
    }

    /// The engine has a new download part.
    ///
    /// - Parameters:
    ///   - download: The new download part.
    ///   - isComplete: Whether a complete checkpoint was applied, which clears the download error in the same element.
    func downloadChanged(to download: DownloadStatus, isComplete: Bool = false) {
        change { facts in
            facts.isStreamOpen = download.isConnected
            facts.isDownloading = download.progress != nil
            if let checkpoint = download.lastApplied { facts.applied = max(facts.applied ?? checkpoint, checkpoint) }
            if download.isConnected { facts.activity.streamOpened() }
            if isComplete { facts.completed() }
        } show: { status in
            let hasNews = status.download != download || (isComplete && status.lastDownloadError != nil)
            status.download = download
            if let checkpoint = download.lastApplied { status.applied = max(status.applied ?? checkpoint, checkpoint) }
            if isComplete { status.lastDownloadError = nil }
            return hasNews
        }
    }

    /// A complete checkpoint was applied that changes nothing else.
    func downloadSucceeded() {
        change {
            $0.completed()
        } show: { status in
            defer { status.lastDownloadError = nil }
            return status.lastDownloadError != nil
        }
    }

    /// There is no stream, and none is being opened.
    ///
    /// - Parameter error: Why the last one failed; `nil` keeps the error that is there.
    func disconnected(error: (any Error)? = nil) {
        change { facts in
            facts.isStreamOpen = false
            facts.isDownloading = false
            if let error { facts.downloadError = error }
        } show: { status in
            let download = status.download
            status.download.showDisconnected()
            if let error { status.lastDownloadError = error }
            return error != nil || status.download != download
        }
    }

    /// A checkpoint is not shown because of local writes, and this connection does nothing about them.
    ///
    /// - Parameter error: Says how many there are, and what to do.
    func heldBackForGood(_ error: any Error) {
        change {
            $0.downloadError = error
        } show: { status in
            status.lastDownloadError = error
            return true
        }
    }

    /// A subscription was stored too late for the iteration that has ended.
    ///
    /// - Parameter stream: What the database says of it.
    func subscriptionStored(_ stream: StreamStatus) {
        change { _ in
        } show: {
            $0.download.show(stream)
        }
    }
}

// MARK: - The upload

extension ConnectionProgress {
    /// A call of the app's `uploadData` begins.
    func uploadStarted() {
        change { _ in
        } show: { status in
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
        change {
            $0.uploadError = rejection
        } show: { status in
            let hasNews = status.lastUploadError != nil || rejection != nil || status.isUploading != isUploading
            status.lastUploadError = rejection
            status.isUploading = isUploading
            return hasNews
        }
    }

    /// A call of the app's `uploadData` was told to stop, and does not: the upload goes on, and has failed already.
    ///
    /// - Parameters:
    ///   - error: Names the call.
    ///   - since: When it made progress last.
    func uploadOverdue(_ error: OverdueCallError, since: Date) {
        change { facts in
            facts.activity.uploadOverdue(error.call, since: since)
            facts.uploadError = error
        } show: { status in
            status.lastUploadError = error
            return true
        }
    }

    /// An upload attempt ended without success.
    ///
    /// - Parameter error: What went wrong; `nil` when it was only interrupted.
    func uploadEnded(error: (any Error)?) {
        change { facts in
            if let error { facts.uploadError = error }
        } show: { status in
            let hasNews = status.isUploading || error != nil
            status.isUploading = false
            if let error { status.lastUploadError = error }
            return hasNews
        }
    }
}

extension ConnectionProgress.Facts {
    fileprivate mutating func completed() {
        activity.syncCompleted()
        downloadError = nil
    }
}
