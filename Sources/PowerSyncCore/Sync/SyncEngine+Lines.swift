import GRDB
import PowerSyncProtocol

extension SyncEngine {
    /// Handles a line that is not a data line.
    ///
    /// - Returns: Whether it was handled; see ``handle(_:in:now:isOutOfTime:)``.
    mutating func handle(
        _ received: ReceivedLine,
        _ db: Database,
        _ now: SyncInstant,
        _ actions: inout [SyncAction]
    ) throws -> Bool {
        let action = try machine.action(for: received.line)
        status.showConnected()
        switch action {
        case .track(let checkpoint, let known):
            try track(TrackedCheckpoint(checkpoint, in: &buckets), deleting: known, db, &actions)
        case .patch(var checkpoint, let diff):
            try buckets.delete(diff.removedBuckets.map { buckets.slot(of: $0) }, db)
            checkpoint.apply(diff, in: &buckets)
            try track(checkpoint, db, &actions)
        case .store(let line):
            return try store(line, byteCount: received.byteCount, db)
        case .complete(let checkpoint, let completion):
            let completion = CheckpointCompletion(checkpoint, completion, rawTables: rawTables, at: now)
            return try complete(completion, db, &actions)
        case .keepAlive(let iteration, let keepalive):
            try keepAlive(iteration, keepalive, db, now, &actions)
        case .ignore(let kind):
            actions.log(.debug, "Ignored a sync line of unknown kind \(kind).")
        }
        return true
    }

    /// Stores a data line, whether its bucket is tracked or not.
    ///
    /// - Returns: Whether it was stored; see ``handle(_:in:now:isOutOfTime:)``.
    mutating func store(_ line: DataLine, byteCount: Int, _ db: Database) throws -> Bool {
        _ = try machine.requireIteration()
        status.showConnected()
        let counts = status.progress?.overall ?? OperationCounts()
        let remaining = counts.total.addingSaturating(0 &- counts.downloaded)
        // Creating the indexes once more pays off when they become twice as large at least.
        let isLarge = remaining >= max(bulkLoadThreshold, counts.downloaded)
        let isReady = try access.prepareToStore(
            asBulkLoad: isLarge && status.lastSyncedAt == nil,
            operationCount: line.operations.count,
            db
        )
        guard isReady else { return false }
        var store = try OplogStore(db, bulkLoad: access.bulkLoad)
        let slot = buckets.slot(of: line.bucket)
        let bucket = machine.trackedCheckpoint?.bucket(at: slot)
        let before = bucket.map { TrackedCheckpoint.counts(of: $0, buckets) }
        try store.store(line, byteCount: byteCount, at: slot, in: &buckets)
        if !line.operations.isEmpty { try Announcement.note("ps_oplog", db) }
        if let checkpoint = machine.trackedCheckpoint, let bucket, let before {
            let after = TrackedCheckpoint.counts(of: bucket, buckets)
            status.addProgress(from: before, to: after, of: bucket, checkpoint.association)
        }
        return true
    }

    // MARK: - Checkpoints

    private mutating func track(
        _ checkpoint: TrackedCheckpoint,
        deleting known: StateMachine.KnownBuckets,
        _ db: Database,
        _ actions: inout [SyncAction]
    ) throws {
        let slots =
            switch known {
            case .requested(let names): names.map { buckets.slot(of: $0) }
            case .tracked(let old): old.buckets.map(\.slot)
            }
        try buckets.delete(slots.filter { checkpoint.bucket(at: $0) == nil }, db)
        try track(checkpoint, db, &actions)
    }

    private mutating func track(
        _ checkpoint: TrackedCheckpoint,
        _ db: Database,
        _ actions: inout [SyncAction]
    ) throws {
        var checkpoint = checkpoint
        let iteration = try machine.requireIteration()
        for slot in checkpoint.shrunkBuckets(buckets) { buckets.resetCounters(at: slot, count: 0) }
        checkpoint.association = try association(of: checkpoint, with: iteration.request, db)
        for message in checkpoint.streamErrors { actions.log(.warning, message) }
        reportLeftOut(checkpoint.association.leftOut.count, &actions)
        report(checkpoint.association.unknownStreams.values, &actions)
        machine.checkpointTracked(checkpoint)
        showDownload(of: checkpoint)
    }

    /// Looks again at the subscriptions of the tracked checkpoint, if they have changed although the request has not: one that
    /// was taken back and made again around the checkpoint was judged as taken back, or has another row.
    mutating func reassociate(
        _ request: SubscriptionRequest,
        _ db: Database,
        _ actions: inout [SyncAction]
    ) throws {
        guard var checkpoint = machine.trackedCheckpoint, !checkpoint.association.isUpToDate(with: request) else {
            return
        }
        if let synced = checkpoint.reassociate(try association(of: checkpoint, with: request, db)) {
            try StreamSubscriptions.markSynced(synced.ids, at: synced.time, db)
        }
        report(checkpoint.association.unknownStreams.values, &actions)
        machine.checkpointReassociated(checkpoint)
        let isDownloading = status.progress != nil
        showDownload(of: checkpoint)
        if !isDownloading { status.showNoDownload() }
    }

    private func association(
        of checkpoint: TrackedCheckpoint,
        with request: SubscriptionRequest,
        _ db: Database
    ) throws -> StreamAssociation {
        StreamAssociation(
            subscriptions: try StreamSubscriptions.reconcile(with: checkpoint.streams, db),
            request: request,
            streams: checkpoint.streams
        )
    }

    /// Tells of each unknown stream once, however many subscriptions and checkpoints there are.
    private mutating func report(_ streams: some Sequence<UnknownStream>, _ actions: inout [SyncAction]) {
        for stream in streams.sorted(by: { $0.name < $1.name })
        where reportedUnknownStreams.insert(stream.name).inserted {
            actions.log(.warning, stream.message)
        }
    }

    private mutating func showDownload(of checkpoint: TrackedCheckpoint) {
        let (download, streams) = checkpoint.progress(buckets)
        status.progress = download
        status.streams = streams
    }

    // MARK: - Completions

    /// Completes a checkpoint.
    ///
    /// - Returns: Whether the line was handled; see ``handle(_:in:now:isOutOfTime:)``.
    private mutating func complete(
        _ completion: CheckpointCompletion,
        _ db: Database,
        _ actions: inout [SyncAction]
    ) throws -> Bool {
        var completion = completion
        switch try completion.run(&buckets, &access, &schema, db) {
        case .invalid(let mismatches):
            let list = mismatches.map(\.description).joined(separator: ", ")
            actions.log(.warning, "Checksums of buckets do not match, they will be downloaded again: \(list)")
            try endIteration(hideDisconnect: false, db, &actions)
        case .heldBack:
            machine.completionFinished(.heldBack, of: completion.completion, completion.checkpoint)
            guard completion.completion == .complete else { break }
            actions.log(
                .info,
                "Could not apply checkpoint due to local data. Will retry at completed upload or next checkpoint."
            )
            show(completion, &actions)
        case .indexing:
            return false
        case .applied:
            machine.completionFinished(.applied, of: completion.completion, completion.checkpoint)
            if completion.completion == .complete {
                actions.log(.debug, "Validated and applied checkpoint.")
            }
            show(completion, &actions)
        }
        return true
    }

    /// Tries once more to publish what local writes held back.
    ///
    /// - Returns: Whether that was done; see ``handle(_:in:now:isOutOfTime:)``.
    mutating func retryHeldBackCheckpoint(
        _ db: Database,
        _ now: SyncInstant,
        _ actions: inout [SyncAction]
    ) throws -> Bool {
        _ = try machine.requireIteration()
        // Something was written while the service was asked: what is held back stays so until that is uploaded, too.
        guard try LocalWriteGate.target(db) != LocalWriteGate.pendingTarget else { return true }
        guard let checkpoint = machine.takeHeldBackCheckpoint() else { return true }
        // "None" is less than any number; a checkpoint from before the upload cannot be the awaited one.
        if let target = try LocalWriteGate.target(db) {
            guard let seen = checkpoint.writeCheckpoint, seen >= target else { return true }
        }
        var completion = CheckpointCompletion(checkpoint, .complete, rawTables: rawTables, at: now)
        switch try completion.run(&buckets, &access, &schema, db) {
        case .applied:
            machine.completionFinished(.applied, of: .complete, completion.checkpoint)
            actions.log(.debug, "Applied pending checkpoint after completed upload.")
            show(completion, &actions)
        case .indexing:
            machine.completionFinished(.heldBack, of: .complete, checkpoint)
            return false
        case .heldBack where try LocalWriteGate.target(db) == nil:
            // Only insert-only writes have come in between. No write checkpoint is requested for them, so the service may have no
            // reason to send another checkpoint for a long time.
            machine.completionFinished(.heldBack, of: .complete, completion.checkpoint)
            actions.log(.debug, "Could not apply pending checkpoint yet. Will retry at the next completed upload.")
            show(completion, &actions)
        case .invalid, .heldBack:
            actions.log(
                .warning,
                "Could not apply pending checkpoint even after completed upload. Waiting for the next checkpoint."
            )
            machine.checkpointTracked(completion.checkpoint)
            show(completion, &actions)
        }
        return true
    }

    /// Updates the status with what was published, if anything was.
    private mutating func show(_ completion: CheckpointCompletion, _ actions: inout [SyncAction]) {
        guard let published = completion.published else { return }
        for message in completion.unreadableRows.report(except: &reportedUnreadableTypes) {
            actions.log(.warning, message)
        }
        showSetAside(completion, published, &actions)
        status.priorities.record(published.priority, at: completion.now)
        for (index, subscription) in completion.checkpoint.association.subscriptions.enumerated() {
            status.streams?[index].lastSyncedAt = subscription.status.lastSyncedAt
        }
        guard published == .complete else { return }
        status.showNoDownload()
        status.lastApplied = completion.checkpoint.writeCheckpoint
        actions.append(.didCompleteSync)
    }

    /// Tells of the rows that constraints of the app refuse.
    private mutating func showSetAside(
        _ completion: CheckpointCompletion,
        _ published: Completion,
        _ actions: inout [SyncAction]
    ) {
        for message in completion.setAsideRows.report(since: status.setAside) { actions.log(.warning, message) }
        if published == .complete {
            status.setAside = completion.setAsideRows
        } else {
            // Those of before wait for a complete checkpoint.
            status.setAside.formUnion(completion.setAsideRows)
        }
    }

    // MARK: - Keepalives

    private mutating func keepAlive(
        _ iteration: Iteration,
        _ keepalive: StateMachine.Keepalive,
        _ db: Database,
        _ now: SyncInstant,
        _ actions: inout [SyncAction]
    ) throws {
        switch keepalive {
        case .expired:
            try StreamSubscriptions.renew(iteration.liveStreams, now: now, db)
            actions.append(.fetchCredentials(didExpire: true))
            try endIteration(hideDisconnect: false, db, &actions)
        case .expiresSoon:
            try StreamSubscriptions.renew(iteration.liveStreams, now: now, db)
            actions.append(.fetchCredentials(didExpire: false))
        case .routine:
            try checkSubscriptions(iteration, db, now, &actions)
        }
    }
}
