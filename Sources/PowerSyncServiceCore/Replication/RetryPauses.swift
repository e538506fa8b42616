/// The pauses between the attempts of work that is repeated until it succeeds.
///
/// | an attempt fails | the pause before the next one |
/// | --- | --- |
/// | for the first time, or after ``success`` | ``first`` |
/// | again | twice as long as the one before, at most ``maximum`` |
struct RetryPauses: Sendable {
    /// The first pause: 0.5 s.
    static let first = Duration.milliseconds(500)
    /// The longest pause: 5 s.
    static let maximum = Duration.seconds(5)
    /// An attempt that has lasted so long is a success, whatever ends it: one minute.
    static let success = Duration.seconds(60)

    /// How many attempts have failed, one after the other.
    private(set) var attempt = 0
    private var next = first

    /// Counts an attempt that has failed.
    ///
    /// - Parameter duration: How long the attempt has lasted.
    /// - Returns: The pause before the next attempt.
    mutating func failed(after duration: Duration) -> Duration {
        if duration >= Self.success { self = RetryPauses() }
        attempt += 1
        defer { next = min(next * 2, Self.maximum) }
        return next
    }
}
