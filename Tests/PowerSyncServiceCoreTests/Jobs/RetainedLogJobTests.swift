import Metrics
import NIOConcurrencyHelpers
import PowerSyncTesting
import Prometheus
import Testing

@testable import PowerSyncServiceCore

/// What metrics say of the log that the server of a source keeps.
@Suite(.timeLimit(.minutes(1))) struct RetainedLogJobTests {
    private struct Unreachable: Error {}

    /// A source whose server keeps what a test says, or does not answer.
    private struct RetainingSource: LogRetainingSource {
        let logs = NIOLockedValueBox<[RetainedLog]?>([])

        func retainedLogs() async throws -> [RetainedLog] {
            guard let logs = logs.withLockedValue(\.self) else { throw Unreachable() }
            return logs
        }
    }

    private let registry = PrometheusCollectorRegistry()
    private let clock = TestClock()

    /// The metrics with their numbers.
    private var shown: [String] {
        var bytes: [UInt8] = []
        registry.emit(into: &bytes)
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { !$0.hasPrefix("#") }.sorted()
    }

    @Test func everyLookShowsWhatIsKnown() async throws {
        let source = RetainingSource()
        let factory = PrometheusMetricsFactory(registry: registry)
        let job = RetainedLogJob(source: source, clock: clock, factory: factory)
        let name = "powersync_replication_slot"
        let looks: [(logs: [RetainedLog]?, shown: [String])] = [
            (
                [RetainedLog(handle: "a", unacknowledgedBytes: 1, retainedBytes: 20)],
                [
                    "\(name)_lag_bytes{slot=\"a\"} 1.0", "\(name)_retained_bytes{slot=\"a\"} 20.0",
                ]
            ),
            // Another slot, and one of which the server keeps nothing any more.
            (
                [
                    RetainedLog(handle: "a", unacknowledgedBytes: 5_000_000_000, retainedBytes: nil),
                    RetainedLog(handle: "b", unacknowledgedBytes: nil, retainedBytes: 0),
                ],
                [
                    "\(name)_lag_bytes{slot=\"a\"} 5000000000.0", "\(name)_retained_bytes{slot=\"b\"} 0.0",
                ]
            ),
            // The source does not answer; then it does, and one of the slots was dropped.
            (nil, []),
            (
                [RetainedLog(handle: "b", unacknowledgedBytes: 3, retainedBytes: 4)],
                [
                    "\(name)_lag_bytes{slot=\"b\"} 3.0", "\(name)_retained_bytes{slot=\"b\"} 4.0",
                ]
            ),
        ]
        source.logs.withLockedValue { $0 = looks[0].logs }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await job.run() }
            for (index, look) in looks.enumerated() {
                let pause = try await clock.nextTimerScheduled()
                #expect(pause == RetainedLogJob.interval)
                #expect(shown == look.shown)
                guard index + 1 < looks.count else { break }
                source.logs.withLockedValue { $0 = looks[index + 1].logs }
                clock.advance(by: RetainedLogJob.interval)
            }
            group.cancelAll()
        }
    }
}
