extension CheckpointRequests {
    /// Whether numbers can be given.
    ///
    /// ```
    ///   iterationBegan          seeded
    ///  ──────────────► pending ────────► ready
    ///                   ▲  │ seedingFailed  │
    ///                   │  ▼                │ iterationEnded
    ///   iterationBegan  └─ failed           ▼
    ///                                     pending
    ///  sessionEnded, in any state: ended
    /// ```
    struct StateMachine<Waiter: Sendable>: Sendable {
        private enum State {
            /// No iteration has agreed with the service on the counter yet.
            case pending
            case ready
            case failed(any Error)
            case ended
        }

        /// What a caller does that needs a number.
        enum Demand {
            /// Go on.
            case go
            /// Wait. Somebody may have to cut the delay before the next attempt short.
            case wait
            /// Throw.
            case fail(any Error)
        }

        private var state = State.pending
        private var waiters: [UInt64: Waiter] = [:]

        /// Whether the counter is agreed on with the service.
        var isReady: Bool {
            if case .ready = state { true } else { false }
        }

        /// Whether somebody waits for an iteration that is ready.
        var hasDemand: Bool { !waiters.isEmpty }

        /// Somebody needs a number.
        mutating func demanded(by id: UInt64, _ waiter: Waiter) -> Demand {
            switch state {
            case .ready: return .go
            case .failed(let error): return .fail(error)
            case .ended: return .fail(CheckpointRequestError.notConnecting)
            case .pending:
                waiters[id] = waiter
                return .wait
            }
        }

        /// A waiter does not wait any longer.
        mutating func cancelled(_ id: UInt64) -> Waiter? {
            waiters.removeValue(forKey: id)
        }

        /// A stream is being opened.
        mutating func iterationBegan() {
            if case .failed = state { state = .pending }
        }

        /// The counter is agreed on: these may go on.
        mutating func seeded() -> [Waiter] {
            guard case .pending = state else { return [] }
            state = .ready
            return takeWaiters()
        }

        /// The counter could not be agreed on: these get the error.
        mutating func seedingFailed(_ error: any Error) -> [Waiter] {
            guard case .pending = state else { return [] }
            state = .failed(error)
            return takeWaiters()
        }

        /// The stream has ended.
        mutating func iterationEnded() {
            if case .ready = state { state = .pending }
        }

        /// The connection is given up: these get an error.
        mutating func sessionEnded() -> [Waiter] {
            state = .ended
            return takeWaiters()
        }

        private mutating func takeWaiters() -> [Waiter] {
            defer { waiters = [:] }
            return Array(waiters.values)
        }
    }
}
