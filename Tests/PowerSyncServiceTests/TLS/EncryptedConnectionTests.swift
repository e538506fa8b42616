import HTTPConnections
import Foundation
import GRDB
import NIOCore
import NIOPosix
import NIOSSL
import PowerSyncProtocol
import RunningServiceTestSupport
import PowerSyncTesting
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// Connections of a service that speaks TLS are connections like all others.
@Suite(.timeLimit(.minutes(1))) struct EncryptedConnectionTests {
    private typealias Scenario = ServiceScenario

    private static func run(
        in folder: TemporaryFolder,
        log: CollectedLog? = nil,
        connectionLimits: HTTPConnectionLimits = HTTPConnectionLimits(),
        _ body: (ServiceScenario) async throws -> Void
    ) async throws {
        let files = try TLSFiles(in: folder)
        try await Scenario.run(
            in: folder,
            log: log,
            connectionLimits: connectionLimits,
            configure: { $0.tls = files },
            body
        )
    }

    private static func connect(
        _ scenario: ServiceScenario,
        _ body: (inout RawConnection) async throws -> Void
    ) async throws {
        try await RawConnection.connect(
            port: scenario.address.port,
            trusting: LoopbackCertificates.authority,
            body
        )
    }

    private static func stream(_ scenario: ServiceScenario) throws -> String {
        let fields = [
            "Authorization: Token \(try scenario.token())", "Content-Type: application/json", "Content-Length: 2",
        ]
        return RawRequests.request("POST /sync/stream", fields) + "{}"
    }

    /// The certificate that a connection gets which is opened now, whoever it is for.
    private static func shownCertificate(_ scenario: ServiceScenario) async throws -> NIOSSLCertificate? {
        let context = try NIOSSLContext(configuration: .makeClientConfiguration())
        let (certificates, continuation) = AsyncStream.makeStream(of: NIOSSLCertificate.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(
                        context: context,
                        serverHostname: nil,
                        customVerificationCallback: { chain, verdict in
                            for certificate in chain { continuation.yield(certificate) }
                            verdict.succeed(.certificateVerified)
                        }
                    )
                    try channel.pipeline.syncOperations.addHandler(handler)
                    channel.closeFuture.whenComplete { _ in continuation.finish() }
                }
            }
            .connect(host: "127.0.0.1", port: scenario.address.port).get()
        var shown: NIOSSLCertificate?
        for await certificate in certificates {
            shown = certificate
            break
        }
        // The service may have closed it.
        try? await channel.close()
        return shown
    }

    /// A certificate that a test has written.
    private static func certificate(_ pem: String) throws -> NIOSSLCertificate {
        try #require(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).first)
    }

    @Test(arguments: AbruptDeparture.allCases)
    func howeverAClientLeavesItsStreamEnds(_ departure: AbruptDeparture) async throws {
        let log = CollectedLog()
        try await Self.run(in: try TemporaryFolder(), log: log) { scenario in
            try await Self.connect(scenario) { connection in
                try await connection.send(try Self.stream(scenario))
                _ = try await connection.text(until: "checkpoint_complete")
                try await connection.leave(departure)
                let line = try await log.line(containing: "Sync stream complete")
                #expect(line.contains("client closing stream"), "\(line)")
            }
        }
    }

    @Test func aProperEndOfTLSEndsTheStream() async throws {
        let log = CollectedLog()
        try await Self.run(in: try TemporaryFolder(), log: log) { scenario in
            try await Self.connect(scenario) { connection in
                try await connection.send(try Self.stream(scenario))
                _ = try await connection.text(until: "checkpoint_complete")
            }
            let line = try await log.line(containing: "Sync stream complete")
            #expect(line.contains("client closing stream"), "\(line)")
        }
    }

    @Test func requestsAreAnsweredOneAfterTheOther() async throws {
        try await Self.run(in: try TemporaryFolder()) { scenario in
            try await Self.connect(scenario) { connection in
                for _ in 0..<3 {
                    try await connection.send(RawRequests.request("GET /probes/liveness", []))
                    #expect(try await connection.text(until: "}").hasPrefix("HTTP/1.1 200 "))
                }
                try await connection.send(RawRequests.request("GET /sync/stream", RawRequests.handshake()))
                #expect(try await connection.text(until: "\r\n\r\n").hasPrefix("HTTP/1.1 101 "))
            }
        }
    }

    @Test func bytesThatAreNoRequestGet400AndTheEnd() async throws {
        try await Self.run(in: try TemporaryFolder()) { scenario in
            try await Self.connect(scenario) { connection in
                try await connection.send("no request\r\n\r\n")
                #expect(try await connection.textUntilClosed().hasPrefix("HTTP/1.1 400 "))
            }
        }
    }

    @Test func aClientWithoutTLSIsDisconnected() async throws {
        try await Self.run(in: try TemporaryFolder()) { scenario in
            try await RawConnection.connect(port: scenario.address.port) { connection in
                try await connection.send(RawRequests.request("GET /probes/liveness", []))
                let text = try await connection.textUntilClosed()
                #expect(!text.contains("200"))
            }
        }
    }

    @Test(arguments: [TLSVersion.tlsv1, .tlsv11, .tlsv12, .tlsv13])
    func versionsThatAreBrokenAreRefused(_ version: TLSVersion) async throws {
        try await Self.run(in: try TemporaryFolder()) { scenario in
            let port = scenario.address.port
            let authority = LoopbackCertificates.authority
            try await RawConnection.connect(port: port, trusting: authority, speakingUpTo: version) { connection in
                try? await connection.send(RawRequests.probe)
                let answer = try? await connection.text(until: "}")
                let isModern = version == .tlsv12 || version == .tlsv13
                #expect((answer?.hasPrefix("HTTP/1.1 200 ") == true) == isModern, "\(answer ?? "none")")
            }
        }
    }

    @Test func aConnectionOneTooManyIsTold() async throws {
        var limits = HTTPConnectionLimits()
        limits.connectionCount = 1
        try await Self.run(in: try TemporaryFolder(), connectionLimits: limits) { scenario in
            try await Self.connect(scenario) { first in
                try await first.send(RawRequests.request("GET /probes/liveness", []))
                _ = try await first.text(until: "}")
                try await Self.connect(scenario) { second in
                    let text = try await second.textUntilClosed()
                    #expect(text.hasPrefix("HTTP/1.1 503 "), "\(text)")
                }
            }
        }
    }

    @Test func newConnectionsGetTheRenewedCertificateAndOpenOnesGoOn() async throws {
        let folder = try TemporaryFolder()
        let log = CollectedLog()
        let (first, renewed) = (LoopbackCertificates.loopback, LoopbackCertificates.elsewhere)
        try await Self.run(in: folder, log: log) { scenario in
            #expect(try await Self.shownCertificate(scenario) == Self.certificate(first))
            try await Self.connect(scenario) { open in
                try await open.send(try Self.stream(scenario))
                _ = try await open.text(until: "checkpoint_complete")
                _ = try TLSFiles(
                    in: folder,
                    certificate: renewed,
                    key: LoopbackCertificates.elsewhereKey
                )
                // Until somebody looks, it is the one that was there.
                #expect(try await Self.shownCertificate(scenario) == Self.certificate(first))
                scenario.service.reloadCertificate()
                _ = try await log.line(containing: "The certificate has been read")
                #expect(try await Self.shownCertificate(scenario) == Self.certificate(renewed))
                // It is for another name.
                await #expect(throws: (any Error).self) {
                    try await Self.connect(scenario) { connection in
                        try await connection.send(RawRequests.request("GET /probes/liveness", []))
                        // Nothing comes, and no error either, when the connection is closed.
                        guard try await connection.read() != nil else { throw ChannelError.eof }
                    }
                }
                // As another program writes it; the scenario's own requests do not trust the authority.
                try await DatabaseQueue(path: folder.path("source.db")).write { db in
                    try db.execute(sql: "INSERT INTO lists (id, owner_id, name) VALUES ('l1', 'u1', 'A')")
                }
                #expect(try await open.text(until: "checkpoint_complete").contains("checkpoint_diff"))
            }
        }
    }

    @Test func operatorsSeeUntilWhenItIsValid() async throws {
        let folder = try TemporaryFolder()
        let files = try TLSFiles(in: folder)
        let status = AdminRoutes.status(
            of: try ServerCertificate.load(files, now: .now).validity,
            at: .now
        )
        #expect(status.text("certificate") == files.certificate)
        #expect(status.text("not_after") == "2126-10-28T13:34:05Z")
        #expect(status["errors"] == nil)
        let validity = try ServerCertificate.load(files, now: .now).validity
        let late = AdminRoutes.status(of: validity, at: validity.end.addingTimeInterval(-3600))
        #expect(late.objects("errors").first?.text("level") == "warning")
        let tooLate = AdminRoutes.status(of: validity, at: validity.end)
        #expect(tooLate.objects("errors").first?.text("level") == "fatal")
    }
}
