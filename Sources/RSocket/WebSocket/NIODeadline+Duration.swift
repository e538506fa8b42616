import NIOCore

extension NIODeadline {
    /// The time on the event loop's clock, as the state machines count it.
    var duration: Duration { .nanoseconds(Int64(clamping: uptimeNanoseconds)) }

    /// The deadline at a time of the state machines.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        // Keepalive times have 32 bits of milliseconds, which is far below the 292 years that fit.
        let nanoseconds = seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        self = .uptimeNanoseconds(UInt64(max(0, nanoseconds)))
    }
}
