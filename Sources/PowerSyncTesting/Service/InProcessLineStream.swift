import NIOConcurrencyHelpers
import NIOCore
import PowerSync
import PowerSyncProtocol
import PowerSyncServiceCore

/// A connection of a ``FakeService``, in the hands of the client.
///
/// It owns two tasks: the session, and its keepalives. Dropping the stream ends them.
final class InProcessLineStream: SyncLineStream {
    private let connection: InProcessConnection
    private let id: FakeService.StreamID
    private let lines: LineQueue
    private let lease: UserStreams.Lease
    private let tasks: [Task<Void, Never>]
    private var reader = SyncLineReader(format: .bson)
    /// Lines that the client has not taken.
    private var received: ArraySlice<ReceivedLine> = []

    /// Runs the session of an opened stream.
    ///
    /// - Throws: `SyncTransportError` when a fault has begun meanwhile.
    init(
        _ opened: OpenedSyncStream,
        connection: InProcessConnection,
        clientID: String?,
        userKey: String
    ) throws {
        let lines = LineQueue()
        self.connection = connection
        self.lines = lines
        lease = opened.lease
        let stream = FakeService.Stream(
            connection: connection.id,
            clientID: clientID,
            userKey: userKey,
            lines: lines,
            keepalives: opened.keepalives
        )
        id = connection.service.state.withLockedValue { state in
            let id = state.makeID()
            state.streams[id] = stream
            return id
        }
        if opened.isOver {
            tasks = []
            lines.finish(.completed)
        } else {
            tasks = [Task { await opened.run(lines) }, Task { try? await opened.keepalives.run(lines) }]
        }
        connection.service.changes.fire()
        // One that has begun before the stream was known did not end it.
        try connection.checkOnline("The sync stream")
        try connection.checkTokens()
        try read([opened.takeFirstLine()])
    }

    deinit {
        lines.finish(.clientClosed)
        for task in tasks { task.cancel() }
        lease.release()
        _ = connection.service.state.withLockedValue { $0.streams.removeValue(forKey: id) }
        connection.service.changes.fire()
    }

    func next() async throws -> SyncStreamElement? {
        var isDelayed = false
        while true {
            let allowance = try connection.allowance(of: id)
            if case .failed(let error) = lines.end { throw Self.transportError(error) }
            guard !received.isEmpty else {
                guard let batch = try await lines.next() else { return try endOfStream() }
                try read(batch)
                continue
            }
            guard isDelayed || !isSlow else {
                isDelayed = true
                try await connection.delay { [lines] in lines.end != nil }
                continue
            }
            let count = isDelayed ? 1 : min(allowance, received.count)
            let element = SyncStreamElement.lines(Array(received.prefix(count)))
            received = received.dropFirst(count)
            connection.didDeliver(count, of: id)
            return element
        }
    }

    private var isSlow: Bool {
        connection.service.state.withLockedValue { state in
            state.faults(of: connection.user).contains { if case .slow = $0.fault.kind { true } else { false } }
        }
    }

    private func read(_ batch: [ByteBuffer]) throws {
        for bytes in batch {
            reader.append(bytes)
            while let line = try reader.next() { received.append(line) }
        }
    }

    private func endOfStream() throws -> SyncStreamElement? {
        switch lines.end {
        case .completed:
            // Nothing is wrong with the service: the client may come back at once.
            connection.addOccasion()
            return nil
        case .failed(let error): throw Self.transportError(error)
        case .clientClosed, .unread, .shutdown, nil:
            throw SyncTransportError(.connection, message: "The service has broken the sync stream off.")
        }
    }

    private static func transportError(_ error: any Error) -> SyncTransportError {
        error as? SyncTransportError
            ?? SyncTransportError(.connection, message: "The sync stream broke", underlyingError: error)
    }
}
