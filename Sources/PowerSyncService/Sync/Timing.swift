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
}
