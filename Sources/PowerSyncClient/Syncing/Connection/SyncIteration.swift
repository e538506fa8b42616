import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol

/// One attempt to keep one response open: from the start event to the end of its lines
/// (docs/client-sync.md "Connections").
///
/// ```
///   transport ──▶ reader task ──▶ SyncEventQueue ──▶ transaction: SyncEngine ──▶ actions
///                                      ▲
///        uploads, subscriptions, new token,
///        answers to keepalives
/// ```
///
/// Some work is to be done now and then, also while nothing happens: ending subscriptions whose time to live is over,
/// and looking whether the upload queue holds something that was not announced. The occasion is a sign of life of the
/// service, and no timer: over HTTP each keepalive line, about every 20 seconds; over WebSocket, where an idle service
/// sends no lines, each answer to a keepalive of ours, every 20 seconds. One of the two comes on every connection, or it
/// is given up, so that a timer would be a third rhythm and would tell nothing.
///
/// The engine is a value: a transaction works on a copy, which is kept after the commit. Nothing of a step is visible
/// before that.
final class SyncIteration: Sendable {
    /// How an iteration ended.
    enum Outcome: Sendable {
        /// There is a reason to start the next one at once.
        case restart
        /// The stream ended, or the engine closed it.
        case ended
    }

    /// How long a transaction with buffered lines may take before it is committed: 50 ms.
    private static let transactionLimit = Duration.milliseconds(50)
    /// How often events are submitted again while another connection holds a lock.
    private static let maximumRetries = 3

    private let events = SyncEventQueue()
    private let subscriptionChanges = SubscriptionChanges()

    private let context: SyncContext
    private let uploadTrigger: UploadTrigger
    private let watchdog: IdleWatchdog
    private let buffering: BufferingWatch
    private let liveStreams: @Sendable () -> [StreamKey]
    /// The token that the stream was opened with.
    private let usedCredentials = NIOLockedValueBox<ServiceCredentials?>(nil)
    /// When the service accepted the request, however long the database lets the event wait; `nil` before.
    private let openedAt = NIOLockedValueBox<Duration?>(nil)
    /// Subscriptions that were stored and that the engine has not shown yet, in the order of their transactions.
    private let unshown = NIOLockedValueBox<[StreamStatus]>([])

    /// Creates an iteration.
    ///
    /// - Parameters:
    ///   - context: What the connection consists of.
    ///   - uploadTrigger: Fired for what is a reason to upload: the first line, and keepalives.
    ///   - buffering: What is known of earlier streams.
    ///   - liveStreams: The streams for which the app holds handles.
    init(
        context: SyncContext,
        uploadTrigger: UploadTrigger,
        buffering: BufferingWatch,
        liveStreams: @escaping @Sendable () -> [StreamKey]
    ) {
        self.context = context
        self.liveStreams = liveStreams
        self.uploadTrigger = uploadTrigger
        self.buffering = buffering
        watchdog = IdleWatchdog(clock: context.clock)
    }

    /// Runs the iteration.
    ///
    /// - Parameters:
    ///   - engine: The engine, idle. After an error it may be in the middle of the iteration.
    ///   - pause: How long the stream stays as it is, whatever is subscribed to.
    /// - Returns: Why it ended, if not by an error.
    /// - Throws: Why the iteration failed, or `CancellationError`.
    func run(engine: inout SyncEngine, pause: inout ReopeningPause) async throws -> Outcome {
        defer {
            events.close()
            context.progress.engineStepped(to: nil)
        }
        let startedAt = context.clock.now
        let start = SyncStart(
            parameters: JSONObject(context.options.params),
            includeDefaultStreams: context.options.includeDefaultStreams,
            appMetadata: context.options.appMetadata
        )
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            defer { tasks.cancelAll() }
            var pending: ArraySlice<SyncEvent> = [.start(start)]
            while true {
                let step = try await submit(pending, to: &engine)
                context.progress.engineStepped(to: engine)
                let handled = pending.prefix(step.handledEvents)
                events.handled(bytes: handled.byteCount)
                let shown = handled.count(where: \.isSubscriptionStored)
                if shown > 0 { unshown.withLockedValue { $0.removeFirst(shown) } }
                // Before anybody can react to the step.
                let now = context.clock.now
                let openedAt = self.openedAt.withLockedValue { $0 } ?? now
                let opening = openedAt - startedAt
                if let outcome = perform(step.actions, in: &tasks) {
                    if case .restart = outcome { pause.streamReopens(after: now - openedAt, openedIn: opening) }
                    return outcome
                }
                if handled.contains(where: \.isStreamOpened) {
                    let length = context.environment.pausesReopening ? pause.length(afterOpeningFor: opening) : .zero
                    let earliest = openedAt + length
                    tasks.addTask { await self.passSubscriptionChanges(notBefore: earliest) }
                }
                pending = pending.dropFirst(step.handledEvents)
                // Between transactions local events overtake lines that wait.
                pending = events.takeLocalEvents() + pending
                if pending.isEmpty { pending = try await events.next()[...] }
            }
        }
    }

    /// Hands events to the engine in one transaction; the engine decides how many of them it takes.
    private func submit(_ events: ArraySlice<SyncEvent>, to engine: inout SyncEngine) async throws -> SyncStep {
        var retries = 0
        while true {
            let (current, clock, now) = (engine, context.clock, SyncInstant(context.environment.now()))
            do {
                let (next, step) = try await context.database.writeMuch { [liveStreams] db in
                    var next = current
                    let deadline = clock.now + SyncIteration.transactionLimit
                    let step = try next.handle(
                        events,
                        in: db,
                        now: now,
                        live: liveStreams,
                        isOutOfTime: { clock.now > deadline }
                    )
                    return (next, step)
                }
                engine = next
                return step
            } catch {
                guard error.isDatabaseBusy, retries < SyncIteration.maximumRetries else { throw error }
                retries += 1
                context.log(.debug, "The database is busy; trying again: \(error.lineOfText)")
            }
        }
    }

    /// Does what a step asks for.
    ///
    /// - Returns: How the iteration ended; `nil` when it goes on.
    private func perform(_ actions: [SyncAction], in tasks: inout ThrowingTaskGroup<Void, any Error>) -> Outcome? {
        var outcome: Outcome?
        var isComplete = false
        for action in actions {
            switch action {
            case .log(let message):
                context.log(LogSeverity(message.severity), message.text)
            case .establishStream(let request):
                tasks.addTask { await self.readStream(request) }
                tasks.addTask { await self.watchForSilence() }
                if let requests = context.checkpointRequests {
                    tasks.addTask { await self.agree(with: requests) }
                }
            case .fetchCredentials(didExpire: true):
                usedCredentials.withLockedValue { $0 }.map(context.credentials.invalidate)
            case .fetchCredentials(didExpire: false):
                let expiring = usedCredentials.withLockedValue { $0 }
                tasks.addTask { await self.refreshCredentials(replacing: expiring) }
            case .didCompleteSync:
                isComplete = true
            case .heldBack(let checkpoint):
                context.report { $0.checkpointHeldBack(checkpoint?.rawValue, now: $1) }
                if checkpoint != nil, !context.options.mode.uploads { tasks.addTask { await self.reportHeldBack() } }
            case .lookAtUploads(let reason):
                uploadTrigger.fire(reason)
            case .updateStatus(let download):
                context.progress.downloadChanged(to: download, isComplete: isComplete)
                isComplete = false
            case .closeStream(let hideDisconnect):
                outcome = hideDisconnect ? .restart : .ended
            }
        }
        if isComplete { context.progress.downloadSucceeded() }
        return outcome
    }
}

extension SyncIteration {
    /// Something happened that is no part of the stream; from anywhere.
    ///
    /// Dropped after the end of the iteration.
    func send(_ event: SyncEvent) {
        events.send(event)
    }

    /// The app's stream handles or the subscription table changed; from anywhere.
    ///
    /// After the end of the iteration the next one looks for itself.
    ///
    /// - Parameter stored: The subscription that was stored, if one was. The status shows it at once, however long the stream stays as it
    ///   is.
    func subscriptionsChanged(_ stored: StreamStatus?) {
        if let stored {
            unshown.withLockedValue { $0.append(stored) }
            events.send(.subscriptionStored(stored))
        }
        subscriptionChanges.note()
    }

    /// The streams whose subscriptions were stored too late to be shown by this iteration, which is over.
    var unshownStreams: [StreamKey] { unshown.withLockedValue { $0.map(\.key) } }

    /// All credentials were invalidated: reopens a stream that was opened with others.
    ///
    /// - Parameter credentials: The new ones; `nil` when none can be got.
    func restart(unlessUsing credentials: ServiceCredentials?) {
        guard let used = usedCredentials.withLockedValue({ $0 }), used != credentials else { return }
        context.log(.debug, "The credentials were invalidated; connecting again.")
        events.send(.tokenRefreshed)
    }
}

// The tasks of an iteration beside the one that handles events. They report through the queue.
extension SyncIteration {
    private func passSubscriptionChanges(notBefore earliest: Duration) async {
        await subscriptionChanges.run(context.clock, notBefore: earliest) {
            events.send(.subscriptionsChanged)
        }
    }

    /// Opens the stream and reads it to its end.
    private func readStream(_ request: StreamingSyncRequest) async {
        do {
            context.report { $0.connecting(.credentials, now: $1) }
            let credentials = try await takeCredentials()
            // The request has the buckets of the rows that are gone.
            guard try await !context.claimSeed(with: { credentials.token }) else { return events.send(.tokenRefreshed) }
            await context.reportWriters { try await context.writers.tokenIsUsed(credentials.token) }
            context.report { $0.connecting(.service, now: $1) }
            let stream = try await watchdog.watch {
                try await context.transport.openStream(
                    request,
                    credentials: credentials,
                    log: context.requestLog
                )
            }
            openedAt.withLockedValue { $0 = context.clock.now }
            events.streamOpened()
            buffering.streamOpened(via: stream.via)
            var received = try await buffering.watchForFirstLine { try await nextElement(of: stream) }
            while let element = received {
                switch element {
                case .lines(let lines):
                    if !lines.isEmpty { await events.send(lines) }
                case .keepaliveAnswered:
                    events.send(.keepaliveAnswered)
                }
                try Task.checkCancellation()
                received = try await nextElement(of: stream)
            }
            buffering.streamEnded()
            events.streamEnded()
        } catch {
            buffering.streamEnded()
            if let error = error as? SyncTransportError, error.isUnauthorized {
                usedCredentials.withLockedValue { $0 }.map(context.credentials.invalidate)
            }
            events.streamFailed(error)
        }
    }

    /// Waits for what comes, and has the wait watched.
    private func nextElement(of stream: any SyncLineStream) async throws -> SyncStreamElement? {
        let start = context.clock.now
        let element = try await watchdog.watch { try await stream.next() }
        if case .lines(let lines)? = element { buffering.received(lines, after: context.clock.now - start) }
        return element
    }

    /// Agrees with the service on the numbers of checkpoint requests; without that the iteration fails.
    private func agree(with requests: CheckpointRequests) async {
        do {
            try await requests.agree()
        } catch {
            guard !Task.isCancelled else { return }
            events.streamFailed(error)
        }
    }

    /// Shows that local writes hold a checkpoint back which this connection does not upload.
    private func reportHeldBack() async {
        do {
            let entries = try await context.database.read { try UploadQueue.span($0) }
            if entries > 0 { context.progress.heldBackForGood(PowerSyncError.notUploaded(entries)) }
        } catch {
            guard !Task.isCancelled else { return }
            context.log(.debug, "Local writes could not be counted: \(error.lineOfText)")
        }
    }

    /// Notes which credentials the stream is opened with.
    private func takeCredentials() async throws -> ServiceCredentials {
        while true {
            let credentials = try await context.credentials.credentials()
            usedCredentials.withLockedValue { $0 = credentials }
            // Invalidated meanwhile? From here on ``restart(unlessUsing:)`` sees which ones are in use.
            if context.credentials.isCurrent(credentials) { return credentials }
        }
    }

    /// Fails the iteration when the service is silent for too long.
    private func watchForSilence() async {
        do {
            try await watchdog.run()
            let symptom =
                if buffering.serviceFellSilent() {
                    "Nothing was received from the sync service for \(IdleWatchdog.defaultLimit). "
                        + "The connection seems to be broken."
                } else {
                    "The sync service has not answered for \(IdleWatchdog.defaultLimit). "
                        + "It is overloaded, or something in between holds its answer back."
                }
            events.streamFailed(SyncTransportError(.idle, message: symptom))
        } catch {
            // Cancelled: the iteration has ended.
        }
    }

    /// Replaces credentials that expire soon.
    private func refreshCredentials(replacing expiring: ServiceCredentials?) async {
        do {
            let credentials = try await context.credentials.refresh(replacing: expiring)
            // Another task fetches already, and the next keepalive finds out.
            guard let credentials, credentials != expiring else { return }
            context.log(.debug, "New credentials are available; connecting again.")
            events.send(.tokenRefreshed)
        } catch {
            guard !Task.isCancelled else { return }
            context.log(.warning, "Fetching new credentials failed; the old ones stay in use: \(error.lineOfText)")
        }
    }
}

extension ArraySlice<SyncEvent> {
    /// The size of the lines among the events.
    fileprivate var byteCount: Int {
        reduce(0) { sum, event in
            if case .line(let line) = event { sum + line.byteCount } else { sum }
        }
    }
}

extension SyncEvent {
    fileprivate var isStreamOpened: Bool {
        if case .streamOpened = self { true } else { false }
    }

    fileprivate var isSubscriptionStored: Bool {
        if case .subscriptionStored = self { true } else { false }
    }
}

extension Error {
    /// Whether another connection holds a lock, so that the same transaction may succeed later.
    fileprivate var isDatabaseBusy: Bool {
        if case .sqliteError(let code, _, _, _, _) = self as? PowerSyncError {
            // The primary result codes SQLITE_BUSY and SQLITE_LOCKED.
            return code & 0xff == 5 || code & 0xff == 6
        }
        return SyncEngineError.isRetriable(self)
    }
}

extension LogSeverity {
    /// The public form of the engine's severity.
    fileprivate init(_ severity: SyncLogMessage.Severity) {
        switch severity {
        case .debug: self = .debug
        case .info: self = .info
        case .warning: self = .warning
        }
    }
}

/// Notices that nothing has come from the service for too long.
///
/// Only waiting for the network counts: while the database is busy, the service may be as silent as it likes. Nor does
/// the time count in which the process was suspended: the service then has the whole limit again to be heard.
final class IdleWatchdog: Sendable {
    /// Twice the interval in which the service sends keepalives: 40 s.
    static let defaultLimit = Duration.seconds(40)

    private let limit: Duration
    private let clock: ElapsedClock
    /// When the task that reads began to wait; `nil` while it does not.
    private let waitingSince = NIOLockedValueBox<Duration?>(nil)

    /// Creates a watchdog.
    init(limit: Duration = IdleWatchdog.defaultLimit, clock: ElapsedClock) {
        self.limit = limit
        self.clock = clock
    }

    /// Watches while something is awaited from the network.
    func watch<Result>(_ body: () async throws -> Result) async throws -> Result {
        let now = clock.now
        waitingSince.withLockedValue { $0 = now }
        defer { waitingSince.withLockedValue { $0 = nil } }
        return try await body()
    }

    /// Returns when something has been awaited for longer than the limit.
    ///
    /// - Throws: `CancellationError`
    func run() async throws {
        var deadline = clock.now + limit
        while true {
            try await clock.sleep(until: deadline)
            let now = clock.now
            if clock.wasSuspended(before: deadline) {
                waitingSince.withLockedValue { $0 = $0.map { _ in now } }
            }
            let next = (waitingSince.withLockedValue { $0 } ?? now) + limit
            if next <= now { return }
            deadline = next
        }
    }
}
