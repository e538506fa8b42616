package import Foundation
import NIOConcurrencyHelpers
package import PowerSyncServiceCore
package import PowerSyncTesting

/// A wall clock that goes as a test clock does, until somebody sets it.
package final class WallClock: Sendable {
    private let clock: TestClock
    private let offset = NIOLockedValueBox(0.0)

    package init(_ clock: TestClock) {
        self.clock = clock
    }

    /// What the clock shows.
    package var date: Date { clock.date.addingTimeInterval(offset.withLockedValue { $0 }) }

    /// Pauses by the test clock, and times by this one; keepalives every 20 s.
    package var timing: Timing { Timing(clock: clock, now: { self.date }, random: { 0.5 }) }

    /// Sets the clock forward, or back.
    package func step(by seconds: Double) {
        offset.withLockedValue { $0 += seconds }
    }
}
