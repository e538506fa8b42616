import NIOCore
import NIOHTTP1
import NIOPosix
import PowerSyncProtocol
import RSocket
import TestSupport
import Testing

@testable import PowerSyncClient

/// The client's side of sync over WebSocket (docs/protocol.md "WebSocket"), against a service that sends frames by hand.
@Suite(.timeLimit(.minutes(1))) struct WebSocketTransportTests {
    private func credentials(_ url: String) throws -> ServiceCredentials {
        ServiceCredentials(endpoint: try ServiceEndpoint(url), token: "secret")
    }

    private func open(port: Int) async throws -> any SyncLineStream {
        try await WebSocketTransport.shared.openStream(
            StreamingSyncRequest(clientID: "c1"),
            credentials: try credentials("http://127.0.0.1:\(port)"),
            log: .disabled
        )
    }

    /// The error of an attempt to read a stream to its end.
    private func failure(port: Int) async throws -> SyncTransportError {
        try await #require(throws: SyncTransportError.self) {
            let stream = try await open(port: port)
            while try await stream.nextLines() != nil {}
        }
    }

    @Test func asksWithTokenAndPathAndAllowsMoreLinesAsTheyAreTaken() async throws {
        try await RSocketPeer.serve { peer in
            let request = try await peer.request()
            #expect(request.initialRequestN.rawValue == 10)
            for number in 1...10 { try await peer.send(.line(number)) }
            // No more than ten are allowed beyond those that were taken.
            var allowed: UInt32 = 0
            while allowed < 10 {
                guard case .requestN(request.streamID, let count) = try await peer.next() else { break }
                allowed += count.rawValue
            }
            #expect(allowed == 10)
            for number in 11...20 { try await peer.send(.line(number)) }
            try await peer.send(.payload(.complete(request.streamID)))
            while try await peer.next() != nil {}
        } _: { port in
            let stream = try await open(port: port)
            var lines: [ReceivedLine] = []
            while let next = try await stream.nextLines() { lines += next }
            #expect(lines.map(\.line) == (1...20).map { .keepalive(tokenExpiresIn: $0) })
            #expect(lines.allSatisfy { $0.byteCount == 27 })
        }
    }

    @Test func aKeepaliveOfTheServiceIsAnsweredAndItsAnswersAreNoLines() async throws {
        try await RSocketPeer.serve { peer in
            let request = try await peer.request()
            try await peer.send(.line(1), .keepalive(KeepaliveFrame(expectsAnswer: true)))
            #expect(try await peer.next() == .keepalive(KeepaliveFrame(expectsAnswer: false)))
            try await peer.send(.keepalive(KeepaliveFrame(expectsAnswer: false)), .line(2))
            try await peer.send(.payload(.complete(request.streamID)))
            while try await peer.next() != nil {}
        } _: { port in
            let stream = try await open(port: port)
            var lines: [SyncLine] = []
            var answers = 0
            while let element = try await stream.next() {
                switch element {
                case .lines(let received): lines += received.map(\.line)
                case .keepaliveAnswered: answers += 1
                }
            }
            #expect(lines == [.keepalive(tokenExpiresIn: 1), .keepalive(tokenExpiresIn: 2)])
            #expect(answers == 1)
        }
    }

    @Test func anAnswerBeforeTheFirstLineTellsThatTheRequestWasAccepted() async throws {
        try await RSocketPeer.serve { peer in
            _ = try await peer.request()
            try await peer.send(.keepalive(KeepaliveFrame(expectsAnswer: false)))
            while try await peer.next() != nil {}
        } _: { port in
            let stream = try await open(port: port)
            guard case .keepaliveAnswered? = try await stream.next() else {
                Issue.record("the answer is lost")
                return
            }
        }
    }

    @Test func aDroppedStreamIsCancelledAndItsConnectionCloses() async throws {
        try await RSocketPeer.serve { peer in
            let request = try await peer.request()
            try await peer.send(.line(1))
            #expect(try await peer.next() == .cancel(request.streamID))
            #expect(try await peer.next() == nil)
        } _: { port in
            _ = try await open(port: port)
        }
    }

    /// An ERROR frame and what becomes of it.
    struct Refusal: Sendable, CustomTestStringConvertible {
        var error: ErrorFrame
        var code: SyncTransportError.Code
        var serviceCode: ErrorCode?
        var isUnauthorized: Bool

        var testDescription: String { error.message }

        init(
            _ stream: UInt32,
            _ rsocketCode: RSocketErrorCode,
            _ message: String,
            _ code: SyncTransportError.Code,
            _ serviceCode: ErrorCode? = nil,
            isUnauthorized: Bool = false
        ) {
            error = ErrorFrame(streamID: StreamID(rawValue: stream) ?? .connection, code: rsocketCode, message: message)
            self.code = code
            self.serviceCode = serviceCode
            self.isUnauthorized = isUnauthorized
        }
    }

    @Test(arguments: [
        Refusal(
            0,
            .rejectedSetup,
            "[PSYNC_S2103] JWT has expired",
            .setupRejected,
            .tokenExpired,
            isUnauthorized: true
        ),
        Refusal(0, .rejectedSetup, "[PSYNC_S2304] Too many", .setupRejected, .connectionLimit),
        Refusal(0, .unsupportedSetup, "Unsupported setup", .setupRejected, isUnauthorized: true),
        Refusal(0, .connectionError, "broken", .status),
        Refusal(1, .applicationError, "[PSYNC_S2302] No sync config available", .status, .noSyncConfig),
        Refusal(1, .applicationError, "Something: [PSYNC_S2101] x", .status, .authentication, isUnauthorized: true),
        Refusal(1, .applicationError, "unknown", .status),
    ])
    func errorFramesTellWhetherTheTokenIsAtFault(_ refusal: Refusal) async throws {
        try await RSocketPeer.serve { peer in
            _ = try await peer.request()
            try await peer.send(.error(refusal.error))
            while try await peer.next() != nil {}
        } _: { port in
            let error = try await failure(port: port)
            #expect(error.code == refusal.code)
            #expect(error.serviceCode == refusal.serviceCode)
            #expect(error.isUnauthorized == refusal.isUnauthorized)
            #expect(!error.description.contains("secret"))
        }
    }

    @Test func aConnectionThatClosesBeforeTheFirstLineIsAnError() async throws {
        try await RSocketPeer.serve { peer in
            _ = try await peer.request()
        } _: { port in
            let error = try await failure(port: port)
            #expect(error.code == .connection)
        }
    }

    @Test func aConnectionThatClosesBetweenLinesEndsTheStream() async throws {
        try await RSocketPeer.serve { peer in
            _ = try await peer.request()
            try await peer.send(.line(1))
        } _: { port in
            let stream = try await open(port: port)
            var count = 0
            while let lines = try await stream.nextLines() { count += lines.count }
            #expect(count == 1)
        }
    }

    @Test(arguments: ["not BSON", ""])
    func aMalformedLineIsAnErrorAfterTheLinesBefore(_ data: String) async throws {
        try await RSocketPeer.serve { peer in
            let request = try await peer.request()
            try await peer.send(
                .line(1),
                .payload(.next(Payload(data: ByteBuffer(string: data)), on: request.streamID))
            )
            while try await peer.next() != nil {}
        } _: { port in
            let stream = try await open(port: port)
            #expect(try await stream.nextLines()?.map(\.line) == [.keepalive(tokenExpiresIn: 1)])
            let error = try await #require(throws: SyncTransportError.self) { try await stream.nextLines() }
            #expect(error.code == .unexpectedResponse)
        }
    }

    @Test func compressedMessagesAreReadIfTheServiceSendsThem() async throws {
        try await RSocketPeer.serve(extensions: "permessage-deflate; server_max_window_bits=12") { peer in
            _ = try await peer.request()
            let line = try Frame.line(1).encoded()
            // A block of DEFLATE that holds the bytes as they are, and the beginning of an empty one.
            var message = ByteBuffer(bytes: [0x00])
            message.writeInteger(UInt16(line.readableBytes), endianness: .little)
            message.writeInteger(~UInt16(line.readableBytes), endianness: .little)
            message.writeImmutableBuffer(line)
            message.writeInteger(UInt8(0))
            // The only frame of a binary message, compressed.
            var frame = ByteBuffer(bytes: [0xc2, UInt8(message.readableBytes)])
            frame.writeImmutableBuffer(message)
            try await peer.send(raw: frame)
            try await peer.send(.line(2))
        } _: { port in
            let stream = try await open(port: port)
            var lines: [SyncLine] = []
            while let next = try await stream.nextLines() { lines += next.map(\.line) }
            #expect(lines == [.keepalive(tokenExpiresIn: 1), .keepalive(tokenExpiresIn: 2)])
        }
    }

    @Test func extensionsThatNobodyOfferedAreAnError() async throws {
        try await RSocketPeer.serve(extensions: "permessage-deflate; client_max_window_bits=9") { peer in
            // The end may be an error.
            _ = try? await peer.next()
        } _: { port in
            let error = try await failure(port: port)
            #expect(error.code == .connection)
            #expect("\(error)".contains("client_max_window_bits=9"))
        }
    }

    @Test(arguments: [(404, false), (401, true)])
    func aServerWithoutWebSocketsIsAnErrorWithItsStatus(status: Int, isUnauthorized: Bool) async throws {
        try await LoopbackServer.run { _ in
            .init(status: .init(statusCode: status))
        } _: { server in
            let error = try await #require(throws: SyncTransportError.self) {
                _ = try await WebSocketTransport.shared.openStream(
                    StreamingSyncRequest(),
                    credentials: try credentials(server.url),
                    log: .disabled
                )
            }
            #expect(error.httpStatus == status)
            #expect(error.isUnauthorized == isUnauthorized)
            #expect(server.received.first?.header("Sec-WebSocket-Extensions") == MessageCompression.offer)
        }
    }

    @Test func anEncryptedConnectionToAPlaintextServerIsAnError() async throws {
        try await LoopbackServer.run { _ in
            .init()
        } _: { server in
            let url = server.url.replacing("http://", with: "https://")
            let error = try await #require(throws: SyncTransportError.self) {
                _ = try await WebSocketTransport.shared.openStream(
                    StreamingSyncRequest(),
                    credentials: try credentials(url),
                    log: .disabled
                )
            }
            #expect(error.code == .connection)
            #expect(error.message.hasPrefix("wss://"))
            #expect(server.received.isEmpty)
        }
    }

    @Test func aCancelledTaskGivesUp() async throws {
        let (requests, continuation) = AsyncStream.makeStream(of: Void.self)
        try await RSocketPeer.serve { peer in
            _ = try await peer.request()
            continuation.yield()
            while try await peer.next() != nil {}
        } _: { port in
            let opening = Task { _ = try await open(port: port) }
            for await _ in requests { break }
            opening.cancel()
            await #expect(throws: CancellationError.self) { try await opening.value }
        }
    }

    @Test func aCancelledTaskDoesNotWaitForTheAddressesOfAHost() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let resolver = SilentResolver(group.next())
        let transport = WebSocketTransport(
            http: HTTPTransport.shared,
            connector: WebSocketConnector(group: group, resolver: resolver)
        )
        let opening = Task {
            _ = try await transport.openStream(
                StreamingSyncRequest(),
                credentials: try credentials("http://sync.example"),
                log: .disabled
            )
        }
        await resolver.asked.wait(for: 2)
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await opening.value }
        resolver.giveUp()
        try await group.shutdownGracefully()
    }

    @Test(arguments: [
        ("https://example.com", "wss://example.com/sync/stream", "example.com", 443),
        ("http://example.com/base/", "ws://example.com/base/sync/stream", "example.com", 80),
        ("http://127.0.0.1:8080", "ws://127.0.0.1:8080/sync/stream", "127.0.0.1", 8080),
        ("https://[::1]:8443/a%20b", "wss://[::1]:8443/a%20b/sync/stream", "::1", 8443),
    ])
    func addressesFollowFromEndpoints(endpoint: String, url: String, host: String, port: Int) throws {
        let address = try #require(WebSocketAddress(try ServiceEndpoint(endpoint)))
        #expect(address.url == url)
        #expect(address.host == host)
        #expect(address.port == port)
        #expect(address.isSecure == endpoint.hasPrefix("https"))
    }
}

extension RSocketPeer {
    /// Waits for SETUP and REQUEST_STREAM.
    fileprivate mutating func request() async throws -> RequestStreamFrame {
        guard case .setup(let setup) = try await next(), case .requestStream(let request) = try await next() else {
            Issue.record("no request")
            throw CancellationError()
        }
        let identity = try JSONObject(parsing: setup.payload.metadata ?? ByteBuffer())
        #expect(identity["token"] == "Token secret")
        #expect(identity["user_agent"] == .string(HTTPTransport.userAgent))
        #expect(setup.keepaliveInterval == .seconds(20) && setup.lifetime == .seconds(90))
        #expect(request.payload.metadata == ByteBuffer(string: #"{"path":"/sync/stream"}"#))
        #expect(try JSONObject(parsing: request.payload.data)["client_id"] == "c1")
        return request
    }
}

extension Frame {
    /// A keepalive line with a number, on the first stream.
    fileprivate static func line(_ number: Int) -> Frame {
        .payload(.next(Payload(data: lineBytes(number)), on: .first))
    }

    private static func lineBytes(_ number: Int) -> ByteBuffer {
        var data = ByteBuffer()
        SyncLine.keepalive(tokenExpiresIn: Int32(number)).encode(as: .bson, into: &data)
        return data
    }
}

/// Does not answer before it is told to give up.
private final class SilentResolver: Resolver, Sendable {
    let asked = Counter()
    private let addresses: EventLoopPromise<[SocketAddress]>

    init(_ eventLoop: any EventLoop) {
        addresses = eventLoop.makePromise()
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        asked.increment()
        return addresses.futureResult
    }

    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        asked.increment()
        return addresses.futureResult
    }

    func cancelQueries() {}

    func giveUp() {
        addresses.succeed([])
    }
}
