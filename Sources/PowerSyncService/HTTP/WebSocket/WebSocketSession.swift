import Logging
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth
import RSocket
import ServiceLifecycle

/// Answers one WebSocket connection: checks the token of its client, then runs its streams (docs/protocol.md
/// "WebSocket").
struct WebSocketSession: Sendable {
    /// The client of the connection.
    private struct Client: Sendable {
        var token: VerifiedToken
        var greeting: Greeting
        /// The slot of the semaphore for concurrent connections.
        var slot: ConcurrencyQueue.Slot
        /// The reservation among the streams of the user.
        var reservation: ConnectionReservation
    }

    /// Checks tokens.
    let tokens: TokenVerifier
    /// The environment of all sync sessions.
    let sessions: SyncSession.Environment
    /// The semaphore of concurrent connections.
    let connections: ConcurrencyQueue
    /// The connection.
    let connection: ResponderHandle
    /// With the id of the connection.
    let logger: Logger

    /// Answers the requests of a connection until it ends, and closes it.
    func run(_ webSocket: WebSocketConnection) async {
        defer { webSocket.channel.close(promise: nil) }
        var setup: SetupFrame?
        do {
            var events = webSocket.events.makeAsyncIterator()
            if case .setup(let received) = try await events.next() { setup = received }
            guard let setup, let client = await admit(setup) else {
                // The connection is closing; its end is the end of the events.
                while try await events.next() != nil {}
                return
            }
            try await run(&events, client, webSocket.channel)
        } catch is CancellationError {
            return
        } catch {
            if setup == nil {
                logger.info(
                    "WebSocket connection refused, its first message is no SETUP",
                    metadata: [LogKey.error: "\(error)"]
                )
            } else {
                logger.debug("A WebSocket connection broke", metadata: [LogKey.error: "\(error)"])
            }
        }
    }

    private func run(
        _ events: inout WebSocketConnection.Events.AsyncIterator,
        _ client: Client,
        _ channel: any Channel
    ) async throws {
        defer {
            client.slot.release()
            client.reservation.release()
        }
        try await withThrowingDiscardingTaskGroup { group in
            defer { group.cancelAll() }
            group.addTask { await close(channel, whenExpired: client.token) }
            var queues: [StreamID: LineQueue] = [:]
            // A task that fails is cancelled with the others; streams handle their own errors.
            var end = LineQueue.End.clientClosed
            defer { for lines in queues.values { lines.finish(end) } }
            while let event = try await events.next() {
                switch event {
                case .setup: break
                case .request(let request):
                    queues = queues.filter { $0.value.end == nil }
                    let lines = LineQueue()
                    queues[request.streamID] = lines
                    // A stream lasts for longer than its request, which may be large.
                    let unread = NIOLockedValueBox<StreamRequest?>(request)
                    let streamID = request.streamID
                    group.addTask {
                        let counts = await client.reservation.withStream {
                            await serve(unread, on: streamID, client, lines, channel)
                        }
                        if !counts { channel.close(promise: nil) }
                    }
                case .cancelled(let streamID):
                    queues.removeValue(forKey: streamID)?.finish(.clientClosed)
                case .shutdown:
                    end = .shutdown
                    for lines in queues.values { lines.finish(.shutdown) }
                }
            }
        }
    }

    // MARK: The connection

    /// Closes the connection when its token has been expired for a while; with it, nothing can be asked for any more.
    private func close(_ channel: any Channel, whenExpired token: VerifiedToken) async {
        let schedule = KeepaliveSchedule(expiresAt: token.expiresAt)
        guard (try? await sessions.timing.sleep(until: schedule.closesAt)) != nil else { return }
        logger.info("WebSocket connection closed, the token has expired")
        channel.close(promise: nil)
    }

    /// Checks a SETUP and accepts or rejects it.
    ///
    /// - Returns: `nil` when it was rejected.
    private func admit(_ setup: SetupFrame) async -> Client? {
        do {
            let client = try await check(setup)
            connection.acceptSetup()
            return client
        } catch {
            let envelope = ErrorEnvelope(error)
            var metadata: Logger.Metadata = [
                LogKey.code: "\(envelope.code)", LogKey.description: "\(envelope.description)",
            ]
            if let details = (error as? AuthorizationError)?.logDetails { metadata[LogKey.details] = "\(details)" }
            ClientStreamStatistics.didRefuse(envelope.code, over: .webSocket)
            if let error = error as? AuthorizationError { ServiceMetrics.shared.didRefuseToken(error.code) }
            logger.log(level: envelope.logLevel, "WebSocket connection refused", metadata: metadata)
            connection.rejectSetup(code: .rejectedSetup, message: envelope.text)
            return nil
        }
    }

    private func check(_ setup: SetupFrame) async throws -> Client {
        var greeting: Greeting?
        let admitted: Admission.Client
        do {
            admitted = try await Admission(connections: connections, tokens: tokens, sessions: sessions).admit {
                let read = try Greeting(setup)
                greeting = read
                return read.header
            }
        } catch is ConcurrencyQueue.Failure {
            throw ErrorEnvelope.connectionLimit
        }
        guard let greeting else { throw ErrorEnvelope.noSetupMetadata }
        return Client(
            token: admitted.token,
            greeting: greeting,
            slot: admitted.slot,
            reservation: ConnectionReservation(
                admitted.reservation,
                of: admitted.token.userID,
                among: sessions.userStreams
            )
        )
    }

    /// The client's data in a SETUP, and the encodings of its requests.
    private struct Greeting: Sendable {
        /// The client's `Authorization`; `nil` when there is none.
        var header: String?
        var userAgent: String
        var metadata: RequestEncoding
        var data: RequestEncoding

        /// - Throws: ``ErrorEnvelope``.
        init(_ setup: SetupFrame) throws {
            metadata = try RequestEncoding(mimeType: setup.metadataMIMEType)
            data = try RequestEncoding(mimeType: setup.dataMIMEType)
            guard let bytes = setup.payload.metadata else { throw ErrorEnvelope.noSetupMetadata }
            let members = try metadata.object(bytes)
            header = members.string("token").flatMap { $0.isEmpty ? nil : $0 }
            userAgent = members.string("user_agent") ?? ""
        }
    }

    // MARK: Streams

    /// Answers one request.
    private func serve(
        _ unread: NIOLockedValueBox<StreamRequest?>,
        on streamID: StreamID,
        _ client: Client,
        _ lines: LineQueue,
        _ channel: any Channel
    ) async {
        do {
            let opened = try await lines.whileOpen { try await open(unread, client) }
            opened.whenStalled { [weak lines] in
                lines?.finish(.unread)
                channel.close(promise: nil)
            }
            let stream = WebSocketStream(id: streamID, opened: opened, connection: connection)
            await stream.write(lines)
        } catch is CancellationError {
            if case .shutdown? = lines.end { connection.complete(streamID) }
        } catch {
            lines.finish(.failed(error))
            let envelope = ErrorEnvelope(error)
            var metadata: Logger.Metadata = [
                LogKey.code: "\(envelope.code)", LogKey.description: "\(envelope.description)",
            ]
            metadata.add(error)
            ClientStreamStatistics.didRefuse(envelope.code, over: .webSocket)
            logger.log(level: envelope.logLevel, "Request failed", metadata: metadata)
            connection.fail(streamID, message: envelope.text)
        }
    }

    /// Takes a request, and opens its stream.
    private func open(
        _ unread: NIOLockedValueBox<StreamRequest?>,
        _ client: Client
    ) async throws -> OpenedSyncStream {
        guard !Task.isShuttingDownGracefully else { throw ErrorEnvelope.shuttingDown }
        let payload = unread.withLockedValue { request in
            defer { request = nil }
            return request?.payload
        }
        guard let payload, let metadata = payload.metadata else { throw ErrorEnvelope.noRequestMetadata }
        let path = try client.greeting.metadata.object(metadata).string("path") ?? ""
        guard path == "/sync/stream" else { throw ErrorEnvelope.streamNotFound(path: path) }
        let syncRequest = try client.greeting.data.syncRequest(payload.data)
        return try await OpenedSyncStream(
            syncRequest,
            token: client.token,
            reservation: client.reservation.take(),
            schedule: KeepaliveSchedule(expiresAt: client.token.expiresAt, isPeriodic: false),
            format: .bson,
            transport: .webSocket,
            userAgent: client.greeting.userAgent,
            environment: sessions,
            logger: logger
        )
    }
}

extension ErrorEnvelope {
    fileprivate static let connectionLimit = ErrorEnvelope(
        code: .connectionLimit,
        description: "Maximum active concurrent connections limit has been reached",
        name: "ServiceError"
    )

    fileprivate static let noSetupMetadata = ErrorEnvelope(
        code: .authentication,
        description: "No context meta data provided",
        name: "AuthorizationError"
    )

    fileprivate static let noRequestMetadata = ErrorEnvelope(
        code: .generic,
        status: 400,
        description: "Validation failed",
        name: "ValidationError",
        details: #""Metadata is not provided""#
    )

    fileprivate static func streamNotFound(path: String) -> ErrorEnvelope {
        ErrorEnvelope(
            code: .routeNotFound,
            description: "The path does not exist on this server",
            name: "RouteNotFound",
            details: "The path \"\(StreamClient.shown(path))\" does not exist on this server"
        )
    }
}
