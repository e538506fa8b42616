import GRDB
import PowerSyncProtocol

extension SyncEngine {
    /// Handles a line that is not a data line.
    ///
    /// - Returns: Whether it was handled; see ``handle(_:in:now:live:isOutOfTime:)``.
    mutating func handle(
        _ db: Database,
        line received: ReceivedLine,
        now: SyncInstant,
        live: () -> [StreamKey],
        actions: inout [SyncAction]
    ) throws -> Bool {
        let action = try machine.action(for: received.line)
        status.showConnected()
        switch action {
        case .track(let checkpoint, let known):
            try track(db, TrackedCheckpoint(checkpoint, in: &file.buckets), deleting: known, actions: &actions)
        case .patch(var checkpoint, let diff):
            try file.buckets.delete(db, diff.removedBuckets.map { file.buckets.slot(of: $0) })
            checkpoint.apply(diff, in: &file.buckets)
            try track(db, checkpoint, actions: &actions)
        case .store(let line):
            return try store(db, line: line, byteCount: received.byteCount)
        case .complete(let checkpoint, let completion):
            let completion = CheckpointCompletion(checkpoint, completion, rawTables: rawTables, at: now)
            return try complete(db, completion, actions: &actions)
        case .keepAlive(let iteration, let keepalive):
            try keepAlive(db, iteration, keepalive, now: now, live: live(), actions: &actions)
        case .ignore(let kind):
            actions.log(.debug, "Ignored a sync line of unknown kind \(kind).")
        }
        return true
    }

    /// Stores a data line, whether its bucket is tracked or not.
    ///
    /// - Returns: Whether it was stored; see ``handle(_:in:now:live:isOutOfTime:)``.
    mutating func store(_ db: Database, line: DataLine, byteCount: Int) throws -> Bool {
        _ = try machine.requireIteration()
        status.showConnected()
        let counts = status.progress?.overall ?? OperationCounts()
        let remaining = counts.total.addingSaturating(0 &- counts.downloaded)
        // Creating the indexes once more pays off when they become twice as large at least.
        let isLarge = remaining >= max(bulkLoadThreshold, counts.downloaded)
        let isReady = try file.access.prepareToStore(
            db,
            asBulkLoad: isLarge && status.lastSyncedAt == nil,
            operationCount: line.operations.count
        )
        guard isReady else { return false }
        var store = try OplogStore(db, bulkLoad: file.access.bulkLoad)
        let slot = file.buckets.slot(of: line.bucket)
        let bucket = machine.trackedCheckpoint?.bucket(at: slot)
        let before = bucket.map { TrackedCheckpoint.counts(of: $0, file.buckets) }
        try store.store(line, byteCount: byteCount, at: slot, in: &file.buckets)
        if !line.operations.isEmpty { Announcements.note(db, "ps_oplog") }
        if let checkpoint = machine.trackedCheckpoint, let bucket, let before {
            let after = TrackedCheckpoint.counts(of: bucket, file.buckets)
            status.addProgress(from: before, to: after, of: bucket, checkpoint.association)
        }
        return true
    }

    // MARK: - Checkpoints

    private mutating func track(
        _ db: Database,
        _ checkpoint: TrackedCheckpoint,
        deleting known: StateMachine.KnownBuckets,
        actions: inout [SyncAction]
    ) throws {
        let slots =
            switch known {
            case .requested(let names): names.map { file.buckets.slot(of: $0) }
            case .tracked(let old): old.buckets.map(\.slot)
            }
        try file.buckets.delete(db, slots.filter { checkpoint.bucket(at: $0) == nil })
        try track(db, checkpoint, actions: &actions)
    }

    private mutating func track(
        _ db: Database,
        _ checkpoint: TrackedCheckpoint,
        actions: inout [SyncAction]
    ) throws {
        var checkpoint = checkpoint
        let iteration = try machine.requireIteration()
        for slot in checkpoint.shrunkBuckets(file.buckets) { file.buckets.resetCounters(at: slot, count: 0) }
        checkpoint.association = try association(db, of: checkpoint, with: iteration.request)
        for message in checkpoint.streamErrors { actions.log(.warning, message) }
        reportLeftOut(checkpoint.association.leftOut.count, actions: &actions)
        report(checkpoint.association.unknownStreams.values, actions: &actions)
        machine.checkpointTracked(checkpoint)
        showDownload(of: checkpoint)
    }

    /// Looks again at the subscriptions of the tracked checkpoint, if they have changed although the request has not: one that
    /// was taken back and made again around the checkpoint was judged as taken back, or has another row.
    mutating func reassociate(
        _ db: Database,
        with request: SubscriptionRequest,
        actions: inout [SyncAction]
    ) throws {
        guard var checkpoint = machine.trackedCheckpoint, !checkpoint.association.isUpToDate(with: request) else {
            return
        }
        if let synced = checkpoint.reassociate(try association(db, of: checkpoint, with: request)) {
            try StreamSubscriptions.markSynced(db, synced.ids, at: synced.time)
        }
        report(checkpoint.association.unknownStreams.values, actions: &actions)
        machine.checkpointReassociated(checkpoint)
        let isDownloading = status.progress != nil
        showDownload(of: checkpoint)
        if !isDownloading { status.showNoDownload() }
    }

    private func association(
        _ db: Database,
        of checkpoint: TrackedCheckpoint,
        with request: SubscriptionRequest
    ) throws -> StreamAssociation {
        StreamAssociation(
            subscriptions: try StreamSubscriptions.reconcile(db, with: checkpoint.streams),
            request: request,
            streams: checkpoint.streams
        )
    }

    /// Tells of each unknown stream once, however many subscriptions and checkpoints there are.
    private mutating func report(_ streams: some Sequence<UnknownStream>, actions: inout [SyncAction]) {
        for stream in streams.sorted(by: { $0.name < $1.name })
        where reportedUnknownStreams.insert(stream.name).inserted {
            actions.log(.warning, stream.message)
        }
    }

    private mutating func showDownload(of checkpoint: TrackedCheckpoint) {
        let (download, streams) = checkpoint.progress(file.buckets)
        status.progress = download
        status.streams = streams
    }

    // MARK: - Completions

    /// Completes a checkpoint.
    ///
    /// - Returns: Whether the line was handled; see ``handle(_:in:now:live:isOutOfTime:)``.
    private mutating func complete(
        _ db: Database,
        _ completion: CheckpointCompletion,
        actions: inout [SyncAction]
    ) throws -> Bool {
        var completion = completion
        switch try completion.run(db, file: &file) {
        case .invalid(let mismatches):
            let list = mismatches.map(\.description).joined(separator: ", ")
            actions.log(.warning, "Checksums of buckets do not match, they will be downloaded again: \(list)")
            try endIteration(db, hideDisconnect: false, actions: &actions)
        case .heldBack:
            machine.completionFinished(.heldBack, of: completion.completion, completion.checkpoint)
            guard completion.completion == .complete else { break }
            actions.log(
                .info,
                "Could not apply checkpoint due to local data. Will retry at completed upload or next checkpoint."
            )
            show(completion, actions: &actions)
        case .indexing:
            return false
        case .applied:
            machine.completionFinished(.applied, of: completion.completion, completion.checkpoint)
            if completion.completion == .complete {
                actions.log(.debug, "Validated and applied checkpoint.")
            }
            show(completion, actions: &actions)
        }
        return true
    }

    /// Tries once more to publish what local writes held back.
    ///
    /// - Returns: Whether that was done; see ``handle(_:in:now:live:isOutOfTime:)``.
    mutating func retryHeldBackCheckpoint(
        _ db: Database,
        now: SyncInstant,
        actions: inout [SyncAction]
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
        switch try completion.run(db, file: &file) {
        case .applied:
            machine.completionFinished(.applied, of: .complete, completion.checkpoint)
            actions.log(.debug, "Applied pending checkpoint after completed upload.")
            show(completion, actions: &actions)
        case .indexing:
            machine.completionFinished(.heldBack, of: .complete, checkpoint)
            return false
        case .heldBack where try LocalWriteGate.target(db) == nil:
            // Only insert-only writes have come in between. No write checkpoint is requested for them, so the service may have no
            // reason to send another checkpoint for a long time.
            machine.completionFinished(.heldBack, of: .complete, completion.checkpoint)
            actions.log(.debug, "Could not apply pending checkpoint yet. Will retry at the next completed upload.")
            show(completion, actions: &actions)
        case .invalid, .heldBack:
            actions.log(
                .warning,
                "Could not apply pending checkpoint even after completed upload. Waiting for the next checkpoint."
            )
            machine.checkpointTracked(completion.checkpoint)
            show(completion, actions: &actions)
        }
        return true
    }

    /// Updates the status with what was published, if anything was.
    private mutating func show(_ completion: CheckpointCompletion, actions: inout [SyncAction]) {
        guard let published = completion.published else { return }
        for message in completion.unreadableRows.report(except: &reportedUnreadableTypes) {
            actions.log(.warning, message)
        }
        showSetAside(completion, published, actions: &actions)
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
        actions: inout [SyncAction]
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
        _ db: Database,
        _ iteration: Iteration,
        _ keepalive: StateMachine.Keepalive,
        now: SyncInstant,
        live: [StreamKey],
        actions: inout [SyncAction]
    ) throws {
        switch keepalive {
        case .expired:
            try StreamSubscriptions.renew(db, live, now: now)
            actions.append(.fetchCredentials(didExpire: true))
            try endIteration(db, hideDisconnect: false, actions: &actions)
        case .expiresSoon:
            try StreamSubscriptions.renew(db, live, now: now)
            actions.append(.fetchCredentials(didExpire: false))
        case .routine:
            try checkSubscriptions(db, of: iteration, now: now, live: live, actions: &actions)
        }
    }
}
