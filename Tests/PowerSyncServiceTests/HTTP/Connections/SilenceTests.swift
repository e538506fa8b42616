import Foundation
import HTTPConnections
import Logging
import NIOCore
import NIOEmbedded
import RunningServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Clients that fall silent, wherever they are: each connection ends within a limit that has a name (docs/service.md "Connections").
///
/// The connections are set up as those of a service are, on an event loop whose time the test moves. What ends streams whose clients
/// are silent is in `KeepaliveTests`, `SlowClientTests` and `DepartureTests`, bodies are in `RequestTests`, and the time between two
/// requests is in `HTTPConnectionHandlerTests`.
@Suite(.timeLimit(.minutes(1))) struct SilenceTests {
    /// What accepts the connection.
    enum Port: CaseIterable {
        case clients, encrypted, metrics, full
    }

    struct Case: CustomTestStringConvertible {
        var testDescription: String
        var ports: [Port] = [.clients, .metrics]
        /// What the client sends at once.
        var beginning = ""
        /// What it sends every second, if it is not quite silent.
        var everySecond = ""
        /// When the connection is closed.
        var limit: TimeAmount
        /// What the client has been sent by then; nothing more is compared.
        var answer = ""
    }

    private static let limits = HTTPConnectionLimits()
    private static let head = TimeAmount(limits.headTime)
    private static let handshake = RawRequests.request("GET /sync/stream", RawRequests.handshake())

    static let cases = [
        Case(testDescription: "nothing", ports: [.clients, .encrypted, .metrics], limit: head),
        Case(
            testDescription: "half a handshake of TLS",
            ports: [.encrypted],
            beginning: "\u{16}\u{3}\u{1}",
            limit: head
        ),
        Case(
            testDescription: "a handshake of TLS, byte by byte",
            ports: [.encrypted],
            beginning: "\u{16}\u{3}\u{1}\u{1}\u{0}",
            everySecond: "x",
            limit: head
        ),
        Case(testDescription: "half a head", beginning: "GET / HTTP/1.1\r\nHo", limit: head, answer: "HTTP/1.1 408 "),
        Case(
            testDescription: "a head, byte by byte",
            beginning: "GET / HTTP/1.1\r\nHost: x\r\nX: ",
            everySecond: "x",
            limit: head,
            answer: "HTTP/1.1 408 "
        ),
        Case(
            testDescription: "a WebSocket, and then nothing",
            ports: [.clients],
            beginning: handshake,
            limit: head,
            answer: "HTTP/1.1 101 "
        ),
        Case(
            testDescription: "a WebSocket with half a SETUP",
            ports: [.clients],
            beginning: handshake + "\u{2}",
            limit: head,
            answer: "HTTP/1.1 101 "
        ),
        Case(
            testDescription: "one connection too many",
            ports: [.full],
            limit: TimeAmount(limits.closingTime),
            answer: "HTTP/1.1 503 "
        ),
    ]

    /// For how long the service waits for a client to take note of the end: 2 s, over TLS 5 s, over WebSocket 1 s.
    private static let closingTime = TimeAmount.seconds(6)

    @Test(arguments: cases) func aSilentClientIsClosedInTime(_ test: Case) async throws {
        for port in test.ports {
            let connection = try await Connection(port)
            defer { connection.cancel() }
            try await connection.send(test.beginning)
            // Up to one second before the limit, then the rest.
            for _ in 1..<(test.limit.nanoseconds / 1_000_000_000) {
                try await connection.advance(.seconds(1))
                try await connection.send(test.everySecond)
            }
            // In memory both directions are closed together, also behind what is said at once.
            if port != .full { #expect(connection.channel.isActive, "\(port)") }
            try await connection.advance(.seconds(1))
            try await connection.advance(Self.closingTime)
            #expect(!connection.channel.isActive, "\(port)")
            #expect(connection.output.hasPrefix(test.answer), "\(port): \(connection.output)")
            if test.answer.isEmpty, port != .encrypted { #expect(connection.output == "") }
        }
    }

    @Test func aMetricsConnectionBecomesNoWebSocketAndThereAreFewOfThem() async throws {
        let connection = try await Connection(.metrics)
        defer { connection.cancel() }
        try await connection.send(Self.handshake)
        #expect(!connection.output.hasPrefix("HTTP/1.1 101"), "\(connection.output)")
        #expect(MetricsEndpoint.limits.connectionCount == 16)
        #expect(MetricsEndpoint.limits.headTime == Self.limits.headTime)
    }

    /// A connection in memory.
    private final class Connection {
        let channel: NIOAsyncTestingChannel
        private(set) var output = ""
        private let serving: Task<Void, Never>

        init(_ port: Port) async throws {
            var limits = port == .metrics ? MetricsEndpoint.limits : HTTPConnectionLimits()
            if port == .full { limits.connectionCount = 0 }
            let folder = try TemporaryFolder()
            let certificate = try withExtendedLifetime(folder) {
                port == .encrypted ? try ServerCertificate(try TLSFiles(in: folder), now: .now) : nil
            }
            let serve: @Sendable (WebSocketConnection, Logger) async -> Void = { connection, _ in
                let events = connection.events.makeAsyncIterator()
                while (try? await events.next()) != nil {}
            }
            let setUp = UpgradableHTTPChannel(
                responder: { _, _, _ in throw CancellationError() },
                limits: limits,
                tls: certificate?.contexts,
                answer: HTTPRefusal.envelope,
                upgrade: port == .metrics ? nil : WebSocketConnection.upgrade(limits: limits, serve: serve)
            )
            let logger = ServiceScenario.logger
            let channel = NIOAsyncTestingChannel()
            let value = try await channel.testingEventLoop.executeInContext {
                setUp.setup(channel: channel, logger: logger)
            }
            .get()
            serving = Task { await setUp.handle(value: value, logger: logger) }
            self.channel = channel
            try await channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).get()
            try await advance(.zero)
        }

        func cancel() { serving.cancel() }

        func send(_ text: String) async throws {
            guard !text.isEmpty, channel.isActive else { return }
            _ = try? await channel.writeInbound(ByteBuffer(string: text))
            try await advance(.zero)
        }

        func advance(_ amount: TimeAmount) async throws {
            await channel.testingEventLoop.advanceTime(by: amount)
            while let bytes = try await channel.readOutbound(as: ByteBuffer.self) { output += String(buffer: bytes) }
        }
    }
}
