import NIOConcurrencyHelpers
import PowerSyncClient

/// Starts and stops what works in the background for an attachments table: transfers, and in a queue what follows references.
///
/// ```
///             start                     stop
///  stopped ────────────► running ───────────────────► stopped
///     │                   │   ▲                          │
///     │                   └───┘ start: stop, then start  │
///     └───────────────────────┬──────────────────────────┘
///                             ▼ close: stop
///                           closed
/// ```
///
/// One of these calls after the other. The app's code that runs in them or in the background cannot hold them up: it is cancelled, waited
/// for half a second (``grace``), and left behind. What it returns afterwards has no effect: its task is cancelled, so the database
/// refuses what it would write, and a run that has ended writes no results (``TransferRun/end()``).
///
/// Dropping the last reference stops it.
final class AttachmentRunner: Sendable {
    private typealias Running = (
        run: TransferRun, transfers: LeavableTask<Void>, member: SharedAttachmentTable.Member
    )

    private enum Phase {
        case stopped
        case running(Running)
        case closed
    }

    private struct State {
        var phase = Phase.stopped
        /// Follows references and the connection.
        var following: LeavableTask<Void>?
        var isPaused = false
        var priorities: [String] = []
    }

    /// How long the app's code is waited for that does not react to its cancellation.
    static let grace = Duration.milliseconds(500)

    let context: TransferContext
    /// The queue, with the runner's way to the table; `nil` for transfers only.
    private let queue: AttachmentQueueParts?
    /// Compares rows and files once, since apps read rows before they start the queue.
    private let initialVerification: LeavableTask<Void>?
    /// The way to the table of `initialVerification`.
    private let initialService: AttachmentService?
    private let trigger = SyncTrigger()
    /// Held while starting, stopping, clearing and closing.
    private let lock = TurnLock(
        error: PowerSyncAttachmentError.generalError("The attachments were stopped before their start was complete.")
    )
    private let state = NIOLockedValueBox(State())

    /// Creates a runner that is stopped; that of a queue begins with a verification.
    init(context: TransferContext, queue: AttachmentQueueParts? = nil) {
        self.context = context
        guard let queue, let service = context.service as? AttachmentService else {
            (self.queue, initialService, initialVerification) = (nil, nil, nil)
            return
        }
        self.queue = queue.with(service: service)
        let initialService = service.sibling()
        self.initialService = initialService
        initialVerification = LeavableTask {
            // On a volume that is not there, no file is lost.
            try await queue.makeDirectories()
            try await queue.with(service: initialService).verify()
        }
    }

    deinit {
        initialVerification?.cancel()
        let (phase, following) = state.withLockedValue { ($0.phase, $0.following) }
        following?.cancel()
        if case .running(let running) = phase { running.transfers.cancel() }
        context.progress.finish()
    }

    /// Whether ``close()`` was called.
    var isClosed: Bool {
        if case .closed = state.withLockedValue({ $0.phase }) { true } else { false }
    }

    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func checkIsOpen() throws {
        guard !isClosed else {
            throw PowerSyncAttachmentError.closed(queue.map { "the queue of \($0.tableName)" } ?? "the syncing service")
        }
    }

    /// Waits for the first verification.
    func waitForInit() async throws {
        try await Task.ignoringCancellation { [initialVerification] in try await initialVerification?.value() }
    }

    /// Looks at the table as soon as the throttle allows; a look before the start is made up for.
    func fire(_ reason: SyncReason) {
        trigger.fire(reason)
    }

    /// Begins no transfer any more, and interrupts those that run.
    func pause() {
        let tasks = state.withLockedValue { state -> [LeavableTask<Void>] in
            state.isPaused = true
            guard case .running(let running) = state.phase else { return [] }
            return running.run.pause()
        }
        // What the app does in a cancellation may call the queue.
        for task in tasks { task.cancel() }
    }

    /// Transfers again.
    func resume() {
        state.withLockedValue { state in
            state.isPaused = false
            if case .running(let running) = state.phase { running.run.resume() }
        }
    }

    /// Replaces the ids that go first.
    func prioritize(_ ids: [String]) {
        state.withLockedValue { state in
            state.priorities = ids
            if case .running(let running) = state.phase { running.run.prioritize(ids) }
        }
    }
}

// Starting.
extension AttachmentRunner {
    /// Prepares the directories, verifies, and begins to follow references and to transfer; stops first what runs.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, the error of the lock when a stop comes before the app's code has answered, or
    ///   an error of the database or the storage. It is stopped then.
    func start() async throws {
        guard let queue else { return try await startTransfers(interval: nil) }
        try queue.service.checkNotInContext()
        try await lock.withTurn { [self] in
            try checkIsOpen()
            await stopRunning()
            try await queue.prepareDirectories()
            try await queue.verify()
            try begin(interval: queue.interval, follow: { [trigger] in await queue.follow(trigger) })
        }
    }

    /// Begins to transfer, and leaves the rest as it is; stops the transfers first.
    ///
    /// - Parameter interval: The time between two looks without a reason; `nil` for none.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func startTransfers(interval: Duration?) async throws {
        try await lock.withTurn { [self] in
            try checkIsOpen()
            await stopRunning(transfersOnly: true)
            try begin(interval: interval)
        }
    }

    /// - Throws: `CancellationError` when the start was cancelled, which may have been left behind.
    private func begin(interval: Duration?, follow: (@Sendable () async -> Void)? = nil) throws {
        let run = TransferRun(context: context, interval: interval, trigger: trigger)
        let member = context.table.join { [trigger] in trigger.fire(.routine) }
        trigger.fire(.routine)
        try state.withLockedValue { state in
            // A start that was left behind is cancelled before the call that left it looks at what runs.
            try Task.checkCancellation()
            run.prioritize(state.priorities)
            if state.isPaused { _ = run.pause() }
            let transfers = LeavableTask { await run.run() }
            state.phase = .running((run, transfers, member))
            if let follow { state.following = LeavableTask(follow) }
        }
        if let queue, follow != nil, !member.isFirst {
            queue.log(
                .error,
                "Two started attachment queues use the table \(queue.tableName): each archives what the other one needs. "
                    + "Close the first one, or give each a table of its own."
            )
        }
    }
}

// Stopping.
extension AttachmentRunner {
    /// Stops.
    ///
    /// When it returns, no row is written any more.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, or ``PowerSyncAttachmentError/generalError(_:)`` inside a callback that has the
    ///   table.
    func stop() async throws {
        try queue?.service.checkNotInContext()
        try checkIsOpen()
        try await exclusively { await $0.stopRunning() }
    }

    /// Stops the transfers, and leaves the rest as it is.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func stopTransfers() async throws {
        try checkIsOpen()
        try await exclusively { await $0.stopRunning(transfersOnly: true) }
    }

    /// Stops for good, and ends the streams of the progress.
    ///
    /// - Throws: ``PowerSyncAttachmentError/generalError(_:)`` inside a callback that has the table.
    func close() async throws {
        try queue?.service.checkNotInContext()
        guard !isClosed else { return }
        try await exclusively { runner in
            await runner.stopRunning(initialVerification: runner.initialVerification)
            runner.initialService?.leaveTurn()
            runner.state.withLockedValue { $0.phase = .closed }
            runner.context.progress.finish()
        }
    }

    /// Removes all rows and files, with the transfers stopped meanwhile.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, or as ``AttachmentQueueParts/clear(keepsDirectory:insistingAfter:)`` does.
    func clear() async throws {
        guard let queue else { return }
        try queue.service.checkNotInContext()
        try queue.checkMayBeEmptied()
        let deadline = context.clock.now + AttachmentRunner.grace
        let turn = try await lock.take(insistingAfter: AttachmentRunner.grace, context.clock)
        defer { turn.end() }
        try checkIsOpen()
        await stopRunning(transfersOnly: true, discardsParts: true)
        let isStarted = state.withLockedValue { $0.following != nil }
        let restart: @Sendable () async throws -> Void = { [self] in
            guard isStarted else { return }
            try await Task.ignoringCancellation { [self] in try begin(interval: queue.interval) }
        }
        do {
            let left = max(.zero, deadline - context.clock.now)
            try await queue.clear(keepsDirectory: isStarted, insistingAfter: left)
        } catch {
            // The queue goes on as before, also after a cancellation.
            try? await restart()
            throw error
        }
        try await restart()
    }

    /// Runs a body while no other call runs, even if the task is cancelled; a start that hangs is left behind.
    private func exclusively(_ body: @escaping @Sendable (AttachmentRunner) async -> Void) async throws {
        try await Task.ignoringCancellation { [self] in
            let turn = try await lock.take(insistingAfter: AttachmentRunner.grace, context.clock)
            defer { turn.end() }
            await body(self)
        }
    }

    /// Cancels what runs, waits for it as long as the grace, and leaves the rest behind.
    ///
    /// - Parameters:
    ///   - transfersOnly: Whether references are followed all the same.
    ///   - discardsParts: Whether parts of downloads are of no use any more.
    ///   - verification: Ends, too.
    private func stopRunning(
        transfersOnly: Bool = false,
        discardsParts: Bool = false,
        initialVerification verification: LeavableTask<Void>? = nil
    ) async {
        // They stay until they have ended: a start that is left behind may be stopping them, too.
        let (running, following) = state.withLockedValue { state -> (Running?, LeavableTask<Void>?) in
            let following = transfersOnly ? nil : state.following
            guard case .running(let running) = state.phase else { return (nil, following) }
            return (running, following)
        }
        running?.run.cancelAttempts(discardsParts: discardsParts)
        let tasks = [running?.transfers, following, verification].compactMap { $0 }
        for task in tasks { task.cancel() }
        if !tasks.isEmpty {
            await Task.ignoringCancellation { [clock = context.clock] in
                // Ends by the limit at the latest.
                try? await clock.withLimit(AttachmentRunner.grace, otherwise: CancellationError()) {
                    for task in tasks { try await task.end() }
                    try await running?.run.attemptsEnd()
                }
            }
        }
        await running?.run.end()
        for task in tasks { task.leave(throwing: CancellationError()) }
        state.withLockedValue { state in
            if case .running(let current) = state.phase, current.run === running?.run { state.phase = .stopped }
            if let following, state.following === following { state.following = nil }
        }
        // A start that was left behind, or what was left behind now, may have the table; a start that was left behind itself leaves its
        // successor's turn alone.
        guard !transfersOnly || queue == nil, !Task.isCancelled else { return }
        (context.service as? AttachmentService)?.leaveTurn()
    }
}
