import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import RSocket

/// Opens WebSocket connections and sends a request over each of them.
struct WebSocketConnector: Sendable {
    /// The answer to the request for an upgrade.
    enum Answer: Sendable {
        /// The connection speaks RSocket.
        case stream(RequesterStream)
        /// Another HTTP status, with the head of the answer.
        case refused(EventLoopFuture<HTTPResponseHead>)
    }

    private static let extensions = "Sec-WebSocket-Extensions"
    /// How long opening the socket may take.
    private static let connectTimeout = TimeAmount.seconds(30)
    /// Made once: it reads the certificates of the system.
    private static let systemTLS = Result { try NIOSSLContext(configuration: .makeClientConfiguration()) }

    /// Where channels run.
    let group: any EventLoopGroup
    /// Finds the addresses of hosts; `nil` for the system's way.
    var resolver: (any Resolver & Sendable)?

    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - address: Where to.
    ///   - headers: Headers of the request for an upgrade.
    ///   - trustedAuthorities: Authorities that may have signed the certificate; `nil` for those that the system trusts.
    ///   - configuration: With the SETUP.
    ///   - request: What is asked for.
    /// - Returns: The stream, on which the SETUP and the request are on their way, or the status of a refusal.
    /// - Throws: Errors of the channel, or `CancellationError`.
    func open(
        _ address: WebSocketAddress,
        headers: HTTPHeaders,
        trustedAuthorities: TrustedAuthorities?,
        configuration: RequesterConnection.Configuration,
        request: Payload
    ) async throws -> Answer {
        var headers = headers
        headers.replaceOrAdd(name: Self.extensions, value: MessageCompression.offer)
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: address.path, headers: headers)
        let attempt = ConnectionAttempt()
        let opened = group.any().makePromise(of: Answer.self)
        // Not awaited itself: nothing ends the search for the addresses of a host before its time is over.
        opened.completeWithTask { [group, resolver] in
            try await ClientBootstrap(group: group)
                .resolver(resolver)
                .connectTimeout(Self.connectTimeout)
                .connect(host: address.host, port: address.port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try attempt.add(channel)
                        if address.isSecure {
                            try Self.addTLS(to: channel, host: address.host, trustedAuthorities)
                        }
                        return try Self.addUpgrade(to: channel, head, configuration, request)
                    }
                }
                .get()
        }
        return try await withTaskCancellationHandler {
            do {
                let answer = try await opened.futureResult.get()
                if case .stream(let stream) = answer { stream.begin() }
                return answer
            } catch {
                attempt.cancel()
                try Task.checkCancellation()
                throw error
            }
        } onCancel: {
            attempt.cancel()
            opened.fail(CancellationError())
        }
    }

    private static func addTLS(to channel: any Channel, host: String, _ authorities: TrustedAuthorities?) throws {
        let tls = try authorities.map { try NIOSSLContext(configuration: $0.tlsConfiguration) } ?? systemTLS.get()
        // Certificates name hosts; SNI is not for addresses.
        let isIPAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        let handler = try NIOSSLClientHandler(context: tls, serverHostname: isIPAddress ? nil : host)
        try channel.pipeline.syncOperations.addHandler(handler)
    }

    private static func addUpgrade(
        to channel: any Channel,
        _ head: HTTPRequestHead,
        _ configuration: RequesterConnection.Configuration,
        _ request: Payload
    ) throws -> EventLoopFuture<Answer> {
        let maximumLength = configuration.limits.maximumFrameLength
        let upgrader = NIOTypedWebSocketClientUpgrader<Answer>(
            maxFrameSize: maximumLength,
            // It would close the channel before the stream hears of the error, which then looks like a normal end.
            enableAutomaticErrorHandling: false
        ) { channel, answer in
            channel.eventLoop.makeCompletedFuture {
                let extensions = answer.headers[canonicalForm: Self.extensions].joined(separator: ", ")
                let messages = WebSocketMessageHandler(
                    role: .client,
                    maximumMessageLength: maximumLength,
                    compression: try MessageCompression.accepted(inAnswer: extensions)
                )
                let requester = RequesterHandler(configuration, request: request, openedAt: channel.eventLoop.now)
                let stream = RequesterStream(requester, eventLoop: channel.eventLoop)
                try requester.add(to: channel.pipeline.syncOperations, with: messages)
                return .stream(stream)
            }
        }
        var pipeline = NIOUpgradableHTTPClientPipelineConfiguration(
            upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                upgradeRequestHead: head,
                upgraders: [upgrader],
                notUpgradingCompletionHandler: { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let head = channel.eventLoop.makePromise(of: HTTPResponseHead.self)
                        try channel.pipeline.syncOperations.addHandler(RefusedUpgradeHandler(head))
                        return .refused(head.futureResult)
                    }
                }
            )
        )
        pipeline.leftOverBytesStrategy = .forwardBytes
        return try channel.pipeline.syncOperations.configureUpgradableHTTPClientPipeline(configuration: pipeline)
    }
}

/// The channels of an attempt to connect, which a cancelled task closes.
private final class ConnectionAttempt: Sendable {
    /// The channels; `nil` after the attempt was cancelled.
    private let channels = NIOLockedValueBox<[any Channel]?>([])

    /// Notes a channel: there is one for each address of the host that is tried.
    func add(_ channel: any Channel) throws {
        try channels.withLockedValue { channels in
            guard channels != nil else { throw CancellationError() }
            channels?.append(channel)
        }
    }

    func cancel() {
        let open = channels.withLockedValue { channels in
            defer { channels = nil }
            return channels ?? []
        }
        for channel in open { channel.close(promise: nil) }
    }
}

/// Notes the head of a response and closes the channel.
private final class RefusedUpgradeHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let head: EventLoopPromise<HTTPResponseHead>

    init(_ head: EventLoopPromise<HTTPResponseHead>) {
        self.head = head
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data) else { return }
        self.head.succeed(head)
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        head.fail(error)
        context.close(promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        head.fail(ChannelError.eof)
    }
}
