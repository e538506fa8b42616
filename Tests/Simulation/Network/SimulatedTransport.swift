import NIOCore
import PowerSync
import PowerSyncAuth
import PowerSyncProtocol
import PowerSyncServiceCore

/// Reaches the service over the simulated network: sessions of the real service make real lines, which the client reads.
struct SimulatedTransport: SyncTransport {
    let network: SimulatedNetwork
    let link: SimulatedLink
    let service: SimulatedService

    func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        let body = request.encodedJSON()
        let end = try await answering("POST /sync/stream", credentials) { [network, link] node, token in
            // What the service reads is what the client would have sent.
            let opened = try await OpenedSyncStream(
                try StreamingSyncRequest(json: body),
                token: token,
                schedule: KeepaliveSchedule(expiresAt: token.expiresAt),
                format: .bson,
                transport: .http,
                userAgent: "simulation",
                environment: node.sessions,
                logger: node.logger
            )
            let stream = SimulatedStream(network, over: link, to: link.process, from: node.process)
            _ = Task { await serve(opened, over: stream) }
            return ClientEnd(stream: stream)
        }
        return SimulatedLineStream(end)
    }

    /// Sends the lines of an opened stream until it ends.
    private func serve(_ opened: OpenedSyncStream, over stream: SimulatedStream) async {
        let lines = LineQueue()
        defer { opened.lease.release() }
        stream.onDeparture = { lines.finish(.clientClosed) }
        opened.whenStalled { [weak lines] in lines?.finish(.unread) }
        guard !opened.isOver else {
            try? await stream.send(opened.takeFirstLine())
            return stream.finish(nil)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await opened.keepalives.run(lines) }
            do {
                try await stream.send(opened.takeFirstLine())
                group.addTask { await opened.run(lines) }
                while let batch = try await lines.next() {
                    var bytes = ByteBuffer()
                    for line in batch { bytes.writeImmutableBuffer(line) }
                    try await stream.send(bytes)
                }
            } catch {
                lines.finish(.clientClosed)
            }
            group.cancelAll()
        }
        if case .completed = lines.end { stream.finish(nil) } else { stream.finish(SimulatedNetworkError.broken) }
    }

    func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        try await answering("GET /write-checkpoint2.json", credentials) { node, token in
            try await node.writeCheckpoints.create(userKey: token.writeCheckpointKey(clientID: clientID))
        }
    }

    func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        try await answering("POST /sync/checkpoint-request", credentials) { node, token in
            try await node.writeCheckpoints.request(id, userKey: token.writeCheckpointKey(clientID: clientID))
        }
    }

    /// Has the service answer a request, as its routes do.
    ///
    /// - Throws: `SyncTransportError`, or `CancellationError`.
    private func answering<Value: Sendable>(
        _ target: String,
        _ credentials: ServiceCredentials,
        _ body: @escaping @Sendable (SimulatedService.Node, VerifiedToken) async throws -> Value
    ) async throws -> Value {
        do {
            let node = service.chooseNode()
            return try await network.call(over: link, to: { node?.process }) { [service] in
                guard let node, service.serves(node) else { throw SimulatedNetworkError.unreachable }
                let token = try await node.verifier.verify(
                    authorization: "Token \(credentials.token)",
                    now: node.sessions.timing.seconds
                )
                return try await body(node, token)
            }
        } catch {
            try Task.checkCancellation()
            throw SyncTransportError(target, error)
        }
    }
}

extension SyncTransportError {
    /// What a client is told about a request that failed.
    fileprivate init(_ target: String, _ error: any Error) {
        let code: ErrorCode? =
            switch error {
            case let error as AuthorizationError: error.code
            case is SimulatedNetworkError: nil
            default: .generic
            }
        guard let code else {
            self.init(.connection, message: "\(target) failed: \(error)")
            return
        }
        let envelope = ErrorEnvelope(code: code, description: "\(error)", name: "ServiceError")
        self.init(
            .status,
            message: "\(target) failed with status \(envelope.httpStatus): \(error)",
            httpStatus: envelope.httpStatus,
            serviceCode: code
        )
    }
}

/// The client's end of a stream, also on its way there: dropping it closes the stream.
private final class ClientEnd: Sendable {
    let stream: SimulatedStream

    init(stream: SimulatedStream) { self.stream = stream }

    deinit { stream.leave() }
}

/// The lines of a stream, in the hands of the client.
private final class SimulatedLineStream: SyncLineStream {
    private let end: ClientEnd
    private var reader = SyncLineReader(format: .bson)

    init(_ end: ClientEnd) { self.end = end }

    func next() async throws -> SyncStreamElement? {
        do {
            guard let bytes = try await end.stream.next() else { return nil }
            var lines: [ReceivedLine] = []
            for bytes in bytes {
                reader.append(bytes)
                while let line = try reader.next() { lines.append(line) }
            }
            return .lines(lines)
        } catch let error as SimulatedNetworkError {
            throw SyncTransportError(.connection, message: "The sync stream broke: \(error)", underlyingError: error)
        }
    }
}
