package import Logging
package import PowerSyncRules
import ServiceLifecycle

/// Keeps the bucket storage up to date with the source: the writing half of the service.
///
/// It deploys the sync config, replicates the stream of the config and the one that clients are served from meanwhile,
/// and deletes streams that have been replaced. Errors of the source or the storage are logged and followed by another
/// attempt; nothing is lost, because replication goes on from what was committed. On graceful shutdown it stops between
/// two transactions.
package struct Replicator: Service {
    private let storage: any BucketStorage
    private let source: any ReplicationSource
    private let content: String
    private let plan: SyncPlan
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let now: @Sendable () -> Double
    private let report: @Sendable ((any Error)?) -> Void
    private let touch: @Sendable () -> Void

    /// The pause after the first error of a stream; it doubles up to ``maximumPause``.
    private static let firstPause = Duration.milliseconds(500)
    /// The longest pause between two signs of life, and between two attempts if the error does not ask for more: below the 10 s
    /// of the liveness probe.
    private static let maximumPause = Duration.seconds(5)

    /// Creates a replicator.
    ///
    /// - Parameters:
    ///   - storage: Where to write to.
    ///   - source: What to replicate.
    ///   - content: The YAML text of the sync config.
    ///   - plan: What the text compiles to.
    ///   - clock: Measures pauses after errors.
    ///   - logger: Gets progress at `notice`, and errors.
    ///   - now: The seconds since 1970, compared with the source's clock to tell how far replication is behind.
    ///   - report: Called with the error of each attempt that has failed, and with `nil` after each commit.
    ///   - touch: Called at least every few seconds while replication is alive, for the liveness probe.
    package init(
        storage: any BucketStorage,
        source: any ReplicationSource,
        content: String,
        plan: SyncPlan,
        clock: any Clock<Duration> = ContinuousClock(),
        logger: Logger,
        now: @escaping @Sendable () -> Double = { Timing().seconds },
        report: @escaping @Sendable ((any Error)?) -> Void = { _ in },
        touch: @escaping @Sendable () -> Void = {}
    ) {
        self.storage = storage
        self.source = source
        self.content = content
        self.plan = plan
        self.clock = clock
        self.logger = logger
        self.now = now
        self.report = report
        self.touch = touch
    }

    /// Replicates until shutdown or cancellation.
    ///
    /// - Throws: ``ReplicationSourceError`` when the source cannot be replicated as it is configured, or an error of
    ///   the storage while the config is deployed. Later errors are logged, not thrown.
    package func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await checkSource()
                _ = try await storage.deploy(content, plan: plan)
                while true { try await replicateStreams() }
            }
        } catch is CancellationError {
            logger.debug("Replication has been stopped.")
        }
    }

    /// Checks the source, and waits for one that does not answer yet.
    private func checkSource() async throws {
        let refusal = try await retrying {
            do {
                try await source.checkConfiguration()
                return nil as ReplicationSourceError?
            } catch let error as ReplicationSourceError {
                return error
            }
        }
        if let refusal { throw refusal }
    }

    /// Replicates all streams as they are now; returns when the set of streams has changed.
    private func replicateStreams() async throws {
        let streams = try await retrying { try await storage.streams() }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { group.cancelAll() }
            for stream in streams where stream.state.isReplicated {
                group.addTask {
                    let outcome = try await retrying { try await replicator(for: stream).run() }
                    logger.debug("Replication of a stream has ended.", metadata: ["ps.outcome": "\(outcome)"])
                    return true
                }
            }
            let stopped = streams.filter { $0.state == .stop }
            group.addTask {
                for stream in stopped { try await retrying { try await delete(stream) } }
                return false
            }
            while let streamsChanged = try await group.next(), !streamsChanged {}
        }
        try Task.checkCancellation()
    }

    private func replicator(for stream: ReplicationStream) -> StreamReplicator {
        StreamReplicator(
            stream: stream,
            storage: storage,
            source: source,
            logger: logger,
            now: now,
            didCommit: { report(nil) },
            touch: touch
        )
    }

    private func delete(_ stream: ReplicationStream) async throws {
        try await source.dropStream(stream.slotName)
        try await storage.deleteData(of: stream.id)
        logger.notice("A replaced stream has been deleted.", metadata: [ReplicationLogKey.stream: "\(stream.id)"])
    }

    /// Repeats an operation until it succeeds or the task is cancelled.
    private func retrying<Result>(_ operation: () async throws -> Result) async throws -> Result {
        var pause = Self.firstPause
        while true {
            var wait = pause
            do {
                return try await operation()
            } catch {
                if error is CancellationError || Task.isCancelled { throw CancellationError() }
                report(error)
                wait = (error as? any PausingError)?.pause ?? wait
                logger.error(
                    "Replication failed, and is tried again.",
                    metadata: [ReplicationLogKey.error: "\(error)"]
                )
            }
            pause = min(pause * 2, Self.maximumPause)
            while wait > .zero {
                let part = min(wait, Self.maximumPause)
                try await clock.sleep(for: part)
                wait -= part
                touch()
            }
        }
    }
}
