import NIOConcurrencyHelpers
import PowerSyncClient

/// Runs an attachment queue: owns its tasks, and starts and ends them, one call after the other.
///
/// Which call ends and begins what is the table of ``StateMachine``. A call that ends something goes on after ``grace`` without the app's
/// code that has not returned by then (``AppCodeScope``).
///
/// Dropping the last reference ends all.
final class AttachmentRunner: Sendable {
    /// Work of the queue's own, in a task.
    private struct Work {
        let task: Task<Void, any Error>
        let scope: AppCodeScope

        init(_ work: @escaping @Sendable () async throws -> Void) {
            let scope = AppCodeScope()
            self.scope = scope
            task = Task { try await scope.run(work) }
        }
    }

    private struct Transfers {
        let run: TransferRun
        let task: Task<Void, Never>
        let member: SharedAttachmentTable.Member
    }

    private struct State {
        var machine = StateMachine()
        /// Compares rows and files once, since apps read rows before they start the queue.
        var verification: Work?
        /// Follows references and the connection; also while it is being ended.
        var references: Work?
        var transfers: Transfers?
        /// What the call that holds the lock waits for.
        var holder: AppCodeScope?
        /// How many calls are to stop the queue.
        var stops = 0
        var isPaused = false
        var priorities: [String] = []
    }

    /// How long the app's code that does not react to its cancellation is waited for.
    static let grace = Duration.milliseconds(500)

    /// What transfers need.
    let context: TransferContext
    /// The work of a queue; `nil` when there are transfers only.
    private let upkeep: AttachmentUpkeep?
    private let trigger = SyncTrigger()
    /// Held by the call whose turn it is.
    private let lock = AsyncLock()
    private let state = NIOLockedValueBox(State())

    private var clock: ElapsedClock { context.clock }

    /// Creates the runner of a queue.
    init(upkeep: AttachmentUpkeep) {
        context = upkeep.transfers
        self.upkeep = upkeep
    }

    /// Creates a runner that transfers only.
    init(context: TransferContext) {
        self.context = context
        upkeep = nil
    }

    deinit {
        let last = state.withLockedValue { $0 }
        last.verification?.task.cancel()
        last.references?.task.cancel()
        last.transfers?.task.cancel()
        context.progress.finish()
    }

    /// Whether ``close()`` was called.
    var isClosed: Bool { state.withLockedValue { $0.machine.isClosed } }

    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func checkIsOpen() throws {
        guard !isClosed else { throw closedError }
    }

    private var closedError: PowerSyncAttachmentError {
        .closed(upkeep.map { "the queue of \($0.options.tableName)" } ?? "the syncing service")
    }

    /// Begins to compare rows and files, for ``waitForVerification()``.
    func verify() {
        guard let upkeep else { return }
        let work = Work {
            // On a volume that is not there, no file is lost.
            try await upkeep.makeDirectories()
            try await upkeep.verify()
        }
        state.withLockedValue { $0.verification = work }
    }

    /// Waits until rows and files have been compared.
    func waitForVerification() async throws {
        guard let verification = state.withLockedValue({ $0.verification }) else { return }
        do {
            try await verification.task.value
        } catch let cancellation as CancellationError {
            if let error = verification.scope.error { throw error }
            throw cancellation
        }
    }
}

// Calls.
extension AttachmentRunner {
    /// Starts; ends first what runs.
    func start() async throws {
        guard let upkeep else { return }
        try context.files.table.checkNotInTurn()
        let interval = upkeep.interval
        try await lock.withLock {
            let plan = try plan(for: .start)
            await ending(.generalError("The queue is started again.")) { await end(plan.ends, by: $0) }
            let preparation = AppCodeScope()
            try await holding(preparation) {
                try await preparation.perform {
                    try await upkeep.prepareDirectories()
                    try await upkeep.verify()
                }
            }
            begin(plan.begins, interval: interval)
        }
    }

    /// Begins to transfer; ends first the transfers that run.
    ///
    /// - Parameter interval: The time between two looks at the table without a reason; `nil` for none.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, or `CancellationError`.
    func startTransfers(interval: Duration?) async throws {
        try await lock.withLock {
            let plan = try plan(for: .startTransfers)
            await ending(.generalError("The transfers are started again."), leavesReferences: false) {
                await end(plan.ends, by: $0)
            }
            begin(plan.begins, interval: interval)
        }
    }

    /// Stops.
    ///
    /// When it returns, no row is written any more.
    func stop() async throws {
        try await stop(.stop)
    }

    /// Ends the transfers.
    ///
    /// When it returns, no result is written any more.
    func stopTransfers() async throws {
        try await stop(.stopTransfers)
    }

    private func stop(_ call: StateMachine.Call) async throws {
        try context.files.table.checkNotInTurn()
        try checkIsOpen()
        await ending(.generalError("The queue was stopped."), leavesReferences: call == .stop) { deadline in
            await lock.withLockIgnoringCancellation {
                // Another call may have closed the queue meanwhile.
                guard let plan = state.withLockedValue({ $0.machine.plan(for: call) }) else { return }
                await end(plan.ends, by: deadline)
            }
        }
    }

    /// Stops for good, and ends the streams of progress.
    func close() async throws {
        try context.files.table.checkNotInTurn()
        guard !isClosed else { return }
        await ending(closedError, leavesVerification: true) { deadline in
            await lock.withLockIgnoringCancellation {
                guard let plan = state.withLockedValue({ $0.machine.plan(for: .close) }) else { return }
                await end(plan.ends, by: deadline)
                let verification = state.withLockedValue { state in
                    state.machine.closed()
                    return state.verification
                }
                context.progress.finish()
                verification?.task.cancel()
                _ = await verification?.task.result
            }
        }
    }

    /// Removes all rows and files, with the transfers ended meanwhile.
    func clear() async throws {
        guard let upkeep else { return }
        try context.files.table.checkNotInTurn()
        try upkeep.checkMayBeEmptied()
        let (scope, deadline) = (AppCodeScope(), clock.now + Self.grace)
        let timer = Task {
            try await clock.sleep(until: deadline)
            let error = PowerSyncAttachmentError.generalError("The attachments are being cleared.")
            leaveHolder(besides: scope, error)
            context.files.table.leaveTurn(besidesThoseOf: scope, error)
            try await clock.sleep(until: deadline + Self.grace)
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
                let plan = try plan(for: .clear)
                try await holding(scope) {
                    await end(plan.ends, discardsParts: true, by: deadline)
                    // The queue goes on as before, also after an error or a cancellation.
                    defer { beginAgain(plan.begins, interval: upkeep.interval) }
                    try await upkeep.clear(keepsDirectory: !plan.begins.isEmpty)
                }
            }
        }
    }

    private func plan(for call: StateMachine.Call) throws -> StateMachine.Plan {
        guard let plan = state.withLockedValue({ $0.machine.plan(for: call) }) else { throw closedError }
        return plan
    }

    /// Does work of a scope with the lock, so that calls which wait for the lock can leave the scope.
    private func holding(_ scope: AppCodeScope, _ work: () async throws -> Void) async throws {
        state.withLockedValue { $0.holder = scope }
        defer { state.withLockedValue { $0.holder = nil } }
        try await work()
    }

    /// Ends what runs, and goes on without the app's code after ``grace``.
    ///
    /// - Parameters:
    ///   - error: What calls throw that have not returned by then.
    ///   - leavesReferences: Whether that concerns the calls for the references.
    ///   - leavesVerification: Whether that concerns the calls of the first verification.
    ///   - end: Ends what runs.
    private func ending(
        _ error: PowerSyncAttachmentError,
        leavesReferences: Bool = true,
        leavesVerification: Bool = false,
        _ end: (_ deadline: Duration) async -> Void
    ) async {
        let deadline = clock.now + Self.grace
        state.withLockedValue { $0.stops += 1 }
        // A timer that was cancelled must not keep the runner for a moment.
        let timer = Task { [weak self, clock = context.clock] in
            try await clock.sleep(until: deadline)
            guard let self else { return }
            leaveHolder(error)
            if leavesReferences { state.withLockedValue { $0.references }?.scope.leave(error) }
            if leavesVerification { state.withLockedValue { $0.verification }?.scope.leave(error) }
        }
        await end(deadline)
        timer.cancel()
        state.withLockedValue { $0.stops -= 1 }
    }

    /// Makes the call that holds the lock go on without the app's code, unless it is this one.
    private func leaveHolder(besides scope: AppCodeScope? = nil, _ error: PowerSyncAttachmentError) {
        guard let holder = state.withLockedValue({ $0.holder }), holder !== scope else { return }
        holder.leave(error)
    }
}

// Tasks.
extension AttachmentRunner {
    private func begin(_ parts: StateMachine.Parts, interval: Duration?) {
        let isFirst = parts.contains(.transfers) ? beginTransfers(interval: interval) : true
        if parts.contains(.references), let upkeep {
            if !isFirst {
                context.files.log(
                    .error,
                    "Two started attachment queues use the table \(upkeep.options.tableName): each archives what the other one needs. "
                        + "Close the first one, or give each a table of its own."
                )
            }
            let work = Work { [trigger] in await upkeep.follow(trigger) }
            state.withLockedValue { $0.references = work }
        }
        state.withLockedValue { $0.machine.began(parts) }
    }

    private func beginAgain(_ parts: StateMachine.Parts, interval: Duration?) {
        // The call that stops the queue would end them at once.
        if state.withLockedValue({ $0.stops == 0 }) { begin(parts, interval: interval) }
    }

    /// - Returns: Whether no other queue of the table has been started.
    private func beginTransfers(interval: Duration?) -> Bool {
        let run = TransferRun(context: context, interval: interval, trigger: trigger)
        let member = context.files.table.join { [weak self] in self?.trigger.fire(.routine) }
        trigger.fire(.routine)
        let transfers = Transfers(run: run, task: Task { await run.run() }, member: member)
        state.withLockedValue { state in
            run.prioritize(state.priorities)
            if state.isPaused { run.pause() }
            state.transfers = transfers
        }
        return member.isFirst
    }

    private func end(_ parts: StateMachine.Parts, discardsParts: Bool = false, by deadline: Duration) async {
        let (references, transfers) = state.withLockedValue { state in
            (
                parts.contains(.references) ? state.references : nil,
                parts.contains(.transfers) ? state.transfers : nil
            )
        }
        references?.task.cancel()
        if let transfers { await end(transfers, discardsParts: discardsParts, by: deadline) }
        _ = await references?.task.result
        state.withLockedValue { state in
            if parts.contains(.references) { state.references = nil }
            if parts.contains(.transfers) { state.transfers = nil }
            state.machine.ended(parts)
        }
    }

    private func end(_ transfers: Transfers, discardsParts: Bool, by deadline: Duration) async {
        transfers.task.cancel()
        transfers.run.cancelAttempts(discardsParts: discardsParts)
        let timer = Task { [clock = context.clock, run = transfers.run] in
            try await clock.sleep(until: deadline)
            run.leave()
        }
        defer { timer.cancel() }
        await transfers.task.value
        await transfers.run.end()
    }
}

// Transfers.
extension AttachmentRunner {
    /// Looks at the table as soon as the throttle allows; a look before the start is made up for.
    func fire(_ reason: SyncReason) {
        trigger.fire(reason)
    }

    /// Begins no transfer any more, and interrupts those that run.
    func pause() {
        state.withLockedValue { state in
            state.isPaused = true
            state.transfers?.run.pause()
        }
    }

    /// Transfers again.
    func resume() {
        state.withLockedValue { state in
            state.isPaused = false
            state.transfers?.run.resume()
        }
    }

    /// Replaces the ids that go first.
    func prioritize(_ ids: [String]) {
        state.withLockedValue { state in
            state.priorities = ids
            state.transfers?.run.prioritize(ids)
        }
    }
}
