import GRDB
import NIOCore
import PowerSyncProtocol

extension SyncEngine {
    /// Begins an iteration; one that is running is torn down.
    mutating func start(
        _ db: Database,
        with start: SyncStart,
        now: SyncInstant,
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
            live: start.liveStreams,
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
                liveStreams: start.liveStreams,
                requestedBuckets: positions.map(\.name),
                otherBytes: otherBytes
            )
        )
        try SyncActivity.setActive(db, true)
        publishStatus(&actions)
        actions.append(.establishStream(sent))
    }

    /// Ends the iteration if there is one.
    mutating func stop(_ db: Database, actions: inout [SyncAction]) throws {
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
        actions: inout [SyncAction]
    ) throws {
        let request = try collectSubscriptions(
            db,
            includesDefaults: iteration.request.includesDefaults,
            live: iteration.liveStreams,
            otherBytes: iteration.otherBytes,
            now: now
        )
        let refused = machine.refusedPositions
        guard let confirmed = iteration.request.confirmed(by: request), !iteration.isUnfair(refused) else {
            return try endIteration(db, hideDisconnect: true, actions: &actions)
        }
        machine.requestConfirmed(confirmed, liveStreams: iteration.liveStreams)
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
            The service refuses a request with \(request.subscriptions.count) stream subscriptions. Asking for \(count): \
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
            There is no room for \(count) stream subscriptions, which are not synced. The status of their streams says so. \
            Subscribe to less at a time, or with a shorter time to live.
            """
        )
    }
}

extension SyncEngine.Iteration {
    /// Whether the service has no room for a subscription that the application holds now, but for one in front of it that the
    /// application does not hold.
    ///
    /// - Parameter refused: The positions of the subscriptions that the service has no room for.
    /// - Returns: Whether another order would serve the application better.
    fileprivate func isUnfair(_ refused: Set<Int>) -> Bool {
        guard let last = refused.max() else { return false }
        let held = Set(liveStreams)
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
