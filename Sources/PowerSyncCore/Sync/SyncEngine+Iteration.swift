import GRDB
import PowerSyncProtocol

extension SyncEngine {
    /// Begins an iteration; one that is running is torn down.
    mutating func start(
        _ start: SyncStart,
        _ db: Database,
        _ now: SyncInstant,
        _ actions: inout [SyncAction]
    ) throws {
        try LegacySubkeys.repair(db)
        // Renewing comes first, so that a lifetime of 0 lasts as long as there are handles.
        try StreamSubscriptions.renew(start.liveStreams, now: now, db)
        let request = SubscriptionRequest(
            includesDefaults: start.includeDefaultStreams,
            subscriptions: try StreamSubscriptions.collect(now: now, db)
        )
        // Nothing is known about what happened to the tables since the last iteration, which may have stored something in this
        // very transaction.
        try buckets.flush(db)
        try buckets.load(db)
        access = .undecided
        rawTables = try ConnectionState.of(db).rawTables
        let setAside = status.setAside
        status = try .offline(db)
        // They are gone with everything else when the data was cleared.
        if try db.hasRows("ps_updated_rows") { status.setAside = setAside }
        status.isConnecting = true
        let refused = try WaitingRows.publish(to: rawTables, &schema, db)
        for message in refused.report(since: status.setAside) { actions.log(.warning, message) }
        status.setAside.formUnion(refused)

        let positions = buckets.positions
        machine.iterationStarted(
            Iteration(request: request, liveStreams: start.liveStreams, requestedBuckets: positions.map(\.name))
        )
        try SyncActivity.setActive(true, db)
        publishStatus(&actions)
        actions.append(
            .establishStream(
                StreamingSyncRequest(
                    buckets: positions,
                    clientID: try KeyValueStore.clientID(db),
                    parameters: start.parameters,
                    streams: request.streams,
                    appMetadata: start.appMetadata
                )
            )
        )
    }

    /// Ends the iteration if there is one.
    mutating func stop(_ db: Database, _ actions: inout [SyncAction]) throws {
        if isActive {
            try endIteration(hideDisconnect: false, db, &actions)
        } else {
            // After a failure, nobody else could tell the connection.
            try SyncActivity.setActive(false, db)
        }
    }

    /// Ends the iteration and closes the stream.
    mutating func endIteration(hideDisconnect: Bool, _ db: Database, _ actions: inout [SyncAction]) throws {
        machine.iterationEnded()
        try SyncActivity.setActive(false, db)
        if !hideDisconnect { status.showDisconnected() }
        publishStatus(&actions)
        actions.append(.closeStream(hideDisconnect: hideDisconnect))
    }

    /// Renews and collects subscriptions, and ends the iteration when the request would be another one.
    mutating func checkSubscriptions(
        _ iteration: Iteration,
        _ db: Database,
        _ now: SyncInstant,
        _ actions: inout [SyncAction]
    ) throws {
        try StreamSubscriptions.renew(iteration.liveStreams, now: now, db)
        let request = SubscriptionRequest(
            includesDefaults: iteration.request.includesDefaults,
            subscriptions: try StreamSubscriptions.collect(now: now, db)
        )
        if request.isEquivalent(to: iteration.request) {
            machine.requestConfirmed(request, liveStreams: iteration.liveStreams)
            try reassociate(request, db, &actions)
        } else {
            try endIteration(hideDisconnect: true, db, &actions)
        }
    }
}
