import PowerSyncProtocol

/// Reads the operations that a session sends: those that the dispatcher has read, those of a run that other sessions
/// share, or those in the storage. The memory of all sessions together has a limit; see ``LineMemory``.
extension SyncSession {
    /// Where the operations of a bucket come from.
    enum Origin {
        /// The dispatcher has read them for this session.
        case news
        /// Other sessions send the same bucket: they share one encoded run.
        case shared
        /// This session reads them from the storage.
        case storage
    }

    /// The most buckets that are looked up one by one among the runs that are shared.
    private static let sharedBuckets = 16

    /// The first positions whose operations have the same origin, and that origin.
    func nextPart(
        of positions: ArraySlice<StreamingSyncRequest.BucketPosition>
    ) -> (positions: [StreamingSyncRequest.BucketPosition], origin: Origin)? {
        guard let first = positions.first else { return nil }
        let origin = origin(of: first.name)
        let part = positions.prefix { self.origin(of: $0.name) == origin }
        // Of a few, each is looked for by itself: others may want it with other buckets.
        return (Array(origin == .shared && part.count <= Self.sharedBuckets ? part.prefix(1) : part), origin)
    }

    private func origin(of bucket: BucketName) -> Origin {
        if fresh[bucket] != nil { return .news }
        return environment.dispatcher.isShared(bucket) ? .shared : .storage
    }

    /// Reads operations and encodes them.
    ///
    /// A shared run is in memory once, and does not count in the account of this session; see ``SharedRun``. While the
    /// session waits for memory, it holds neither a slot of the semaphore for reads nor lines.
    ///
    /// - Returns: The lines, and the registration with the run that they are from, if that is shared.
    mutating func run(
        of positions: [StreamingSyncRequest.BucketPosition],
        _ origin: Origin,
        _ checkpoint: StorageCheckpoint,
        _ lines: LineQueue
    ) async throws -> (run: EncodedRun, sender: SharedRun.Sender?) {
        switch origin {
        case .news:
            try await waitForRoom(lines)
            let chunks = positions.flatMap { position in
                FreshOperations.chunks(of: fresh.removeValue(forKey: position.name) ?? [], after: position.after)
            }
            let run = EncodedRun(chunks, as: encoding)
            account.add(run.readableBytes)
            return (run, nil)
        case .shared:
            if copiesLines { try await waitForRoom(lines) }
            try await beginReading(lines)
            let key = SharedRuns.Key(positions, at: checkpoint, as: encoding)
            while true {
                let shared = try await environment.dispatcher.runs.run(for: key) {
                    // The length of lines fits all sessions, also those that have just connected.
                    try await readIfThereIsRoom(positions, checkpoint, lineBytes: Self.firstLineBytes)
                }
                if let shared { return (shared.content, shared.makeSender(account)) }
                try await waitForRoom(lines)
            }
        case .storage:
            try await beginReading(lines)
            while true {
                try await waitForRoom(lines)
                if let run = try await readIfThereIsRoom(positions, checkpoint, lineBytes: lineBytes, account) {
                    return (run, nil)
                }
            }
        }
    }

    /// Reads with a slot.
    ///
    /// - Parameters:
    ///   - positions: Where to begin.
    ///   - checkpoint: What to read at.
    ///   - lineBytes: How long the first line may be.
    ///   - account: The account that the operations count in; `nil` when they count in none.
    /// - Returns: `nil` when there is no memory left: sessions that had a slot before have taken it.
    /// - Throws: An error of the storage.
    private func readIfThereIsRoom(
        _ positions: [StreamingSyncRequest.BucketPosition],
        _ checkpoint: StorageCheckpoint,
        lineBytes: Int,
        _ account: LineMemory.Account? = nil
    ) async throws -> EncodedRun? {
        try await environment.dataReaders.withSlot {
            guard environment.memory.hasRoom else { return nil }
            let run = try await read(positions, checkpoint, BucketDataLimits(firstChunkBytes: lineBytes))
            account?.add(run.readableBytes)
            return run
        }
    }

    /// Hands over the lines of the batch before it waits for a slot: they would be delayed by other sessions.
    private mutating func beginReading(_ lines: LineQueue) async throws {
        if environment.dataReaders.isBusy {
            try await batch.flush(to: lines)
            statistics.began(.waitingForSlot)
        } else {
            statistics.began(.reading)
        }
    }

    private mutating func waitForRoom(_ lines: LineQueue) async throws {
        guard !environment.memory.hasRoom else { return }
        try await batch.flush(to: lines)
        statistics.began(.waitingForMemory)
        try await environment.memory.waitForRoom()
        statistics.began(.waitingForSlot)
    }

    /// Reads in a transaction of the storage, which has ended when this returns: no transaction waits for the network.
    private func read(
        _ positions: [StreamingSyncRequest.BucketPosition],
        _ checkpoint: StorageCheckpoint,
        _ limits: BucketDataLimits
    ) async throws -> EncodedRun {
        statistics.began(.reading)
        let chunks = try await environment.storage.bucketData(positions, at: checkpoint, limits: limits)
        return EncodedRun(chunks, as: encoding)
    }
}
