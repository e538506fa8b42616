import Foundation

/// Time and randomness, which tests replace.
struct Timing: Sendable {
    /// Measures pauses and keepalives.
    var clock: any Clock<Duration> = ContinuousClock()
    /// Tells the time, for tokens.
    var now: @Sendable () -> Date = { Date() }
    /// A random number from 0 to 1.
    var random: @Sendable () -> Double = { Double.random(in: 0...1) }

    /// The time in seconds since 1970.
    var seconds: Double { now().timeIntervalSince1970 }

    /// Waits until a time, also when the wall clock is set meanwhile.
    ///
    /// - Parameter time: In seconds since 1970; returns at most a millisecond earlier.
    /// - Throws: `CancellationError`.
    func sleep(until time: Double) async throws {
        while true {
            let left = time - seconds
            guard left > 0.001 else { return }
            try await clock.sleep(for: .seconds(left))
        }
    }
}
