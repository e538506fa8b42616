import MySQLNIO
import NIOCore
import NIOSSL

/// The beginning of a connection: the server's greeting, TLS, and authentication.
///
/// ```
/// server: greeting (version, capabilities, seed, plugin)
/// client: SSLRequest, TLS, the certificate is checked       unless TLS is disabled; refused when the server has none
/// client: response (account, answer to the seed, plugin)
/// server: 0xFE another plugin and seed → client: answer     once
///         0x01 0x03 (fast)                                  caching_sha2_password: the server knew the digest
///         0x01 0x04 (full) → client: password               over TLS; without, under the server's public key, which is asked for
///         0x00 OK, or 0xFF and why not
/// ```
///
/// MySQLNIO's own handshake answers in plain text when a greeting lacks the flag for TLS, so that an attacker who takes it out gets what
/// depends on the password.
struct Handshake {
    /// What is known after it.
    struct Greeting {
        let connectionID: UInt32
        /// Whether rows end by an OK packet, and column definitions by nothing.
        let hasNoEOF: Bool
    }

    private static let capabilities: MySQLProtocol.CapabilityFlags = [
        .CLIENT_LONG_PASSWORD, .CLIENT_LONG_FLAG, .CLIENT_PROTOCOL_41, .CLIENT_TRANSACTIONS, .CLIENT_SECURE_CONNECTION,
        .CLIENT_PLUGIN_AUTH, .CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA, .CLIENT_DEPRECATE_EOF,
    ]
    /// Without these there is no connection; all servers since MySQL 5.6 and MariaDB 10 have them.
    private static let needed: MySQLProtocol.CapabilityFlags = [
        .CLIENT_PROTOCOL_41, .CLIENT_SECURE_CONNECTION, .CLIENT_PLUGIN_AUTH,
    ]
    /// `utf8mb4_general_ci`, which every server knows.
    private static let characterSet: MySQLProtocol.CharacterSet = 45
    /// What servers are told that a packet may have: 1 GiB.
    private static let maximumPacketSize: UInt32 = 1 << 30
    /// The bytes of a seed, without the zero at its end.
    private static let seedLength = 20

    private let settings: MySQLConnectionSettings
    private let tls: NIOSSLContext?
    private let limit: PacketInbox.Limit
    private var packets: PacketReader

    init(_ settings: MySQLConnectionSettings, _ channel: PacketChannel, _ limit: PacketInbox.Limit) throws {
        self.settings = settings
        tls = try settings.tls.makeContext()
        self.limit = limit
        packets = PacketReader(channel)
    }

    /// Runs it.
    mutating func run() async throws -> Greeting {
        let packet = try await next()
        let greeting = try Self.decode(packet)
        var capabilities = Self.capabilities.intersection(greeting.capabilities)
        if settings.database != nil { capabilities.insert(.CLIENT_CONNECT_WITH_DB) }
        if let tls {
            guard greeting.capabilities.contains(.CLIENT_SSL) else {
                throw MySQLConnectionError(
                    .noTLS,
                    "The server offers no TLS. Set it up there, or disable TLS in the settings if the network is trusted."
                )
            }
            capabilities.insert(.CLIENT_SSL)
            try startTLS(tls, capabilities, greetingBytes: packet.readableBytes + 4)
            guard try await next().readableBytes == 0 else { throw Self.unexpected }
        }
        let seed = Array(greeting.authPluginData.readableBytesView.prefix(Self.seedLength))
        // A server says which plugin it wants instead if this is not that of the account.
        let plugin = greeting.authPluginName.flatMap { AuthenticationPlugin(rawValue: $0) } ?? .native
        let response = MySQLPacket.HandshakeResponse41(
            capabilities: capabilities,
            maxPacketSize: Self.maximumPacketSize,
            characterSet: Self.characterSet,
            username: settings.username,
            authResponse: ByteBuffer(bytes: plugin.response(to: seed, password: settings.password)),
            database: settings.database ?? "",
            authPluginName: plugin.rawValue
        )
        packets.channel.send(.answer(try MySQLPacket.encode(response, capabilities: capabilities).payload))
        try await authenticate(plugin, seed, isMariaDB: greeting.serverVersion.contains("MariaDB"))
        return Greeting(
            connectionID: greeting.connectionID,
            hasNoEOF: capabilities.contains(.CLIENT_DEPRECATE_EOF)
        )
    }

    private mutating func next() async throws -> ByteBuffer {
        let packet = try await packets.next(limit)
        if let error = MySQLConnectionError(packet: packet) { throw error }
        return packet
    }

    private static func decode(_ packet: ByteBuffer) throws -> MySQLProtocol.HandshakeV10 {
        var packet = MySQLPacket(payload: packet)
        guard let greeting = try? MySQLProtocol.HandshakeV10.decode(from: &packet, capabilities: []),
            greeting.capabilities.isSuperset(of: needed), greeting.authPluginData.readableBytes >= seedLength
        else {
            throw MySQLConnectionError(.protocolViolation, "This is no server of MySQL 5.6, MariaDB 10, or newer.")
        }
        return greeting
    }

    private func startTLS(
        _ tls: NIOSSLContext,
        _ capabilities: MySQLProtocol.CapabilityFlags,
        greetingBytes: Int
    ) throws {
        let request = MySQLProtocol.SSLRequest(
            capabilities: capabilities,
            maxPacketSize: Self.maximumPacketSize,
            characterSet: Self.characterSet
        )
        let packet = try MySQLPacket.encode(request, capabilities: capabilities).payload
        packets.channel.send(.startTLS(packet, tls, settings.serverName, greeting: greetingBytes))
    }

    private mutating func authenticate(_ plugin: AuthenticationPlugin, _ seed: [UInt8], isMariaDB: Bool) async throws {
        var plugin = plugin
        var seed = seed
        var mayChange = true
        while true {
            var packet = try await next()
            switch packet.readInteger(as: UInt8.self) {
            case 0x00:
                return
            case 0xFE where mayChange:
                mayChange = false
                (plugin, seed) = try change(packet, isMariaDB: isMariaDB)
                answer(plugin.response(to: seed, password: settings.password))
            case 0x01 where plugin == .cachingSHA2:
                // 3: an OK follows.
                guard let step = packet.readInteger(as: UInt8.self), [3, 4].contains(step) else {
                    throw Self.unexpected
                }
                if step == 4 { try await sendPassword(seed) }
            default:
                throw Self.unexpected
            }
        }
    }

    private static var unexpected: MySQLConnectionError {
        MySQLConnectionError(.protocolViolation, "The server's answer to the authentication is not known.")
    }

    /// The plugin and the seed that the server wants instead.
    private func change(_ packet: ByteBuffer, isMariaDB: Bool) throws -> (AuthenticationPlugin, [UInt8]) {
        var packet = packet
        let name = packet.readNullTerminatedString() ?? "mysql_old_password"
        guard let plugin = AuthenticationPlugin(rawValue: name) else {
            let other =
                isMariaDB
                ? "VIA mysql_native_password USING PASSWORD('…')" : "WITH caching_sha2_password BY '…'"
            throw MySQLConnectionError(
                .authentication,
                """
                The account “\(settings.username)” is authenticated by the plugin “\(name)”, which is not supported. Give it another \
                one: ALTER USER \(settings.username) IDENTIFIED \(other).
                """
            )
        }
        guard let seed = packet.readBytes(length: Self.seedLength) else { throw Self.unexpected }
        return (plugin, seed)
    }

    /// Sends the password itself, for which the server has asked.
    private mutating func sendPassword(_ seed: [UInt8]) async throws {
        guard tls == nil else { return answer(Array(settings.password.utf8) + [0]) }
        // The settings say that the network is trusted: so is this key.
        answer([2])
        var packet = try await next()
        guard packet.readInteger(as: UInt8.self) == 1,
            let encrypted = try? AuthenticationPlugin.encrypted(
                settings.password,
                seed: seed,
                key: String(buffer: packet)
            )
        else { throw Self.unexpected }
        answer(encrypted)
    }

    private func answer(_ bytes: [UInt8]) {
        packets.channel.send(.answer(ByteBuffer(bytes: bytes)))
    }
}

extension MySQLConnectionError {
    /// The error in a packet; `nil` if it is another one.
    init?(packet: ByteBuffer) {
        guard packet.getInteger(at: packet.readerIndex, as: UInt8.self) == 0xFF else { return nil }
        var packet = MySQLPacket(payload: packet)
        guard let error = try? MySQLProtocol.ERR_Packet.decode(from: &packet, capabilities: []) else {
            self.init(.protocolViolation, "The server has sent an error that cannot be read.")
            return
        }
        self = .server(error.errorCode.rawValue, sqlState: error.sqlState, error.errorMessage)
    }
}
