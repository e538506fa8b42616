extension AttachmentRunner {
    /// What of a queue runs, and what each call ends and begins.
    ///
    /// | Call | Ends first | Does then | Begins at the end |
    /// | --- | --- | --- | --- |
    /// | `start` | all | makes directories, verifies | references and transfers |
    /// | `stop` | all | | |
    /// | `close` | all | | nothing ever after |
    /// | `clear` | transfers | removes rows and files | transfers, if references are followed |
    /// | `startTransfers` | transfers | | transfers |
    /// | `stopTransfers` | transfers | | |
    ///
    /// When what is done then fails, a `start` begins nothing; a `clear` begins what it would have begun. A `clear` that another call
    /// waits for in order to stop the queue begins nothing either.
    struct StateMachine {
        /// What can run.
        struct Parts: OptionSet {
            let rawValue: Int

            /// The references of the app are followed, and the connection is.
            static let references = Parts(rawValue: 1)
            /// Files are sent, fetched and deleted.
            static let transfers = Parts(rawValue: 2)
        }

        /// What is asked for.
        enum Call: CaseIterable {
            case start, stop, close, clear
            /// The same for the transfers alone, with a ``SyncingService``.
            case startTransfers, stopTransfers
        }

        /// What a call ends and begins.
        struct Plan: Equatable {
            /// What does not run any more, before anything else is done.
            var ends: Parts
            /// What runs afterwards.
            var begins: Parts = []
        }

        private enum State {
            case open(running: Parts)
            case closed
        }

        private var state = State.open(running: [])

        /// Whether nothing can begin any more.
        var isClosed: Bool {
            if case .closed = state { true } else { false }
        }

        /// What runs.
        var running: Parts {
            if case .open(let running) = state { running } else { [] }
        }

        /// A call begins, after the one before has ended.
        ///
        /// - Returns: What to do; `nil` when the queue is closed.
        func plan(for call: Call) -> Plan? {
            guard case .open(let running) = state else { return nil }
            switch call {
            case .start: return Plan(ends: running, begins: [.references, .transfers])
            case .stop, .close: return Plan(ends: running)
            case .clear:
                return Plan(
                    ends: running.intersection(.transfers),
                    begins: running.contains(.references) ? .transfers : []
                )
            case .startTransfers: return Plan(ends: running.intersection(.transfers), begins: .transfers)
            case .stopTransfers: return Plan(ends: running.intersection(.transfers))
            }
        }

        /// Parts run.
        mutating func began(_ parts: Parts) {
            if case .open(let running) = state { state = .open(running: running.union(parts)) }
        }

        /// Parts do not run any more.
        mutating func ended(_ parts: Parts) {
            if case .open(let running) = state { state = .open(running: running.subtracting(parts)) }
        }

        /// Nothing begins any more.
        mutating func closed() {
            state = .closed
        }
    }
}
