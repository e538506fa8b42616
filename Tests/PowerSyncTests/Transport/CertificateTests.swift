import NIOCore
import NIOHTTP1
import PowerSyncProtocol
import PowerSyncTesting
import RSocket
import TestSupport
import Testing

@testable import PowerSyncClient

/// Services with certificates that are right, of an unknown authority, or of another host.
@Suite(.timeLimit(.minutes(1))) struct CertificateTests {
    private static let transports: [SyncTransportMethod] = [.http, .webSocket]
    private static let line = SyncLine.keepalive(tokenExpiresIn: 9)

    private func open(
        _ url: String,
        _ method: SyncTransportMethod,
        trusting authorities: TrustedAuthorities?
    ) async throws -> any SyncLineStream {
        var credentials = ServiceCredentials(endpoint: try ServiceEndpoint(url), token: "secret")
        credentials.trustedAuthorities = authorities
        return try await SyncEnvironment.live.transport(for: method).openStream(
            StreamingSyncRequest(),
            credentials: credentials,
            log: .disabled
        )
    }

    /// Runs a service of the kind that a transport needs, behind TLS.
    private func withService(
        for method: SyncTransportMethod,
        certificate: String = LoopbackCertificates.loopback,
        key: String = LoopbackCertificates.loopbackKey,
        _ body: @escaping @Sendable (String) async throws -> Void
    ) async throws {
        @Sendable func behindTLS(_ port: Int) async throws {
            let proxy = try await TLSProxy(to: port, certificate: certificate, key: key)
            try await body(proxy.url)
            try await proxy.stop()
        }
        let text = ByteBuffer(CertificateTests.line, method == .webSocket ? .bson : .ndjson)
        if method == .webSocket {
            try await RSocketPeer.serve { peer in
                // A client that does not trust the certificate opens no WebSocket.
                _ = try await peer.next()
                _ = try await peer.next()
                try await peer.send(.payload(.next(Payload(data: text), on: .first)))
                while try await peer.next() != nil {}
            } _: { port in
                try await behindTLS(port)
            }
        } else {
            try await LoopbackServer.run { _ in
                .init(headers: ["Content-Type": SyncLineFormat.ndjson.mediaType], chunks: [text], end: .open)
            } _: { server in
                try await behindTLS(server.port)
            }
        }
    }

    @Test(arguments: transports) func aCertificateOfATrustedAuthorityIsAccepted(
        _ method: SyncTransportMethod
    ) async throws {
        try await withService(for: method) { url in
            let authorities = try TrustedAuthorities(pem: LoopbackCertificates.authority)
            let stream = try await open(url, method, trusting: authorities)
            #expect(try await stream.nextLines()?.map(\.line) == [CertificateTests.line])
        }
    }

    @Test(arguments: transports) func aCertificateOfAnUnknownAuthorityIsRefused(
        _ method: SyncTransportMethod
    ) async throws {
        try await withService(for: method) { url in
            let error = try await #require(throws: SyncTransportError.self) {
                _ = try await open(url, method, trusting: nil)
            }
            #expect(error.code == .connection)
            #expect(error.message.contains("127.0.0.1"))
            #expect(error.message.contains("the certificate of the service is not trusted"))
            #expect(error.message.contains("trustedAuthorities"))
        }
    }

    @Test(arguments: transports) func aCertificateOfAnotherHostIsRefused(_ method: SyncTransportMethod) async throws {
        try await withService(
            for: method,
            certificate: LoopbackCertificates.elsewhere,
            key: LoopbackCertificates.elsewhereKey
        ) { url in
            let authorities = try TrustedAuthorities(pem: LoopbackCertificates.authority)
            let error = try await #require(throws: SyncTransportError.self) {
                _ = try await open(url, method, trusting: authorities)
            }
            #expect(error.message.contains("the certificate of the service is for another host"))
        }
    }

    @Test(arguments: transports) func anAppNamesItsAuthorityWhenItConnects(_ method: SyncTransportMethod) async throws {
        try await withService(for: method) { url in
            let log = RecordingLogger()
            let connector = ScriptedConnector()
            connector.onFetch { _ in PowerSyncCredentials(endpoint: url, token: "token") }
            let database = SyncedDatabase(
                schema: SyncHarness.schema,
                dbFilename: ":memory:",
                logger: log,
                environment: .live
            )
            var options = ConnectOptions()
            options.clientConfiguration = SyncClientConfiguration(
                transport: method,
                trustedAuthorities: try TrustedAuthorities(pem: LoopbackCertificates.authority)
            )
            try await database.connect(connector: connector, options: options)
            try await database.waitForStatus { $0.connected }
            #expect(log.messages(.warning).isEmpty)
            try await database.close()
        }
    }

    @Test(arguments: ["", "-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----"])
    func whatIsNoCertificateIsNotTrusted(_ text: String) {
        #expect(throws: PowerSyncError.self) { try TrustedAuthorities(pem: text) }
    }
}

extension ByteBuffer {
    /// A line in a format.
    fileprivate init(_ line: SyncLine, _ format: SyncLineFormat) {
        self.init()
        line.encode(as: format, into: &self)
    }
}
