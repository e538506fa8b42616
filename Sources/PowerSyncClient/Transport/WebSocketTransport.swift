package import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncHTTP
package import PowerSyncProtocol
import RSocket

/// Reaches a sync service over WebSocket, with RSocket frames (docs/protocol.md "WebSocket").
///
/// Write checkpoints go over HTTP. The service sends at most ten lines more than were taken. A connection on which
/// nothing arrives for 30 seconds fails; the answers to keepalives, sent every 20 seconds, count, and bytes of a line that
/// takes long.
package struct WebSocketTransport: SyncTransport {
    /// The time between two keepalives.
    private static let keepaliveInterval = Duration.seconds(20)
    /// How long the service should wait for them.
    private static let lifetime = Duration.seconds(90)
    private static let mimeType = "application/json"

    private let http: any SyncTransport
    private let connector: WebSocketConnector

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - http: Asks for write checkpoints.
    ///   - group: Where connections run.
    package init(http: any SyncTransport, group: any EventLoopGroup) {
        self.init(http: http, connector: WebSocketConnector(group: group))
    }

    /// Creates a transport with a connector of its own.
    init(http: any SyncTransport, connector: WebSocketConnector) {
        self.http = http
        self.connector = connector
    }

    /// The transport of the process.
    package static let shared = WebSocketTransport(
        http: HTTPTransport.shared,
        group: MultiThreadedEventLoopGroup.singleton
    )

    package nonisolated(nonsending) func openStream(
        _ request: StreamingSyncRequest,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> any SyncLineStream {
        guard let address = WebSocketAddress(credentials.endpoint) else {
            throw SyncTransportError(.connection, message: "\(credentials.endpoint) has no host")
        }
        let body = request.encodedJSON()
        var headers: HTTPHeaders = ["Host": address.authority, "User-Agent": HTTPTransport.userAgent]
        for (name, value) in credentials.additionalHeaders {
            headers.add(name: name, value: value)
        }
        log.requestWillStart(
            "GET",
            url: address.url,
            headers: headers.lazy.map { (name: $0.name, value: $0.value) },
            body: String(buffer: body)
        )
        do {
            let stream = try await connect(address, headers: headers, body: body, credentials: credentials)
            log.responseStarted(status: 101, url: address.url, headers: EmptyCollection())
            let lines = WebSocketLineStream(stream, url: address.url, log: log)
            try await lines.waitForAcceptance()
            return lines
        } catch let error as SyncTransportError {
            log.failed(error)
            throw error
        } catch {
            try Task.checkCancellation()
            log.failed(error)
            throw SyncTransportError(connecting: address.url, error)
        }
    }

    package func writeCheckpoint(
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        try await http.writeCheckpoint(clientID: clientID, credentials: credentials, log: log)
    }

    package func requestCheckpoint(
        _ id: WriteCheckpoint,
        clientID: String,
        credentials: ServiceCredentials,
        log: SyncRequestLog
    ) async throws -> WriteCheckpoint {
        try await http.requestCheckpoint(id, clientID: clientID, credentials: credentials, log: log)
    }

    private nonisolated(nonsending) func connect(
        _ address: WebSocketAddress,
        headers: HTTPHeaders,
        body: ByteBuffer,
        credentials: ServiceCredentials
    ) async throws -> RequesterStream {
        let identity: ExactJSON = [
            "token": .string("Token \(credentials.token)"), "user_agent": .string(HTTPTransport.userAgent),
        ]
        let setup = SetupFrame(
            keepaliveInterval: Self.keepaliveInterval,
            lifetime: Self.lifetime,
            metadataMIMEType: Self.mimeType,
            dataMIMEType: Self.mimeType,
            payload: Payload(metadata: ByteBuffer(string: identity.text))
        )
        let route: ExactJSON = ["path": "/sync/stream"]
        let answer = try await connector.open(
            address,
            headers: headers,
            trustedAuthorities: credentials.trustedAuthorities,
            configuration: RequesterConnection.Configuration(setup: setup),
            request: Payload(metadata: ByteBuffer(string: route.text), data: body)
        )
        switch answer {
        case .stream(let stream):
            return stream
        case .refused(let head):
            let head = try await head.get()
            let status = Int(head.status.code)
            let redirect = HTTPRedirect(status: status, headers: head.headers, of: address.url)?.sentence
            let advice = (redirect ?? SyncTransportError.advice(onStatus: status)).map { ". \($0)" } ?? ""
            throw SyncTransportError(
                .status,
                message: "\(address.url) answered with status \(status) instead of opening a WebSocket\(advice)",
                httpStatus: status
            )
        }
    }
}
