package import PowerSyncProtocol
package import PowerSyncSyncConfig

// What one connection knows about its client, and what it does next (docs/service.md "Sync sessions").
//
//                         prepareLine = nil
//                             ┌─────┐
//                             ▼     │
//              ┌──────► waitingForCheckpoint ──────────────┐
//              │              │ advance(to:)               │
//              │              ▼                            │
//              │     downloading(group, invalidated) ◄──┐  │
//              │        │ next() = .read(group)         │  │
//              │        │   didSend(chunk) …            │  │
//              │        │ next() = .sendPartial ────────┘  │ advance(to:): superseded by a newer line,
//              │        │ next() = .sendComplete           │ also in the middle of a group
//              │        │ abandonDownload()                │
//              │        │   (then a later checkpoint)      │
//              └────────┴──────────────────────────────────┘
//
// Building a line is separate from taking it up: `prepareLine(for:)` changes nothing, and its result may be thrown
// away. Positions are the truth of the connection, not of a line: what is sent late for line A counts for line B.
//
// An operation that compaction has left in the place of a row names the later one that replaced the row, its target. A
// client that gets it lacks the row until it has the target: nothing before that is completed, and no checkpoint
// announced.

extension SyncSession {
    /// The buckets of a client at one checkpoint, with their checksums, which could be announced.
    package struct Candidate: Sendable {
        /// The checkpoint in the storage.
        package var checkpoint: StorageCheckpoint
        /// The write checkpoint of the user that it covers.
        var writeCheckpoint: WriteCheckpoint?
        /// All buckets of the client.
        package var buckets: [ResolvedBucket]
        /// The checksum of every bucket in `buckets`.
        package var checksums: [BucketName: BucketChecksum]
        /// The streams that the client is subscribed to, with the errors of subscriptions.
        package var streams: [StreamDescription] = []
        /// The subscriptions that get nothing because of the limits.
        var refusals: [RefusedSubscription] = []
    }

    /// A line that announces a checkpoint, not sent yet.
    struct PreparedLine: Sendable {
        /// `checkpoint` or `checkpoint_diff`.
        var line: SyncLine
        /// The candidate that the line announces.
        var candidate: Candidate
        /// The buckets to send data of, with the priority they are sent at.
        var downloads: [BucketName: Priority]
    }

    /// The next action of the session.
    enum Step: Equatable {
        /// Wait for a checkpoint that concerns the client, or any one after this one; prepare a line for it, and
        /// ``StateMachine/advance(to:)`` to it.
        case waitForCheckpoint(after: StorageCheckpoint?)
        /// Read data of these buckets at a checkpoint and send it.
        case read([StreamingSyncRequest.BucketPosition], at: StorageCheckpoint)
        /// Send this completion.
        case send(SyncLine)
    }

    /// The state of one connection; no I/O.
    struct StateMachine: Sendable {
        /// The download of the checkpoint that was announced last.
        struct Download: Sendable {
            /// The checkpoint.
            var checkpoint: StorageCheckpoint
            /// The groups that are not completed, most urgent first; the first one is being sent.
            ///
            /// Never empty.
            var groups: [Group]
            /// The last operation that the client needs for what was sent, as compaction has left that.
            var target = OpID.zero
            /// Operations sent for this checkpoint.
            var operationCount = 0
            /// Whether everything of the first group has been sent.
            var isGroupDone: Bool

            /// Whether an operation was sent that was compacted after the checkpoint: it cannot be completed.
            var isInvalidated: Bool { target > checkpoint.opID }
        }

        /// Buckets of one priority.
        struct Group: Sendable {
            /// Their priority; `nil` for the empty group of a line without data.
            var priority: Priority?
            /// The buckets, by name.
            var buckets: [BucketName]
        }

        /// The states of a connection.
        enum State: Sendable {
            /// The announced data cannot be sent.
            ///
            /// Everything has been sent, or, with a checkpoint, that one could not be completed, and a later one that
            /// has reached the target has to make up for it.
            case waitingForCheckpoint(after: StorageCheckpoint?, target: OpID)
            /// Data is being sent.
            case downloading(Download)
        }

        /// After this many operations for one checkpoint, newer checkpoints interrupt the download.
        ///
        /// Smaller ones always finish, so that a client makes progress under a constant stream of writes.
        static let uninterruptedOperations = 1000

        private var state = State.waitingForCheckpoint(after: nil, target: .zero)
        /// The last op id that the client has, for every bucket it has.
        private(set) var positions: [BucketName: OpID]
        /// The checksums of the last line; `nil` before the first one.
        private var lastChecksums: [BucketName: BucketChecksum]?
        /// The buckets of the last line; the array of the candidate, so that an idle connection has it once.
        private var lastBuckets: [ResolvedBucket] = []
        private var lastWriteCheckpoint: WriteCheckpoint?
        /// Whether buckets have changed, since the last line, without being announced.
        private var hasSkippedChanges = false
        /// Announced buckets that have not been sent completely.
        private(set) var pendingDownloads: Set<BucketName> = []
        /// The streams of the last line that had any.
        private var lastStreams: [StreamDescription] = []

        /// Creates the state of a new connection.
        ///
        /// - Parameter positions: What the client has; of duplicate names, the last counts.
        init(positions: [StreamingSyncRequest.BucketPosition]) {
            self.positions = Dictionary(positions.map { ($0.name, $0.after) }) { _, last in last }
        }

        /// Whether a newer checkpoint interrupts what is being sent.
        var isInterruptible: Bool {
            switch state {
            case .waitingForCheckpoint: false
            case .downloading(let download): download.operationCount >= Self.uninterruptedOperations
            }
        }

        /// The minimum that a checkpoint must have reached to be announced.
        private var target: OpID {
            switch state {
            case .waitingForCheckpoint(after: _, target: let target): target
            case .downloading(let download): download.target
            }
        }

        // MARK: Lines

        /// Builds the line that announces a checkpoint.
        ///
        /// It is a whole one at the beginning, and when other subscriptions than before get nothing, which a diff
        /// cannot say.
        ///
        /// - Returns: `nil` when there is nothing to tell the client, or only a later checkpoint has all rows.
        func prepareLine(for candidate: Candidate) -> PreparedLine? {
            guard candidate.checkpoint.opID >= target else { return nil }
            // A write checkpoint that was announced stays.
            let writeCheckpoint = [candidate.writeCheckpoint, lastWriteCheckpoint].compactMap(\.self).max()
            var candidate = candidate
            candidate.writeCheckpoint = writeCheckpoint

            let buckets = candidate.buckets
            guard let lastChecksums else {
                return PreparedLine(line: candidate.line, candidate: candidate, downloads: candidate.priorities)
            }
            let lastPriorities = buckets == lastBuckets ? nil : Candidate.priorities(of: lastBuckets)
            let updated = buckets.filter { bucket in
                candidate.checksums[bucket.name] != lastChecksums[bucket.name]
                    || lastPriorities.map { $0[bucket.name] != bucket.priority } ?? false
            }
            let toFetch = Set(updated.map(\.name)).union(pendingDownloads)
            let downloads = candidate.priorities.filter { toFetch.contains($0.key) }
            // A diff has no streams.
            guard candidate.streams.haveSameErrors(as: lastStreams) else {
                return PreparedLine(line: candidate.line, candidate: candidate, downloads: downloads)
            }
            let names = Set(buckets.map(\.name))
            let removed = lastChecksums.keys.filter { !names.contains($0) }.sorted()
            guard !updated.isEmpty || !removed.isEmpty || writeCheckpoint != lastWriteCheckpoint else { return nil }
            let diff = CheckpointDiff(
                lastOpID: candidate.checkpoint.opID,
                writeCheckpoint: writeCheckpoint,
                updatedBuckets: updated.map { candidate.description(of: $0) },
                removedBuckets: removed
            )
            return PreparedLine(line: .checkpointDiff(diff), candidate: candidate, downloads: downloads)
        }

        /// Takes up a line, just before it is sent.
        ///
        /// A download for an earlier checkpoint is abandoned.
        mutating func advance(to prepared: PreparedLine) {
            let candidate = prepared.candidate
            positions = Dictionary(
                uniqueKeysWithValues: candidate.checksums.keys.map { ($0, positions[$0] ?? .zero) }
            )
            lastChecksums = candidate.checksums
            lastBuckets = candidate.buckets
            if case .checkpoint = prepared.line { lastStreams = candidate.streams }
            lastWriteCheckpoint = candidate.writeCheckpoint
            hasSkippedChanges = false
            pendingDownloads = Set(prepared.downloads.keys)

            var groups = Dictionary(grouping: prepared.downloads, by: \.value)
                .map { Group(priority: $0.key, buckets: $0.value.map(\.key).sorted()) }
                .sorted { ($0.priority ?? .default).isHigher(than: $1.priority ?? .default) }
            if groups.isEmpty { groups = [Group(priority: nil, buckets: [])] }
            state = .downloading(
                Download(checkpoint: candidate.checkpoint, groups: groups, isGroupDone: groups[0].buckets.isEmpty)
            )
        }

        // MARK: Data

        /// Whether operations that came with news are all that is left to send of a bucket, before a line for them is
        /// taken up.
        ///
        /// They are, if everything before them has been sent: all that the bucket had at the checkpoint of the last
        /// line, as nothing was added between that and the first of them.
        func canSend(_ operations: [FreshOperations], of bucket: BucketName) -> Bool {
            guard let first = operations.first, !hasSkippedChanges, !pendingDownloads.contains(bucket) else {
                return false
            }
            return lastChecksums?[bucket] != nil && positions[bucket] ?? .zero <= first.after
        }

        /// What to do next.
        ///
        /// Asking for a completion takes it as sent.
        mutating func next() -> Step {
            var download: Download
            switch state {
            case .waitingForCheckpoint(after: let missed, target: _): return .waitForCheckpoint(after: missed)
            case .downloading(let current): download = current
            }
            guard download.isGroupDone else {
                let reads = download.groups[0].buckets.filter(pendingDownloads.contains).map { name in
                    StreamingSyncRequest.BucketPosition(name: name, after: positions[name] ?? .zero)
                }
                return .read(reads, at: download.checkpoint)
            }
            // No completion of any kind for an invalidated checkpoint, and lower priorities are skipped: the next
            // checkpoint, which must be at or after the target, is normally available at once.
            guard !download.isInvalidated else {
                state = .waitingForCheckpoint(after: download.checkpoint, target: download.target)
                return .waitForCheckpoint(after: download.checkpoint)
            }
            let group = download.groups.removeFirst()
            let lastOpID = download.checkpoint.opID
            // The last group never gets a partial completion.
            guard !download.groups.isEmpty, let priority = group.priority else {
                state = .waitingForCheckpoint(after: nil, target: .zero)
                return .send(.checkpointComplete(CheckpointComplete(lastOpID: lastOpID)))
            }
            download.isGroupDone = false
            state = .downloading(download)
            return .send(.partialCheckpointComplete(PartialCheckpointComplete(lastOpID: lastOpID, priority: priority)))
        }

        /// A chunk of the last ``Step/read(_:at:)`` has been sent.
        mutating func didSend(_ chunk: SentChunk) {
            if let position = chunk.nextAfter { positions[chunk.bucket] = position }
            if !chunk.hasMore { pendingDownloads.remove(chunk.bucket) }
            guard case .downloading(var download) = state else { return }
            download.operationCount += chunk.operationCount
            if let target = chunk.targetOp { download.target = max(download.target, target) }
            state = .downloading(download)
        }

        /// The checkpoint that is being sent cannot be read any more.
        ///
        /// The rest is sent with the next checkpoint, which compaction has not passed.
        mutating func abandonDownload() {
            guard case .downloading(let download) = state else { return }
            state = .waitingForCheckpoint(after: download.checkpoint, target: download.target)
        }

        /// News had nothing to tell the client, or their checkpoint could not be read.
        ///
        /// If one has to make up for another, it is a later one.
        mutating func skip(_ news: CheckpointNews) {
            if news.scope.isUnknown || !news.scope.buckets.isEmpty { hasSkippedChanges = true }
            guard case .waitingForCheckpoint(after: .some, target: let target) = state else { return }
            state = .waitingForCheckpoint(after: news.checkpoint, target: target)
        }

        /// All chunks of the last ``Step/read(_:at:)`` have been sent.
        ///
        /// - Parameter hasMore: Whether the last of them had `hasMore`; `false` when there was none.
        mutating func didFinishRead(hasMore: Bool) {
            guard !hasMore, case .downloading(var download) = state else { return }
            download.isGroupDone = true
            pendingDownloads.subtract(download.groups[0].buckets)
            state = .downloading(download)
        }
    }
}

extension SyncSession.Candidate {
    /// The priority of every bucket.
    fileprivate var priorities: [BucketName: Priority] { Self.priorities(of: buckets) }

    fileprivate static func priorities(of buckets: [ResolvedBucket]) -> [BucketName: Priority] {
        Dictionary(buckets.map { ($0.name, $0.priority) }) { first, _ in first }
    }

    /// The line that announces everything.
    fileprivate var line: SyncLine {
        .checkpoint(
            Checkpoint(
                lastOpID: checkpoint.opID,
                writeCheckpoint: writeCheckpoint,
                buckets: buckets.map { description(of: $0) },
                streams: streams
            )
        )
    }

    fileprivate func description(of bucket: ResolvedBucket) -> BucketDescription {
        let checksum = checksums[bucket.name] ?? .empty
        return BucketDescription(
            name: bucket.name,
            checksum: checksum.checksum,
            priority: bucket.priority,
            count: checksum.count,
            reasons: bucket.reasons
        )
    }
}

extension [StreamDescription] {
    /// Whether the errors are of the same subscriptions, whatever their texts.
    fileprivate func haveSameErrors(as other: [StreamDescription]) -> Bool {
        elementsEqual(other) { $0.errors.map(\.subject) == $1.errors.map(\.subject) }
    }
}
