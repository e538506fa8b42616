import Foundation
import PowerSyncProtocol

/// What the connection of a database waits for, at one moment.
///
/// ```swift
/// switch database.currentStatus.activity.upload?.reason {
/// case .upload(let entries): show("\(entries) changes to upload")
/// case .retry(let date, _): show("Upload failed; next attempt at \(date)")
/// default: break
/// }
/// ```
///
/// Waits are `nil` while the database is disconnected.
public struct ConnectionActivity: Sendable {
    /// Which halves of syncing the connection does; `nil` while the database is disconnected.
    public let mode: ConnectionMode?
    /// What keeps the connection from being open, its lines from arriving, or the newest checkpoint from being shown.
    ///
    /// `nil` while the stream is open, lines arrive in time and everything that was downloaded completely is shown.
    public let download: SyncWait?
    /// What keeps local writes from being acknowledged.
    ///
    /// `nil` when there are none, and for at most ``ConnectOptions/crudThrottle`` after a new one.
    public let upload: SyncWait?
    /// Whether local writes of another user wait for their upload, which is done with the present user's rights.
    ///
    /// Users are told apart by the `sub` of their tokens. The writes belong to the user who was connected when the upload queue was
    /// empty last. So a user has signed out without ``PowerSyncDatabaseProtocol/disconnectAndClear()``. `false` again when the
    /// queue has been empty.
    public let hasWritesOfAnotherUser: Bool

    /// Creates an activity; by default one that waits for nothing.
    init(
        mode: ConnectionMode? = nil,
        download: SyncWait? = nil,
        upload: SyncWait? = nil,
        hasWritesOfAnotherUser: Bool = false
    ) {
        self.mode = mode
        self.download = download
        self.upload = upload
        self.hasWritesOfAnotherUser = hasWritesOfAnotherUser
    }
}

extension SyncStatusData {
    /// What the connection waits for.
    ///
    /// Changes of the activity alone make no element of ``SyncStatus/asFlow()``; an element has the activity of the moment
    /// when it was made. Use ``SyncStatus/activities()`` to follow it. A status that is not of this SDK waits for nothing.
    public var activity: ConnectionActivity {
        ownSnapshot?.connectionActivity ?? ConnectionActivity()
    }

    /// The number of the newest checkpoint request that a complete checkpoint has answered in this process; `nil` before one has.
    ///
    /// With ``CheckpointMode/legacy`` it is the service's number of a write checkpoint. A status that is not of this SDK has none.
    public var lastAppliedCheckpointRequestId: Int64? {
        ownSnapshot?.applied?.rawValue
    }
}

extension SyncStatus {
    /// What the connection waits for, from now on.
    ///
    /// The present activity comes first. A consumer that is slow gets the newest one and not those in between. The stream
    /// finishes when the database is closed; that of a status that is not of this SDK after its only element.
    ///
    /// - Returns: The activities, for one consumer.
    public func activities() -> AsyncStream<ConnectionActivity> {
        guard let status = self as? LiveSyncStatus else {
            return AsyncStream { continuation in
                continuation.yield(activity)
                continuation.finish()
            }
        }
        return status.newestActivities()
    }
}

extension ConnectionActivity: CustomStringConvertible {
    /// What the connection waits for, in a line.
    public var description: String { waits ?? "waiting for nothing" }

    /// What the connection waits for; `nil` for nothing.
    var waits: String? {
        let foreign = hasWritesOfAnotherUser ? "uploading writes of another user" : nil
        let parts = [download.map { "download \($0)" }, upload.map { "upload \($0)" }, foreign].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension ConnectionActivity {
    /// What the download and the upload of one connection wait for.
    ///
    /// ```
    ///  download   nothing ──▶ connecting ──▶ nothing ──▶ buffered or held back ──▶ nothing
    ///  upload     nothing ──▶ uploading ──▶ requesting ──▶ awaiting ──▶ nothing
    /// ```
    ///
    /// Within a phase the reason may change and the time of its beginning stays: a connection that is tried again and
    /// again makes no progress.
    struct StateMachine: Sendable {
        private enum Phase {
            /// Download: the stream is not open.
            case connecting
            /// Download: the stream is open, but its lines are collected on the way.
            case buffered
            /// Download: a checkpoint is there, and must not be shown.
            case heldBack
            /// Upload: the queue is not empty, or was not looked at.
            case uploading
            /// Upload: a write checkpoint is to be obtained.
            case requesting
            /// Upload: the write checkpoint has not been seen in a checkpoint.
            case awaiting
        }

        private struct Lane {
            var phase: Phase
            var wait: SyncWait
            /// What was announced since the phase began.
            var announced: Set<SyncWait.Reason.Kind>
            /// The entry at the head of the upload queue, once it was looked at.
            var head: Int64?
        }

        /// Which halves of syncing the connection does.
        let mode: ConnectionMode
        private var download: Lane? { didSet { version += 1 } }
        private var upload: Lane? { didSet { version += 1 } }
        /// Whether writes of another user than the connected one wait.
        private var hasWritesOfAnotherUser = false { didSet { version += 1 } }
        /// The number of complete checkpoints that were applied.
        private(set) var completedSyncs: UInt64 = 0
        /// Grows with every change.
        private(set) var version: UInt64 = 0

        /// What is being waited for.
        var activity: ConnectionActivity {
            ConnectionActivity(
                mode: mode,
                download: download?.wait,
                upload: upload?.wait,
                hasWritesOfAnotherUser: hasWritesOfAnotherUser
            )
        }

        /// Creates the activity of a connection that waits for nothing yet.
        init(mode: ConnectionMode = .full) {
            self.mode = mode
        }
    }
}

extension ConnectionActivity.StateMachine {
    /// A complete checkpoint was applied, so there are no local writes that it does not contain.
    mutating func syncCompleted() {
        completedSyncs += 1
        if download?.phase == .heldBack { download = nil }
        if upload?.phase == .awaiting { upload = nil }
    }
}

// MARK: - The download. Functions return a wait to announce: once in each phase, and not those that follow an error.

extension ConnectionActivity.StateMachine {
    /// The stream is not open, for this reason.
    mutating func connecting(_ reason: SyncWait.Reason, now: Date) -> SyncWait? {
        Self.enter(.connecting, of: &download, reason, now)
    }

    /// The stream is open.
    mutating func streamOpened() {
        if download?.phase == .connecting { download = nil }
    }

    /// The stream is open, but its lines are collected on the way.
    ///
    /// - Parameters:
    ///   - via: The proxy that may collect them, as the response names it.
    ///   - since: The date of the first sign.
    /// - Returns: Nothing to announce: the signs are told with the first one.
    mutating func streamBuffered(via: String?, since: Date) -> SyncWait? {
        let wait = SyncWait(reason: .bufferedStream(via: via), since: since)
        download = Lane(phase: .buffered, wait: wait, announced: download?.announced ?? [])
        return nil
    }

    /// Lines are not collected on the way any more.
    mutating func streamFlows() -> SyncWait? {
        if download?.phase == .buffered { download = nil }
        return nil
    }

    /// A checkpoint must not be shown because of local writes, or none of that kind is left.
    mutating func checkpointHeldBack(_ checkpoint: Int64?, now: Date) -> SyncWait? {
        guard let checkpoint else {
            if download?.phase == .heldBack { download = nil }
            return nil
        }
        if case .localWrites(checkpoint)? = download?.wait.reason { return nil }
        return Self.enter(.heldBack, of: &download, .localWrites(checkpoint: checkpoint), now)
    }
}

// MARK: - The upload

extension ConnectionActivity.StateMachine {
    /// There may be something to upload when the stream is open.
    mutating func waitingForStream(entries: Int, now: Date) -> SyncWait? {
        Self.enter(.uploading, of: &upload, .stream(entries: entries), now)
    }

    /// There is something to upload, and this connection does not.
    mutating func leftToOthers(entries: Int, now: Date) -> SyncWait? {
        Self.enter(.uploading, of: &upload, .downloadOnly(entries: entries), now)
    }

    /// The app uploads.
    ///
    /// - Parameters:
    ///   - entries: The number of writes in the queue.
    ///   - head: The id of the first one. Another one than before is progress.
    ///   - now: The date.
    /// - Returns: A wait to announce.
    mutating func uploading(entries: Int, head: Int64, now: Date) -> SyncWait? {
        let reason = SyncWait.Reason.upload(entries: entries)
        let announcement = Self.enter(.uploading, of: &upload, reason, now)
        if let earlier = upload?.head, earlier != head { upload?.wait = SyncWait(reason: reason, since: now) }
        upload?.head = head
        return announcement
    }

    /// The app uploads, was told to stop, and does not.
    ///
    /// - Parameters:
    ///   - call: The method that has not returned.
    ///   - since: When it made progress last.
    mutating func uploadOverdue(_ call: String, since: Date) {
        upload?.wait = SyncWait(reason: .overdueCall(call), since: since)
    }

    /// The service is asked for a write checkpoint.
    mutating func requestingWriteCheckpoint(now: Date) -> SyncWait? {
        Self.enter(.requesting, of: &upload, .writeCheckpointRequest, now)
    }

    /// The last step failed and is tried again.
    mutating func uploadFailed(retryAt date: Date, _ error: (any Error)?, now: Date) -> SyncWait? {
        Self.enter(upload?.phase ?? .uploading, of: &upload, .retry(at: date, after: error), now)
    }

    /// Everything is uploaded, and a checkpoint has to contain it.
    ///
    /// - Parameters:
    ///   - checkpoint: What the checkpoint has to contain.
    ///   - completedSyncs: The number of complete checkpoints before it was looked whether one is to be awaited. If there
    ///     was another one since, nothing is.
    ///   - now: The date.
    /// - Returns: A wait to announce.
    mutating func awaiting(_ checkpoint: Int64, since completedSyncs: UInt64, now: Date) -> SyncWait? {
        guard completedSyncs == self.completedSyncs else {
            uploadFinished()
            return nil
        }
        if case .writeCheckpoint(checkpoint)? = upload?.wait.reason { return nil }
        return Self.enter(.awaiting, of: &upload, .writeCheckpoint(checkpoint), now)
    }

    /// There is nothing to wait for.
    mutating func uploadFinished() {
        if upload != nil { upload = nil }
    }

    /// It was noticed whose writes wait.
    mutating func writesAreOfAnotherUser(_ isSo: Bool) {
        hasWritesOfAnotherUser = isSo
    }
}

extension ConnectionActivity.StateMachine {
    /// Begins a wait for `reason`.
    ///
    /// - Returns: The wait if it is to be announced.
    private static func enter(
        _ phase: Phase,
        of lane: inout Lane?,
        _ reason: SyncWait.Reason,
        _ now: Date
    ) -> SyncWait? {
        let earlier = lane?.phase == phase ? lane : nil
        let wait = SyncWait(reason: reason, since: earlier?.wait.since ?? now)
        var announced = earlier?.announced ?? []
        // Loops log failures themselves, with their errors.
        let isNews = announced.insert(reason.kind).inserted && reason.kind != .retry
        lane = Lane(phase: phase, wait: wait, announced: announced, head: earlier?.head)
        return isNews ? wait : nil
    }
}
