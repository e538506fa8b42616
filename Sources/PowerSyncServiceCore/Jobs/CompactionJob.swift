package import Logging
import ServiceLifecycle

/// Keeps the storage in shape while clients download: seals what was written every few seconds, and compacts soon after the
/// start and then once a day.
package struct CompactionJob: Service {
    private let storage: any BucketStorage
    private let clock: any Clock<Duration>
    private let status: CompactionStatus
    private let logger: Logger

    /// The time before the first run: short, or a service that is restarted every day would never compact.
    package static let firstDelay = Duration.seconds(600)
    /// The time between two runs.
    package static let interval = Duration.seconds(24 * 3600)

    /// The pause between two rounds of sealing.
    package static let sealingInterval = Duration.seconds(5)

    /// Creates a job.
    ///
    /// - Parameters:
    ///   - storage: What to compact.
    ///   - clock: Measures ``firstDelay``, ``interval`` and ``sealingInterval``.
    ///   - status: Is told of each run.
    ///   - logger: Gets the result of each run at `notice`, and errors.
    package init(
        storage: any BucketStorage,
        clock: any Clock<Duration> = ContinuousClock(),
        status: CompactionStatus = CompactionStatus(),
        logger: Logger
    ) {
        self.storage = storage
        self.clock = clock
        self.status = status
        self.logger = logger
    }

    /// Seals and compacts until shutdown or cancellation.
    ///
    /// A run that fails is logged, and goes on with the next one.
    package func run() async throws {
        let stopwatch = Stopwatch(clock)
        let (pause, firstRun) = (Self.sealingInterval, Self.firstDelay)
        try await PeriodicJob(every: pause, after: pause, clock: clock, startingWith: firstRun) { nextRun in
            try await seal()
            guard stopwatch.elapsed >= nextRun else { return }
            try await compact()
            nextRun = stopwatch.elapsed + Self.interval
        }.run()
    }

    private func seal() async throws {
        do {
            try await storage.seal()
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            logger.error(
                "Operations could not be sealed",
                metadata: [LogKey.error: "\(error)"]
            )
        }
    }

    /// Compacts a storage, which is recorded as a span.
    ///
    /// - Returns: What was done.
    /// - Throws: An error of the storage.
    package static func compact(_ storage: any BucketStorage) async throws -> CompactionResult {
        try await TracedWork.run(.compaction) { _ in try await storage.compact() }
    }

    private func compact() async throws {
        status.didStart()
        do {
            let result = try await Self.compact(storage)
            status.didEnd(result)
            logger.notice(
                "The bucket storage has been compacted",
                metadata: [
                    LogKey.movedOperations: .stringConvertible(result.movedOperations),
                    LogKey.clearedOperations: .stringConvertible(result.clearedOperations),
                    LogKey.deletedEntries: .stringConvertible(result.deletedEntries),
                    LogKey.deletedRequests: .stringConvertible(result.deletedRequests),
                ]
            )
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            status.didEnd(nil, error: "\(error)")
            logger.error(
                "Compaction failed, and goes on a day later",
                metadata: [LogKey.error: "\(error)"]
            )
        }
    }
}
