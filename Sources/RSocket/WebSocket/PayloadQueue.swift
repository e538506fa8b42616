import NIOCore
import Synchronization

/// The payloads of a stream, from the event loop to the task that consumes them.
///
/// The credit of the stream bounds it: what has not been taken has not been consumed.
final class PayloadQueue: Sendable {
    private struct State {
        var payloads: [ByteBuffer] = []
        /// A part of a payload has arrived.
        var hasPart = false
        var end: Result<Void, RequesterStreamError>?
        var waiter: CheckedContinuation<Void, any Error>?

        var isReady: Bool { !payloads.isEmpty || hasPart || end != nil }

        mutating func takeWaiter() -> CheckedContinuation<Void, any Error>? {
            defer { waiter = nil }
            return waiter
        }
    }

    private let state = Mutex(State())

    /// A payload has arrived.
    func append(_ payload: ByteBuffer) {
        change { $0.payloads.append(payload) }
    }

    /// A part of a payload has arrived.
    func notePart() {
        change { $0.hasPart = true }
    }

    /// No more payloads follow; the first reason counts.
    func finish(_ end: Result<Void, RequesterStreamError>) {
        change { $0.end = $0.end ?? end }
    }

    private func change(_ body: (inout State) -> Void) {
        let waiter = state.withLock { state in
            body(&state)
            return state.takeWaiter()
        }
        waiter?.resume()
    }

    /// Takes all payloads that have arrived; waits when there are none.
    ///
    /// - Returns: The payloads in order; empty when only a part of one has arrived; `nil` at the normal end.
    /// - Throws: ``RequesterStreamError`` after all payloads, or `CancellationError`.
    func next() async throws -> [ByteBuffer]? {
        while true {
            let taken = state.withLock { state -> Result<[ByteBuffer]?, RequesterStreamError>? in
                guard state.isReady else { return nil }
                defer { (state.payloads, state.hasPart) = ([], false) }
                if state.payloads.isEmpty, !state.hasPart, let end = state.end { return end.map { nil } }
                return .success(state.payloads)
            }
            if let taken { return try taken.get() }
            try await wait()
        }
    }

    private func wait() async throws {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let isDone = state.withLock { state in
                    // The handler below may have run already; then nobody else would resume the continuation.
                    if state.isReady || Task.isCancelled { return true }
                    precondition(state.waiter == nil, "two tasks read one stream")
                    state.waiter = continuation
                    return false
                }
                if isDone { continuation.resume() }
            }
            try Task.checkCancellation()
        } onCancel: {
            state.withLock { $0.takeWaiter() }?.resume(throwing: CancellationError())
        }
    }
}
