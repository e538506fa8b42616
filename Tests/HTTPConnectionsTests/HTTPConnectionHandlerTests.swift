import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOSSL
import Testing
import TestSupport

@testable import HTTPConnections

/// How long connections are waited for, on a clock of the test.
@Suite struct HTTPConnectionHandlerTests {
    /// A connection in memory, whose requests are answered when the test says so.
    private final class Connection {
        let channel = EmbeddedChannel()
        private(set) var upgrades = 0

        init(tls: NIOSSLContext? = nil) throws {
            let pipeline = channel.pipeline.syncOperations
            let limits = HTTPConnectionLimits()
            if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
            try pipeline.addHandler(DepartureHandler(on: channel.eventLoop))
            let codec = try HTTPConnectionCodec(limits, addingTo: pipeline)
            try pipeline.addHandler(
                HTTPConnectionHandler(
                    limits: limits,
                    codec: codec,
                    logger: Logger(label: "test") { _ in SilentLog() },
                    upgrade: { [unowned self] _ in
                        WebSocketUpgrade.Acceptance(extensions: nil) { [unowned self] _, _ in upgrades += 1 }
                    }
                )
            )
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }

        deinit { _ = try? channel.finish(acceptAlreadyClosed: true) }

        /// Sends bytes to the service.
        func send(_ text: String) {
            send(ByteBuffer(string: text))
        }

        func send(_ bytes: ByteBuffer) {
            // An error that reaches the end of the pipeline is one that whoever reads a body gets.
            _ = try? channel.writeInbound(bytes)
            channel.embeddedEventLoop.run()
        }

        func advance(_ amount: TimeAmount) {
            channel.embeddedEventLoop.advanceTime(by: amount)
        }

        /// Answers one request.
        func answer() throws {
            try beginAnswer()
            try endAnswer()
        }

        func beginAnswer() throws {
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "0"])
            try channel.writeOutbound(HTTPServerResponsePart.head(head))
            channel.embeddedEventLoop.run()
        }

        func endAnswer() throws {
            try channel.writeOutbound(HTTPServerResponsePart.end(nil))
            channel.embeddedEventLoop.run()
        }

        /// How many requests have begun since the last call.
        func requestCount() throws -> Int {
            var count = 0
            while let part = try channel.readInbound(as: HTTPServerRequestPart.self) {
                if case .head = part { count += 1 }
            }
            return count
        }

        /// What the service has sent since the last call.
        func output() throws -> String {
            var text = ""
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }
    }

    private struct SilentLog: LogHandler {
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.critical
        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }
        func log(event: LogEvent) {}
    }

    @Test func aConnectionWithoutARequestIsClosedAfter10SWithoutAWord() throws {
        let connection = try Connection()
        connection.advance(.milliseconds(9_999))
        #expect(connection.channel.isActive)
        connection.advance(.milliseconds(1))
        #expect(!connection.channel.isActive)
        #expect(try connection.output() == "")
    }

    @Test func aRefusalSaysInPlainTextWhatIsWrongUnlessTheServerMakesAnotherAnswerOfIt() throws {
        let connection = try Connection()
        connection.send("GET / HTTP/1.1\r\nHost: a b\r\n\r\n")
        let output = try connection.output()
        #expect(output.hasPrefix("HTTP/1.1 400 "))
        #expect(output.contains("Content-Type: text/plain; charset=utf-8\r\n"))
        #expect(output.contains("\r\nConnection: close\r\n"))
        #expect(output.contains("\r\n\r\nThe host of the request is not valid: Host, and the target"))
    }

    @Test(arguments: ["", "\u{16}\u{3}\u{1}", "\u{16}"])
    func aHandshakeOfTLSThatIsNotFinishedKeepsNoConnection(bytes: String) throws {
        let certificate = try NIOSSLCertificate(bytes: Array(LoopbackCertificates.loopback.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(LoopbackCertificates.loopbackKey.utf8), format: .pem)
        let tls = try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)],
                privateKey: .privateKey(key)
            )
        )
        func connection() throws -> Connection {
            let connection = try Connection(tls: tls)
            if !bytes.isEmpty { connection.send(bytes) }
            return connection
        }
        let silent = try connection()
        silent.advance(.milliseconds(9_999))
        #expect(silent.channel.isActive)
        silent.advance(.milliseconds(1))
        // The handler of TLS gives the client 5 s to agree to the end.
        silent.advance(.seconds(5))
        #expect(!silent.channel.isActive)

        let leaving = try connection()
        leaving.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        leaving.advance(.seconds(5))
        #expect(!leaving.channel.isActive)
    }

    @Test func theFirstHeadHas10SHoweverItsBytesAreSpreadOverThem() throws {
        let connection = try Connection()
        for byte in "GET / HTTP".unicodeScalars {
            #expect(connection.channel.isActive)
            connection.send(String(byte))
            connection.advance(.seconds(1))
        }
        #expect(!connection.channel.isActive)
        #expect(try connection.output().hasPrefix("HTTP/1.1 408 "))
    }

    @Test func betweenTwoRequestsAConnectionMayRestFor75SAndTheNextHeadHas10SFromItsFirstByte() throws {
        let connection = try Connection()
        connection.send(RawRequests.probe)
        // A request that is being answered has all the time that it needs.
        connection.advance(.hours(1))
        try connection.answer()
        connection.advance(.seconds(74))
        #expect(connection.channel.isActive)
        connection.send("GET /")
        connection.advance(.milliseconds(9_999))
        #expect(connection.channel.isActive)
        connection.send(" HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.advance(.minutes(5))
        #expect(try connection.requestCount() == 2)
        try connection.answer()
        _ = try connection.output()

        connection.send("G")
        connection.advance(.milliseconds(9_999))
        #expect(connection.channel.isActive)
        connection.advance(.milliseconds(1))
        #expect(!connection.channel.isActive)
        #expect(try connection.output().hasPrefix("HTTP/1.1 408 "))

        let idle = try Connection()
        idle.send(RawRequests.probe)
        try idle.answer()
        _ = try idle.output()
        idle.advance(.milliseconds(74_999))
        #expect(idle.channel.isActive)
        idle.advance(.milliseconds(1))
        #expect(!idle.channel.isActive)
        #expect(try idle.output() == "")
    }

    @Test(arguments: ["G", "GET / HTTP/1.1\r\nHo", "GET / HTTP/1.1\r\nHost: x\r\n"])
    func headBehindARequest(beginning: String) throws {
        for count in 1...3 {
            let connection = try Connection()
            connection.send(String(repeating: RawRequests.probe, count: count) + beginning)
            connection.advance(.hours(1))
            for _ in 0..<count {
                #expect(connection.channel.isActive)
                try connection.answer()
            }
            _ = try connection.output()
            connection.advance(.milliseconds(9_999))
            #expect(connection.channel.isActive)
            connection.advance(.milliseconds(1))
            #expect(!connection.channel.isActive)
            #expect(try connection.output().hasPrefix("HTTP/1.1 408 "))
        }
        // One that comes in time is a request, and the pause behind it is one between requests.
        let connection = try Connection()
        connection.send(RawRequests.probe + "GET /")
        try connection.answer()
        connection.advance(.seconds(9))
        connection.send(" HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(try connection.requestCount() == 2)
        try connection.answer()
        connection.advance(.seconds(74))
        #expect(connection.channel.isActive)
    }

    @Test func theRestOfABodyWhoseRequestHasBeenAnsweredHas10SAnd64KiB() throws {
        func connection() throws -> Connection {
            let connection = try Connection()
            connection.send(RawRequests.request("POST /nowhere", ["Content-Length: 1000000"]))
            connection.advance(.minutes(1))
            try connection.answer()
            return connection
        }
        let slow = try connection()
        for _ in 0..<9 {
            slow.send("x")
            slow.advance(.seconds(1))
        }
        #expect(slow.channel.isActive)
        slow.send("x")
        slow.advance(.seconds(1))
        #expect(!slow.channel.isActive)

        let large = try connection()
        large.send(ByteBuffer(repeating: 0, count: 64 * 1024))
        #expect(large.channel.isActive)
        large.send("x")
        #expect(!large.channel.isActive)
    }

    @Test(
        arguments: [
            ("a body that is read", ["Content-Length: 65536"], "", false),
            ("one byte more than is read", ["Content-Length: 65537"], "", true),
            ("one byte more, of which one is there", ["Content-Length: 65537"], "x", false),
            ("a length that is not known", ["Transfer-Encoding: chunked"], "", true),
            ("a body without a length that is there", ["Transfer-Encoding: chunked"], "1\r\nx\r\n0\r\n\r\n", false),
            ("no body", [], "", false),
        ] as [(String, [String], String, Bool)]
    )
    func aResponseSaysThatItsConnectionEndsIfTheRestOfTheBodyMayNotBeRead(
        _ description: String,
        _ fields: [String],
        _ beginning: String,
        _ saysSo: Bool
    ) throws {
        let connection = try Connection()
        connection.send(RawRequests.request("POST /nowhere", fields) + beginning)
        try connection.answer()
        #expect(try connection.output().lowercased().contains("\r\nconnection: close\r\n") == saysSo)
        // Also then, the client is not interrupted while it sends.
        #expect(connection.channel.isActive)
    }

    @Test func aConnectionThatIsSaidToEndEndsWithTheBody() throws {
        let chunked = try Connection()
        chunked.send(RawRequests.request("POST /nowhere", ["Transfer-Encoding: chunked"]))
        try chunked.answer()
        chunked.send("1\r\nx\r\n")
        #expect(chunked.channel.isActive)
        chunked.send("0\r\n\r\n")
        #expect(!chunked.channel.isActive)

        // The other way round: the response ends after the body.
        let slow = try Connection()
        slow.send(RawRequests.request("POST /nowhere", ["Transfer-Encoding: chunked"]))
        try slow.beginAnswer()
        slow.send("0\r\n\r\n" + RawRequests.probe)
        #expect(slow.channel.isActive)
        try slow.endAnswer()
        #expect(!slow.channel.isActive)
        #expect(try slow.requestCount() == 1)
    }

    @Test func aClientThatIsStillSendingHas10SToReadTheResponse() throws {
        func machine() -> HTTPConnectionHandler.StateMachine {
            var machine = HTTPConnectionHandler.StateMachine(unreadLimit: 10)
            var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/")
            head.headers = ["Host": "x", "Content-Length": "100"]
            #expect(machine.received(.head(head)) == .forward)
            let saysSo = machine.responseBegan(HTTPResponseHead(version: .http1_1, status: .payloadTooLarge))
            #expect(saysSo)
            #expect(machine.responseEnded() == .none)
            #expect(machine.wait == .body)
            return machine
        }
        var sending = machine()
        #expect(sending.received(.body(ByteBuffer(repeating: 0, count: 10))) == .forward)
        #expect(sending.received(.body(ByteBuffer(repeating: 0, count: 1))) == .perform(.closeOutput))
        #expect(sending.outputClosed() == true)
        #expect(sending.wait == .closeAfterBody)
        #expect(sending.timedOut() == .close)

        // The time for the body is not given twice.
        var silent = machine()
        #expect(silent.timedOut() == .closeOutput)
        #expect(silent.outputClosed() == true)
        #expect(silent.wait == .close)
    }

    @Test func aHandshakeWaitsForAnswersAndNothingIsReadBehindIt() throws {
        let connection = try Connection()
        connection.send(RawRequests.probe + RawRequests.request("GET /", RawRequests.handshake()))
        connection.advance(.hours(1))
        #expect(connection.upgrades == 0)
        try connection.answer()
        #expect(connection.upgrades == 1)
        let output = try connection.output()
        #expect(RawRequests.statuses(of: output) == ["200", "101"], "\(output)")
        // From now on, the WebSocket has limits of its own.
        connection.advance(.hours(1))
        #expect(connection.channel.isActive)
    }

    @Test(arguments: ["Connection: upgrade", "Connection: upgrade \t", "Connection: not-an-upgrade"])
    func anIgnoredUpgradeAndTheRequestBehindItMayArriveInAnyTwoPieces(field: String) throws {
        let upgrade = RawRequests.request("GET /", [field, "Upgrade: h2c"])
        let body = RawRequests.request("POST /", [field, "Upgrade: h2c", "Content-Length: 2"]) + "{}"
        let text = upgrade + body + upgrade
        let bytes = Array(text.utf8)
        for length in 1..<bytes.count {
            let connection = try Connection()
            connection.send(ByteBuffer(bytes: bytes[..<length]))
            connection.send(ByteBuffer(bytes: bytes[length...]))
            #expect(try connection.requestCount() == 3, "\(length)")
            for _ in 0..<3 { try connection.answer() }
            #expect(RawRequests.statuses(of: try connection.output()) == ["200", "200", "200"], "\(length)")
            // The connection rests, and no part of a head has come.
            connection.advance(.seconds(74))
            #expect(connection.channel.isActive, "\(length)")
        }
    }

    @Test func whateverArrivesInWhateverPiecesNoConnectionIsLeftOpenAndSilent() throws {
        let seed: UInt64 = 0x5eed_0707
        print("seed \(seed)")
        var generator = SeededGenerator(seed: seed)
        let pieces = [
            RawRequests.probe, RawRequests.request("POST /x", ["Content-Length: 3"]) + "abc",
            RawRequests.request("GET /", ["Connection: Upgrade", "Upgrade: h2c"]),
            RawRequests.request("POST /", ["Connection: Upgrade", "Upgrade: h2c", "Content-Length: 2"]) + "{}",
            RawRequests.request("POST /", ["Transfer-Encoding: chunked"]) + "2\r\n{}\r\n0\r\n\r\n",
            RawRequests.request("GET /", RawRequests.handshake(version: "7")), RawRequests.request("CONNECT x:1"),
            RawRequests.request("GET /", ["Connection: close"]), "\r\n", "garbage\r\n\r\n",
            RawRequests.request("GET /", RawRequests.handshake(connection: nil)),
        ]
        for round in 0..<2_000 {
            var bytes: [UInt8] = []
            for _ in 0...generator.number(below: 4) {
                bytes += Array(pieces[generator.number(below: pieces.count)].utf8)
            }
            for _ in 0..<generator.number(below: 3) {
                bytes[generator.number(below: bytes.count)] = UInt8(generator.number(below: 256))
            }
            if generator.number(below: 2) == 0 { bytes.removeLast(generator.number(below: bytes.count)) }
            let connection = try Connection()
            var unanswered = 0
            while !bytes.isEmpty {
                let count = 1 + generator.number(below: bytes.count)
                connection.send(ByteBuffer(bytes: bytes.prefix(count)))
                bytes.removeFirst(count)
                unanswered += try connection.requestCount()
                while unanswered > 0, connection.channel.isActive, generator.number(below: 3) > 0 {
                    try connection.answer()
                    unanswered -= 1
                }
            }
            for _ in 0..<20 where connection.channel.isActive {
                unanswered += try connection.requestCount()
                while unanswered > 0, connection.channel.isActive {
                    try connection.answer()
                    unanswered -= 1
                }
                connection.advance(.seconds(10))
            }
            #expect(!connection.channel.isActive || connection.upgrades > 0, "round \(round)")
        }
    }
}
