import NIOConcurrencyHelpers
import PowerSyncClient

/// Starts and stops transfers, and keeps what is to outlive a stop.
///
/// ```
///             start                    stop
///  stopped ───────────► running ──────────────────► stopped
///     │                  │   ▲                         │
///     │                  └───┘ start: stop, then start │
///     └──────────────────────┬─────────────────────────┘
///                            ▼ close: stop
///                          closed
/// ```
///
/// Dropping the last reference stops the transfers.
final class TransferEngine: Sendable {
    private enum Phase {
        case stopped
        case running(Running)
        case closed
    }

    private struct Running {
        let run: TransferRun
        let task: Task<Void, Never>
        let member: SharedAttachmentTable.Member
    }

    private struct State {
        var phase = Phase.stopped
        var isPaused = false
        var priorities: [String] = []
    }

    /// How long attempts that do not react to their cancellation keep ``stop(discardsParts:)`` waiting.
    private static let grace = Duration.milliseconds(500)

    let context: TransferContext
    private let trigger = SyncTrigger()
    /// Held while starting, stopping and closing.
    private let lock = AsyncLock()
    private let state = NIOLockedValueBox(State())

    /// Creates an engine that is stopped.
    init(context: TransferContext) {
        self.context = context
    }

    deinit {
        if case .running(let running) = state.withLockedValue({ $0.phase }) { running.task.cancel() }
        context.progress.finish()
    }

    /// Begins to transfer; stops first what runs.
    ///
    /// - Parameter interval: The time between two looks without a reason; `nil` for none.
    /// - Returns: Whether no other queue of the table is started.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    @discardableResult
    func start(interval: Duration?) async throws -> Bool {
        try await lock.withLock {
            try checkIsOpen()
            await stopRunning()
            let run = TransferRun(context: context, interval: interval, trigger: trigger)
            let member = context.table.join { [weak self] in self?.trigger.fire(.routine) }
            trigger.fire(.routine)
            state.withLockedValue { state in
                run.prioritize(state.priorities)
                if state.isPaused { run.pause() }
                state.phase = .running(Running(run: run, task: Task { await run.run() }, member: member))
            }
            return member.isFirst
        }
    }

    /// Ends the transfers.
    ///
    /// When it returns, no result is written any more.
    ///
    /// - Parameter discardsParts: Whether parts of downloads are of no use any more.
    func stop(discardsParts: Bool = false) async {
        await lock.withLockIgnoringCancellation { await stopRunning(discardsParts: discardsParts) }
    }

    /// Ends the transfers for good, and the streams of their progress.
    func close() async {
        await lock.withLockIgnoringCancellation {
            await stopRunning()
            state.withLockedValue { $0.phase = .closed }
            context.progress.finish()
        }
    }

    private func stopRunning(discardsParts: Bool = false) async {
        let running = state.withLockedValue { state -> Running? in
            guard case .running(let running) = state.phase else { return nil }
            state.phase = .stopped
            return running
        }
        guard let running else { return }
        running.task.cancel()
        await running.run.end(discardsParts: discardsParts)
        await running.task.value
        await running.run.waitForAttempts(limit: TransferEngine.grace)
    }

    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func checkIsOpen() throws {
        if case .closed = state.withLockedValue({ $0.phase }) {
            throw PowerSyncAttachmentError.closed("the syncing service")
        }
    }

    /// Looks at the table as soon as the throttle allows; a look before the start is made up for.
    func fire(_ reason: SyncReason) {
        trigger.fire(reason)
    }

    /// Begins no transfer any more, and interrupts those that run.
    func pause() {
        state.withLockedValue { state in
            state.isPaused = true
            if case .running(let running) = state.phase { running.run.pause() }
        }
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
