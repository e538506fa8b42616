import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol

/// The sync status of a database file: one value, which all handles of the file show.
///
/// ```
///   the file: opened, followed ─┐
///                               ├─► one value ─► LiveSyncStatus of each handle
///   the connection that leads ──┘
/// ```
///
/// A connection leads from its beginning to its end: what it has reached is newer than what the file says. Nothing decides by reading
/// what is shown here.
final class FileStatus: Sendable {
    private let value = LatestValue(SyncStatusSnapshot())
    /// Tells the connection that leads that synced data was cleared; `nil` while none leads.
    private let leader = NIOLockedValueBox<(@Sendable () -> Bool)?>(nil)
    /// The engine of the iteration that runs, after its last step: what it has of each bucket is worked out only when it is asked for.
    private let engine = NIOLockedValueBox<SyncEngine?>(nil)

    /// Creates the status of a file that was not opened.
    init() {}

    /// The newest status, as one consistent value.
    var snapshot: SyncStatusSnapshot { value.current }

    /// Subscribers that can be ended apart from others: those of one handle.
    typealias Audience = LatestValue<SyncStatusSnapshot>.Audience

    /// What the checkpoint says of each bucket that is being downloaded, or was last; `nil` while no stream is open.
    var trackedBuckets: [BucketName: SyncEngine.TrackedBucket]? { engine.withLockedValue { $0 }?.trackedBuckets }

    /// An iteration has made a step, or `nil` when it has ended.
    func engineStepped(to engine: SyncEngine?) { self.engine.withLockedValue { $0 = engine } }

    /// Makes an audience without subscribers.
    func newAudience() -> Audience { value.newAudience() }

    /// The present status, then the newest one after changes.
    func values(for audience: Audience) -> AsyncStream<SyncStatusSnapshot> { value.values(for: audience) }

    /// Ends the subscriptions of an audience.
    func finish(_ audience: Audience) { value.finish(audience) }

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
}

// MARK: - The connection that leads

extension FileStatus {
    /// A connection leads from now on.
    ///
    /// - Parameter dataWasCleared: Called when synced data was cleared; returns whether the connection will publish what follows from it.
    func lead(_ dataWasCleared: @escaping @Sendable () -> Bool) {
        leader.withLockedValue { $0 = dataWasCleared }
    }

    /// The connection that leads has ended.
    ///
    /// - Parameter change: Changes the status for the last time, as in ``publish(_:)``.
    func endLead(_ change: (inout SyncStatusSnapshot) -> SyncStatusSnapshot.News) {
        publish { status in
            // Before subscribers are told, of which some wait for this.
            leader.withLockedValue { $0 = nil }
            return change(&status)
        }
    }

    /// Waits until no connection leads, or the task is cancelled.
    func waitForEndOfLead() async {
        for await _ in value.values() where !isLed { return }
    }

    /// Whether a connection leads.
    var isLed: Bool { leader.withLockedValue { $0 != nil } }
}

// MARK: - What the file says while no connection does

extension FileStatus {
    /// Connections to the file were opened.
    ///
    /// To be called in a transaction that writes: nothing but a connection that leads can know better.
    ///
    /// - Parameter download: What the file says.
    func fileWasOpened(_ download: DownloadStatus) {
        publish { status in
            let shown = download.keepingDetails(of: status.download)
            guard !isLed, status.download != shown else { return [] }
            status.download = shown
            return .element
        }
    }

    /// The state on disk was read.
    ///
    /// - Parameters:
    ///   - download: What the file says.
    ///   - earlier: What was shown before the file was read. If it is anything else now, a connection or another transaction has published
    ///     what is newer.
    /// - Returns: Whether that is shown now: not while a connection leads.
    func offlineStateLoaded(_ download: DownloadStatus, replacing earlier: DownloadStatus) -> Bool {
        var isShown = false
        publish { status in
            isShown = !isLed && status.download == earlier
            guard isShown, status.download != download else { return [] }
            status.download = download
            return .element
        }
        return isShown
    }

    /// A transaction has removed what the file knew of earlier syncs, so the status starts over.
    ///
    /// An iteration that runs is told instead: it ends, and the next one publishes the status and downloads everything. To be called
    /// before another transaction begins.
    func syncStateWasReset(to download: DownloadStatus) {
        var isShown = false
        while !isShown {
            // First: what is published after the connection was asked is newer.
            let earlier = snapshot.download
            if let dataWasCleared = leader.withLockedValue({ $0 }), dataWasCleared() { return }
            publish { status in
                isShown = status.download == earlier
                guard isShown else { return [] }
                status.applied = nil
                // Before the file is opened the status says nothing, and that stays so.
                guard status.download.hasSynced != nil, status.download != download else { return [] }
                status.download = download
                return .element
            }
        }
    }

    /// A subscription was stored, and no iteration deals with it.
    ///
    /// - Parameter stream: What the file says of it.
    func subscriptionStored(_ stream: StreamStatus) {
        publish { $0.download.show(stream) ? .element : [] }
    }
}
