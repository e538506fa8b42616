import NIOConcurrencyHelpers
package import NIOCore

/// Hands encoded lines from the tasks of a stream to the one that writes the response.
///
/// ``send(_:held:)`` gives back-pressure: it returns when the writer has taken the lines, and the writer takes lines
/// when the network has accepted those before. Keepalives (``offer(_:isLast:)``) are written between two batches,
/// without back-pressure.
package final class LineQueue: Sendable {
    /// The reasons for the end of a queue.
    package enum End: Sendable {
        /// The token expired, or another sync config became active. The response ends normally.
        case completed
        /// The client has gone away.
        case clientClosed
        /// The token expired, and the client has not read what is left.
        case unread
        /// The process shuts down.
        case shutdown
        /// A task failed.
        case failed(any Error)
    }

    /// The memory of lines, which counts until the network has accepted the lines.
    package struct Held: Sendable {
        /// The account of the stream.
        var account: LineMemory.Account
        /// The bytes of lines that only this stream sends.
        var byteCount: Int
        /// The registrations with the shared runs that lines are from.
        var senders: [SharedRun.Sender] = []
    }

    fileprivate struct Sender {
        var lines: [ByteBuffer]
        var held: Held?
        var continuation: CheckedContinuation<Void, any Error>
    }

    fileprivate struct Offer {
        var line: ByteBuffer
        /// Whether the stream ends after it.
        var isLast: Bool
    }

    fileprivate struct State {
        var lastID: UInt64 = 0
        /// The lines that wait for the writer, and the one task that sends them.
        var sender: (id: UInt64, Sender)?
        var offer: Offer?
        /// Batches that the writer has taken.
        var taken: UInt64 = 0
        /// Batches that the network has accepted.
        var written: UInt64 = 0
        /// The memory of the batch that the writer took last.
        var held: Held?
        var end: End?
    }

    fileprivate enum Next {
        case lines([ByteBuffer], CheckedContinuation<Void, any Error>?)
        /// The queue ends with this line; a task that waits in `send` gets `CancellationError`.
        case last(ByteBuffer, Sender?)
        case ended
        case wait
    }

    private let state = NIOLockedValueBox(State())
    private let signal = ChangeSignal()
    private let progress = ChangeSignal()

    /// Creates an open queue.
    package init() {}

    /// The reason for the end of the queue; `nil` while it is open.
    package var end: End? { state.withLockedValue { $0.end } }

    /// The bytes of lines that the writer has not taken.
    var waitingBytes: Int { state.withLockedValue { $0.sender?.1.lines.reduce(0) { $0 + $1.readableBytes } ?? 0 } }

    /// Runs work that makes the first line, and cancels it when the queue ends.
    ///
    /// - Parameter work: Cancelled when the queue is ended from outside, for example because the client has gone away.
    /// - Returns: What `work` returns.
    /// - Throws: `CancellationError` when the queue has ended, or what `work` throws.
    package func whileOpen<Result: Sendable>(
        _ work: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await firstOf(work) { [self] in
            while true {
                let seen = signal.version
                if end != nil { throw CancellationError() }
                try await signal.wait(after: seen)
            }
        }
    }

    /// Hands over lines that are written together; one task at a time.
    ///
    /// - Parameters:
    ///   - lines: The lines.
    ///   - held: The memory of the lines, which counts until the network has accepted them.
    /// - Throws: `CancellationError` when the task is cancelled, or the queue has ended.
    package func send(_ lines: [ByteBuffer], held: Held? = nil) async throws {
        let id = state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isRefused = state.withLockedValue { state in
                    // The handler below may have run already; it would not resume the continuation any more.
                    if state.end != nil || Task.isCancelled { return true }
                    precondition(state.sender == nil, "two tasks send lines at the same time")
                    state.sender = (id, Sender(lines: lines, held: held, continuation: continuation))
                    return false
                }
                if isRefused { continuation.resume(throwing: CancellationError()) } else { signal.advance() }
            }
        } onCancel: {
            let sender = state.withLockedValue { state -> Sender? in
                guard let (waiting, sender) = state.sender, waiting == id else { return nil }
                state.sender = nil
                return sender
            }
            sender?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Waits until the network has accepted everything that was sent before, so that no more than that is in memory.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, or the queue has ended.
    package func waitUntilWritten() async throws {
        let target = state.withLockedValue(\.taken)
        while true {
            let seen = progress.version
            let (written, end) = state.withLockedValue { ($0.written, $0.end) }
            if end != nil { throw CancellationError() }
            if written >= target { return }
            try await progress.wait(after: seen)
        }
    }

    /// Puts a line before the lines that wait; it replaces an earlier such line that the writer has not taken.
    ///
    /// - Parameters:
    ///   - line: The line.
    ///   - isLast: Whether the queue ends when the writer has taken it.
    package func offer(_ line: ByteBuffer, isLast: Bool = false) {
        state.withLockedValue { state in
            if state.end == nil { state.offer = Offer(line: line, isLast: isLast) }
        }
        signal.advance()
    }

    /// Ends the queue.
    ///
    /// The first reason counts. Lines that have not been taken are dropped.
    package func finish(_ end: End) {
        let sender = state.withLockedValue { state -> Sender? in
            guard state.end == nil else { return nil }
            return state.finish(end)
        }
        sender?.continuation.resume(throwing: CancellationError())
        signal.advance()
        progress.advance()
    }

    /// Waits for the next lines; what was taken before has been accepted by the network.
    ///
    /// - Returns: `nil` when the queue has ended.
    /// - Throws: `CancellationError` when the task is cancelled.
    package func next() async throws -> [ByteBuffer]? {
        while true {
            let seen = signal.version
            switch step() {
            case .lines(let lines, let continuation):
                continuation?.resume()
                return lines
            case .last(let line, let sender):
                sender?.continuation.resume(throwing: CancellationError())
                progress.advance()
                return [line]
            case .ended: return nil
            case .wait: try await signal.wait(after: seen)
            }
        }
    }

    /// Counts the lines that were taken before as accepted, releases their memory, and takes the next lines.
    ///
    /// It is a function of its own, so that the lines that were taken before are not in memory during the wait for the
    /// next ones.
    private func step() -> Next {
        let (next, isProgress, held) = state.withLockedValue { state in
            let isProgress = state.written < state.taken
            state.written = state.taken
            let held = state.held
            state.held = nil
            return (state.next(), isProgress, held)
        }
        if isProgress { progress.advance() }
        if let held { held.account.remove(held.byteCount) }
        return next
    }

    /// The network has accepted a part of the lines that were taken last, so that the client does not count as stalled.
    package func didDeliverPart() {
        let account = state.withLockedValue { $0.held?.account }
        account?.remove(0)
    }

    /// Runs a task that makes lines, and ends the queue when it ends.
    package func finish(afterRunning body: () async throws -> Void) async {
        do {
            try await body()
            finish(.completed)
        } catch is CancellationError {
            // The reason was given by `finish(_:)` before the task was cancelled.
        } catch {
            finish(.failed(error))
        }
    }
}

extension LineQueue.State {
    fileprivate mutating func finish(_ end: LineQueue.End) -> LineQueue.Sender? {
        self.end = end
        defer { (sender, offer) = (nil, nil) }
        return sender?.1
    }

    fileprivate mutating func next() -> LineQueue.Next {
        if let offer {
            self.offer = nil
            guard offer.isLast else { return .lines([offer.line], nil) }
            return .last(offer.line, finish(.completed))
        }
        if end != nil { return .ended }
        guard let (_, sender) = sender else { return .wait }
        self.sender = nil
        taken += 1
        held = sender.held
        return .lines(sender.lines, sender.continuation)
    }
}
