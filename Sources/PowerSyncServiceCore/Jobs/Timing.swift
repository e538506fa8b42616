package import Foundation

/// Time and randomness, which tests replace.
package struct Timing: Sendable {
    /// The longest time that ``sleep(until:)`` does not look at the wall clock.
    static let longestSleep = 60.0

    /// Measures pauses and keepalives; setting the wall clock does not move it.
    package var clock: any Clock<Duration>
    /// Tells the time, for tokens.
    package var now: @Sendable () -> Date
    /// A random number from 0 to 1.
    package var random: @Sendable () -> Double

    /// Creates a timing; that of the system when nothing else is given.
    package init(
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date = { Date() },
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.clock = clock
        self.now = now
        self.random = random
    }

    /// The time in seconds since 1970.
    package var seconds: Double { now().timeIntervalSince1970 }

    /// Waits until a time, also when the wall clock is set meanwhile: after a step forward, for a minute at most.
    ///
    /// - Parameter time: In seconds since 1970; returns at most a millisecond earlier.
    /// - Throws: `CancellationError`.
    package func sleep(until time: Double) async throws {
        while true {
            let left = time - seconds
            guard left > 0.001 else { return }
            try await clock.sleep(for: .seconds(min(left, Self.longestSleep)))
        }
    }
}
