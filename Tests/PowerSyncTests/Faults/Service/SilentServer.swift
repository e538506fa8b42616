import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import PowerSyncTesting
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A server on a loopback port that says something, and then nothing any more.
///
/// Over its connections nothing but bytes is sent; what they mean is the test's business.
final class SilentServer: Sendable {
    /// Where a connection falls silent.
    enum Place: String, CaseIterable, CustomTestStringConvertible {
        case connecting = "while the connection is made"
        case encrypting = "in the handshake of TLS"
        case sending = "while the request is sent"
        case head = "before the head of the answer"
        case insideHead = "in the head of the answer"
        case refusal = "in the body of a refusal"
        case body = "before the first byte of the body"
        case insideLine = "in a line"
        case betweenLines = "between two lines"

        var testDescription: String { rawValue }

        /// What the server sends when it has a request.
        var answer: String {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n"
            return switch self {
            case .connecting, .encrypting, .sending, .head: ""
            case .insideHead: "HTTP/1.1 200 OK\r\nContent-Ty"
            case .refusal: "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 1000\r\n\r\nbusy"
            case .body: head
            case .insideLine: head + #"{"token_expires_in"#
            case .betweenLines: head + "{\"token_expires_in\":3600}\n"
            }
        }
    }

    private struct State {
        /// How many connections have got their answer, or would get it.
        var answered = 0
    }

    private let place: Place
    private let channel: (any Channel)?
    private let backlog: FullBacklog?
    private let state = NIOLockedValueBox(State())
    private let changes = Signal()

    init(_ place: Place) async throws {
        self.place = place
        guard place != .connecting else {
            channel = nil
            backlog = try FullBacklog()
            return
        }
        backlog = nil
        let (state, changes) = (state, changes)
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelOption(.autoRead, value: place != .sending)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let answered: @Sendable () -> Void = {
                        state.withLockedValue { $0.answered += 1 }
                        changes.fire()
                    }
                    if place == .sending { answered() }
                    try channel.pipeline.syncOperations.addHandler(
                        Handler(answer: place.answer, waitsForHead: place != .encrypting, answered: answered)
                    )
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
    }

    /// The address of the server.
    var url: String {
        let port = backlog?.port ?? channel?.localAddress?.port ?? 0
        return "\(place == .encrypting ? "https" : "http")://127.0.0.1:\(port)"
    }

    /// Waits until so many connections have come to the place where nothing follows.
    ///
    /// While a connection is made, a server does not know of it.
    func waitForConnections(_ count: Int) async throws {
        guard backlog == nil else { return }
        try await changes.wait { state.withLockedValue { $0.answered >= count } ? () : nil }
    }

    func stop() async throws {
        try await channel?.close()
        backlog?.stop()
    }
}

/// Answers the first request.
private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let answer: String
    private let waitsForHead: Bool
    private let answered: @Sendable () -> Void
    private var head = ByteBuffer()
    private var hasAnswered = false

    init(answer: String, waitsForHead: Bool, answered: @escaping @Sendable () -> Void) {
        self.answer = answer
        self.waitsForHead = waitsForHead
        self.answered = answered
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasAnswered else { return }
        head.writeImmutableBuffer(unwrapInboundIn(data))
        guard !waitsForHead || String(buffer: head).contains("\r\n\r\n") else { return }
        hasAnswered = true
        if !answer.isEmpty { context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: answer)), promise: nil) }
        answered()
    }
}

/// A listening socket whose queue is full, so that the network does not answer further attempts to connect.
private final class FullBacklog: Sendable {
    let port: Int
    private let sockets: [CInt]

    init() throws {
        let listener = Self.makeSocket()
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        var sockets = [listener]
        // Several, because a queue has room for one more than asked for, and the network may keep another.
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard bind(listener, address, size) == 0, listen(listener, 0) == 0,
                    getsockname(listener, address, &size) == 0
                else { return false }
                for _ in 0..<4 {
                    let client = Self.makeSocket()
                    _ = fcntl(client, F_SETFL, O_NONBLOCK)
                    _ = connect(client, address, size)
                    sockets.append(client)
                }
                return true
            }
        }
        self.sockets = sockets
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isListening else { throw ChannelError.operationUnsupported }
    }

    private static func makeSocket() -> CInt {
        #if canImport(Glibc)
        socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        #else
        socket(AF_INET, SOCK_STREAM, 0)
        #endif
    }

    func stop() {
        for socket in sockets { close(socket) }
    }
}
