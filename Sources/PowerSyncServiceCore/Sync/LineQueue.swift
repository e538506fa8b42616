package import NIOCore
import Synchronization

/// Hands encoded lines from the tasks of a session to the one that writes the response.
///
/// It holds nothing back: ``send(_:)`` returns when the writer has taken the line, which it does when the network has
/// accepted the line before. That is the back-pressure of the stream, and what lets a keepalive go between two data lines.
package final class LineQueue: Sendable {
    /// Why no more lines come.
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

    private struct Sender {
        var line: ByteBuffer
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var nextID: UInt64 = 0
        /// Lines in the order of arrival; at most one for each sending task.
        var order: [UInt64] = []
        var senders: [UInt64: Sender] = [:]
        var end: End?
    }

    private let state = Mutex(State())
    private let signal = ChangeSignal()

    /// Creates an open queue.
    package init() {}

    /// Why the queue ended; `nil` while it is open.
    package var end: End? { state.withLock { $0.end } }

    /// Hands over a line.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, or the queue has ended.
    package func send(_ line: ByteBuffer) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isRefused = state.withLock { state in
                    // The handler below may have run already; then nobody else would resume the continuation.
                    if state.end != nil || Task.isCancelled { return true }
                    state.senders[id] = Sender(line: line, continuation: continuation)
                    state.order.append(id)
                    return false
                }
                if isRefused { continuation.resume(throwing: CancellationError()) } else { signal.advance() }
            }
        } onCancel: {
            let sender = state.withLock { state in
                state.order.removeAll { $0 == id }
                return state.senders.removeValue(forKey: id)
            }
            sender?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Ends the queue.
    ///
    /// The first reason counts. Lines that have not been taken are dropped.
    package func finish(_ end: End) {
        let senders = state.withLock { state -> [Sender] in
            guard state.end == nil else { return [] }
            state.end = end
            defer { (state.senders, state.order) = ([:], []) }
            return Array(state.senders.values)
        }
        for sender in senders { sender.continuation.resume(throwing: CancellationError()) }
        signal.advance()
    }

    /// Waits for the next line.
    ///
    /// - Returns: `nil` when the queue has ended.
    /// - Throws: `CancellationError` when the task is cancelled.
    package func next() async throws -> ByteBuffer? {
        while true {
            let seen = signal.version
            let (sender, isEnded) = state.withLock { state -> (Sender?, Bool) in
                guard let id = state.order.first else { return (nil, state.end != nil) }
                state.order.removeFirst()
                return (state.senders.removeValue(forKey: id), false)
            }
            if let sender {
                sender.continuation.resume()
                return sender.line
            }
            if isEnded { return nil }
            try await signal.wait(after: seen)
        }
    }

    /// Runs a task that makes lines, and ends the queue when it ends.
    package func finish(afterRunning body: () async throws -> Void) async {
        do {
            try await body()
            finish(.completed)
        } catch is CancellationError {
            // Whoever cancelled the task has given the reason.
        } catch {
            finish(.failed(error))
        }
    }
}
