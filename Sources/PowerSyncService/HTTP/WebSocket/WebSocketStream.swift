import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import RSocket

/// Sends a sync stream over RSocket for as long as its client, its token and the process last
/// (docs/protocol.md "WebSocket").
///
/// Lines are taken from the session when those before them have had credit and the socket has taken them.
struct WebSocketStream: Sendable {
    /// The stream within its connection.
    let id: StreamID
    /// Makes the lines.
    let opened: OpenedSyncStream
    /// The connection.
    let connection: ResponderHandle

    /// Sends the stream until it ends.
    ///
    /// - Parameter lines: Finished from outside when the client or the process ends the stream.
    func write(_ lines: LineQueue) async {
        let beginning = opened.statistics.didStart()
        defer {
            opened.statistics.didEnd(
                lines.end,
                code: lines.end?.code,
                over: .webSocket,
                begun: beginning,
                logger: opened.logger
            )
            opened.lease.release()
        }
        do {
            try await send([opened.takeFirstLine()])
            if opened.isOver { lines.finish(.completed) } else { try await send(lines) }
        } catch {
            // The client has cancelled the stream, or the connection broke.
            lines.finish(.clientClosed)
        }
        switch lines.end {
        case .completed, .unread, .shutdown: connection.complete(id)
        case .failed(let error): connection.fail(id, message: ErrorEnvelope(error).text)
        case .clientClosed, nil: break
        }
    }

    private func send(_ lines: LineQueue) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask { [opened] in await opened.run(lines) }
            // When the client does not read its last line, the whole connection is closed.
            group.addTask { [opened] in try await opened.keepalives.run(lines) }
            while let batch = try await lines.next() { try await send(batch) }
        }
    }

    private func send(_ lines: [ByteBuffer]) async throws {
        opened.statistics.willWrite()
        try await connection.send(lines.map { Payload(data: $0) }, on: id)
        opened.statistics.didWrite(byteCount: lines.reduce(0) { $0 + $1.readableBytes })
    }
}
