package import Logging
import ServiceLifecycle

/// Keeps the bucket storage up to date with the source: the writing half of the service.
///
/// It replicates the stream of the newest sync config and the one that clients are served from meanwhile, and deletes
/// streams that have been replaced. A config that is deployed while it runs is taken up at once, and leaves the other streams
/// alone. Errors of the source or the storage are logged and followed by another attempt; nothing is lost, because
/// replication goes on from what was committed. On graceful shutdown it stops between two transactions.
package struct Replicator: Service {
    private let storage: any BucketStorage
    private let source: ReplicatedSource
    private let streamsChanged: ChangeSignal
    private let clock: any Clock<Duration>
    private let statistics: ReplicationStatistics
    private let logger: Logger
    private let now: @Sendable () -> Double
    private let report: @Sendable (ReplicationReport, ReplicationStreamID?) -> Void
    private let touch: @Sendable () -> Void

    /// The longest time between two calls of `touch` during a pause: below the 10 s of the liveness probe.
    private static let touchInterval = Duration.seconds(5)

    /// The pause before another attempt to become the writer of a stream.
    private static let leasePause = Duration.seconds(1)

    /// Creates a replicator of what is deployed.
    ///
    /// - Parameters:
    ///   - storage: Where to write to.
    ///   - source: What to replicate.
    ///   - streamsChanged: Advanced when the streams of the storage change: ``SyncConfigDeployer/streamsChanged``.
    ///   - clock: Measures pauses after errors, and the time between two signs of life.
    ///   - statistics: Counts what is replicated.
    ///   - logger: Gets progress at `notice`, and errors.
    ///   - now: The seconds since 1970, compared with the source's clock to tell how far replication is behind.
    ///   - report: Called when an attempt has failed, with the stream that it was for, if it was for one; after each commit; when
    ///     other tables are left out; and when a later attempt has succeeded, another process is found to replicate the stream, or
    ///     its job has ended.
    ///   - touch: Called at least every few seconds while replication is alive, for the liveness probe; also while the
    ///     source takes its time.
    package init(
        storage: any BucketStorage,
        source: any ReplicationSource,
        streamsChanged: ChangeSignal,
        clock: any Clock<Duration> = ContinuousClock(),
        statistics: ReplicationStatistics = ReplicationStatistics(),
        logger: Logger,
        now: @escaping @Sendable () -> Double = { Timing().seconds },
        report: @escaping @Sendable (ReplicationReport, ReplicationStreamID?) -> Void = { _, _ in },
        touch: @escaping @Sendable () -> Void = {}
    ) {
        self.storage = storage
        self.source = ReplicatedSource(source, clock: clock, touch: touch)
        self.streamsChanged = streamsChanged
        self.clock = clock
        self.statistics = statistics
        self.logger = logger
        self.now = now
        self.report = report
        self.touch = touch
    }

    /// Replicates until shutdown or cancellation.
    ///
    /// - Throws: ``ReplicationSourceError`` when the source cannot be replicated as it is configured. Later errors are logged, not
    ///   thrown.
    package func run() async throws {
        try await untilShutdown {
            try await checkSource()
            try await replicateStreams()
        }
        logger.debug("Replication has been stopped")
    }

    /// Checks the source, and waits for one that does not answer yet.
    private func checkSource() async throws {
        let refusal = try await retrying {
            do {
                try await source.checkConfiguration()
                return nil as ReplicationSourceError?
            } catch let error as ReplicationSourceError where error.code != .unavailable {
                return error
            }
        }
        if let refusal { throw refusal }
    }

    // MARK: Jobs

    /// Why to look at the streams again.
    private enum Event: Sendable {
        /// The job of a stream has ended.
        case ended(ReplicationStreamID)
        /// The streams of the storage have changed.
        case streamsChanged
        /// Nothing is replicated, and time has passed.
        case idle
    }

    /// Has a job for each stream, until cancellation.
    private func replicateStreams() async throws {
        var jobs = ReplicationJobs()
        try await withThrowingTaskGroup(of: Event.self) { group in
            defer { group.cancelAll() }
            var (isWatched, isIdling) = (false, false)
            while true {
                let seen = streamsChanged.version
                let changes = jobs.update(try await retrying { try await storage.streams() })
                for stop in changes.stopped { stop.advance() }
                for job in changes.started { group.addTask { try await run(job) } }
                if !isWatched {
                    isWatched = true
                    group.addTask {
                        try await streamsChanged.wait(after: seen)
                        return .streamsChanged
                    }
                }
                if !jobs.isReplicating, !isIdling {
                    isIdling = true
                    group.addTask {
                        try await clock.sleep(for: Self.touchInterval)
                        touch()
                        return .idle
                    }
                }
                switch try await group.next() {
                case .ended(let stream): jobs.ended(stream)
                case .streamsChanged: isWatched = false
                case .idle, nil: isIdling = false
                }
            }
        }
    }

    /// Does a job until it is done, or stopped.
    private func run(_ job: ReplicationJobs.Job) async throws -> Event {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                switch job.kind {
                case .replicate: try await replicate(job.stream.id)
                case .delete: try await retrying(for: job.stream.id) { try await delete(job.stream) }
                }
            }
            group.addTask { try await job.stop.wait(after: 0) }
            _ = try await group.next()
        }
        // What has failed is not tried again.
        report(.ended, job.stream.id)
        return .ended(job.stream.id)
    }

    private func replicate(_ id: ReplicationStreamID) async throws {
        let outcome = try await retrying(for: id) { () -> StreamReplicator.Outcome in
            // As it is now: the attempt before may have changed it.
            let stream = try await storage.streams().first { $0.id == id && $0.state.isReplicated }
            guard let stream else { return .replaced }
            statistics.didBegin()
            let replicator = StreamReplicator(
                stream: stream,
                storage: storage,
                source: source,
                statistics: statistics,
                logger: logger,
                now: now,
                clock: clock,
                didCommit: {
                    report(.written, id)
                    // Who waits for a checkpoint looks again after each touch, and an idle source has no other one.
                    touch()
                },
                didActivate: { streamsChanged.advance() },
                didLeaveOut: { report(.leftOut($0), id) },
                touch: touch
            )
            return try await waitingForLease(of: stream) { try await replicator.run() }
        }
        logger.debug(
            "Replication of a stream has ended",
            metadata: [LogKey.replicationStream: .stringConvertible(id.rawValue), LogKey.outcome: "\(outcome)"]
        )
    }

    /// Tries again and again as long as another process writes the stream.
    private func waitingForLease(
        of stream: ReplicationStream,
        _ body: () async throws -> StreamReplicator.Outcome
    ) async throws -> StreamReplicator.Outcome {
        var isWaiting = false
        while true {
            do {
                return try await body()
            } catch let error as BucketStorageError where error.code == .inUse {
                statistics.didYield(stream.id)
                if !isWaiting {
                    isWaiting = true
                    // The storage has answered: what was wrong before is not any more.
                    report(.ended, stream.id)
                    logger.notice(
                        "Another process replicates the stream; this one takes over when that ends",
                        metadata: [LogKey.replicationStream: .stringConvertible(stream.id.rawValue)]
                    )
                }
            }
            try await clock.sleep(for: Self.leasePause)
            touch()
        }
    }

    private func delete(_ stream: ReplicationStream) async throws {
        try await source.dropStream(stream.sourceHandle)
        try await storage.deleteData(of: stream.id)
        logger.notice(
            "A replaced stream has been deleted",
            metadata: [LogKey.replicationStream: .stringConvertible(stream.id.rawValue)]
        )
    }

    /// Repeats an operation until it succeeds or the task is cancelled.
    ///
    /// What it has reported to be wrong is not any more when it succeeds: nothing else may say so, such as a commit, which a process
    /// that waits for the lease never makes.
    ///
    /// - Parameters:
    ///   - stream: The stream that the operation is for, if it is for one.
    ///   - operation: What to do.
    /// - Returns: What the operation returns.
    /// - Throws: `CancellationError`.
    private func retrying<Result>(
        for stream: ReplicationStreamID? = nil,
        _ operation: () async throws -> Result
    ) async throws -> Result {
        var pauses = RetryPauses()
        while true {
            let stopwatch = Stopwatch(clock)
            var wait: Duration
            do {
                let result = try await operation()
                if pauses.attempt > 0 { report(.ended, stream) }
                return result
            } catch {
                if error is CancellationError || Task.isCancelled { throw CancellationError() }
                statistics.didFail()
                report(.failed(error), stream)
                let pause = pauses.failed(after: stopwatch.elapsed)
                wait = (error as? any PausingError)?.pause ?? pause
                var metadata: Logger.Metadata = [
                    LogKey.error: "\(error)", LogKey.attempt: .stringConvertible(pauses.attempt),
                    LogKey.pause: .stringConvertible(wait.loggedMilliseconds),
                ]
                if let stream { metadata[LogKey.replicationStream] = .stringConvertible(stream.rawValue) }
                logger.error("Replication failed, and is tried again", metadata: metadata)
            }
            while wait > .zero {
                let part = min(wait, Self.touchInterval)
                try await clock.sleep(for: part)
                wait -= part
                touch()
            }
        }
    }
}
