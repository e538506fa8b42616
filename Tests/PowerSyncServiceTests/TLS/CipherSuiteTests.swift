import Foundation
import NIOCore
import NIOEmbedded
import NIOSSL
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncService

/// With which ciphers of TLS 1.2 a service can be reached: those whose keys are worth nothing when the certificate's key is stolen later,
/// and that say whether a record is whole.
@Suite struct CipherSuiteTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var cipher: NIOTLSCipher
        var isAccepted: Bool
        var testDescription: String { String(cipher.rawValue, radix: 16) }

        init(_ cipher: NIOTLSCipher, _ isAccepted: Bool) {
            self.cipher = cipher
            self.isAccepted = isAccepted
        }
    }

    static let ofRSA = [
        Case(.TLS_RSA_WITH_AES_128_CBC_SHA, false), Case(.TLS_RSA_WITH_AES_256_CBC_SHA, false),
        Case(.TLS_RSA_WITH_AES_128_GCM_SHA256, false), Case(.TLS_RSA_WITH_AES_256_GCM_SHA384, false),
        Case(.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA, false), Case(.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA, false),
        Case(.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, true), Case(.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, true),
        Case(.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, true),
    ]
    static let ofECDSA = [
        Case(.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, false), Case(.TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA, false),
        Case(.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, true), Case(.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, true),
        Case(.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, true),
    ]

    @Test(arguments: ofRSA)
    func withACertificateOfRSA(_ test: Case) throws {
        let folder = try TemporaryFolder()
        let files = try TLSFiles(in: folder, certificate: Self.certificateOfRSA, key: RSATestKey.pem)
        #expect(try Self.isReached(files) { $0.cipherSuiteValues = [test.cipher] } == test.isAccepted)
    }

    @Test(arguments: ofECDSA)
    func withACertificateOfECDSA(_ test: Case) throws {
        let folder = try TemporaryFolder()
        let files = try TLSFiles(in: folder)
        #expect(try Self.isReached(files) { $0.cipherSuiteValues = [test.cipher] } == test.isAccepted)
    }

    @Test(arguments: [(TLSVersion.tlsv11, false), (.tlsv12, true), (.tlsv13, true)])
    func versions(_ version: TLSVersion, _ isAccepted: Bool) throws {
        let folder = try TemporaryFolder()
        let isReached = try Self.isReached(try TLSFiles(in: folder)) { configuration in
            configuration.minimumTLSVersion = version
            configuration.maximumTLSVersion = version
        }
        #expect(isReached == isAccepted)
    }

    /// Whether a client with this configuration, by default of TLS 1.2, can send the service something.
    private static func isReached(_ files: TLSFiles, _ configure: (inout TLSConfiguration) -> Void) throws -> Bool {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.maximumTLSVersion = .tlsv12
        configure(&configuration)
        let context = try NIOSSLContext(configuration: configuration)
        let client = EmbeddedChannel(handler: try NIOSSLClientHandler(context: context, serverHostname: nil))
        let server = EmbeddedChannel(
            handler: NIOSSLServerHandler(context: try ServerCertificate.load(files, now: .now).context)
        )
        defer {
            for channel in [client, server] {
                channel.close(promise: nil)
                // Nobody answers the end of TLS, which is waited for a while.
                channel.embeddedEventLoop.advanceTime(by: .minutes(1))
                _ = try? channel.finish(acceptAlreadyClosed: true)
            }
        }
        for channel in [client, server] {
            channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }
        client.writeAndFlush(ByteBuffer(string: "hello"), promise: nil)
        var isMoving = true
        while isMoving {
            isMoving = false
            for (from, to) in [(client, server), (server, client)] {
                while let bytes = try from.readOutbound(as: ByteBuffer.self) {
                    isMoving = true
                    // An error is what a handshake that fails throws.
                    _ = try? to.writeInbound(bytes)
                }
            }
        }
        return try server.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "hello")
    }

    /// Of the key of the tests; made with `openssl req -x509 -key … -days 36500 -subj /CN=loopback`.
    private static let certificateOfRSA = """
        -----BEGIN CERTIFICATE-----
        MIIDGjCCAgKgAwIBAgIUdfOwKwWHqzyLV6fvUDzbTU6cAUUwDQYJKoZIhvcNAQEL
        BQAwEzERMA8GA1UEAwwIbG9vcGJhY2swIBcNMjYxMTI4MTM1MzMwWhgPMjEyNjEx
        MDQxMzUzMzBaMBMxETAPBgNVBAMMCGxvb3BiYWNrMIIBIjANBgkqhkiG9w0BAQEF
        AAOCAQ8AMIIBCgKCAQEA67aRuE1dpyuJHaF68ubbMk5/r61KD+I1ppOun3SLeDHn
        DFY9OGeQvi9m/uBQ7VJrpyNmXVi7cB8f9wn97ftwIL1k840haQvtGjO0nVSe04IL
        LoJymoZfWiyy3+pMRl0G+Ou/nlWmpp6PzERgB03ady6yuGuJlMEZi7ALlA4ZKFu+
        2eAWNlmFfjitximttRsWTtd3zC+LRcwJnY5u5/JVPVr8sPKRD98sV34d9Dw4ingh
        +mG2F/1oLT4qWeq6aToVVDoImRU0Ti7oSGhOcmmMIf/YUGnkMc5ifZ/8GuMhsZv0
        p+JdPjb0c48lIBZDNgZswkYj/XkK+WPMx9vp+DjxUQIDAQABo2QwYjAdBgNVHQ4E
        FgQUO3kZPyCxZ+D22aaPTn0W38gO+4kwHwYDVR0jBBgwFoAUO3kZPyCxZ+D22aaP
        Tn0W38gO+4kwDwYDVR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMA0GCSqG
        SIb3DQEBCwUAA4IBAQDZznN/CUaH7eENnAk6Yqh1t0BuGylBGNAOkQd2+b5I0H4X
        EkUPsgz30BcgeeNd35ZOVZ6PTyuajhSky0/xNlceUGJvoZMWXKhluTl7LO0pUGfV
        yRxeazHWTwdUBTB9+AxL6DqsEuUf7esIvmFJuv03ndFFA6VMSUp8hqHjOjkBnrQG
        t/aQULGgyUt6VRVSNGXUOTwVJQqgRXIT+uSUrVa1C8bnVdrv8sDPzUPm4SaJbT+b
        0NWiolVIBqRyB/kCViPUoQSAgIX7IX+9vrPK5mLWUH3jxhHorR9bBltv4KOkUYCu
        khE4QiDDIroEBC6O0KORLhwSkjs65VRaanCSFXHD
        -----END CERTIFICATE-----
        """
}
