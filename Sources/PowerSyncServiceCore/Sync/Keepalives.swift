package import NIOCore
package import PowerSyncProtocol

/// Sends keepalives until the token expires (docs/protocol.md "Keepalives").
package struct Keepalives: Sendable {
    /// When to send them.
    package let schedule: KeepaliveSchedule
    /// The format of the lines.
    package let format: SyncLineFormat
    /// Time and randomness.
    package let timing: Timing

    /// The line for this moment.
    package var line: ByteBuffer {
        encode(schedule.secondsLeft(at: timing.seconds))
    }

    /// Sends keepalives between the other lines; returns after the one with value 0.
    package func run(_ lines: LineQueue) async throws {
        while true {
            try await timing.clock.sleep(for: schedule.delay(at: timing.seconds, fraction: timing.random()))
            let seconds = schedule.secondsLeft(at: timing.seconds)
            try await lines.send(encode(seconds))
            if seconds == 0 { return }
        }
    }

    private func encode(_ seconds: Int32) -> ByteBuffer {
        var buffer = ByteBuffer()
        SyncLine.keepalive(tokenExpiresIn: seconds).encode(as: format, into: &buffer)
        return buffer
    }
}
