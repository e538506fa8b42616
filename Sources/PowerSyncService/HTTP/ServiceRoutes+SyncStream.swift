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
        do {
            return try await makeStream(request, context)
        } catch {
            if !(error is CancellationError) {
                let code = error is ConcurrencyQueue.Failure ? .connectionLimit : ErrorEnvelope(error).code
                ClientStreamStatistics.didRefuse(code, over: .http)
            }
            throw error
        }
    }

    private func makeStream(_ request: Request, _ context: ServiceRequestContext) async throws -> Response {
        // Before the body, which may take its time: one user must not take all slots.
        let client = try await Admission(connections: streamQueue, tokens: tokens, sessions: sessions).admit {
            request.headers[.authorization]
        }
        do {
            return try await openStream(request, context, for: client)
        } catch {
            client.leave()
            throw error
        }
    }

    private func openStream(
        _ request: Request,
        _ context: ServiceRequestContext,
        for client: Admission.Client
    ) async throws -> Response {
        var request = request
        let parameters = try await parameters(
            of: &request,
            bodyLimit: Self.bodyLimit,
            halfPairs: StreamingSyncRequest.halfPairs
        )
        let syncRequest = try Self.syncRequest(parameters)
        let format = formats.allowsBSON ? ContentNegotiation.format(accept: request.headers[.accept]) : .ndjson
        let userAgent = request.headers[.xUserAgent] ?? request.headers[.userAgent] ?? ""
        let opened = try await firstOf { [sessions, logger = context.logger] in
            try await OpenedSyncStream(
                syncRequest,
                token: client.token,
                reservation: client.reservation,
                schedule: KeepaliveSchedule(expiresAt: client.token.expiresAt),
                format: format,
                transport: .http,
                userAgent: userAgent,
                environment: sessions,
                logger: logger
            )
        } or: { [channel = context.channel] in
            try await DepartureHandler.waitUntilClientLeaves(channel)
            throw CancellationError()
        }

        var response = Response(status: .ok, headers: Self.streamHeaders(format))
        // A stream ends when its token does, or the client leaves: the connection has no use after it.
        response.headers[.connection] = "close"
        guard !opened.isOver else {
            client.leave()
            response.body = ResponseBody(byteBuffer: opened.takeFirstLine())
            return response
        }
        let coding = ContentCoding.negotiated(acceptEncoding: request.headers[.acceptEncoding])
        let stream = SyncStreamResponse(
            opened: opened,
            channel: context.channel,
            isCompressed: coding == .gzip,
            slot: client.slot
        )
        if coding == .gzip { response.headers[.contentEncoding] = coding.rawValue }
        response.body = ResponseBody { writer in try await stream.write(to: &writer) }
        return response
    }

    /// What the head of a stream says about its body.
    static func streamHeaders(_ format: SyncLineFormat) -> HTTPFields {
        [.contentType: format.mediaType, .xAccelBuffering: "no"]
    }

    /// The sync request in the parameters of an HTTP request.
    ///
    /// - Throws: ``ErrorEnvelope`` with status 400 that names each parameter that is none.
    static func syncRequest(_ parameters: RequestParameters) throws(ErrorEnvelope) -> StreamingSyncRequest {
        do throws(RequestValidationError) {
            return try StreamingSyncRequest(.object(parameters.members))
        } catch {
            throw ErrorEnvelope.validationFailed(error.messages)
        }
    }
}

extension HTTPField.Name {
    /// Tells a proxy to pass on every line at once.
    // swift-format-ignore: NeverForceUnwrap
    fileprivate static let xAccelBuffering = HTTPField.Name("X-Accel-Buffering")!
}
