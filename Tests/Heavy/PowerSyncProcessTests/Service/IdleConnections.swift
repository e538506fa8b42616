import NIOCore
import NIOPosix

/// Connections to a service that say something, and then neither speak nor read.
struct IdleConnections {
    /// What they say.
    private static func heads(_ token: String) -> [String] {
        let head =
            "POST /sync/stream HTTP/1.1\r\nHost: x\r\nAuthorization: Token \(token)\r\nContent-Type: application/json\r\n"
        let upgrade = "Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
        let webSocket = """
            GET /sync/stream HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
            """
        // A masked binary frame of 16 MiB, and its beginning.
        let frame = "\u{82}\u{FF}\u{0}\u{0}\u{0}\u{0}\u{1}\u{0}\u{0}\u{0}" + String(repeating: "x", count: 1000)
        return [
            "",
            "GET /probes/live",
            head + "Content-Length: 1000\r\n\r\n{\"raw_data\"",
            head + "Content-Length: 17\r\n\r\n{\"raw_data\":true}",
            head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
            "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}",
            "GET / HTTP/1.1\r\n\(upgrade)Upgrade: h2c\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            webSocket,
            webSocket + frame,
        ]
    }

    private let channels: [any Channel]

    /// Opens some of each kind.
    ///
    /// - Parameters:
    ///   - count: How many of each.
    ///   - silentCount: How many of those that say nothing at all.
    ///   - port: Of the service.
    ///   - token: For those that ask for a stream.
    /// - Throws: When one cannot be opened.
    init(_ count: Int, silent silentCount: Int, ofEachKindTo port: Int, token: String) async throws {
        let texts = Self.heads(token).flatMap { Array(repeating: $0, count: $0.isEmpty ? silentCount : count) }
        try await self.init(saying: texts, to: port)
    }

    /// Opens one for each text.
    ///
    /// - Parameters:
    ///   - texts: What they say, of characters up to U+00FF, a byte each.
    ///   - port: Of the service.
    /// - Throws: When one cannot be opened.
    init(saying texts: [String], to port: Int) async throws {
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelOption(.autoRead, value: false)
            .channelOption(.socketOption(.so_rcvbuf), value: 16 * 1024)
        var channels: [any Channel] = []
        for text in texts {
            let channel = try await bootstrap.connect(host: "127.0.0.1", port: port).get()
            channels.append(channel)
            guard !text.isEmpty else { continue }
            try await channel.writeAndFlush(ByteBuffer(bytes: text.unicodeScalars.map { UInt8($0.value) })).get()
        }
        self.channels = channels
    }

    /// Closes them.
    func close() async {
        for channel in channels { try? await channel.close() }
    }
}
