import PowerSyncProtocol
package import PowerSyncServiceCore
package import PowerSyncServiceSQLite

/// A storage in SQLite that follows a source, with one sync config.
package protocol ReplicationScenario: Sendable {
    /// Where checkpoints are made.
    var storage: SQLiteBucketStorage { get }
    /// What is replicated.
    var config: String { get }
    /// What the replicator says.
    var log: CollectedLog { get }

    /// What replicates the source into the storage, with the config deployed.
    func replicator() async throws -> Replicator

    /// The position that a checkpoint has reached when it has everything that is committed to the source now.
    func head() async throws -> SourcePosition
}

extension ReplicationScenario {
    /// Runs a replicator while `body` runs.
    package func replicating<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        let replicator = try await replicator()
        // What went wrong is known to the log only: the replicator tries again for ever.
        defer {
            for line in log.lines where line.hasPrefix("error ") { print(line) }
        }
        return try await replicator.whileRunning(body)
    }

    /// Replicates until everything that is committed to the source now has been published.
    package func replicate() async throws {
        try await replicating { try await caughtUp() }
    }

    /// Waits until everything that is committed to the source now has been published.
    package func caughtUp() async throws {
        let head = try await head()
        try await published { $0.lsn >= head.lsn }
    }

    /// Waits for a checkpoint of the stream with this scenario's config.
    @discardableResult
    package func published(_ isExpected: @Sendable (StorageCheckpoint) throws -> Bool) async throws -> StorageCheckpoint
    {
        while true {
            let seen = storage.feed.signal.version
            if let active = try await stream(), active.state == .active, let current = storage.feed.current,
                current.streamID == active.id, try isExpected(current)
            {
                return current
            }
            try await storage.feed.signal.wait(after: seen)
        }
    }

    /// Waits until clients are served a config with everything that is committed now.
    ///
    /// - Parameter content: The text of the config: it may have been deployed into the stream of another one.
    /// - Returns: The stream, with the plan of the config.
    /// - Throws: An error of the source or the storage, and `CancellationError`.
    @discardableResult
    package func served(_ content: String) async throws -> ReplicationStream {
        let head = try await head()
        return try await storage.served(content, from: head.lsn).stream
    }

    /// The stream of this scenario's config.
    package func stream() async throws -> ReplicationStream? {
        try await storage.streams().last { $0.content == config && $0.state != .stop }
    }

    /// The rows of a bucket at the current checkpoint, by `table/id`.
    package func rows(_ bucket: String = "all|0[]") async throws -> [String: String] {
        guard let checkpoint = storage.feed.current,
            let stream = try await storage.streams().first(where: { $0.id == checkpoint.streamID })
        else { throw BucketStorageError.noActiveStream }
        return reduce(try await storage.allOperations(bucket, of: stream, at: checkpoint))
    }
}

extension Replicator {
    /// Runs for as long as `body` runs.
    package func whileRunning<Result: Sendable>(
        _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await self.run()
                return nil
            }
            group.addTask { try await body() }
            defer { group.cancelAll() }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw ReplicatorEnded()
        }
    }
}

/// It was cancelled before `body` had ended.
package struct ReplicatorEnded: Error {
    /// Says so.
    package init() {}
}
