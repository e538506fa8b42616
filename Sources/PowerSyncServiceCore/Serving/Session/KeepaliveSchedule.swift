/// The times at which a stream tells its client how long the token lives.
///
/// All times are seconds, wall-clock times since 1970.
package struct KeepaliveSchedule: Sendable {
    /// The time of the warning before the end.
    package static let warning = 20.0
    /// The shortest and the longest time between two keepalives.
    static let interval = 18.0...22.0
    /// The time for a client to read the remaining lines after its token has expired.
    static let patience = 30.0

    /// The expiry of the token.
    package let expiresAt: Double
    /// Whether there are keepalives in between; over WebSocket the connection has its own.
    package var isPeriodic: Bool

    /// Creates a schedule.
    package init(expiresAt: Double, isPeriodic: Bool = true) {
        self.expiresAt = expiresAt
        self.isPeriodic = isPeriodic
    }

    /// The time at which the connection is closed, also if the client has not read everything.
    ///
    /// A client that does not read would keep its place among the concurrent streams for ever.
    package var closesAt: Double { expiresAt + Self.patience }

    /// Whether a stream that starts now ends after its first line, `{"token_expires_in":0}`.
    func isExpired(at now: Double) -> Bool {
        secondsLeft(at: now) == 0
    }

    /// The value of a keepalive: the remaining lifetime rounded up, at least 0.
    func secondsLeft(at now: Double) -> Int32 {
        Int32(clamping: Int64(max(0, min((expiresAt - now).rounded(.up), Double(Int32.max)))))
    }

    /// The time of the next keepalive that is sent in any case: of the warning, and then of the end.
    func deadline(at now: Double) -> Double {
        let warningAt = expiresAt - Self.warning
        return warningAt > now ? warningAt : expiresAt
    }

    /// The time until the next periodic keepalive: the usual interval, but not past the ``deadline(at:)``.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - fraction: A random number from 0 to 1; spreads the keepalives of many streams.
    /// - Returns: Zero or more.
    func delay(at now: Double, fraction: Double) -> Duration {
        let interval = Self.interval.lowerBound + fraction * (Self.interval.upperBound - Self.interval.lowerBound)
        return .seconds(max(0, min(interval, deadline(at: now) - now)))
    }
}
