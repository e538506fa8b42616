package import Logging
import Metrics
import NIOConcurrencyHelpers
import ServiceLifecycle

/// Measures every minute how much is stored, and more often after the start, for the metrics of the process and for operators.
///
/// Nothing is read while nothing is written, and measuring takes at most a part in ``share`` of the time, however large the
/// storage is.
package final class StorageSizeJob: Service {
    /// The time between the first two measurements; it doubles up to ``interval``.
    static let firstInterval = Duration.seconds(2)
    /// The time between two measurements.
    package static let interval = Duration.seconds(60)
    /// After a measurement, nothing is measured for that many times as long as it took.
    static let share = 200

    private let storage: any BucketStorage
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let measured = NIOLockedValueBox<StorageSizes?>(nil)

    private let rows = Gauge(label: "powersync_replication_storage_size_bytes")
    private let operations = Gauge(label: "powersync_operation_storage_size_bytes")
    private let parameters = Gauge(label: "powersync_parameter_storage_size_bytes")

    /// Creates a job.
    ///
    /// - Parameters:
    ///   - storage: What to measure.
    ///   - clock: Measures the pauses.
    ///   - logger: Gets errors.
    package init(storage: any BucketStorage, clock: any Clock<Duration> = ContinuousClock(), logger: Logger) {
        self.storage = storage
        self.clock = clock
        self.logger = logger
    }

    /// What was measured last; `nil` before that.
    package var sizes: StorageSizes? { measured.withLockedValue(\.self) }

    /// Measures until shutdown or cancellation.
    package func run() async throws {
        do {
            try await cancelWhenGracefulShutdown {
                var pause = Self.firstInterval
                while true {
                    let stopwatch = Stopwatch(self.clock)
                    try await self.measure()
                    try await self.clock.sleep(for: max(pause, stopwatch.elapsed * Self.share))
                    pause = min(pause * 2, Self.interval)
                }
            }
        } catch is CancellationError {
            return
        }
    }

    private func measure() async throws {
        do {
            guard let sizes = try await storage.sizes(after: sizes?.version) else { return }
            measured.withLockedValue { $0 = sizes }
            rows.record(sizes.rows)
            operations.record(sizes.operations)
            parameters.record(sizes.parameters)
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            logger.error(
                "The size of the storage could not be measured",
                metadata: [LogKey.error: "\(error)"]
            )
        }
    }
}
