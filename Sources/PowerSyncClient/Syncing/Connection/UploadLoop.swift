import PowerSyncCore
import PowerSyncProtocol

/// A coalescing flag that says "look at the upload queue".
typealias UploadTrigger = CoalescingTrigger<UploadReason>

/// Uploads local writes of one connection through the app's connector (docs/client-sync.md "Upload loop").
///
/// A pass begins when something was written, when a stream delivers its first line, and at keepalives when something
/// was left behind; at most one pass per throttle interval. Passes run only while the stream is connected.
final class UploadLoop: Sendable {
    /// How long the service may take to answer a request for a write checkpoint, in two attempts: 40 s, as for a silent
    /// stream.
    private static let writeCheckpointLimit = Duration.seconds(40)
    /// How long a write checkpoint is waited for before the service is asked whether it still knows of it: a minute.
    private static let awaitingLimit = Duration.seconds(60)

    private let context: SyncContext
    private let trigger: UploadTrigger
    private let didDrain: @Sendable () -> Void

    /// Creates the loop.
    ///
    /// - Parameters:
    ///   - context: What the connection consists of.
    ///   - trigger: Begins passes.
    ///   - didDrain: Called after each pass that emptied the queue.
    init(context: SyncContext, trigger: UploadTrigger, didDrain: @escaping @Sendable () -> Void) {
        self.context = context
        self.trigger = trigger
        self.didDrain = didDrain
    }

    /// Uploads until the task is cancelled.
    func run() async {
        do {
            if context.options.mode.downloads {
                try await reportWaitForStream()
            } else {
                trigger.fire(.news)
            }
            var awaited: (checkpoint: WriteCheckpoint, since: Duration)?
            while true {
                let reason = try await trigger.wait()
                // What comes while disconnected is not lost: the first line of the next stream begins a pass.
                guard mayUpload else {
                    try await reportWaitForStream()
                    continue
                }
                if reason == .keepalive, try await isDrained() {
                    awaited = try await checkAwaited(awaited)
                    continue
                }
                let started = context.clock.now
                if try await drain() {
                    context.log(.debug, "The upload queue is empty.")
                    didDrain()
                }
                try await context.clock.sleep(until: started + context.options.uploadInterval)
            }
        } catch {
            // The loop ends by cancellation only; `drain()` deals with everything else.
        }
    }

    /// The one condition for uploads: a stream brings what comes of them.
    ///
    /// Without it only a connection uploads that opens none.
    private var mayUpload: Bool { !context.options.mode.downloads || context.progress.current.isStreamOpen }

    /// Shows what is left to do when the stream is open.
    ///
    /// Problems are for the next pass to report.
    private func reportWaitForStream() async throws {
        do {
            let entries = try await context.database.read { db -> Int? in
                let entries = try UploadQueue.span(db)
                if entries > 0 { return entries }
                return try LocalWriteGate.sequenceAwaitingCheckpoint(db) == nil ? nil : 0
            }
            guard let entries else { return }
            context.report { activity, now in
                entries > 0 && !context.options.mode.uploads
                    ? activity.leftToOthers(entries: entries, now: now)
                    : activity.waitingForStream(entries: entries, now: now)
            }
        } catch {
            try Task.checkCancellation()
        }
    }

    /// Whether a keepalive finds nothing to do.
    ///
    /// Problems are for the next pass to report.
    private func isDrained() async throws -> Bool {
        do {
            return try await context.database.read { try LocalWriteGate.isUploaded($0) }
        } catch {
            try Task.checkCancellation()
            return false
        }
    }

    /// Asks the service, now and then, whether it still counts as it did when it returned the write checkpoint that is waited for:
    /// otherwise nothing would be shown any more until the next local write.
    ///
    /// - Parameter before: What was waited for at the last keepalive, and since when it was waited for or asked about.
    /// - Returns: What is waited for now.
    /// - Throws: `CancellationError`. Problems are no reason to do anything: the next keepalive follows.
    private func checkAwaited(
        _ before: (checkpoint: WriteCheckpoint, since: Duration)?
    ) async throws -> (checkpoint: WriteCheckpoint, since: Duration)? {
        // Checkpoint requests are repeated until a checkpoint answers them.
        guard context.checkpointRequests == nil else { return nil }
        do {
            let (awaited, clientID) = try await context.database.read { db in
                (try LocalWriteGate.awaitedOfService(db), try KeyValueStore.clientID(db))
            }
            guard let awaited else { return nil }
            let now = context.clock.now
            let known = before?.checkpoint == awaited ? before : nil
            let since = known?.since ?? now
            context.log(.debug, "Write checkpoint \(awaited) has not come for \(now - since).")
            guard now - since >= Self.awaitingLimit else { return (awaited, since) }
            let later = try await requestWriteCheckpoint(clientID: clientID)
            let isReplaced = try await context.database.write { db in
                try LocalWriteGate.replace(db, awaited, by: later)
            }
            if isReplaced {
                context.log(
                    .info,
                    "The service counts write checkpoints anew: \(later) is awaited instead of \(awaited)."
                )
                reportAwaited(later, since: context.progress.current.activity.completedSyncs)
            }
            return (isReplaced ? later : awaited, context.clock.now)
        } catch {
            try Task.checkCancellation()
            return before
        }
    }

    /// Runs one pass.
    ///
    /// - Returns: Whether the queue is empty. If not, the stream has gone, or this connection does not upload.
    /// - Throws: `CancellationError`, when the task is cancelled.
    private func drain() async throws -> Bool {
        if !context.options.mode.downloads {
            // Other connections compare the user when they open the stream.
            await context.reportWriters { [context] in
                try await context.writers.tokenIsUsed(context.credentials.credentials().token)
            }
        }
        var pass = Pass()
        // Shown until a later upload has none: the app must have a chance to see it. Setting writes aside changes the queue,
        // which begins a pass that finds nothing to upload.
        var rejection = shownRejection
        var hasUploaded = false
        while mayUpload {
            let occasions = context.retryOccasions
            do {
                let (head, entries) = try await context.database.read { db in
                    (try UploadQueue.firstID(db), try UploadQueue.span(db))
                }
                switch pass.headRead(head) {
                case .upload where !context.options.mode.uploads:
                    context.report { $0.leftToOthers(entries: entries, now: $1) }
                    return false
                case .upload(let head):
                    if !context.options.mode.downloads {
                        // Other connections compare the user when they open the stream.
                        _ = try await context.claimSeed { [context] in try await context.credentials.credentials().token
                        }
                    }
                    context.report { $0.uploading(entries: entries, head: head, now: $1) }
                    context.progress.uploadStarted()
                    if !hasUploaded { rejection = nil }
                    hasUploaded = true
                    try await uploadData()
                    context.progress.uploadSucceeded(isUploading: true, rejection: rejection)
                case .finish:
                    await context.reportWriters { try await context.writers.queueIsEmpty() }
                    try await obtainWriteCheckpoint()
                    context.progress.uploadSucceeded(isUploading: false, rejection: rejection)
                    return true
                case .stall:
                    context.log(.warning, stalledQueueWarning)
                    throw PowerSyncError.uploadQueueStalled
                }
            } catch {
                try Task.checkCancellation()
                pass.failed()
                if try await setAside(error) {
                    rejection = error as? UploadRejectionError
                    // At once: what follows may be over when the service has sent what contains the rest of the queue.
                    context.progress.uploadSucceeded(isUploading: true, rejection: rejection)
                } else {
                    try await waitAfter(error, occasions)
                }
            }
        }
        try await reportWaitForStream()
        context.log(.debug, "Uploading pauses until the connection is open again.")
        context.progress.uploadEnded(error: nil)
        return false
    }

    /// Calls the app's `uploadData`, and returns when that has.
    private func uploadData() async throws {
        try await context.connectorCalls.perform("uploadData", within: context.options.limitOfUploads) { [context] in
            try await context.connector.uploadData(database: context.app)
        } whenOverdue: { [context] overdue in
            guard !context.progress.current.isOver else { return }
            context.log(.warning, "\(overdue) Local writes wait until it returns; downloads go on.")
            context.progress.uploadOverdue(overdue, since: context.date(after: .zero - overdue.limit))
        }
    }

    /// The rejection whose writes were set aside last; `nil` after a successful upload.
    private var shownRejection: UploadRejectionError? {
        guard context.options.uploadRejectionPolicy != .retry else { return nil }
        return context.progress.current.uploadError as? UploadRejectionError
    }

    /// Shows an error, and waits for the next attempt.
    ///
    /// - Parameters:
    ///   - error: What has failed.
    ///   - occasions: How many occasions for retries there had been before.
    /// - Throws: `CancellationError`
    private func waitAfter(_ error: any Error, _ occasions: UInt64) async throws {
        let delay = context.nextRetryDelay()
        let date = context.date(after: delay)
        // The app cancelled something of its own; that is not an error to report.
        let isCancellation = error is CancellationError
        context.report { $0.uploadFailed(retryAt: date, isCancellation ? nil : error, now: $1) }
        if isCancellation {
            context.progress.uploadEnded(error: nil)
        } else {
            context.log(.error, "Uploading local writes failed; trying again in \(delay): \(error.lineOfText)")
            context.progress.uploadEnded(error: error)
        }
        try await context.wait(delay, toRetry: .upload, after: occasions)
    }

    /// Makes the service's next write checkpoint the target of the local write gate.
    private func obtainWriteCheckpoint() async throws {
        let completedSyncs = context.progress.current.activity.completedSyncs
        let (unasked, awaited) = try await context.database.read { db in
            let sequence = try LocalWriteGate.sequenceAwaitingCheckpoint(db)
            let unasked = try sequence.map { (sequence: $0, clientID: try KeyValueStore.clientID(db)) }
            return (unasked, unasked == nil ? try LocalWriteGate.awaited(db) : nil)
        }
        guard let (sequence, clientID) = unasked else { return reportAwaited(awaited, since: completedSyncs) }
        context.report { $0.requestingWriteCheckpoint(now: $1) }
        let checkpoint: WriteCheckpoint
        do {
            checkpoint =
                if let requests = context.checkpointRequests {
                    try await requests.request(agreeing: !context.options.mode.downloads)
                } else {
                    try await requestWriteCheckpoint(clientID: clientID)
                }
        } catch let error as SyncTransportError where error.httpStatus == 400 {
            // The backend tells write checkpoints itself.
            let own = try await context.database.write {
                try LocalWriteGate.awaitLastOwn($0, ifSequenceIs: sequence)
            }
            guard let own else { throw error }
            context.log(.debug, "The service makes no write checkpoints: that of the last upload, \(own), is awaited.")
            return reportAwaited(own, since: completedSyncs)
        }
        let isStored = try await context.database.write { db in
            try LocalWriteGate.acknowledge(db, checkpoint, ifSequenceIs: sequence)
        }
        if !isStored { context.log(.debug, "Write checkpoint \(checkpoint) is superseded by newer local writes.") }
        reportAwaited(isStored ? checkpoint : nil, since: completedSyncs)
    }

    /// Shows that everything is uploaded.
    ///
    /// A connection that opens no stream waits for no checkpoint.
    private func reportAwaited(_ checkpoint: WriteCheckpoint?, since completedSyncs: UInt64) {
        context.report { activity, now in
            if let checkpoint, context.options.mode.downloads {
                return activity.awaiting(checkpoint.rawValue, since: completedSyncs, now: now)
            }
            activity.uploadFinished()
            return nil
        }
    }

    private func requestWriteCheckpoint(clientID: String) async throws -> WriteCheckpoint {
        try await context.credentials.withCredentials { [context] credentials in
            let limit = UploadLoop.writeCheckpointLimit
            return try await context.clock.withAnswerLimit(
                limit,
                otherwise: SyncTransportError(
                    .idle,
                    message: "\(credentials.endpoint) did not answer the request for a write checkpoint in \(limit)."
                )
            ) {
                try await context.clock.repeatingUnanswered {
                    try await context.transport.writeCheckpoint(
                        clientID: clientID,
                        credentials: credentials,
                        log: context.requestLog
                    )
                }
            }
        }
    }
}

// Writes that the backend will never accept.
extension UploadLoop {
    /// How many rejected writes a log message names.
    private static let namedWrites = 10

    /// Takes writes that the backend rejects out of the queue, if the app wants that.
    ///
    /// - Returns: Whether the pass can go on behind them; if not, this is an error like any other.
    /// - Throws: `CancellationError`; the writes stay in the queue then, and are rejected again.
    private func setAside(_ error: any Error) async throws -> Bool {
        guard let rejection = error as? UploadRejectionError,
            let treatment = context.options.uploadRejectionPolicy.treatment
        else { return false }
        do {
            let now = SyncInstant(context.environment.now())
            let writeCheckpoint = try rejection.writeCheckpoint.map { try WriteCheckpoint(ofApp: $0) }
            let setAside = try await context.database.write { db in
                try RejectedWrites.setAside(
                    db,
                    rejection.rejected,
                    treatment,
                    writeCheckpoint: writeCheckpoint,
                    at: now
                )
            }
            guard !setAside.rejected.isEmpty else { return false }
            context.log(.warning, UploadLoop.message(about: setAside, rejection, context.options.uploadRejectionPolicy))
            return true
        } catch {
            try Task.checkCancellation()
            context.log(.error, "Rejected local writes could not be taken out of the upload queue: \(error.lineOfText)")
            return false
        }
    }

    /// What happened to which rows, and what can be done about it.
    private static func message(
        about setAside: RejectedWrites.SetAside,
        _ rejection: UploadRejectionError,
        _ policy: UploadRejectionPolicy
    ) -> String {
        let named = setAside.rejected.prefix(namedWrites)
            .map { "\($0.kind.rawValue) \($0.table)/\($0.rowID)" }
            .joined(separator: ", ")
        let more = setAside.rejected.count > namedWrites ? ", …" : ""
        let waiting =
            setAside.waiting == 0 ? "" : " and \(setAside.waiting.counted("later one", "later ones")) of the same rows"
        return """
            \(rejection). Taken out of the upload queue (\(policy)): \(setAside.rejected.count.counted("local write"))\(waiting): \
            \(named)\(more). They are kept in rejectedWrites(), to be restored or removed.
            """
    }
}

extension UploadLoop {
    /// One pass over the upload queue: decides what to do with its head.
    struct Pass {
        /// The head of the queue at the last call; `nil` when none was made since the pass began, or it failed.
        private var uploadedHead: Int64?

        /// What to do next.
        enum Action: Equatable {
            /// Call the app's `uploadData`, with this entry at the head.
            case upload(head: Int64)
            /// The queue is empty: obtain a write checkpoint, and be done.
            case finish
            /// The last call succeeded without removing the head of the queue: warn, and fail.
            case stall
        }

        /// The head of the queue was read.
        ///
        /// - Parameter head: The id of the oldest entry; `nil` when the queue is empty.
        /// - Returns: What to do next.
        mutating func headRead(_ head: Int64?) -> Action {
            guard let head else { return .finish }
            guard head != uploadedHead else { return .stall }
            uploadedHead = head
            return .upload(head: head)
        }

        /// Something went wrong.
        ///
        /// The next call for the same entry is a retry and not a sign of a forgotten `complete()`.
        mutating func failed() {
            uploadedHead = nil
        }
    }
}

/// What is logged when `uploadData` returns and the entry that was at the head of the queue is still there.
///
/// Apps and tests search for its beginning.
private let stalledQueueWarning = """
    Potentially previously uploaded CRUD entries are still present in the upload queue.
    Make sure to handle uploads and complete CRUD transactions or batches by calling and awaiting their \
    [.complete()] method.
    The next upload iteration will be delayed.
    """
