import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import PowerSyncProtocol
import ServiceLifecycle

/// `POST /sync/stream` (`wire-protocol.md` 4).
extension ServiceRoutes {
    /// Checks the request and makes the first line.
    ///
    /// The head is sent with it, so a failure up to there has a status of its own.
    func openStream(_ request: Request, _ context: ServiceRequestContext) async throws -> Response {
        let slot = try await streamQueue.acquire()
        guard !Task.isShuttingDownGracefully else { throw ErrorEnvelope.shuttingDown }
        let token = try await authorize(request)
        var request = request
        let parameters = try await RequestParameters(&request, bodyLimit: Self.largeBodyLimit)
        let syncRequest = try Self.syncRequest(parameters)
        guard let active = try await sessions.storage.activeStream() else { throw ErrorEnvelope.noSyncConfig }

        let format = formats.allowsBSON ? ContentNegotiation.format(accept: request.headers[.accept]) : .ndjson
        let logger = Self.logger(context.logger, token: token, syncRequest: syncRequest)
        let keepalives = Keepalives(
            schedule: KeepaliveSchedule(expiresAt: token.expiresAt),
            format: format,
            timing: sessions.timing
        )
        let statistics = StreamStatistics()
        logger.info(
            "Sync stream started",
            metadata: [
                "user_agent": "\(request.headers[.xUserAgent] ?? request.headers[.userAgent] ?? "")",
                "bson": "\(format == .bson)", "route": "/sync/stream",
                "app_metadata": .dictionary(syncRequest.appMetadata.loggable),
            ]
        )

        var response = Response(status: .ok, headers: [.contentType: format.mediaType, .xAccelBuffering: "no"])
        // The connection is watched for its end while the stream runs, which uses it up (see ``SyncStreamResponse``).
        response.headers[.connection] = "close"
        if keepalives.schedule.isExpired(at: sessions.timing.seconds) {
            response.body = ResponseBody(byteBuffer: keepalives.line)
            return response
        }
        var session = SyncSession(
            request: syncRequest,
            token: token,
            stream: active,
            environment: sessions,
            encoding: SyncSession.Encoding(format: format, isRawData: syncRequest.rawData),
            statistics: statistics,
            logger: logger
        )
        guard let firstLine = try await session.open() else { throw ErrorEnvelope.noSyncConfig }
        let stream = SyncStreamResponse(
            firstLine: firstLine,
            session: session,
            keepalives: keepalives,
            requestBody: request.body,
            channel: context.channel,
            statistics: statistics,
            slot: slot,
            logger: logger
        )
        response.body = ResponseBody { writer in try await stream.write(to: &writer) }
        return response
    }

    private static func syncRequest(_ parameters: RequestParameters) throws -> StreamingSyncRequest {
        do throws(RequestValidationError) {
            return try StreamingSyncRequest(json: ByteBuffer(string: parameters.members.text))
        } catch {
            throw ErrorEnvelope.validationFailed(error.messages)
        }
    }

    private static func logger(
        _ logger: Logger,
        token: VerifiedToken,
        syncRequest: StreamingSyncRequest
    ) -> Logger {
        var logger = logger
        logger[metadataKey: "user_id"] = "\(token.userID)"
        if let clientID = syncRequest.clientID { logger[metadataKey: "client_id"] = "\(clientID)" }
        return logger
    }
}

extension [String: String] {
    /// At most 20 entries of at most 100 characters: what a client sends must not flood the log.
    fileprivate var loggable: Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        for (index, entry) in sorted(by: { $0.key < $1.key }).enumerated() {
            guard index < 20 else {
                metadata["⚠️"] = "Additional parameters omitted"
                break
            }
            let value = entry.value.count > 100 ? "\(entry.value.prefix(97))..." : entry.value
            metadata[entry.key] = "\(value)"
        }
        return metadata
    }
}

extension HTTPField.Name {
    /// Tells a proxy to pass on every line at once.
    fileprivate static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering") ?? .via
    /// The user agent of clients in browsers, which cannot set `User-Agent`.
    fileprivate static let xUserAgent = HTTPField.Name("X-User-Agent") ?? .userAgent
}
