import NIOConcurrencyHelpers
import NIOCore

/// The packets that have arrived on a connection and are not yet taken, and why no more come.
///
/// Filled on the event loop and emptied by one task at a time. The socket is read from while the packets have less than a limit of bytes, or
/// while there is none: a packet larger than the limit arrives, too.
final class PacketInbox: Sendable {
    /// How long a task waits for a packet.
    enum Limit: Sendable {
        /// Until then.
        case until(NIODeadline)
        /// As long as some bytes arrive.
        case silence(TimeAmount)
    }

    private struct State {
        var packets = CircularBuffer<ByteBuffer>()
        /// Of `packets`.
        var bytes = 0
        /// The bytes of `packets` above which reading pauses.
        var limit = defaultLimit
        var isReading = true
        var end: (any Error)?
        var waiter: CheckedContinuation<CircularBuffer<ByteBuffer>, any Error>?
        /// How many times a task has waited: a timer of an earlier wait does nothing.
        var waits: UInt64 = 0
        var arrivedBytes: UInt64 = 0
        var lastArrival = NIODeadline.now()

        /// Takes out packets of some hundred kilobytes, or one: what a task has in hand does not count against the limit.
        mutating func takeBatch() -> CircularBuffer<ByteBuffer>? {
            guard !packets.isEmpty else { return nil }
            var batch = CircularBuffer<ByteBuffer>(initialCapacity: min(packets.count, 1_024))
            var size = 0
            while let packet = packets.first, batch.isEmpty || size + packet.readableBytes <= batchSize {
                size += packet.readableBytes
                batch.append(packets.removeFirst())
            }
            bytes -= size
            return batch
        }
    }

    /// Eight MiB.
    static let defaultLimit = 8 << 20
    /// A quarter of a MiB.
    private static let batchSize = 256 << 10

    private let state = NIOLockedValueBox(State())

    // MARK: On the event loop

    /// Notes that bytes have come from the socket, below TLS and packets.
    func noteArrival(of count: Int) {
        state.withLockedValue { state in
            state.arrivedBytes += UInt64(count)
            state.lastArrival = .now()
        }
    }

    /// How many bytes have come from the socket.
    var arrivedBytes: UInt64 { state.withLockedValue { $0.arrivedBytes } }

    /// Adds a packet.
    ///
    /// - Returns: Whether the socket is to be read from no more.
    func add(_ packet: ByteBuffer) -> Bool {
        let (waiter, batch, pauses) = state.withLockedValue { state in
            state.packets.append(packet)
            state.bytes += packet.readableBytes
            let waiter = state.waiter
            state.waiter = nil
            let batch = waiter == nil ? nil : state.takeBatch()
            let pauses = state.isReading && !state.packets.isEmpty && state.bytes >= state.limit
            if pauses { state.isReading = false }
            return (waiter, batch, pauses)
        }
        if let batch { waiter?.resume(returning: batch) }
        return pauses
    }

    /// Whether the socket is to be read from.
    var isReading: Bool { state.withLockedValue { $0.isReading } }

    // MARK: From anywhere

    /// Sets the bytes above which reading pauses.
    func setLimit(_ limit: Int) {
        state.withLockedValue { $0.limit = limit }
    }

    /// Whether no more packets come.
    var hasEnded: Bool { state.withLockedValue { $0.end != nil } }

    /// Says that no more packets come.
    ///
    /// Those that are here can still be taken; the first reason counts.
    func end(_ error: any Error) {
        let waiter = state.withLockedValue { state -> CheckedContinuation<CircularBuffer<ByteBuffer>, any Error>? in
            if state.end == nil { state.end = error }
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(throwing: error)
    }

    /// Takes packets that have arrived, and does not wait.
    ///
    /// - Parameter resume: Called when the socket is to be read from again.
    /// - Returns: Some hundred kilobytes of them, or one; `nil` when there is none.
    /// - Throws: Why no more come, when none is left.
    func takeArrived(resume: () -> Void) throws -> CircularBuffer<ByteBuffer>? {
        let (batch, end, resumes) = state.withLockedValue { state in
            let batch = state.takeBatch()
            let resumes = !state.isReading && state.bytes <= state.limit / 2
            if resumes { state.isReading = true }
            return (batch, batch == nil ? state.end : nil, resumes)
        }
        if resumes { resume() }
        if let end { throw end }
        return batch
    }

    /// Waits for packets: when ``takeArrived(resume:)`` has found none.
    ///
    /// - Throws: Why no more come; a time-out, or `CancellationError`, is such a reason.
    func wait(_ limit: Limit, on eventLoop: any EventLoop) async throws -> CircularBuffer<ByteBuffer> {
        let wait = state.withLockedValue { state in
            state.waits += 1
            return state.waits
        }
        let timer = watch(wait, limit, since: .now(), on: eventLoop)
        defer {
            state.withLockedValue { $0.waits += 1 }
            timer.cancel()
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer = state.withLockedValue { state -> Result<CircularBuffer<ByteBuffer>, any Error>? in
                    if let batch = state.takeBatch() { return .success(batch) }
                    if let end = state.end { return .failure(end) }
                    state.waiter = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            end(CancellationError())
        }
    }

    private func watch(
        _ wait: UInt64,
        _ limit: Limit,
        since start: NIODeadline,
        on eventLoop: any EventLoop
    ) -> Scheduled<Void> {
        let deadline =
            switch limit {
            case .until(let deadline): deadline
            case .silence(let time): start + time
            }
        return eventLoop.scheduleTask(deadline: deadline) { self.check(wait, limit, since: start, on: eventLoop) }
    }

    private func check(_ wait: UInt64, _ limit: Limit, since start: NIODeadline, on eventLoop: any EventLoop) {
        let lastArrival = state.withLockedValue { $0.waits == wait ? $0.lastArrival : nil }
        guard let lastArrival else { return }
        switch limit {
        case .until:
            end(MySQLConnectionError(.timeout, "The server has not answered in time."))
        case .silence where lastArrival > start:
            _ = watch(wait, limit, since: lastArrival, on: eventLoop)
        case .silence(let time):
            let seconds = Double(time.nanoseconds) / 1e9
            end(MySQLConnectionError(.silence, "Nothing has come from the server for \(seconds) s."))
        }
    }
}
