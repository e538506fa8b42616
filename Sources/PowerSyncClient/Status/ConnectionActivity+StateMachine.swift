import Foundation

extension ConnectionActivity {
    /// What the download and the upload of one connection wait for.
    ///
    /// ```
    ///  download   nothing ──▶ connecting ──▶ nothing ──▶ buffered or held back ──▶ nothing
    ///  upload     nothing ──▶ uploading ──▶ requesting ──▶ awaiting ──▶ nothing
    /// ```
    ///
    /// Within a phase the reason may change and the time of its beginning stays: a connection that is tried again and
    /// again makes no progress. What is reported while no connection runs is ignored.
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

        private enum State {
            /// There is no connection.
            case stopped
            /// A connection runs.
            case running(download: Lane?, upload: Lane?)
        }

        private var state = State.stopped
        /// Counts complete checkpoints that were applied.
        private(set) var completedSyncs: UInt64 = 0
        /// Counts connections that began.
        private(set) var connections: UInt64 = 0
        /// ``completedSyncs`` when the connection began.
        private var earlierSyncs: UInt64 = 0
        /// Whether writes of another user than the connected one wait.
        private var hasWritesOfAnotherUser = false
        /// Grows with every change.
        private(set) var version: UInt64 = 0

        /// What is being waited for.
        var activity: ConnectionActivity {
            switch state {
            case .stopped: ConnectionActivity()
            case .running(let download, let upload):
                ConnectionActivity(
                    download: download?.wait,
                    upload: upload?.wait,
                    hasWritesOfAnotherUser: hasWritesOfAnotherUser
                )
            }
        }
    }
}

// MARK: - The connection

extension ConnectionActivity.StateMachine {
    /// Whether a connection runs.
    var isRunning: Bool { if case .running = state { true } else { false } }

    /// The number of the connection that runs, else of the one that begins next.
    var nextConnection: UInt64 { isRunning ? connections : connections + 1 }

    /// Whether a connection began and has ended.
    func isOver(_ connection: UInt64) -> Bool {
        connections > connection || connections == connection && !isRunning
    }

    /// Whether the connection that runs has applied a complete checkpoint.
    var hasCompletedSync: Bool { isRunning && completedSyncs > earlierSyncs }
}

extension ConnectionActivity.StateMachine {
    /// A connection begins.
    mutating func started() {
        connections += 1
        earlierSyncs = completedSyncs
        hasWritesOfAnotherUser = false
        change(to: .running(download: nil, upload: nil))
    }

    /// The connection is over.
    mutating func stopped() {
        change(to: .stopped)
    }

    /// A complete checkpoint was applied, so there are no local writes that it does not contain.
    mutating func syncCompleted() {
        completedSyncs += 1
        version += 1
        guard case .running(let download, let upload) = state else { return }
        state = .running(
            download: download?.phase == .heldBack ? nil : download,
            upload: upload?.phase == .awaiting ? nil : upload
        )
    }
}

// MARK: - The download. Functions return a wait to announce: once in each phase, and not those that follow an error.

extension ConnectionActivity.StateMachine {
    /// The stream is not open, for this reason.
    mutating func connecting(_ reason: SyncWait.Reason, now: Date) -> SyncWait? {
        guard case .running(let download, let upload) = state else { return nil }
        let (next, announcement) = Self.lane(download, .connecting, reason, now)
        change(to: .running(download: next, upload: upload))
        return announcement
    }

    /// The stream is open.
    mutating func streamOpened() {
        guard case .running(let download?, let upload) = state, download.phase == .connecting else { return }
        change(to: .running(download: nil, upload: upload))
    }

    /// The stream is open, but its lines are collected on the way.
    ///
    /// - Parameters:
    ///   - via: Who may be the one that collects them.
    ///   - since: The date of the first sign.
    /// - Returns: Nothing to announce: the signs are told with the first one.
    mutating func streamBuffered(via: String?, since: Date) -> SyncWait? {
        guard case .running(let download, let upload) = state else { return nil }
        let wait = SyncWait(reason: .bufferedStream(via: via), since: since)
        let lane = Lane(phase: .buffered, wait: wait, announced: download?.announced ?? [])
        change(to: .running(download: lane, upload: upload))
        return nil
    }

    /// Lines are not collected on the way any more.
    mutating func streamFlows() -> SyncWait? {
        guard case .running(let download?, let upload) = state, download.phase == .buffered else { return nil }
        change(to: .running(download: nil, upload: upload))
        return nil
    }

    /// A checkpoint must not be shown because of local writes, or none of that kind is left.
    mutating func checkpointHeldBack(_ checkpoint: Int64?, now: Date) -> SyncWait? {
        guard case .running(let download, let upload) = state else { return nil }
        guard let checkpoint else {
            if download?.phase == .heldBack { change(to: .running(download: nil, upload: upload)) }
            return nil
        }
        if case .localWrites(checkpoint)? = download?.wait.reason { return nil }
        let (next, announcement) = Self.lane(download, .heldBack, .localWrites(checkpoint: checkpoint), now)
        change(to: .running(download: next, upload: upload))
        return announcement
    }
}

// MARK: - The upload

extension ConnectionActivity.StateMachine {
    /// There may be something to upload when the stream is open.
    mutating func waitingForStream(entries: Int, now: Date) -> SyncWait? {
        upload(.uploading, .stream(entries: entries), now)
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
        let announcement = upload(.uploading, reason, now)
        guard case .running(let download, var lane?) = state else { return nil }
        if let earlier = lane.head, earlier != head { lane.wait = SyncWait(reason: reason, since: now) }
        lane.head = head
        change(to: .running(download: download, upload: lane))
        return announcement
    }

    /// The app uploads, was told to stop, and does not.
    ///
    /// - Parameters:
    ///   - call: The method that has not returned.
    ///   - since: When it made progress last.
    /// - Returns: Nothing to announce: the loop says more.
    mutating func uploadOverdue(_ call: String, since: Date) -> SyncWait? {
        guard case .running(let download, var lane?) = state else { return nil }
        lane.wait = SyncWait(reason: .overdueCall(call), since: since)
        change(to: .running(download: download, upload: lane))
        return nil
    }

    /// The service is asked for a write checkpoint.
    mutating func requestingWriteCheckpoint(now: Date) -> SyncWait? {
        upload(.requesting, .writeCheckpointRequest, now)
    }

    /// The last step failed and is tried again.
    mutating func uploadFailed(retryAt date: Date, _ error: (any Error)?, now: Date) -> SyncWait? {
        guard case .running(_, let lane) = state else { return nil }
        return upload(lane?.phase ?? .uploading, .retry(at: date, after: error), now)
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
        if case .running(_, let upload) = state, case .writeCheckpoint(checkpoint)? = upload?.wait.reason { return nil }
        return upload(.awaiting, .writeCheckpoint(checkpoint), now)
    }

    /// There is nothing to wait for.
    mutating func uploadFinished() {
        guard case .running(let download, .some) = state else { return }
        change(to: .running(download: download, upload: nil))
    }

    /// It was noticed whose writes wait.
    mutating func writesAreOfAnotherUser(_ isSo: Bool) {
        hasWritesOfAnotherUser = isSo
        version += 1
    }

    private mutating func upload(_ phase: Phase, _ reason: SyncWait.Reason, _ now: Date) -> SyncWait? {
        guard case .running(let download, let upload) = state else { return nil }
        let (next, announcement) = Self.lane(upload, phase, reason, now)
        change(to: .running(download: download, upload: next))
        return announcement
    }
}

extension ConnectionActivity.StateMachine {
    private mutating func change(to next: State) {
        state = next
        version += 1
    }

    /// The lane after a wait for `reason` has begun, and the wait if it is to be announced.
    private static func lane(
        _ lane: Lane?,
        _ phase: Phase,
        _ reason: SyncWait.Reason,
        _ now: Date
    ) -> (Lane, SyncWait?) {
        let earlier = lane?.phase == phase ? lane : nil
        let wait = SyncWait(reason: reason, since: earlier?.wait.since ?? now)
        var announced = earlier?.announced ?? []
        // Loops log failures themselves, with their errors.
        let isNews = announced.insert(reason.kind).inserted && reason.kind != .retry
        return (Lane(phase: phase, wait: wait, announced: announced, head: earlier?.head), isNews ? wait : nil)
    }
}
