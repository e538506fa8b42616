/// The time before something that failed is tried again: the configured delay ±10 %, so that many clients do not
/// come back at the same moment.
struct RetryDelay: Sendable {
    /// The delay in the middle of the range.
    let base: Duration
    /// Random numbers, 0 ..< 1.
    let random: @Sendable () -> Double

    /// The next delay: `base` × 0.9 … 1.1.
    func next() -> Duration {
        base * (0.9 + 0.2 * random())
    }
}
