import NIOConcurrencyHelpers
package import PowerSync
package import PowerSyncProtocol

/// A sync service that does what a test says.
///
/// ```swift
/// let service = ScriptedTransport()
/// // … connect a database …
/// let stream = try await service.nextStream()
/// stream.accept()
/// try stream.send(#"{"checkpoint":{"last_op_id":"0","buckets":[]}}"#, #"{"checkpoint_complete":{"last_op_id":"0"}}"#)
/// ```
///
/// Requests wait for an answer until the test gives one.
public final class ScriptedTransport: Sendable {
    private struct State {
        var streams: [ScriptedStream] = []
        var writeCheckpoints: [ScriptedWriteCheckpoint] = []
        var checkpointRequests: [ScriptedWriteCheckpoint] = []
        var requests = 0
        var open = 0
        var mostOpen = 0
    }

    private let state = NIOLockedValueBox(State())
    private let changes = Signal()

    /// Creates a service that has received nothing.
    public init() {}

    /// Waits for the next request for sync lines.
    ///
    /// - Throws: `CancellationError`
    public func nextStream() async throws -> ScriptedStream {
        try await changes.wait {
            state.withLockedValue { $0.streams.isEmpty ? nil : $0.streams.removeFirst() }
        }
    }

    /// Waits for the next request for a write checkpoint.
    ///
    /// - Throws: `CancellationError`
    public func nextWriteCheckpoint() async throws -> ScriptedWriteCheckpoint {
        try await changes.wait {
            state.withLockedValue { $0.writeCheckpoints.isEmpty ? nil : $0.writeCheckpoints.removeFirst() }
        }
    }

    /// Waits for the next checkpoint request: a request with a number of the client.
    ///
    /// - Throws: `CancellationError`
    public func nextCheckpointRequest() async throws -> ScriptedWriteCheckpoint {
        try await changes.wait {
            state.withLockedValue { $0.checkpointRequests.isEmpty ? nil : $0.checkpointRequests.removeFirst() }
        }
    }

    /// Forgets the requests that were not taken, for a test that goes on with another client.
    package func forgetRequests() {
        state.withLockedValue { state in
            state.streams = []
            state.writeCheckpoints = []
            state.checkpointRequests = []
        }
    }

    /// How many streams were requested so far.
    public var streamRequests: Int { state.withLockedValue { $0.requests } }

    /// How many streams the client holds open, or is opening.
    public var openStreams: Int { state.withLockedValue { $0.open } }

    /// The most streams that were open at the same time.
    public var mostOpenStreams: Int { state.withLockedValue { $0.mostOpen } }

    /// Waits until the client holds no stream.
    ///
    /// - Throws: `CancellationError`
    public func waitUntilNoStreamIsOpen() async throws {
        try await changes.wait { state.withLockedValue { $0.open == 0 ? () : nil } }
    }

    private func streamClosed() {
        state.withLockedValue { $0.open -= 1 }
        changes.fire()
    }
}

extension ScriptedTransport: SyncTransport {
    package func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        let stream = ScriptedStream(request: request, credentials: credentials)
        // Counted from here: a client must not even ask for a second stream before the first one is closed.
        let lines = ScriptedLineStream(stream) { [self] in
            streamClosed()
        }
        state.withLockedValue { state in
            state.requests += 1
            state.open += 1
            state.mostOpen = max(state.mostOpen, state.open)
            state.streams.append(stream)
        }
        changes.fire()
        try await stream.waitForAnswer()
        return lines
    }

    package func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        let request = ScriptedWriteCheckpoint(clientID: clientID, credentials: credentials)
        state.withLockedValue { $0.writeCheckpoints.append(request) }
        changes.fire()
        return try await request.answer()
    }
}

extension ScriptedTransport {
    package func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        let request = ScriptedWriteCheckpoint(clientID: clientID, requestID: id.rawValue, credentials: credentials)
        state.withLockedValue { $0.checkpointRequests.append(request) }
        changes.fire()
        return try await request.answer()
    }
}

/// Reads from a scripted stream; its end is the client's closing of the stream.
private final class ScriptedLineStream: SyncLineStream {
    private let stream: ScriptedStream
    private let didClose: () -> Void

    init(_ stream: ScriptedStream, didClose: @escaping () -> Void) {
        self.stream = stream
        self.didClose = didClose
    }

    deinit {
        stream.clientDidClose()
        didClose()
    }

    func next() async throws -> SyncStreamElement? {
        try await stream.nextElement()
    }
}
