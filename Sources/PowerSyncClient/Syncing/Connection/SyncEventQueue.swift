import NIOConcurrencyHelpers
import NIOCore
import PowerSyncCore
import PowerSyncProtocol

/// Merges the lines of one response with local events, for the task that hands them to the engine.
///
/// Local events never wait behind an endless stream of lines: they can be taken before every transaction. The task
/// that reads the stream is held back while too many bytes wait for the database (docs/client-sync.md "Connections").
final class SyncEventQueue: Sendable {
    /// The bytes of lines that may wait for the database before reading stops: 8 MiB.
    static let defaultByteLimit = 8 * 1024 * 1024

    private struct State {
        var events: Events
        /// The task that takes events, while there is nothing to take.
        var consumers = Waiters<[SyncEvent]>()
        /// The task that reads the stream, while too many bytes wait for the database.
        var producers = Waiters<Void>()
    }

    private let state: NIOLockedValueBox<State>

    /// Creates an empty queue.
    ///
    /// - Parameter byteLimit: The bytes of lines that may wait for the database before reading stops.
    init(byteLimit: Int = SyncEventQueue.defaultByteLimit) {
        state = NIOLockedValueBox(State(events: Events(byteLimit: byteLimit)))
    }

    /// The service accepted the request.
    func streamOpened() {
        change { $0.streamEvents(CollectionOfOne(.streamOpened)) }
    }

    /// Puts in lines, then waits until reading may go on.
    ///
    /// Returns early when the task is cancelled.
    func send(_ lines: [ReceivedLine]) async {
        change { $0.streamEvents(lines.lazy.map(SyncEvent.line)) }
        try? await state.wait(\.producers) { state in
            precondition(state.producers.isEmpty, "Two tasks read one sync stream")
            return state.events.mayRead ? .success(()) : nil
        }
    }

    /// The response has ended.
    func streamEnded() {
        change { $0.streamEvents(CollectionOfOne(.streamEnded)) }
    }

    /// The stream failed; the error follows the events before it.
    func streamFailed(_ error: any Error) {
        change { $0.streamFailed(error) }
    }

    /// Puts in a local event.
    ///
    /// Dropped after the end of the iteration.
    func send(_ event: SyncEvent) {
        change { $0.localEvent(event) }
    }

    /// Waits for events and takes all that are there.
    ///
    /// - Throws: The error of the stream after the last event before it, or `CancellationError`.
    func next() async throws -> [SyncEvent] {
        try await state.wait(\.consumers) { state in
            precondition(state.consumers.isEmpty, "Two tasks handle the events of one sync iteration")
            return state.events.take()
        }
    }

    /// Takes the local events that are there.
    func takeLocalEvents() -> [SyncEvent] {
        state.withLockedValue { $0.events.takeLocalEvents() }
    }

    /// A transaction with lines was committed.
    ///
    /// - Parameter bytes: The size of the lines.
    func handled(bytes: Int) {
        change { $0.handled(bytes: bytes) }
    }

    /// The iteration is over.
    func close() {
        change { $0.close() }
    }

    /// Changes the events, and wakes the tasks that have waited for that.
    private func change(_ change: (inout Events) -> Void) {
        let (handling, producer) = state.withLockedValue { state in
            change(&state.events)
            var handling: (consumer: Waiters<[SyncEvent]>.Waiter, result: Result<[SyncEvent], any Error>)?
            if !state.consumers.isEmpty, let result = state.events.take() {
                handling = state.consumers.takeFirst().map { ($0, result) }
            }
            return (handling, state.events.mayRead ? state.producers.takeFirst() : nil)
        }
        if let (consumer, result) = handling { consumer.resume(with: result) }
        producer?.resume()
    }
}

extension SyncEventQueue {
    /// Events of the stream and local events on their way to the engine.
    struct Events: Sendable {
        /// What the network is going to deliver.
        private enum Stream: Sendable {
            /// More events may come.
            case open
            /// Everything has been taken in; taking the last event is followed by this error.
            case failed(any Error)
            /// The stream has ended, or the iteration has.
            case closed
        }

        /// The bytes of lines that may wait for the database before reading stops.
        private let byteLimit: Int
        private var stream = Stream.open
        private var streamEvents = CircularBuffer<SyncEvent>()
        private var localEvents = LocalEvents()
        /// Bytes of lines that were put in and whose transaction has not been committed.
        private var waitingBytes = 0

        /// Creates a value without events.
        init(byteLimit: Int) {
            self.byteLimit = byteLimit
        }

        /// Whether the stream may be read on: not while too many bytes wait for the database.
        var mayRead: Bool {
            if case .open = stream { waitingBytes <= byteLimit } else { true }
        }

        /// Something happened on the stream.
        mutating func streamEvents(_ events: some Sequence<SyncEvent>) {
            guard case .open = stream else { return }
            for event in events {
                if case .line(let line) = event { waitingBytes += line.byteCount }
                streamEvents.append(event)
            }
        }

        /// The stream broke.
        ///
        /// Events before this are still delivered.
        mutating func streamFailed(_ error: any Error) {
            guard case .open = stream else { return }
            stream = .failed(error)
        }

        /// Something happened elsewhere.
        mutating func localEvent(_ event: SyncEvent) {
            if case .closed = stream { return }
            localEvents.insert(event)
        }

        /// Takes everything that is there.
        ///
        /// - Returns: The events, or after the last one why there are no more; `nil` when more may come.
        mutating func take() -> Result<[SyncEvent], any Error>? {
            let events = localEvents.take() + streamEvents
            guard events.isEmpty else {
                streamEvents.removeAll()
                return .success(events)
            }
            switch stream {
            case .open: return nil
            case .failed(let error):
                stream = .closed
                return .failure(error)
            case .closed: return .failure(CancellationError())
            }
        }

        /// Takes the local events that wait.
        mutating func takeLocalEvents() -> [SyncEvent] {
            localEvents.take()
        }

        /// A transaction that handled lines was committed.
        mutating func handled(bytes: Int) {
            waitingBytes -= bytes
        }

        /// The iteration is over: nothing is taken in any more, nothing has to wait.
        mutating func close() {
            stream = .closed
            streamEvents.removeAll()
            _ = localEvents.take()
        }
    }

    /// Local events that wait.
    ///
    /// Each kind waits once, since it means "look again"; only what was stored is news of its own.
    private struct LocalEvents: Sendable {
        private var uploadCompleted = false
        private var storedSubscriptions: [StreamStatus] = []
        private var subscriptionsChanged = false
        private var keepaliveAnswered = false
        private var tokenRefreshed = false

        mutating func insert(_ event: SyncEvent) {
            switch event {
            case .uploadCompleted: uploadCompleted = true
            case .subscriptionStored(let stream): storedSubscriptions.append(stream)
            case .subscriptionsChanged: subscriptionsChanged = true
            case .keepaliveAnswered: keepaliveAnswered = true
            case .tokenRefreshed: tokenRefreshed = true
            case .start, .stop, .streamOpened, .streamEnded, .line:
                preconditionFailure("An event of the stream is no local event")
            }
        }

        mutating func take() -> [SyncEvent] {
            defer { self = LocalEvents() }
            return storedSubscriptions.map(SyncEvent.subscriptionStored)
                + [
                    uploadCompleted ? .uploadCompleted : nil,
                    subscriptionsChanged ? .subscriptionsChanged : nil,
                    keepaliveAnswered ? .keepaliveAnswered : nil,
                    // Last, because it ends the iteration.
                    tokenRefreshed ? .tokenRefreshed : nil,
                ].compactMap(\.self)
        }
    }
}
