package import Logging
import ServiceLifecycle

/// Compacts the storage soon after the start and then once a day, while clients download.
package struct CompactionJob: Service {
    private let storage: any BucketStorage
    private let clock: any Clock<Duration>
    private let logger: Logger

    /// The time before the first run: short, or a service that is restarted every day would never compact.
    package static let firstDelay = Duration.seconds(600)
    /// The time between two runs.
    package static let interval = Duration.seconds(24 * 3600)

    /// Creates a job.
    ///
    /// - Parameters:
    ///   - storage: What to compact.
    ///   - clock: Measures ``firstDelay`` and ``interval``.
    ///   - logger: Gets the result of each run at `notice`, and errors.
    package init(storage: any BucketStorage, clock: any Clock<Duration> = ContinuousClock(), logger: Logger) {
        self.storage = storage
        self.clock = clock
        self.logger = logger
    }

    /// Compacts until shutdown or cancellation.
    ///
    /// A run that fails is logged, and goes on a day later.
    package func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                try await clock.sleep(for: Self.firstDelay)
                while true {
                    try await compact()
                    try await clock.sleep(for: Self.interval)
                }
            }
        } catch is CancellationError {
            return
        }
    }

    private func compact() async throws {
        do {
            let result = try await storage.compact()
            logger.notice(
                "The bucket storage has been compacted.",
                metadata: [
                    "ps.moved": "\(result.movedOperations)", "ps.cleared": "\(result.clearedOperations)",
                    "ps.entries": "\(result.deletedEntries)", "ps.requests": "\(result.deletedRequests)",
                ]
            )
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            logger.error(
                "Compaction failed, and goes on a day later.",
                metadata: [ReplicationLogKey.error: "\(error)"]
            )
        }
    }
}
