package import GRDB
import PowerSyncProtocol

/// The client's side of the sync protocol: turns the lines of a service into rows (docs/client-sync.md "Iterations").
///
/// The engine is a value without tasks, clocks and sockets. Its driver hands it batches of events inside a write
/// transaction, works on a copy, and installs the copy after the commit, so that a transaction that fails leaves
/// the engine where it was:
///
/// ```swift
/// var next = engine
/// let step = try writer.write { db in
///     try next.handle(events, in: db, now: now)
/// }
/// engine = next
/// perform(step.actions)
/// ```
///
/// After an error that is not retriable the iteration is over: call ``fail()``. One engine belongs to one writer
/// connection, since it keeps the rows of `ps_buckets` in memory.
package struct SyncEngine: Sendable {
    /// Which iteration is running and what it works towards.
    var machine = StateMachine()
    /// The download part of the sync status.
    package internal(set) var status = DownloadStatus()
    /// The status of the last ``SyncAction/updateStatus(_:)``.
    private var publishedStatus = DownloadStatus()
    /// The number of the last ``SyncAction/heldBack(_:)``.
    private var publishedHeldBack: OpID?
    /// What is known of the file.
    var file = KnownFile()
    /// The raw tables of the schema that the connection had when the iteration started.
    var rawTables: [ClientRawTable] = []
    /// The types of which the log says that rows could not be read.
    var reportedUnreadableTypes: Set<String> = []
    /// The streams of which the log says that the service does not have them.
    var reportedUnknownStreams: Set<String> = []

    /// How many subscriptions a request lists.
    var subscriptionLimit = SubscriptionLimit()
    /// The number of subscriptions of which the log says that there is no room for them.
    var reportedLeftOut = 0

    /// From how many announced operations on a first sync is a bulk load.
    let bulkLoadThreshold: Int64

    /// Creates an engine without an iteration.
    package init() {
        self.init(bulkLoadThreshold: OplogAccess.bulkLoadThreshold)
    }

    /// Creates an engine with its own idea of what is much.
    init(bulkLoadThreshold: Int64) {
        self.bulkLoadThreshold = bulkLoadThreshold
    }

    /// Whether an iteration is running.
    package var isActive: Bool { machine.isActive }

    /// Handles events in one transaction.
    ///
    /// Events are handled in order until all are done, the iteration ends, or `isOutOfTime` says so. After a large first
    /// download the engine also ends the transaction when it has created an index, which takes a while; none of the events
    /// may be handled then.
    ///
    /// - Parameters:
    ///   - events: Events that are waiting.
    ///   - db: The writer connection, inside an immediate transaction.
    ///   - now: The time that everything in this transaction is stamped with.
    ///   - isOutOfTime: Asked between events; the rest is left to another transaction when it returns `true`.
    /// - Returns: How many events were handled, and what to do after the commit. When synced data was cleared since the last
    ///   transaction, the iteration ends before the first event.
    /// - Throws: ``SyncEngineError``. Roll back, and discard this copy of the engine.
    package mutating func handle(
        _ events: some Sequence<SyncEvent>,
        in db: Database,
        now: SyncInstant,
        isOutOfTime: () -> Bool = { false }
    ) throws(SyncEngineError) -> SyncStep {
        do {
            var step = SyncStep(handledEvents: 0, actions: [])
            var isCleared = try isActive && file.revalidate(db)
            for event in events {
                if step.handledEvents > 0, isOutOfTime() { break }
                if isCleared, !event.replacesIteration {
                    step.actions.log(.info, "Synced data was cleared while connected; downloading it again.")
                    try endIteration(db, hideDisconnect: true, actions: &step.actions)
                    break
                }
                isCleared = false
                let wasActive = isActive
                guard try handle(db, event: event, now: now, actions: &step.actions) else { break }
                step.handledEvents += 1
                if wasActive, !isActive { break }
            }
            publishStatus(&step.actions)
            publishHeldBack(&step.actions)
            try file.buckets.flush(db)
            return step
        } catch {
            throw SyncEngineError(wrapping: error)
        }
    }

    /// Ends the iteration after an error, without a database.
    package mutating func fail() {
        machine.iterationEnded()
        status.showDisconnected()
        publishedStatus = status
    }

    /// Handles an event.
    ///
    /// - Returns: Whether it was handled. If not, the transaction was needed for something that comes before: it has to end
    ///   now, and the event has to be handled in another one.
    private mutating func handle(
        _ db: Database,
        event: SyncEvent,
        now: SyncInstant,
        actions: inout [SyncAction]
    ) throws -> Bool {
        if case .line(let received) = event, case .data(let line) = received.line {
            // Progress is published once for a run of data lines.
            guard try store(db, line: line, byteCount: received.byteCount) else { return false }
            lineHandled(isKeepalive: false, &actions)
            return true
        }
        publishStatus(&actions)
        switch event {
        case .start(let start):
            try self.start(db, with: start, now: now, actions: &actions)
        case .stop:
            try stop(db, actions: &actions)
        case .streamOpened:
            _ = try machine.requireIteration()
            status.showConnected()
        case .streamEnded:
            _ = try machine.requireIteration()
            try endIteration(db, hideDisconnect: false, actions: &actions)
        case .line(let received):
            guard try handle(db, line: received, now: now, actions: &actions) else { return false }
            publishStatus(&actions)
            let isKeepalive = if case .keepalive = received.line { true } else { false }
            lineHandled(isKeepalive: isKeepalive, &actions)
        case .tokenRefreshed:
            _ = try machine.requireIteration()
            actions.log(.debug, "Closing the stream because new credentials are available.")
            try endIteration(db, hideDisconnect: true, actions: &actions)
        case .uploadCompleted:
            guard try retryHeldBackCheckpoint(db, now: now, actions: &actions) else { return false }
        case .keepaliveAnswered:
            try checkSubscriptions(db, of: try machine.requireIteration(), now: now, actions: &actions)
            if isActive { actions.append(.lookAtUploads(.keepalive)) }
        case .subscriptionStored(let stream):
            _ = try machine.requireIteration()
            // As the row is now: what was handled since it was stored may have changed it.
            if let stream = try StreamSubscriptions.status(db, of: stream.key) { _ = status.show(stream) }
        case .subscriptionsChanged(let live):
            var iteration = try machine.requireIteration()
            iteration.liveStreams = live
            try checkSubscriptions(db, of: iteration, now: now, actions: &actions)
        }
        publishStatus(&actions)
        return true
    }

    /// Adds an action for the upload queue when a line is a reason to look at it.
    private mutating func lineHandled(isKeepalive: Bool, _ actions: inout [SyncAction]) {
        guard let reason = machine.lineHandled(isKeepalive: isKeepalive) else { return }
        actions.append(.lookAtUploads(reason))
    }

    /// Adds an action in front when another checkpoint than before is held back at the end of a step.
    private mutating func publishHeldBack(_ actions: inout [SyncAction]) {
        let heldBack = machine.heldBackCheckpoint?.lastOpID
        guard heldBack != publishedHeldBack else { return }
        publishedHeldBack = heldBack
        actions.insert(.heldBack(heldBack), at: 0)
    }

    /// Adds an action for the status unless it is what was published last.
    mutating func publishStatus(_ actions: inout [SyncAction]) {
        guard status != publishedStatus else { return }
        publishedStatus = status
        actions.append(.updateStatus(status))
    }
}
