/// The responder's side of the keepalives: it sends none of its own, and takes the requester for dead when no KEEPALIVE
/// came during the lifetime that the SETUP named (docs/protocol.md "WebSocket").
///
/// Other frames do not count. All times are durations since a common start, on a monotonic clock.
package struct ResponderKeepalive: Sendable, Hashable {
    /// The shortest lifetime that is honoured: 100 ms.
    package static let minimumLifetime = Duration.milliseconds(100)

    private let lifetime: Duration

    /// When the requester is dead.
    package private(set) var deadline: Duration

    /// Starts.
    ///
    /// - Parameters:
    ///   - lifetime: From the SETUP.
    ///   - now: The time when the SETUP arrived.
    package init(lifetime: Duration, startingAt now: Duration) {
        self.lifetime = max(lifetime, Self.minimumLifetime)
        deadline = now + self.lifetime
    }

    /// A KEEPALIVE has arrived.
    package mutating func keepaliveReceived(at now: Duration) {
        deadline = now + lifetime
    }

    /// Nothing was read for a while, as if the requester had been silent.
    package mutating func readingContinues(at now: Duration) {
        deadline = now + lifetime
    }

    /// Whether the requester is to be taken for dead.
    package func isExpired(at now: Duration) -> Bool { now >= deadline }
}
