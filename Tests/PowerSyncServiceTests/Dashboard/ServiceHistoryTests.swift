import Testing
import TestSupport

@testable import PowerSyncService

/// What is kept of the last hours.
@Suite struct ServiceHistoryTests {
    private static func point(_ time: Int) -> ServiceHistory.Point {
        ServiceHistory.Point(time: Double(time), lag: nil, rows: time, sent: 0, streams: 1)
    }

    @Test func sixHoursAreKept() {
        let history = ServiceHistory(clock: ContinuousClock()) { Self.point(0) }
        for time in 0..<5000 { history.add(Self.point(time)) }
        #expect(history.points.count == ServiceHistory.maximumPoints)
        #expect(history.points.first == Self.point(5000 - ServiceHistory.maximumPoints))
        #expect(history.points.last == Self.point(4999))
    }
}
