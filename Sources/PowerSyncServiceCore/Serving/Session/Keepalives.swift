package import NIOCore
package import PowerSyncProtocol

/// Sends keepalives until the token expires (docs/protocol.md "Keepalives").
package struct Keepalives: Sendable {
    /// The times of keepalives.
    package let schedule: KeepaliveSchedule
    /// The format of the lines.
    package let format: SyncLineFormat
    /// Time and randomness.
    package let timing: Timing

    /// The line for this moment.
    package var line: ByteBuffer {
        encode(schedule.secondsLeft(at: timing.seconds))
    }

    /// The line that ends a stream: the token has expired.
    package var lastLine: ByteBuffer { encode(0) }

    /// Sends keepalives between the other lines, and then waits for the client to read the last one, with value 0,
    /// which ends the stream.
    ///
    /// Returns when the client has not read it in time; cancel the task when the stream has ended. This is the only
    /// task of a stream that waits for a time.
    package func run(_ lines: LineQueue) async throws {
        var now = timing.seconds
        var seconds: Int32
        repeat {
            now = try await waitForNext(after: now)
            seconds = schedule.secondsLeft(at: now)
            lines.offer(encode(seconds), isLast: seconds == 0)
        } while seconds > 0
        try await timing.sleep(until: schedule.closesAt)
        lines.finish(.unread)
    }

    /// Waits for the next keepalive.
    ///
    /// Periodic ones come however the wall clock is set, so they tell soon what that means for the token. Without them
    /// there are times to wait for.
    ///
    /// - Returns: The time then.
    private func waitForNext(after now: Double) async throws -> Double {
        guard schedule.isPeriodic else {
            let time = schedule.deadline(at: now)
            try await timing.sleep(until: time)
            return max(time, timing.seconds)
        }
        try await timing.clock.sleep(for: schedule.delay(at: now, fraction: timing.random()))
        return timing.seconds
    }

    private func encode(_ seconds: Int32) -> ByteBuffer {
        var buffer = ByteBuffer()
        SyncLine.keepalive(tokenExpiresIn: seconds).encode(as: format, into: &buffer)
        return buffer
    }
}
