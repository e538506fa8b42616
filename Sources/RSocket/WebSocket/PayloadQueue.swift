import NIOConcurrencyHelpers
import NIOCore

/// The payloads of a stream, from the event loop to the task that consumes them.
///
/// The credit of the stream bounds it: what has not been taken has not been consumed.
final class PayloadQueue: Sendable {
    private struct State {
        var payloads: [ByteBuffer] = []
        /// A part of a payload has arrived.
        var hasPart = false
        /// A KEEPALIVE was answered.
        var hasKeepaliveAnswer = false
        var end: Result<Void, RequesterStreamError>?
        var waiter: CheckedContinuation<Void, any Error>?

        var isReady: Bool { !payloads.isEmpty || hasPart || hasKeepaliveAnswer || end != nil }

        /// What to return, in this order; `nil` when there is nothing yet.
        mutating func take() -> Result<RequesterStream.Element?, RequesterStreamError>? {
            if !payloads.isEmpty || hasPart {
                defer { (payloads, hasPart) = ([], false) }
                return .success(.payloads(payloads))
            }
            if hasKeepaliveAnswer {
                hasKeepaliveAnswer = false
                return .success(.keepaliveAnswered)
            }
            return end.map { $0.map { nil } }
        }

        mutating func takeWaiter() -> CheckedContinuation<Void, any Error>? {
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = NIOLockedValueBox(State())

    /// A payload has arrived.
    func append(_ payload: ByteBuffer) {
        change { $0.payloads.append(payload) }
    }

    /// A part of a payload has arrived.
    func notePart() {
        change { $0.hasPart = true }
    }

    /// A KEEPALIVE was answered.
    func noteKeepaliveAnswer() {
        change { $0.hasKeepaliveAnswer = true }
    }

    /// No more payloads follow; the first reason counts.
    func finish(_ end: Result<Void, RequesterStreamError>) {
        change { $0.end = $0.end ?? end }
    }

    private func change(_ body: (inout State) -> Void) {
        let waiter = state.withLockedValue { state in
            body(&state)
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Takes what has arrived; waits when nothing has.
    ///
    /// - Returns: All payloads, else the answer to a KEEPALIVE; `nil` at the normal end.
    /// - Throws: ``RequesterStreamError`` after everything else, or `CancellationError`.
    func next() async throws -> RequesterStream.Element? {
        while true {
            if let taken = state.withLockedValue({ $0.take() }) { return try taken.get() }
            try await wait()
        }
    }

    private func wait() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isDone = state.withLockedValue { state in
                    // The handler below may have run already; then nothing else would resume the continuation.
                    if state.isReady || Task.isCancelled { return true }
                    precondition(state.waiter == nil, "two tasks read one stream")
                    state.waiter = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
            try Task.checkCancellation()
        } onCancel: {
            state.withLockedValue { $0.takeWaiter() }?.resume(throwing: CancellationError())
        }
    }
}
