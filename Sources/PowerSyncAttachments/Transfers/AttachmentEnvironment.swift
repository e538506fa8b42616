package import Foundation
import PowerSyncClient

/// What a queue takes from the outside world, so that tests can replace it.
package struct AttachmentEnvironment: Sendable {
    /// Measures intervals, throttles and waits.
    package var clock: any Clock<Duration>
    /// The date, for the timestamps of rows.
    package var now: @Sendable () -> Date
    /// Random numbers, 0 ..< 1, that vary waits.
    package var random: @Sendable () -> Double

    /// Creates an environment.
    package init(
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.clock = clock
        self.now = now
        self.random = random
    }
}
