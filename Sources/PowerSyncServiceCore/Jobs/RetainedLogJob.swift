package import Metrics
import ServiceLifecycle

/// Reads every minute what the server of the source keeps of its log for the service, for the metrics of the process.
///
/// A server keeps the log of a slot that is not read until its disk is full, whatever the reason: so the job asks the server, and not
/// the stream that may hang.
package struct RetainedLogJob: Service {
    /// The time between two looks.
    package static let interval = Duration.seconds(60)

    private static let unacknowledged = "powersync_replication_slot_lag_bytes"
    private static let retained = "powersync_replication_slot_retained_bytes"

    private let source: any LogRetainingSource
    private let clock: any Clock<Duration>
    private let factory: any MetricsFactory

    /// Creates a job.
    ///
    /// - Parameters:
    ///   - source: What is asked.
    ///   - clock: Measures the pauses.
    ///   - factory: Makes the metrics.
    package init(
        source: any LogRetainingSource,
        clock: any Clock<Duration> = ContinuousClock(),
        factory: any MetricsFactory = MetricsSystem.factory
    ) {
        self.source = source
        self.clock = clock
        self.factory = factory
    }

    /// Looks until shutdown or cancellation.
    package func run() async throws {
        try await PeriodicJob(every: Self.interval, clock: clock, startingWith: Gauges(factory: factory)) { gauges in
            // An error of the source is logged by the replicator.
            gauges.show((try? await source.retainedLogs()) ?? [])
        }.run()
    }

    /// A metric for each number that is known, and none for what is not.
    private struct Gauges: Sendable {
        private struct Key: Hashable {
            var label: String
            var handle: String
        }

        let factory: any MetricsFactory
        private var known: [Key: Gauge] = [:]

        init(factory: any MetricsFactory) {
            self.factory = factory
        }

        mutating func show(_ logs: [RetainedLog]) {
            var shown: [Key: Gauge] = [:]
            for log in logs {
                for (label, bytes) in [(unacknowledged, log.unacknowledgedBytes), (retained, log.retainedBytes)] {
                    guard let bytes else { continue }
                    let key = Key(label: label, handle: log.handle)
                    let dimensions = [("slot", log.handle)]
                    let gauge =
                        known.removeValue(forKey: key)
                        ?? Gauge(label: label, dimensions: dimensions, factory: factory)
                    gauge.record(bytes)
                    shown[key] = gauge
                }
            }
            for gauge in known.values { gauge.destroy() }
            known = shown
        }
    }
}
