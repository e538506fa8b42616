import NIOConcurrencyHelpers
import PowerSyncClient

/// Starts and stops a queue, one call after the other.
///
/// Dropping the last reference stops it.
final class QueueLifecycle: Sendable {
    private enum Phase {
        case stopped
        /// Follows references and the connection.
        case started(Task<Void, Never>)
        case closed
    }

    let parts: AttachmentQueueParts
    /// Compares rows and files once, since apps read rows before they start the queue.
    private let initialVerification: Task<Void, any Error>
    /// Held while starting, stopping, clearing and closing.
    private let lock = AsyncLock()
    private let phase = NIOLockedValueBox(Phase.stopped)

    /// Creates the lifecycle of a queue, which begins with a verification.
    init(parts: AttachmentQueueParts) {
        self.parts = parts
        initialVerification = Task {
            // On a volume that is not there, no file is lost.
            try await parts.makeDirectories()
            try await parts.verify()
        }
    }

    deinit {
        initialVerification.cancel()
        if case .started(let task) = phase.withLockedValue({ $0 }) { task.cancel() }
    }

    /// Whether ``close()`` was called.
    var isClosed: Bool {
        if case .closed = phase.withLockedValue({ $0 }) { true } else { false }
    }

    private var isStarted: Bool {
        if case .started = phase.withLockedValue({ $0 }) { true } else { false }
    }

    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``
    func checkIsOpen() throws {
        guard !isClosed else { throw PowerSyncAttachmentError.closed("the queue of \(parts.tableName)") }
    }

    /// Waits for the first verification.
    func waitForInit() async throws {
        try await initialVerification.value
    }

    /// Starts; stops first what runs.
    func start() async throws {
        try parts.service.checkNotInContext()
        try await lock.withLock {
            try checkIsOpen()
            await stopRunning()
            try await parts.prepareDirectories()
            try await parts.verify()
            let isFirst = try await parts.engine.start(interval: parts.interval)
            if !isFirst {
                parts.log(
                    .error,
                    "Two started attachment queues use the table \(parts.tableName): each archives what the other one needs. "
                        + "Close the first one, or give each a table of its own."
                )
            }
            let work = parts.backgroundWork
            phase.withLockedValue { $0 = .started(Task { await work() }) }
        }
    }

    /// Stops.
    ///
    /// When it returns, no row is written any more.
    func stop() async throws {
        try parts.service.checkNotInContext()
        try checkIsOpen()
        await lock.withLockIgnoringCancellation { await stopRunning() }
    }

    /// Stops for good.
    func close() async throws {
        try parts.service.checkNotInContext()
        guard !isClosed else { return }
        await lock.withLockIgnoringCancellation {
            await stopRunning()
            phase.withLockedValue { $0 = .closed }
            await parts.engine.close()
            initialVerification.cancel()
            _ = await initialVerification.result
        }
    }

    /// Removes all rows and files, with the transfers stopped meanwhile.
    func clear() async throws {
        try parts.service.checkNotInContext()
        try parts.checkMayBeEmptied()
        try await lock.withLock {
            try checkIsOpen()
            await parts.engine.stop(discardsParts: true)
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
    }

    private func restartTransfers() async throws {
        try await Task.ignoringCancellation { [parts] in _ = try await parts.engine.start(interval: parts.interval) }
    }

    private func stopRunning() async {
        let task = phase.withLockedValue { phase -> Task<Void, Never>? in
            guard case .started(let task) = phase else { return nil }
            phase = .stopped
            return task
        }
        task?.cancel()
        await parts.engine.stop()
        await task?.value
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
