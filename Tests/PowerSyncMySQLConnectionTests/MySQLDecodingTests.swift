import NIOCore
import NIOSSL
import TestSupport
import Testing

@testable import PowerSyncMySQLConnection

/// Bytes of a server that are cut or changed.
@Suite
struct MySQLDecodingTests {
    private func der(_ pem: String) throws -> [UInt8] {
        try #require(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).first).toDERBytes()
    }

    @Test func aCertificateTellsItsIssuer() throws {
        for certificate in [LoopbackCertificates.authority, LoopbackCertificates.loopback] {
            #expect(CertificateNames(try der(certificate))?.issuer == "CN=PowerSync test authority")
        }
    }

    @Test func certificatesMayBeAnything() throws {
        let bytes = try der(LoopbackCertificates.loopback)
        for count in 0..<bytes.count { _ = CertificateNames(Array(bytes.prefix(count))) }
        for index in bytes.indices {
            for value in [0x00, 0x7F, 0x80, 0x83, 0xFF] as [UInt8] {
                var changed = bytes
                changed[index] = value
                _ = CertificateNames(changed)
            }
        }
        #expect(CertificateNames([]) == nil)
    }

    /// `def`, three names, `c`, no original name, 12, collation 300, length 4, type 3, flags 33, decimals 0, 2 bytes of nothing.
    private let definition: [UInt8] =
        [3, 100, 101, 102, 1, 115, 1, 116, 1, 117, 1, 99, 0, 12, 44, 1, 4, 0, 0, 0, 3, 33, 0, 0, 0, 0]

    @Test func collationsHaveTwoBytes() throws {
        let column = try #require(MySQLColumn(ByteBuffer(bytes: definition)))
        #expect(column.name == "c")
        #expect(column.collation == 300)
        #expect(column.length == 4)
        #expect(column.type == 3)
        #expect(column.flags == 33)
    }

    @Test func columnsThatAreCutAreNone() {
        for count in 0..<definition.count - 2 {
            #expect(MySQLColumn(ByteBuffer(bytes: definition.prefix(count))) == nil)
        }
        for index in definition.indices {
            for value in [0xFB, 0xFC, 0xFD, 0xFE, 0xFF] as [UInt8] {
                var changed = definition
                changed[index] = value
                _ = MySQLColumn(ByteBuffer(bytes: changed))
            }
        }
    }

    @Test(
        arguments: [
            ([0], 0), ([250], 250), ([0xFC, 251, 0], 251), ([0xFD, 0, 0, 1], 65_536),
            ([0xFE, 0, 0, 0, 1, 0, 0, 0, 0], 1 << 24),
            ([0xFB], nil), ([0xFF], nil), ([0xFC, 1], nil), ([0xFD, 1, 1], nil), ([0xFE, 1, 1, 1, 1, 1, 1, 1], nil),
            ([], nil),
        ] as [([UInt8], UInt64?)]
    )
    func lengths(_ bytes: [UInt8], _ value: UInt64?) {
        var buffer = ByteBuffer(bytes: bytes)
        #expect(buffer.readLengthEncodedInteger() == value)
    }

    @Test func aLengthBeyondTheBytesIsNone() {
        for bytes in [[5, 1, 2], [0xFE, 255, 255, 255, 255, 255, 255, 255, 255, 1]] as [[UInt8]] {
            var buffer = ByteBuffer(bytes: bytes)
            #expect(buffer.readLengthEncodedSlice() == nil)
        }
    }

    @Test func errorsNeedNoState() throws {
        let error = try #require(
            MySQLConnectionError(packet: ByteBuffer(bytes: [0xFF, 0x10, 0x04] + Array("Too many".utf8)))
        )
        #expect(error.serverCode == 1040)
        #expect(error.sqlState == nil)
        #expect(error.isRetryable)
        #expect(MySQLConnectionError(packet: ByteBuffer(bytes: [0xFF]))?.code == .protocolViolation)
        #expect(MySQLConnectionError(packet: ByteBuffer(bytes: [0x00])) == nil)
        #expect(MySQLConnectionError(packet: ByteBuffer()) == nil)
    }

    @Test func answersDependOnSeedAndPassword() {
        let seed = Array(UInt8(1)...20)
        for plugin in [AuthenticationPlugin.native, .cachingSHA2] {
            let answer = plugin.response(to: seed, password: "secret")
            #expect(answer.count == (plugin == .native ? 20 : 32))
            #expect(answer == plugin.response(to: seed, password: "secret"))
            #expect(answer != plugin.response(to: seed.reversed(), password: "secret"))
            #expect(answer != plugin.response(to: seed, password: "Secret"))
            #expect(plugin.response(to: seed, password: "").isEmpty)
        }
    }
}
