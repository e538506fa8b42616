import NIOConcurrencyHelpers
import PowerSyncClient

/// Starts and stops a queue, one call after the other.
///
/// Calls that end something go on after half a second without the app's code that has not returned by then.
///
/// Dropping the last reference stops it.
final class QueueLifecycle: Sendable {
    private enum Phase {
        case stopped
        case started(Session)
        case closed
    }

    /// Follows references and the connection.
    private struct Session {
        let task: Task<Void, Never>
        let scope: AppCodeScope
    }

    private struct State {
        var phase = Phase.stopped
        /// What the call that holds the lock waits for.
        var holder: AppCodeScope?
        /// What is being stopped.
        var ending: Session?
        /// How many calls are to stop the queue.
        var stops = 0
    }

    let parts: AttachmentQueueParts
    /// Compares rows and files once, since apps read rows before they start the queue.
    private let initialVerification: Task<Void, any Error>
    private let initialScope = AppCodeScope()
    /// Held while starting, stopping, clearing and closing.
    private let lock = AsyncLock()
    private let state = NIOLockedValueBox(State())

    private var clock: ElapsedClock { parts.engine.context.clock }

    /// Creates the lifecycle of a queue, which begins with a verification.
    init(parts: AttachmentQueueParts) {
        self.parts = parts
        initialVerification = Task { [initialScope] in
            try await initialScope.run {
                // On a volume that is not there, no file is lost.
                try await parts.makeDirectories()
                try await parts.verify()
            }
        }
    }

    deinit {
        initialVerification.cancel()
        if case .started(let session) = state.withLockedValue({ $0.phase }) { session.task.cancel() }
    }

    /// Whether ``close()`` was called.
    var isClosed: Bool {
        if case .closed = state.withLockedValue({ $0.phase }) { true } else { false }
    }

    private var isStarted: Bool {
        if case .started = state.withLockedValue({ $0.phase }) { true } else { false }
    }

    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func checkIsOpen() throws {
        guard !isClosed else { throw closedError }
    }

    private var closedError: PowerSyncAttachmentError { .closed("the queue of \(parts.tableName)") }

    /// Waits for the first verification.
    func waitForInit() async throws {
        do {
            try await initialVerification.value
        } catch let cancellation as CancellationError {
            if let error = initialScope.error { throw error }
            throw cancellation
        }
    }

    /// Starts; stops first what runs.
    func start() async throws {
        try parts.service.checkNotInContext()
        try await lock.withLock {
            try checkIsOpen()
            await ending(.generalError("The queue is started again.")) { deadline in
                await stopRunning(by: deadline)
            }
            let preparation = AppCodeScope()
            try await holding(preparation) {
                try await preparation.perform { [parts] in
                    try await parts.prepareDirectories()
                    try await parts.verify()
                }
            }
            let isFirst = try await parts.engine.start(interval: parts.interval)
            if !isFirst {
                parts.log(
                    .error,
                    "Two started attachment queues use the table \(parts.tableName): each archives what the other one needs. "
                        + "Close the first one, or give each a table of its own."
                )
            }
            let (work, scope) = (parts.backgroundWork, AppCodeScope())
            let session = Session(task: Task { await scope.run(work) }, scope: scope)
            state.withLockedValue { $0.phase = .started(session) }
        }
    }

    /// Stops.
    ///
    /// When it returns, no row is written any more.
    func stop() async throws {
        try parts.service.checkNotInContext()
        try checkIsOpen()
        await ending(.generalError("The queue was stopped.")) { deadline in
            await lock.withLockIgnoringCancellation { await stopRunning(by: deadline) }
        }
    }

    /// Stops for good.
    func close() async throws {
        try parts.service.checkNotInContext()
        guard !isClosed else { return }
        await ending(closedError, leavesInitialVerification: true) { deadline in
            await lock.withLockIgnoringCancellation {
                await stopRunning(by: deadline)
                state.withLockedValue { $0.phase = .closed }
                await parts.engine.close(by: deadline)
                initialVerification.cancel()
                _ = await initialVerification.result
            }
        }
    }

    /// Removes all rows and files, with the transfers stopped meanwhile.
    func clear() async throws {
        try parts.service.checkNotInContext()
        try parts.checkMayBeEmptied()
        let (scope, clock, begin) = (AppCodeScope(), clock, clock.now)
        let timer = Task { [self] in
            try await clock.sleep(until: begin + TransferEngine.grace)
            let cleared = PowerSyncAttachmentError.generalError("The attachments are being cleared.")
            leaveAppCode(besides: scope, cleared)
            parts.table.leaveTurn(besidesThoseOf: scope, cleared)
            try await clock.sleep(until: begin + TransferEngine.grace * 2)
            scope.leave(
                .generalError(
                    "The attachments are not cleared: the local storage, or a callback of withContext, has not returned within "
                        + "a second. Rows may be removed, and files left; clear the queue again."
                )
            )
        }
        defer { timer.cancel() }
        try await scope.perform { [self] in
            try await lock.withLock {
                try checkIsOpen()
                try await holding(scope) { try await clearStopped(by: begin + TransferEngine.grace) }
            }
        }
    }

    private func clearStopped(by deadline: Duration) async throws {
        await parts.engine.stop(discardsParts: true, by: deadline)
        let isStarted = isStarted
        do {
            try await parts.clear(keepsDirectory: isStarted)
        } catch {
            // The queue goes on as before, also after a cancellation.
            if isStarted { try? await restartTransfers() }
            throw error
        }
        if isStarted { try await restartTransfers() }
    }

    private func restartTransfers() async throws {
        // The call that stops the queue would stop them at once.
        guard state.withLockedValue({ $0.stops == 0 }) else { return }
        try await Task.ignoringCancellation { [parts] in _ = try await parts.engine.start(interval: parts.interval) }
    }

    private func stopRunning(by deadline: Duration) async {
        let session = state.withLockedValue { state -> Session? in
            guard case .started(let session) = state.phase else { return nil }
            state.phase = .stopped
            state.ending = session
            return session
        }
        session?.task.cancel()
        await parts.engine.stop(by: deadline)
        await session?.task.value
        state.withLockedValue { $0.ending = nil }
    }

    /// Does work of a scope with the lock, so that calls which wait for the lock can leave the scope.
    private func holding(_ scope: AppCodeScope, _ work: () async throws -> Void) async throws {
        state.withLockedValue { $0.holder = scope }
        defer { state.withLockedValue { $0.holder = nil } }
        try await work()
    }

    /// Ends what runs, and goes on without the app's code after ``TransferEngine/grace``.
    private func ending(
        _ error: PowerSyncAttachmentError,
        leavesInitialVerification: Bool = false,
        _ end: (_ deadline: Duration) async -> Void
    ) async {
        let deadline = clock.now + TransferEngine.grace
        state.withLockedValue { $0.stops += 1 }
        let timer = Task { [self] in
            try await clock.sleep(until: deadline)
            leaveAppCode(error)
            if leavesInitialVerification { initialScope.leave(error) }
        }
        await end(deadline)
        timer.cancel()
        state.withLockedValue { $0.stops -= 1 }
    }

    /// Goes on without the app's code that the queue waits for.
    private func leaveAppCode(besides other: AppCodeScope? = nil, _ error: PowerSyncAttachmentError) {
        let (holder, ending, phase) = state.withLockedValue { ($0.holder, $0.ending, $0.phase) }
        if let holder, holder !== other { holder.leave(error) }
        ending?.scope.leave(error)
        // A call that clears the queue stops the transfers only.
        if other == nil, case .started(let session) = phase { session.scope.leave(error) }
    }
}

extension AttachmentQueueParts {
    /// Follows the references and the connection until the task is cancelled.
    var backgroundWork: @Sendable () async -> Void {
        let watch = ReferenceWatch(
            references: references,
            process: { try await process($0, deliveredAt: $1) },
            clock: engine.context.clock,
            now: environment.now,
            logger: logger
        )
        return {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await watch.run() }
                group.addTask { await triggerWhenConnected() }
            }
        }
    }

    /// What failed while offline is worth another attempt.
    private func triggerWhenConnected() async {
        var wasConnected = true
        for await status in db.currentStatus.asFlow() {
            if status.connected, !wasConnected { engine.fire(.hope) }
            wasConnected = status.connected
        }
    }
}
