/// What one end of a connection accepts from the other.
package struct ConnectionLimits: Sendable, Hashable {
    /// The longest KEEPALIVE data that is answered, in bytes: 64 KiB.
    package static let maximumKeepaliveDataLength = 64 * 1024

    /// What a client accepts: a payload with the largest sync line, 128 MiB, and fragments of that size.
    package static let requester = ConnectionLimits(
        maximumFrameLength: 128 * 1024 * 1024 + Frame.headerLength,
        maximumHeldByteCount: 128 * 1024 * 1024
    )
    /// What a service accepts: requests of 16 MiB, of which 1,000 buckets take about a hundredth.
    package static let responder = ConnectionLimits(
        maximumFrameLength: 16 * 1024 * 1024,
        maximumHeldByteCount: 16 * 1024 * 1024
    )

    /// The largest message in bytes.
    package var maximumFrameLength: Int
    /// The most bytes of incomplete payloads, and of requests that wait for the SETUP to be accepted, all streams
    /// together.
    package var maximumHeldByteCount: Int
    /// Creates limits.
    package init(maximumFrameLength: Int, maximumHeldByteCount: Int) {
        self.maximumFrameLength = maximumFrameLength
        self.maximumHeldByteCount = maximumHeldByteCount
    }
}
