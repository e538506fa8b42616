import PowerSyncProtocol

/// The checkpoint that an iteration works towards (docs/client-sync.md "Checkpoints").
///
/// Buckets are kept in an array and refer to their rows by slot of a ``BucketTable``.
struct TrackedCheckpoint: Sendable {
    /// A bucket of the checkpoint.
    struct Bucket: Sendable {
        /// Where the bucket's row is.
        var slot: BucketTable.Slot
        /// What the sum over all operations has to be.
        var checksum: Checksum
        /// How urgent the bucket is.
        var priority: Priority
        /// The number of operations, if the service told.
        var count: Int64?
        /// Why the client gets the bucket.
        var reasons: [BucketReason]

        init(_ description: BucketDescription, slot: BucketTable.Slot) {
            self.slot = slot
            checksum = description.checksum
            priority = description.priority
            count = description.count
            reasons = description.reasons
        }
    }

    /// The op id of the checkpoint.
    private(set) var lastOpID: OpID
    /// The newest write checkpoint that it covers.
    private(set) var writeCheckpoint: WriteCheckpoint?
    /// The buckets, without duplicates.
    private(set) var buckets: [Bucket] = []
    /// The streams of the last complete description.
    private(set) var streams: [StreamDescription]
    /// How buckets belong to subscriptions.
    var association = StreamAssociation()
    /// What was published: the completion that covers most, and when that was.
    private var published: (completion: Completion, time: SyncInstant)?
    /// The index into ``buckets`` by slot; −1 for a bucket that is not tracked.
    private var indexBySlot: [Int] = []

    /// Begins to track a checkpoint.
    init(_ checkpoint: Checkpoint, in table: inout BucketTable) {
        lastOpID = checkpoint.lastOpID
        writeCheckpoint = checkpoint.writeCheckpoint
        streams = checkpoint.streams
        buckets.reserveCapacity(checkpoint.buckets.count)
        for description in checkpoint.buckets {
            set(Bucket(description, slot: table.slot(of: description.name)))
        }
    }

    /// Applies a diff.
    ///
    /// Its write checkpoint replaces the old one, also by being absent; streams stay.
    mutating func apply(_ diff: CheckpointDiff, in table: inout BucketTable) {
        lastOpID = diff.lastOpID
        writeCheckpoint = diff.writeCheckpoint
        published = nil
        remove(diff.removedBuckets.map { table.slot(of: $0) })
        for description in diff.updatedBuckets {
            set(Bucket(description, slot: table.slot(of: description.name)))
        }
    }

    /// The bucket in a slot, if it is tracked.
    func bucket(at slot: BucketTable.Slot) -> Bucket? {
        guard slot < indexBySlot.count, indexBySlot[slot] >= 0 else { return nil }
        return buckets[indexBySlot[slot]]
    }

    /// The buckets that a completion is about: all, or those that a partial completion covers.
    func involved(in completion: Completion) -> [Bucket] {
        switch completion {
        case .complete: buckets
        case .partial(let priority): buckets.filter { priority.includes($0.priority) }
        }
    }

    /// Marks the subscriptions as published that a completion covers.
    ///
    /// A complete checkpoint covers all that it answers; a partial one those whose buckets it all includes, if they have any.
    ///
    /// A complete checkpoint also takes the mark from those that there was no room for: it has nothing of them.
    ///
    /// - Returns: The ids of these subscriptions.
    mutating func markSubscriptionsSynced(
        by completion: Completion,
        at now: SyncInstant
    ) -> (synced: [Int64], lost: [Int64]) {
        if published.map({ completion.priority.includes($0.completion.priority) }) ?? true {
            published = (completion, now)
        }
        let lost = completion == .complete ? association.lostIndexes : []
        let synced = markSynced(subscriptions(coveredBy: completion), at: now)
        for index in lost { association.markNotSynced(index) }
        return (synced, lost.map { association.subscriptions[$0].id })
    }

    /// Looks again at the subscriptions, which have changed although the request has not.
    ///
    /// Those that were made again get the time at which this checkpoint has published their data.
    ///
    /// - Parameter association: How buckets belong to the subscriptions as they are now.
    /// - Returns: The ids of the subscriptions that got a time, and the time.
    mutating func reassociate(_ association: StreamAssociation) -> (ids: [Int64], time: SyncInstant)? {
        self.association = association
        guard let published else { return nil }
        let indexes = subscriptions(coveredBy: published.completion).filter {
            association.subscriptions[$0].lastSyncedAt == nil
        }
        return (markSynced(indexes, at: published.time), published.time)
    }

    private mutating func markSynced(_ indexes: [Int], at time: SyncInstant) -> [Int64] {
        for index in indexes { association.markSynced(index, at: time) }
        return indexes.map { association.subscriptions[$0].id }
    }

    private func subscriptions(coveredBy completion: Completion) -> [Int] {
        switch completion {
        case .complete: association.subscriptions.indices.filter { association.isAnswered($0) }
        case .partial(let priority): subscriptionsIncluded(in: priority)
        }
    }

    /// The indexes of the subscriptions that have buckets, all of which are covered by a priority.
    private func subscriptionsIncluded(in priority: Priority) -> [Int] {
        var included: [Bool?] = Array(repeating: nil, count: association.subscriptions.count)
        for bucket in buckets {
            association.forEachSubscription(bucket.reasons) { index in
                included[index] = (included[index] ?? true) && priority.includes(bucket.priority)
            }
        }
        return included.indices.filter { included[$0] == true }
    }

    private mutating func set(_ bucket: Bucket) {
        if bucket.slot >= indexBySlot.count {
            indexBySlot.append(contentsOf: repeatElement(-1, count: bucket.slot + 1 - indexBySlot.count))
        }
        let index = indexBySlot[bucket.slot]
        if index >= 0 {
            buckets[index] = bucket
        } else {
            indexBySlot[bucket.slot] = buckets.count
            buckets.append(bucket)
        }
    }

    private mutating func remove(_ slots: [BucketTable.Slot]) {
        let removed = slots.filter { bucket(at: $0) != nil }
        guard !removed.isEmpty else { return }
        for slot in removed { indexBySlot[slot] = -1 }
        buckets.removeAll { indexBySlot[$0.slot] < 0 }
        for (index, bucket) in buckets.enumerated() { indexBySlot[bucket.slot] = index }
    }
}

/// What a completion line is about.
enum Completion: Sendable, Equatable {
    /// Everything.
    case complete
    /// The buckets of this priority and of more urgent ones.
    case partial(Priority)

    /// The priority under which the completion is recorded.
    var priority: Priority {
        switch self {
        case .complete: .complete
        case .partial(let priority): priority
        }
    }
}

extension TrackedCheckpoint {
    /// The slots of the buckets that hold fewer operations than were counted: they were compacted or redeployed, and their
    /// counters start again.
    func shrunkBuckets(_ table: BucketTable) -> [BucketTable.Slot] {
        buckets.compactMap { bucket in
            let row = table[bucket.slot]
            let hasShrunk = (bucket.count ?? 0) < row.countAtLast.addingSaturating(row.countSinceLast)
            return hasShrunk ? bucket.slot : nil
        }
    }

    /// The operations to download of a bucket since the last complete checkpoint, and those that are there.
    ///
    /// There are never more of the latter: a service may send more than it has announced.
    static func counts(of bucket: Bucket, _ table: BucketTable) -> OperationCounts {
        let row = table[bucket.slot]
        let total = max(0, (bucket.count ?? 0).addingSaturating(-max(0, row.countAtLast)))
        return OperationCounts(total: total, downloaded: min(total, max(0, row.countSinceLast)))
    }

    /// The progress by priority, and the status of every subscription with its progress.
    func progress(_ table: BucketTable) -> (download: DownloadProgress, streams: [StreamStatus]) {
        var download = DownloadProgress()
        var streams = association.subscriptions.map(\.status)
        for index in streams.indices {
            streams[index].progress = OperationCounts()
            streams[index].unknown = association.unknownStreams[index]
            streams[index].isLeftOut = association.leftOut.contains(index)
        }
        for bucket in buckets {
            let counts = Self.counts(of: bucket, table)
            download.add(counts, to: bucket.priority)
            association.forEachSubscription(bucket.reasons) { index in
                streams[index].progress? += counts
                let lowest = streams[index].priority ?? bucket.priority
                streams[index].priority = lowest.isHigher(than: bucket.priority) ? bucket.priority : lowest
            }
        }
        return (download, streams)
    }
}

extension DownloadStatus {
    /// Adds what has changed in the counts of a tracked bucket.
    mutating func addProgress(
        from old: OperationCounts,
        to new: OperationCounts,
        of bucket: TrackedCheckpoint.Bucket,
        _ association: StreamAssociation
    ) {
        guard progress != nil, new != old else { return }
        let counts = OperationCounts(total: new.total - old.total, downloaded: new.downloaded - old.downloaded)
        progress?.add(counts, to: bucket.priority)
        association.forEachSubscription(bucket.reasons) { index in
            streams?[index].progress? += counts
        }
    }
}

extension TrackedCheckpoint {
    /// What the service says about subscriptions that it could not evaluate, for the log.
    ///
    /// Without those that it has no room for, which may be many.
    var streamErrors: [String] {
        streams.flatMap { stream in
            stream.errors.compactMap { error in
                guard error.refusedPosition == nil else { return nil }
                switch error.subject {
                case .defaultSubscription:
                    return "Default subscription of stream \(stream.name) has errors: \(error.message)"
                case .subscription(let index):
                    guard let subscription = association.requestedSubscription(at: index) else { return nil }
                    return "Subscription of stream \(subscription.key) has errors: \(error.message)"
                }
            }
        }
    }
}
