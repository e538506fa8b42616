import NIOCore
import PowerSyncCore
import PowerSyncProtocol

extension SyncEventQueue {
    /// Events of the stream and local events on their way to the engine.
    ///
    /// `Consumer` and `Producer` stand for the task that takes events and the task that reads the stream; at most one
    /// of each waits. A consumer waits only while there is nothing to take, a producer only while too many bytes wait
    /// for the database.
    struct StateMachine<Consumer: Sendable, Producer: Sendable>: Sendable {
        /// What the network is going to deliver.
        private enum Stream: Sendable {
            /// More events may come.
            case open
            /// Everything has been taken in; taking the last event is followed by this error.
            case failed(any Error)
            /// The stream has ended, or nobody is interested any more.
            case closed
        }

        /// The bytes of lines that may wait for the database before reading stops.
        private let byteLimit: Int
        private var stream = Stream.open
        private var streamEvents = CircularBuffer<SyncEvent>()
        private var localEvents = LocalEvents()
        /// Bytes of lines that were put in and whose transaction has not been committed.
        private var waitingBytes = 0
        private var consumer: Consumer?
        private var producer: Producer?

        init(byteLimit: Int) {
            self.byteLimit = byteLimit
        }

        /// Somebody to resume after the lock has been released.
        enum Resumption: Sendable {
            /// The consumer gets events.
            case consumer(Consumer, Result<[SyncEvent], any Error>)
            /// The producer may go on.
            case producer(Producer)
        }

        /// Something happened on the stream.
        mutating func streamEvents(_ events: some Sequence<SyncEvent>) -> Resumption? {
            guard case .open = stream else { return nil }
            for event in events {
                if case .line(let line) = event { waitingBytes += line.byteCount }
                streamEvents.append(event)
            }
            return wakeConsumer()
        }

        /// The producer asks whether it may read on.
        ///
        /// - Returns: The producer, unless it has to wait.
        mutating func producerIsReady(_ producer: Producer) -> Resumption? {
            guard case .open = stream, waitingBytes > byteLimit else { return .producer(producer) }
            precondition(self.producer == nil, "Two tasks read one sync stream")
            self.producer = producer
            return nil
        }

        /// The stream broke.
        ///
        /// Events before this are still delivered.
        mutating func streamFailed(_ error: any Error) -> Resumption? {
            guard case .open = stream else { return nil }
            stream = .failed(error)
            return wakeConsumer()
        }

        /// Something happened elsewhere.
        mutating func localEvent(_ event: LocalEvent) -> Resumption? {
            if case .closed = stream { return nil }
            localEvents.insert(event)
            return wakeConsumer()
        }

        /// The consumer wants something to do.
        ///
        /// - Returns: The consumer, unless it has to wait.
        mutating func consumerIsReady(_ consumer: Consumer) -> Resumption? {
            precondition(self.consumer == nil, "Two tasks handle the events of one sync iteration")
            self.consumer = consumer
            return wakeConsumer()
        }

        /// Takes the local events that wait.
        mutating func takeLocalEvents() -> [SyncEvent] {
            localEvents.take()
        }

        /// A transaction that handled lines was committed.
        mutating func handled(bytes: Int) -> Resumption? {
            waitingBytes -= bytes
            guard waitingBytes <= byteLimit, let producer else { return nil }
            self.producer = nil
            return .producer(producer)
        }

        /// The iteration is over: nothing is taken in any more, nobody has to wait.
        mutating func close() -> [Resumption] {
            stream = .closed
            streamEvents.removeAll()
            _ = localEvents.take()
            defer {
                consumer = nil
                producer = nil
            }
            return [
                consumer.map { .consumer($0, .failure(CancellationError())) },
                producer.map { .producer($0) },
            ].compactMap(\.self)
        }

        private mutating func wakeConsumer() -> Resumption? {
            guard let consumer else { return nil }
            let events = localEvents.take() + streamEvents
            switch stream {
            case _ where !events.isEmpty:
                streamEvents.removeAll()
                self.consumer = nil
                return .consumer(consumer, .success(events))
            case .open:
                return nil
            case .failed(let error):
                stream = .closed
                self.consumer = nil
                return .consumer(consumer, .failure(error))
            case .closed:
                self.consumer = nil
                return .consumer(consumer, .failure(CancellationError()))
            }
        }
    }

    /// Something that the engine is to know and that is no part of the stream.
    enum LocalEvent: Sendable {
        /// The upload queue was drained.
        case uploadCompleted
        /// The app has stored a subscription.
        case subscriptionStored(StreamStatus)
        /// The app's stream handles or subscriptions changed.
        case subscriptionsChanged(live: [StreamKey])
        /// The service has answered a keepalive of the connection.
        case keepaliveAnswered
        /// New credentials are cached.
        case tokenRefreshed
    }

    /// Local events that wait.
    ///
    /// Each kind waits once, since it means "look again"; only what was stored is news of its own.
    private struct LocalEvents: Sendable {
        private var uploadCompleted = false
        private var storedSubscriptions: [StreamStatus] = []
        private var liveStreams: [StreamKey]?
        private var keepaliveAnswered = false
        private var tokenRefreshed = false

        mutating func insert(_ event: LocalEvent) {
            switch event {
            case .uploadCompleted: uploadCompleted = true
            case .subscriptionStored(let stream): storedSubscriptions.append(stream)
            case .subscriptionsChanged(let live): liveStreams = live
            case .keepaliveAnswered: keepaliveAnswered = true
            case .tokenRefreshed: tokenRefreshed = true
            }
        }

        mutating func take() -> [SyncEvent] {
            defer { self = LocalEvents() }
            return storedSubscriptions.map(SyncEvent.subscriptionStored)
                + [
                    uploadCompleted ? .uploadCompleted : nil,
                    liveStreams.map { .subscriptionsChanged(live: $0) },
                    keepaliveAnswered ? .keepaliveAnswered : nil,
                    // Last, because it ends the iteration.
                    tokenRefreshed ? .tokenRefreshed : nil,
                ].compactMap(\.self)
        }
    }
}
