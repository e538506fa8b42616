import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol

/// Keeps one connection's lines coming: one iteration after another, with a delay after those that ended on their
/// own or failed (docs/client-sync.md "Connections").
final class DownloadLoop: Sendable {
    private let context: SyncContext
    private let liveStreams: @Sendable () -> [StreamKey]
    private let uploadTrigger: UploadTrigger
    private let buffering: BufferingWatch
    /// The iteration that runs; `nil` while waiting for the next attempt.
    private let iteration = NIOLockedValueBox<SyncIteration?>(nil)

    /// Creates the loop.
    ///
    /// - Parameters:
    ///   - context: What the connection consists of.
    ///   - liveStreams: The streams for which the app holds handles.
    ///   - uploadTrigger: Fired for lines that are a reason to upload.
    init(
        context: SyncContext,
        liveStreams: @escaping @Sendable () -> [StreamKey],
        uploadTrigger: UploadTrigger
    ) {
        self.context = context
        self.liveStreams = liveStreams
        self.uploadTrigger = uploadTrigger
        buffering = BufferingWatch(context: context)
    }

    /// Tells the running iteration about something; the next one looks for itself.
    func send(_ event: SyncEvent) {
        iteration.withLockedValue { $0 }?.send(event)
    }

    /// The app's stream handles or the subscription table changed.
    ///
    /// - Parameter stored: The subscription that was stored, if one was.
    /// - Returns: Whether an iteration runs that deals with it. If not, the next one looks for itself.
    func subscriptionsChanged(_ stored: StreamStatus?) -> Bool {
        // Under the lock: after an iteration has been taken away here, it is told nothing more.
        iteration.withLockedValue { iteration in
            iteration?.subscriptionsChanged(stored)
            return iteration != nil
        }
    }

    /// Synced data was cleared: an iteration that runs finds out at once, and ends.
    ///
    /// - Returns: Whether one runs. If not, the next one looks for itself.
    func dataWasCleared() -> Bool {
        iteration.withLockedValue { iteration in
            iteration?.send(.subscriptionsChanged)
            return iteration != nil
        }
    }

    /// Reopens a stream that was opened with other credentials; the next iteration uses the new ones anyway.
    ///
    /// - Parameter credentials: The new ones; `nil` when none can be got, which the next iteration reports.
    func restart(unlessUsing credentials: ServiceCredentials?) {
        iteration.withLockedValue { $0 }?.restart(unlessUsing: credentials)
    }

    /// Syncs until the task is cancelled.
    func run() async {
        var engine = SyncEngine()
        var pause = ReopeningPause()
        while !Task.isCancelled {
            let occasions = context.retryOccasions
            do {
                switch try await runIteration(&engine, &pause) {
                case .restart:
                    continue
                case .ended:
                    let delay = nextDelay(after: nil)
                    context.progress.disconnected()
                    context.log(.info, "The connection ended.")
                    await waitForNextAttempt(delay, occasions)
                }
            } catch {
                if leaveOutSubscriptions(after: error, &engine) {
                    await stop(&engine)
                    continue
                }
                let delay = report(error)
                await stop(&engine)
                await waitForNextAttempt(delay, occasions)
            }
        }
    }

    private func runIteration(
        _ engine: inout SyncEngine,
        _ pause: inout ReopeningPause
    ) async throws -> SyncIteration.Outcome {
        let iteration = SyncIteration(
            context: context,
            uploadTrigger: uploadTrigger,
            buffering: buffering,
            liveStreams: liveStreams
        )
        // Registered before the subscriptions are read: one in between is a change.
        self.iteration.withLockedValue { $0 = iteration }
        context.checkpointRequests?.iterationBegan()
        do {
            let outcome = try await iteration.run(engine: &engine, pause: &pause)
            await ended(iteration)
            return outcome
        } catch {
            await ended(iteration)
            throw error
        }
    }

    /// Takes an iteration away that is over, and shows the subscriptions that came too late for it.
    private func ended(_ iteration: SyncIteration) async {
        self.iteration.withLockedValue { $0 = nil }
        context.checkpointRequests?.iterationEnded()
        let streams = iteration.unshownStreams
        guard !streams.isEmpty else { return }
        // In a task of its own, as in ``stop(_:)``. In a transaction, so that later ones are shown later.
        let showing = Task { [context] in
            try await context.database.write { db in
                for stream in streams {
                    try StreamSubscriptions.status(db, of: stream).map(context.progress.subscriptionStored)
                }
            }
        }
        do {
            try await showing.value
        } catch {
            context.log(.debug, "Subscriptions could not be shown: \(error.lineOfText)")
        }
    }

    /// Leaves out subscriptions of the next request if the service has refused this one because of them.
    ///
    /// - Returns: Whether the next request is another one, which is worth trying at once.
    private func leaveOutSubscriptions(after error: any Error, _ engine: inout SyncEngine) -> Bool {
        guard !Task.isCancelled, let error = error as? SyncTransportError, error.refusesSubscriptions,
            let message = engine.subscriptionsRefused(at: SyncInstant(context.environment.now()))
        else { return false }
        context.log(.info, "\(message) \(error)")
        return true
    }

    /// Ends what is left of an iteration that failed or was cancelled.
    ///
    /// In a task of its own, because a cancelled one gets no turn on the database; what is written here must not depend
    /// on it, or the connection would be taken for syncing for ever.
    private func stop(_ engine: inout SyncEngine) async {
        engine.fail()
        let (idle, now) = (engine, SyncInstant(context.environment.now()))
        let stopping = Task { [context] in
            try await context.database.write { db in
                var engine = idle
                _ = try engine.handle(CollectionOfOne(.stop), in: db, now: now)
            }
        }
        do {
            try await stopping.value
        } catch {
            context.log(.debug, "The end of the sync iteration could not be noted: \(error.lineOfText)")
        }
    }

    /// Shows why an iteration failed, unless it was cancelled.
    ///
    /// - Returns: The time before the next attempt.
    private func report(_ error: any Error) -> Duration {
        guard !Task.isCancelled else { return .zero }
        // A cancellation that is not ours happened inside the app's connector, and is not an error to report.
        guard !(error is CancellationError) else {
            let delay = nextDelay(after: nil)
            context.progress.disconnected()
            return delay
        }
        let delay = nextDelay(after: error)
        context.log(.error, "Syncing failed: \(error.lineOfText)")
        context.progress.disconnected(error: PowerSyncError.describing(error))
        return delay
    }

    /// The time before the next attempt, which the status shows.
    private func nextDelay(after error: (any Error)?) -> Duration {
        let delay = context.nextRetryDelay()
        let date = context.date(after: delay)
        let reason = SyncWait.Reason.retry(at: date, after: error.map(PowerSyncError.describing))
        context.report { $0.connecting(reason, now: $1) }
        return delay
    }

    /// Returns early when the task is cancelled.
    ///
    /// - Parameters:
    ///   - delay: The longest time.
    ///   - occasions: How many occasions for retries there had been before the last attempt.
    private func waitForNextAttempt(_ delay: Duration, _ occasions: UInt64) async {
        guard !Task.isCancelled else { return }
        context.log(.info, "Connecting again in \(delay).")
        guard let requests = context.checkpointRequests else {
            try? await context.wait(delay, toRetry: .download, after: occasions)
            return
        }
        // A caller that asks for a checkpoint does not wait for the delay.
        await withTaskGroup { tasks in
            tasks.addTask { [context] in try? await context.wait(delay, toRetry: .download, after: occasions) }
            tasks.addTask { _ = await requests.waitForDemand() }
            await tasks.next()
            tasks.cancelAll()
        }
    }
}
