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
        try await PeriodicJob(
            pausing: \.pause,
            clock: clock,
            startingWith: Pace(),
            failure: (logger, "The size of the storage could not be measured")
        ) { pace in
            let stopwatch = Stopwatch(self.clock)
            defer { pace.didMeasure(in: stopwatch.elapsed) }
            try await self.measure()
        }.run()
    }

    /// When to measure.
    private struct Pace {
        private var next = StorageSizeJob.firstInterval
        /// The time until the next measurement.
        private(set) var pause = Duration.zero

        mutating func didMeasure(in time: Duration) {
            pause = max(next, time * StorageSizeJob.share)
            next = min(next * 2, StorageSizeJob.interval)
        }
    }

    private func measure() async throws {
        guard let sizes = try await storage.sizes(after: sizes?.version) else { return }
        measured.withLockedValue { $0 = sizes }
        rows.record(sizes.rows)
        operations.record(sizes.operations)
        parameters.record(sizes.parameters)
    }
}
