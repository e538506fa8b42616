import NIOConcurrencyHelpers
import PowerSyncCore
import PowerSyncProtocol

/// Merges the lines of one response with local events, for the task that hands them to the engine.
///
/// Local events never wait behind an endless stream of lines: they can be taken before every transaction. The task
/// that reads the stream is held back while too many bytes wait for the database (docs/client-sync.md "Connections").
final class SyncEventQueue: Sendable {
    /// The bytes of lines that may wait for the database before reading stops: 8 MiB.
    static let defaultByteLimit = 8 * 1024 * 1024

    private typealias Consumer = CheckedContinuation<[SyncEvent], any Error>
    private typealias Producer = CheckedContinuation<Void, Never>

    private let state: NIOLockedValueBox<StateMachine<Consumer, Producer>>

    /// Creates an empty queue.
    ///
    /// - Parameter byteLimit: The bytes of lines that may wait for the database before reading stops.
    init(byteLimit: Int = SyncEventQueue.defaultByteLimit) {
        state = NIOLockedValueBox(StateMachine(byteLimit: byteLimit))
    }

    /// The service accepted the request.
    func streamOpened() {
        perform { $0.streamEvents(CollectionOfOne(.streamOpened)) }
    }

    /// Puts in lines, then waits until reading may go on.
    ///
    /// Returns early when the task is cancelled.
    func send(_ lines: [ReceivedLine]) async {
        perform { $0.streamEvents(lines.lazy.map(SyncEvent.line)) }
        await withTaskCancellationHandler {
            await withCheckedContinuation { producer in
                perform { $0.producerIsReady(producer) }
            }
        } onCancel: {
            close()
        }
    }

    /// The response has ended.
    func streamEnded() {
        perform { $0.streamEvents(CollectionOfOne(.streamEnded)) }
    }

    /// The stream failed; the error follows the events before it.
    func streamFailed(_ error: any Error) {
        perform { $0.streamFailed(error) }
    }

    /// Puts in a local event.
    ///
    /// Dropped after the end of the iteration.
    func send(_ event: LocalEvent) {
        perform { $0.localEvent(event) }
    }

    /// Waits for events and takes all that are there.
    ///
    /// - Throws: The error of the stream after the last event before it, or `CancellationError`.
    func next() async throws -> [SyncEvent] {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { consumer in
                perform { $0.consumerIsReady(consumer) }
            }
        } onCancel: {
            close()
        }
    }

    /// Takes the local events that are there.
    func takeLocalEvents() -> [SyncEvent] {
        state.withLockedValue { $0.takeLocalEvents() }
    }

    /// A transaction with lines was committed.
    ///
    /// - Parameter bytes: The size of the lines.
    func handled(bytes: Int) {
        perform { $0.handled(bytes: bytes) }
    }

    /// The iteration is over.
    func close() {
        for resumption in state.withLockedValue({ $0.close() }) {
            resume(resumption)
        }
    }

    private func perform(
        _ transition: (inout StateMachine<Consumer, Producer>) -> StateMachine<Consumer, Producer>.Resumption?
    ) {
        if let resumption = state.withLockedValue({ transition(&$0) }) {
            resume(resumption)
        }
    }

    private func resume(_ resumption: StateMachine<Consumer, Producer>.Resumption) {
        switch resumption {
        case .consumer(let consumer, let result): consumer.resume(with: result)
        case .producer(let producer): producer.resume()
        }
    }
}
