import NIOConcurrencyHelpers
import Observation
import PowerSync

/// Waits, through Observation, until a condition holds.
@MainActor func until(_ condition: () -> Bool) async {
    while true {
        let (changes, signal) = AsyncStream.makeStream(of: Void.self)
        let isMet = withObservationTracking(condition, onChange: { signal.finish() })
        guard !isMet else { return }
        for await _ in changes {}
    }
}

/// Counts how often something observable changes, from now on.
@MainActor final class ChangeCount {
    private(set) var count = 0
    private let look: () -> Void

    /// Looks at what is counted.
    init(_ look: @escaping () -> Void) {
        self.look = look
        observe()
    }

    private func observe() {
        withObservationTracking(look) { [weak self] in
            MainActor.assumeIsolated {
                self?.count += 1
                // Once the property has its new value: this is called before.
                Task { self?.observe() }
            }
        }
    }
}

/// A database whose watches give what a test says.
struct ScriptedDatabase: ForwardingDatabase {
    /// What happens to the watches.
    final class Script: Sendable {
        private let continuations = NIOLockedValueBox<[AsyncThrowingStream<[String], any Error>.Continuation]>([])
        /// Counts the watches that have begun.
        let begun = Counter()
        /// Counts those that nobody listens to any more.
        let ended = Counter()
        private let parameters = NIOLockedValueBox<[String]>([])

        /// The first parameters of all watches.
        var seen: [String] { parameters.withLockedValue { $0 } }

        func watch(_ parameters: [(any Sendable)?]) -> AsyncThrowingStream<[String], any Error> {
            let (stream, continuation) = AsyncThrowingStream.makeStream(of: [String].self, throwing: (any Error).self)
            continuation.onTermination = { [ended] _ in ended.increment() }
            continuations.withLockedValue { $0.append(continuation) }
            self.parameters.withLockedValue { $0.append(parameters.first.flatMap { $0 as? String } ?? "") }
            begun.increment()
            return stream
        }

        /// Gives a result to a watch, the newest by default.
        func send(_ rows: [String], to index: Int? = nil) {
            continuations.withLockedValue { _ = $0[index ?? $0.count - 1].yield(rows) }
        }

        /// Ends the newest watch.
        func finish(throwing error: (any Error)? = nil) {
            let last = continuations.withLockedValue { $0.last }
            last?.finish(throwing: error)
        }
    }

    let inner: any PowerSyncDatabaseProtocol = MockDatabase()
    let script = Script()

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        guard let stream = script.watch(options.parameters) as Any as? AsyncThrowingStream<[RowType], any Error> else {
            throw PowerSyncError.operationFailed(message: "only texts are scripted")
        }
        return stream
    }
}
