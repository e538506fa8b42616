import MySQLTestSupport
import NIOConcurrencyHelpers
import NIOCore
import PowerSyncMySQLConnection
import TestSupport
import Testing

/// TLS, accounts and addresses over a real server.
@Suite(.timeLimit(.minutes(1)))
struct MySQLHandshakeTests {
    private let logger = TestMySQL.logger

    private func open(_ settings: MySQLConnectionSettings) async throws -> MySQLConnection {
        try await MySQLConnection.open(settings, logger: logger)
    }

    private func failure(_ settings: MySQLConnectionSettings) async throws -> MySQLConnectionError {
        try #require(await #expect(throws: MySQLConnectionError.self) { _ = try await open(settings) })
    }

    private func cipher(_ settings: MySQLConnectionSettings) async throws -> String? {
        let connection = try await open(settings)
        defer { connection.close() }
        return try await connection.query("SHOW SESSION STATUS LIKE 'Ssl_cipher'").rows.first?.string("Value")
    }

    @Test func theCertificateIsForTheHost() async throws {
        var settings = try TestMySQL.shared().settings()
        settings.tls = .verifyFull(try TestMySQL.tls())
        #expect(try await cipher(settings)?.isEmpty == false)
        settings.host = "localhost"
        #expect(try await cipher(settings)?.isEmpty == false)
        settings.tls = .disabled
        #expect(try await cipher(settings) == "")
    }

    @Test func aCertificateForAnotherNameIsRefused() async throws {
        var settings = try TestMySQL.shared().settings()
        var tls = try TestMySQL.tls()
        tls.serverName = "db.example"
        settings.tls = .verifyFull(tls)
        let error = try await failure(settings)
        #expect(error.code == .certificate)
        #expect(error.message.contains("another name"), "\(error)")
        // The certificate is for the address, which does not count where there is a name.
        settings.host = "localhost"
        #expect(try await failure(settings).code == .certificate)
        settings.tls = .verifyCA(tls)
        #expect(try await cipher(settings)?.isEmpty == false)
    }

    @Test func aCertificateOfAnotherAuthorityIsRefusedByItsName() async throws {
        var settings = try TestMySQL.shared().settings()
        for authority in [nil, LoopbackCertificates.authority] {
            settings.tls = .verifyCA(.init(authority: authority))
            let error = try await failure(settings)
            #expect(error.code == .certificate)
            #expect(error.message.contains("O=PowerSync tests, CN=Authority of one run"), "\(error)")
            #expect(error.message.contains("cacert"))
            #expect(!error.isRetryable)
        }
    }

    @Test func certificatesThatCannotBeReadAreNamed() async throws {
        var settings = try TestMySQL.shared().settings()
        settings.tls = .verifyFull(.init(authority: "nonsense"))
        #expect(try await failure(settings).message.contains("of the authority"))
        settings.tls = .verifyFull(.init(clientCertificate: "nonsense"))
        #expect(try await failure(settings).message.contains("of the client"))
        settings.tls = .verifyFull(.init(clientKey: "nonsense"))
        #expect(try await failure(settings).code == .configuration)
    }

    // A greeting whose flag for TLS an attacker has taken out.
    @Test func aServerWithoutTLSSeesNothingOfThePassword() async throws {
        let server = try TestMySQL.shared()
        let isGreeted = NIOLockedValueBox(false)
        let proxy = try await MySQLProxy(to: server.port) { bytes in
            let wasGreeted = isGreeted.withLockedValue { isGreeted in
                defer { isGreeted = true }
                return isGreeted
            }
            if !wasGreeted { Self.removeTLS(from: &bytes) }
        }
        var settings = server.settings()
        settings.port = proxy.port
        settings.tls = .verifyFull(try TestMySQL.tls())
        let error = try await failure(settings)
        #expect(error.code == .noTLS)
        await proxy.allClosed()
        #expect(proxy.fromClients.readableBytes == 0)
        // What the proxy does is a greeting: without TLS, it is accepted.
        settings.tls = .disabled
        isGreeted.withLockedValue { $0 = false }
        try await open(settings).close()
    }

    // Plain text behind the greeting would be taken for what the server says inside of TLS.
    @Test func plainTextBehindTheGreetingIsRefused() async throws {
        let server = try TestMySQL.shared()
        let isGreeted = NIOLockedValueBox(false)
        let proxy = try await MySQLProxy(to: server.port) { bytes in
            let wasGreeted = isGreeted.withLockedValue { isGreeted in
                defer { isGreeted = true }
                return isGreeted
            }
            if !wasGreeted { bytes.writeBytes([2, 0, 0, 2, 1, 4]) }
        }
        var settings = server.settings()
        settings.port = proxy.port
        settings.tls = .verifyFull(try TestMySQL.tls())
        #expect(try await failure(settings).code == .protocolViolation)
        await proxy.allClosed()
    }

    /// Packet header 4, protocol 1, version and a zero, connection id 4, seed 8, filler 1, then the lower flags: 0x0800 is TLS.
    private static func removeTLS(from greeting: inout ByteBuffer) {
        guard let zero = greeting.readableBytesView.dropFirst(5).firstIndex(of: 0) else { return }
        let index = zero + 1 + 4 + 8 + 1
        guard let flags = greeting.getInteger(at: index, endianness: .little, as: UInt16.self) else { return }
        greeting.setInteger(flags & ~0x0800, at: index, endianness: .little)
    }

    @Test func aWrongPasswordIsTheServersError() async throws {
        var settings = try TestMySQL.shared().settings()
        settings.password = "another one"
        let error = try await failure(settings)
        #expect(error.code == .server)
        #expect(error.serverCode == 1045)
        #expect(!error.isRetryable)
        #expect(!"\(error)".contains("another one"))
    }

    @Test(arguments: ["", "p", "pässword 🎉 '\"\\%:@/", String(repeating: "long ", count: 40)])
    func passwordsOfAllKinds(_ password: String) async throws {
        let account = try await TestAccount(password: password)
        // The second time, the server has the digest; after that, without TLS.
        for tls in [
            MySQLConnectionSettings.TLSMode.verifyFull(try TestMySQL.tls()), .verifyFull(try TestMySQL.tls()),
            .disabled,
        ] {
            let connection = try await open(account.settings(tls))
            #expect(try await connection.query("SELECT CURRENT_USER()").firstString == "\(account.name)@%")
            connection.close()
        }
    }

    @Test func withoutTLSThePasswordIsSentUnderTheServersKey() async throws {
        let account = try await TestAccount(password: "secret of one test")
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        var settings = account.settings(.disabled)
        settings.port = proxy.port
        try await open(settings).close()
        #expect(!String(buffer: proxy.fromClients).contains("secret of one"))
    }

    @Test func everyPluginOfTheServer() async throws {
        let connection = try await TestMySQL.shared().open()
        defer { connection.close() }
        let native =
            "SELECT 1 FROM information_schema.plugins WHERE plugin_name = 'mysql_native_password' AND plugin_status = 'ACTIVE'"
        if try await !connection.query(native).rows.isEmpty {
            let account = try await TestAccount(
                password: "native",
                identified: TestMySQL.isMySQL
                    ? "WITH mysql_native_password BY 'native'" : "VIA mysql_native_password USING PASSWORD('native')"
            )
            for tls in [MySQLConnectionSettings.TLSMode.disabled, .verifyFull(try TestMySQL.tls())] {
                try await open(account.settings(tls)).close()
            }
        }
        guard TestMySQL.isMySQL else { return }
        let account = try await TestAccount(password: "x", identified: "WITH sha256_password BY 'x'")
        let error = try await failure(account.settings(.verifyFull(try TestMySQL.tls())))
        #expect(error.code == .authentication)
        #expect(error.message.contains("“sha256_password”"), "\(error)")
    }

    // Those of no server that is here: the proxy says that the account has them.
    @Test(arguments: ["client_ed25519", "parsec", "dialog", "mysql_clear_password", "mysql_old_password"])
    func pluginsThatAreNotSupportedAreNamed(_ plugin: String) async throws {
        let server = try TestMySQL.shared()
        let messages = NIOLockedValueBox(0)
        let proxy = try await MySQLProxy(to: server.port) { bytes in
            let number = messages.withLockedValue { number in
                number += 1
                return number
            }
            // After the greeting: 0xFE, the plugin, a seed.
            guard number == 2 else { return }
            let payload = [0xFE] + Array(plugin.utf8) + [0] + Array(repeating: 7, count: 20) + [0]
            bytes = ByteBuffer(bytes: [UInt8(payload.count), 0, 0, 2] + payload)
        }
        var settings = server.settings()
        settings.port = proxy.port
        let error = try await failure(settings)
        #expect(error.code == .authentication)
        #expect(error.message.contains("“\(plugin)”"), "\(error)")
        #expect(error.message.contains("ALTER USER tests IDENTIFIED"), "\(error)")
        #expect(!error.isRetryable)
        await proxy.allClosed()
    }

    @Test func anAccountThatNeedsACertificate() async throws {
        let account = try await TestAccount(password: "x", require: "REQUIRE X509")
        let error = try await failure(account.settings(.verifyFull(try TestMySQL.tls())))
        #expect(error.serverCode == 1045)
        try await open(account.settings(.verifyFull(try TestMySQL.tls(clientCertificate: true)))).close()
    }

    @Test func aDatabaseThatIsNotThere() async throws {
        #expect(try await failure(try TestMySQL.shared().settings(database: "nowhere")).serverCode == 1049)
    }

    @Test func anAddressThatIsNotAllowed() async throws {
        let proxy = try await MySQLProxy(to: try TestMySQL.shared().port)
        var settings = try TestMySQL.shared().settings()
        settings.port = proxy.port
        settings.allows = { $0.ipAddress != "127.0.0.1" }
        let error = try await failure(settings)
        #expect(error.code == .addressNotAllowed)
        #expect(proxy.accepted == 0)
    }

    @Test func aPortOnWhichNothingListens() async throws {
        var settings = try TestMySQL.shared().settings()
        settings.port = FreePort.take()
        let error = try await failure(settings)
        #expect(error.code == .unreachable)
        #expect(error.message == "There is no connection to 127.0.0.1:\(settings.port): the connection was refused.")
        #expect(error.isRetryable)
        settings.host = "no-such-host.invalid"
        #expect(try await failure(settings).message == "There is no host no-such-host.invalid.")
    }
}
