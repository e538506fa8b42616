package import NIOCore

/// A sign of life.
package struct KeepaliveFrame: Sendable, Hashable {
    /// Whether the receiver answers with the same data.
    package var expectsAnswer: Bool
    /// The last received position, for resuming; always 0 when sent.
    package var position: UInt64
    /// What the answer repeats.
    package var data: ByteBuffer

    /// Creates a keepalive.
    package init(expectsAnswer: Bool, position: UInt64 = 0, data: ByteBuffer = ByteBuffer()) {
        self.expectsAnswer = expectsAnswer
        self.position = position
        self.data = data
    }
}
