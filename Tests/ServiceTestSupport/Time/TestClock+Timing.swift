package import Foundation
package import PowerSyncServiceCore
package import PowerSyncTesting

extension TestClock {
    /// The wall-clock time at the beginning.
    package static let start = Date(timeIntervalSince1970: 1_767_225_700)

    /// The wall-clock time.
    package var date: Date { Self.start.addingTimeInterval(now.offset / .seconds(1)) }

    /// Time that passes only when the clock is moved; keepalives every 20 s.
    package var timing: Timing { Timing(clock: self, now: { self.date }, random: { 0.5 }) }
}
