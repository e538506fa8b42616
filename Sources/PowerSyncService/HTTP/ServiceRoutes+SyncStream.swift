import HTTPConnections
import HTTPTypes
import Hummingbird
import NIOCore
import PowerSyncProtocol
import PowerSyncServiceCore
import PowerSyncAuth
import ServiceLifecycle

/// `POST /sync/stream` (docs/protocol.md "The sync request").
extension ServiceRoutes {
    /// Checks the request and makes the first line.
    ///
    /// The head is sent with it, so a failure up to there has a status of its own.
    func openStream(_ request: Request, _ context: ServiceRequestContext) async throws -> Response {
        let slot = try await streamQueue.acquire()
        guard !Task.isShuttingDownGracefully else { throw ErrorEnvelope.shuttingDown }
        let token = try await authorize(request)
        // Before the body, which may take its time: the places are not for one user.
        let reservation = try sessions.userStreams.reserve(token.userID)
        var request = request
        let parameters = try await parameters(
            of: &request,
            bodyLimit: Self.bodyLimit,
            halfPairs: StreamingSyncRequest.halfPairs
        )
        let syncRequest = try Self.syncRequest(parameters)
        let format = formats.allowsBSON ? ContentNegotiation.format(accept: request.headers[.accept]) : .ndjson
        let userAgent = request.headers[.xUserAgent] ?? request.headers[.userAgent] ?? ""
        let opened = try await DepartureHandler.cancellingWhenClientLeaves(context.channel) {
            [sessions, logger = context.logger] in
            try await OpenedSyncStream(
                syncRequest,
                token: token,
                reservation: reservation,
                schedule: KeepaliveSchedule(expiresAt: token.expiresAt),
                format: format,
                // A part at a time, over TLS or compressed.
                copiesLines: false,
                userAgent: userAgent,
                environment: sessions,
                logger: logger
            )
        }

        var response = Response(status: .ok, headers: Self.streamHeaders(format))
        // A stream ends when its token does, or the client leaves: the connection has no use after it.
        response.headers[.connection] = "close"
        guard !opened.isOver else {
            response.body = ResponseBody(byteBuffer: opened.takeFirstLine())
            return response
        }
        let coding = ContentCoding.negotiated(acceptEncoding: request.headers[.acceptEncoding])
        let stream = SyncStreamResponse(
            opened: opened,
            channel: context.channel,
            isCompressed: coding == .gzip,
            slot: slot
        )
        if coding == .gzip { response.headers[.contentEncoding] = coding.rawValue }
        response.body = ResponseBody { writer in try await stream.write(to: &writer) }
        return response
    }

    /// What the head of a stream says about its body.
    static func streamHeaders(_ format: SyncLineFormat) -> HTTPFields {
        [.contentType: format.mediaType, .xAccelBuffering: "no"]
    }

    private static func syncRequest(_ parameters: RequestParameters) throws -> StreamingSyncRequest {
        do throws(RequestValidationError) {
            return try StreamingSyncRequest(.object(parameters.members))
        } catch {
            throw ErrorEnvelope.validationFailed(error.messages)
        }
    }
}

extension HTTPField.Name {
    /// Tells a proxy to pass on every line at once.
    fileprivate static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering") ?? .via
}
