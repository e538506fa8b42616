package import GRDB
import NIOCore
package import PowerSyncProtocol

/// The client's side of the sync protocol: turns the lines of a service into rows (docs/client-sync.md "Iterations").
///
/// The engine is a value without tasks, clocks and sockets. Its driver hands it batches of events inside a write
/// transaction, works on a copy, and installs the copy after the commit, so that a transaction that fails leaves
/// the engine where it was:
///
/// ```swift
/// var next = engine
/// let step = try writer.write { db in
///     try next.handle(events, in: db, now: now, live: { liveStreams.keys })
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
    private var subscriptionLimit = SubscriptionLimit()
    /// The number of subscriptions of which the log says that there is no room for them.
    private var reportedLeftOut = 0

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
    ///   - live: Returns the streams for which the application holds a handle. Called in the transaction: a subscription is counted
    ///     in the one that stores it, so none that is held is deleted as one that has ended.
    ///   - isOutOfTime: Asked between events; the rest is left to another transaction when it returns `true`.
    /// - Returns: How many events were handled, and what to do after the commit. When synced data was cleared since the last
    ///   transaction, the iteration ends before the first event.
    /// - Throws: ``SyncEngineError``. Roll back, and discard this copy of the engine.
    package mutating func handle(
        _ events: some Sequence<SyncEvent>,
        in db: Database,
        now: SyncInstant,
        live: () -> [StreamKey] = { [] },
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
                guard try handle(db, event: event, now: now, live: live, actions: &step.actions) else { break }
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
        live: () -> [StreamKey],
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
            try self.start(db, with: start, now: now, live: live(), actions: &actions)
        case .stop:
            try stop(db, actions: &actions)
        case .streamOpened:
            _ = try machine.requireIteration()
            status.showConnected()
        case .streamEnded:
            _ = try machine.requireIteration()
            try endIteration(db, hideDisconnect: false, actions: &actions)
        case .line(let received):
            guard try handle(db, line: received, now: now, live: live, actions: &actions) else { return false }
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
            try checkSubscriptions(db, of: try machine.requireIteration(), now: now, live: live(), actions: &actions)
            if isActive { actions.append(.lookAtUploads(.keepalive)) }
        case .subscriptionStored(let stream):
            _ = try machine.requireIteration()
            // As the row is now: what was handled since it was stored may have changed it.
            if let stream = try StreamSubscriptions.status(db, of: stream.key) { _ = status.show(stream) }
        case .subscriptionsChanged:
            try checkSubscriptions(db, of: try machine.requireIteration(), now: now, live: live(), actions: &actions)
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
    private mutating func publishStatus(_ actions: inout [SyncAction]) {
        guard status != publishedStatus else { return }
        publishedStatus = status
        actions.append(.updateStatus(status))
    }
}

extension SyncEngine {
    /// Begins an iteration; one that is running is torn down.
    private mutating func start(
        _ db: Database,
        with start: SyncStart,
        now: SyncInstant,
        live: [StreamKey],
        actions: inout [SyncAction]
    ) throws {
        try LegacySubkeys.repair(db)
        try file.load(db)
        rawTables = try ConnectionState.of(db).rawTables
        let positions = file.buckets.positions
        var sent = StreamingSyncRequest(
            buckets: positions,
            clientID: try KeyValueStore.clientID(db),
            parameters: start.parameters,
            appMetadata: start.appMetadata
        )
        let otherBytes = sent.encodedJSON().readableBytes
        subscriptionLimit.streamBegins(at: now)
        let request = try collectSubscriptions(
            db,
            includesDefaults: start.includeDefaultStreams,
            live: live,
            otherBytes: otherBytes,
            now: now
        )
        // The buckets of what is left out will be gone from the next request, which then had room.
        if !request.leftOut.isEmpty, request.subscriptions.count < subscriptionLimit.count {
            subscriptionLimit.learn(request.subscriptions.count, at: now)
        }
        sent.streams = request.streams
        let setAside = status.setAside
        status = try .offline(db)
        // They are gone with everything else when the data was cleared.
        if try db.hasRows("ps_updated_rows") { status.setAside = setAside }
        status.isConnecting = true
        status.showLeftOut(request.leftOut)
        let refused = try WaitingRows.publish(db, to: rawTables, schema: &file.schema)
        for message in refused.report(since: status.setAside) { actions.log(.warning, message) }
        status.setAside.formUnion(refused)

        machine.iterationStarted(
            Iteration(
                request: request,
                requestedBuckets: positions.map(\.name),
                otherBytes: otherBytes
            )
        )
        try SyncActivity.setActive(db, true)
        publishStatus(&actions)
        actions.append(.establishStream(sent))
    }

    /// Ends the iteration if there is one.
    private mutating func stop(_ db: Database, actions: inout [SyncAction]) throws {
        if isActive {
            try endIteration(db, hideDisconnect: false, actions: &actions)
        } else {
            // After a failure, nothing else would tell the connection.
            try SyncActivity.setActive(db, false)
        }
    }

    /// Ends the iteration and closes the stream.
    mutating func endIteration(_ db: Database, hideDisconnect: Bool, actions: inout [SyncAction]) throws {
        machine.iterationEnded()
        try SyncActivity.setActive(db, false)
        if !hideDisconnect { status.showDisconnected() }
        publishStatus(&actions)
        actions.append(.closeStream(hideDisconnect: hideDisconnect))
    }

    /// Renews and collects subscriptions, and ends the iteration when the request would be another one.
    mutating func checkSubscriptions(
        _ db: Database,
        of iteration: Iteration,
        now: SyncInstant,
        live: [StreamKey],
        actions: inout [SyncAction]
    ) throws {
        let request = try collectSubscriptions(
            db,
            includesDefaults: iteration.request.includesDefaults,
            live: live,
            otherBytes: iteration.otherBytes,
            now: now
        )
        let refused = machine.refusedPositions
        guard let confirmed = iteration.request.confirmed(by: request), !iteration.isUnfair(refused, to: live) else {
            return try endIteration(db, hideDisconnect: true, actions: &actions)
        }
        machine.requestConfirmed(confirmed)
        try reassociate(db, with: confirmed, actions: &actions)
        let leftOut =
            confirmed.leftOut + confirmed.subscriptions.enumerated().compactMap { refused.contains($0) ? $1 : nil }
        status.showLeftOut(leftOut)
        reportLeftOut(leftOut.count, actions: &actions)
    }

    /// Renews the subscriptions that the application holds, deletes those that ended, and makes the request of the others.
    private func collectSubscriptions(
        _ db: Database,
        includesDefaults: Bool,
        live: [StreamKey],
        otherBytes: Int,
        now: SyncInstant
    ) throws -> SubscriptionRequest {
        // Renewing comes first, so that a lifetime of 0 lasts as long as there are handles.
        try StreamSubscriptions.renew(db, live, now: now)
        return SubscriptionRequest(
            includesDefaults: includesDefaults,
            try StreamSubscriptions.collect(db, now: now),
            held: Set(live),
            limit: subscriptionLimit,
            otherBytes: otherBytes
        )
    }

    /// A service has refused the request of the iteration because of its subscriptions.
    ///
    /// - Parameter now: The current time.
    /// - Returns: A message for the log; `nil` when the next request would be the same, because nothing can be left out.
    package mutating func subscriptionsRefused(at now: SyncInstant) -> String? {
        guard let request = try? machine.requireIteration().request, let count = request.smallerCount else {
            return nil
        }
        subscriptionLimit.learn(count, at: now)
        return """
            The service refuses a request with \(request.subscriptions.count.counted("stream subscription")). Asking for \(count): \
            the oldest ones that the app holds no handle of are left out.
            """
    }

    /// Tells when the number of subscriptions changes that there is no room for.
    mutating func reportLeftOut(_ count: Int, actions: inout [SyncAction]) {
        guard count != reportedLeftOut else { return }
        reportedLeftOut = count
        guard count > 0 else { return actions.log(.info, "There is room for all stream subscriptions again.") }
        actions.log(
            .warning,
            """
            There is no room for \(count.counted("stream subscription, which is", "stream subscriptions, which are")) not synced. \
            The status of \(count.words("its stream", "their streams")) says so. Subscribe to less at a time, or with a shorter time to live.
            """
        )
    }
}

extension SyncEngine.Iteration {
    /// Whether the service has no room for a subscription that the application holds now, but for one in front of it that the
    /// application does not hold.
    ///
    /// - Parameters:
    ///   - refused: The positions of the subscriptions that the service has no room for.
    ///   - live: The streams for which the application holds a handle.
    /// - Returns: Whether another order would serve the application better.
    fileprivate func isUnfair(_ refused: Set<Int>, to live: [StreamKey]) -> Bool {
        guard let last = refused.max() else { return false }
        let held = Set(live)
        var hasOther = false
        for (position, subscription) in request.subscriptions.prefix(last + 1).enumerated() {
            if !held.contains(subscription.key) {
                hasOther = true
            } else if hasOther, refused.contains(position) {
                return true
            }
        }
        return false
    }
}

extension DownloadStatus {
    /// Shows which subscriptions there is no room for.
    ///
    /// One that was made after the last checkpoint becomes the last one, as its row is.
    fileprivate mutating func showLeftOut(_ rows: [StreamSubscription]) {
        guard let streams, !rows.isEmpty || streams.contains(where: \.isLeftOut) else { return }
        var missing = Dictionary(rows.map { ($0.key, $0.status) }, uniquingKeysWith: { first, _ in first })
        var shown = streams
        for index in shown.indices {
            shown[index].isLeftOut = missing.removeValue(forKey: shown[index].key) != nil
        }
        for row in rows {
            guard var stream = missing[row.key] else { continue }
            stream.isLeftOut = true
            shown.append(stream)
        }
        self.streams = shown
    }
}

extension SyncEngine {
    /// What is known of a bucket of the checkpoint that is being downloaded.
    package struct TrackedBucket: Sendable, Hashable {
        /// How urgent the bucket is.
        package let priority: Priority
        /// The operations since the last complete checkpoint, and how many of them are here.
        package let progress: OperationCounts
    }

    /// The buckets of the checkpoint that is being downloaded, or was downloaded last; `nil` before the first one of an iteration.
    ///
    /// - Complexity: O(number of buckets).
    package var trackedBuckets: [BucketName: TrackedBucket]? {
        guard let checkpoint = machine.trackedCheckpoint else { return nil }
        var tracked: [BucketName: TrackedBucket] = [:]
        for bucket in checkpoint.buckets {
            let progress = TrackedCheckpoint.counts(of: bucket, file.buckets)
            tracked[file.buckets.names[bucket.slot]] = TrackedBucket(priority: bucket.priority, progress: progress)
        }
        return tracked
    }
}
