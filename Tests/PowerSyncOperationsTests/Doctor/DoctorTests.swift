import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// What `powersync doctor` finds beside what keeps a service from starting.
@Suite(.timeLimit(.minutes(1))) struct DoctorTests {
    private typealias Scenario = ServiceScenario

    private static func examine(
        _ configuration: ServiceConfiguration,
        now: Date = Date()
    ) async throws -> [Finding] {
        let findings = try await Doctor(logger: Scenario.logger, now: { now }).examine(configuration)
        findings.expectRemedies()
        return findings
    }

    // MARK: Files

    private static let yaml = """
        replication: {connections: [{type: embedded, path: source.db}]}
        storage: {type: sqlite, path: buckets.db}
        sync_config: {content: "{config: {edition: 3}, streams: {a: {query: SELECT * FROM lists}}}"}
        client_auth: {audience: [a], jwks: {keys: [{kty: oct, alg: HS256, kid: k, k: !env PS_SECRET}]}}
        host: 127.0.0.1
        port: \(FreePort.take())
        """
    private static let secret = "aW50ZXJvcC10ZXN0LWtleS0wMTIzNDU2Nzg5YWJjZGVm"

    private static func findings(
        _ yaml: String,
        permissions: Int = 0o644
    ) async throws -> [Finding] {
        let folder = try TemporaryFolder()
        let file = folder.path("powersync.yaml")
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file)
        let doctor = Doctor(logger: Scenario.logger)
        let findings = try await doctor.examine(file: file, environment: ["PS_SECRET": secret])
        findings.expectRemedies()
        return findings.map { finding in
            var finding = finding
            finding.place.location = finding.place.location?.replacing(folder.path(""), with: "")
            finding.message = finding.message.replacing(folder.path(""), with: "")
            return finding
        }
    }

    @Test func aFileThatIsRightHasNoFindings() async throws {
        let findings = try await Self.findings(Self.yaml)
        #expect(findings.allSatisfy { $0.severity == .ok }, "\(findings)")
        #expect(Set(findings.map(\.area)) == [.configuration, .syncConfig, .keys, .ports, .storage, .source])
    }

    @Test func eventsThatTellWriteCheckpointsAreSaid() async throws {
        let events = "event_definitions: {write_checkpoints: {payloads: [SELECT * FROM lists]}}"
        let yaml = Self.yaml.replacing("FROM lists}}}", with: "FROM lists}}, \(events)}")
        let findings = try await Self.findings(yaml).filter { $0.area == .syncConfig && $0.severity == .ok }
        #expect(
            findings.map(\.message).contains { $0.hasPrefix("write_checkpoints: the back end tells") },
            "\(findings)"
        )
    }

    @Test func secretsThatOthersCanReadAreAWarning() async throws {
        let yaml = Self.yaml.replacing("!env PS_SECRET", with: Self.secret)
        let findings = try await Self.findings(yaml)
        let warnings = findings.filter { $0.severity == .warning }
        #expect(warnings.map(\.message) == ["the file has secrets, and every user of this machine can read it"])
        #expect(warnings.first?.remedy?.contains("!env PS_NAME") == true)
        #expect(try await Self.findings(yaml, permissions: 0o600).allSatisfy { $0.severity == .ok })
        // The secret is not said again.
        #expect(!findings.contains { "\($0)".contains(Self.secret) })
    }

    @Test(arguments: [
        "password: pass-word-7, username: u, hostname: h, database: d", "uri: 'postgresql://u:pass%2Fword@h/d'",
    ])
    func thePasswordOfAStorageIsASecretTooAlsoAsItIsEscapedInAURI(settings: String) throws {
        let yaml = Self.yaml.replacing("{type: sqlite, path: buckets.db}", with: "{type: postgresql, \(settings)}")
        let folder = try TemporaryFolder()
        let file = folder.path("powersync.yaml")
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let configuration = try ServiceConfiguration(contentsOf: file, environment: ["PS_SECRET": Self.secret])
        var findings: [Finding] = []
        Doctor(logger: Scenario.logger).checkPermissions(of: file, configuration, &findings)
        #expect(findings.map(\.message) == ["the file has secrets, and every user of this machine can read it"])
    }

    @Test func aLinkHasThePermissionsOfItsFile() throws {
        let folder = try TemporaryFolder()
        var configuration = Scenario.configuration(in: folder)
        // As certbot and mounted secrets do it: links in the middle, and at the end.
        let files = try TLSFiles(in: folder)
        let (link, linkToLink) = (folder.path("live"), folder.path("privkey.pem"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path(""))
        try FileManager.default.createSymbolicLink(atPath: linkToLink, withDestinationPath: "live/key.pem")
        configuration.tls = TLSFiles(certificate: files.certificate, privateKey: linkToLink)
        for (permissions, count) in [(0o600, 0), (0o644, 1), (0o666, 2)] {
            try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: files.privateKey)
            var findings: [Finding] = []
            Doctor(logger: Scenario.logger).checkPermissions(of: folder.path("none"), configuration, &findings)
            #expect(findings.count == count, "\(findings)")
        }
    }

    @Test func aFileThatOthersCanChangeIsAWarning() async throws {
        let warnings = try await Self.findings(Self.yaml, permissions: 0o666).filter { $0.severity == .warning }
        #expect(warnings.map(\.message) == ["other users of this machine can change the file"])
    }

    @Test func allThatIsWrongWithAFileIsTold() async throws {
        let findings = try await Self.findings(Self.yaml + "\nprot: 1\ntelemetry: {prometheus_port: 0}")
        #expect(findings.map(\.severity) == [.error, .error], "\(findings)")
        #expect(
            findings.map(\.place.description) == [
                "/powersync.yaml:7: prot", "/powersync.yaml:8: telemetry.prometheus_port",
            ]
        )
        #expect(findings.first?.message == "unknown key. Did you mean “port”?")
        #expect(findings.last?.code == .notAPort)
    }

    @Test func whatHasNoEffectIsToldBesideErrors() async throws {
        let findings = try await Self.findings(Self.yaml + "\nmetadata: {a: b}\nprot: 1")
        #expect(findings.map(\.severity) == [.error, .warning], "\(findings)")
        #expect(findings.last?.message.contains("metadata: no effect here") == true)
    }

    @Test func findingsOfTheSyncConfigAreTold() async throws {
        let yaml = Self.yaml.replacing("{a: {", with: "{a: {querry: x, ") + "\nmetadata: {a: b}"
        let findings = try await Self.findings(yaml)
        #expect(findings.contains { $0.severity == .warning && $0.message.contains("metadata: no effect here") })
        #expect(findings.contains { $0.area == .syncConfig && $0.severity != .ok }, "\(findings)")
    }

    // MARK: Certificate

    @Test func aCertificateIsRenewedInTime() async throws {
        let folder = try TemporaryFolder()
        var configuration = Scenario.configuration(in: folder)
        configuration.tls = try TLSFiles(in: folder)
        let end = try ServerCertificate.load(try #require(configuration.tls), now: Date()).validity.end
        for (days, level) in [(15.0, Finding.Severity.ok), (13, .warning), (-1, .error)] {
            let findings = try await Self.examine(configuration, now: end.addingTimeInterval(-days * 24 * 3600))
            #expect(findings.filter { $0.area == .certificate }.map(\.severity) == [level], "\(days) days")
        }
    }

    // MARK: Keys

    /// Runs a server that publishes a document.
    private static func withKeySet(
        _ document: String,
        status: HTTPResponse.Status = .ok,
        headers: HTTPFields = [:],
        _ body: @escaping @Sendable (ServiceConfiguration) async throws -> Void
    ) async throws {
        let router = Router()
        router.get("keys") { _, _ in
            Response(status: status, headers: headers, body: ResponseBody(byteBuffer: .init(string: document)))
        }
        let folder = try TemporaryFolder()
        try await Application(router: router, logger: Scenario.logger).test(.live) { client in
            var configuration = Scenario.configuration(in: folder)
            let port = try #require(client.port)
            configuration.authentication.keySets = [try #require(URL(string: "http://127.0.0.1:\(port)/keys"))]
            try await body(configuration)
        }
    }

    private static func key(modulusBytes: Int) -> String {
        let modulus = Data(repeating: 0xFF, count: modulusBytes).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        return #"{"keys":[{"kty":"RSA","alg":"RS256","kid":"r1","use":"sig","n":"\#(modulus)","e":"AQAB"}]}"#
    }

    @Test func keysOfAKeySetAreNamed() async throws {
        try await Self.withKeySet(Self.key(modulusBytes: 256)) { configuration in
            let findings = try await Self.examine(configuration).filter { $0.area == .keys }
            #expect(findings.contains { $0.severity == .ok && $0.message == "RS256, kid r1" }, "\(findings)")
        }
    }

    @Test func aKeyThatIsTooShortIsAnError() async throws {
        try await Self.withKeySet(Self.key(modulusBytes: 128)) { configuration in
            let finding = try await Self.examine(configuration).first { $0.area == .keys && $0.severity == .error }
            #expect(finding?.message.contains("the key has 1024 bits") == true, "\(String(describing: finding))")
        }
    }

    @Test(
        arguments: [
            (#"{"keys":[]}"#, HTTPResponse.Status.ok, "no key that can verify tokens"),
            (#"{"keys":5}"#, .ok, "Invalid JWKS response"), ("", .notFound, "answers with 404"),
        ]
    )
    func aKeySetThatIsOfNoUseIsAnError(document: String, status: HTTPResponse.Status, message: String) async throws {
        try await Self.withKeySet(document, status: status) { configuration in
            let findings = try await Self.examine(configuration).filter { $0.area == .keys && $0.severity == .error }
            #expect(findings.count == 1)
            #expect(findings.first?.message.contains(message) == true, "\(findings)")
            #expect(findings.first?.place.description.hasSuffix("/keys") == true)
        }
    }

    @Test func keysThatAreNotUsedAreNamed() async throws {
        let unknown = #"{"kty":"EC","crv":"secp256k1","alg":"ES256K","kid":"k1","x":"AA","y":"AA"}"#
        let message =
            "k1 (ES256K): secp256k1 is not supported: no library that checks signatures here has the curve secp256k1"
        try await Self.withKeySet(#"{"keys":[\#(unknown)]}"#) { configuration in
            let findings = try await Self.examine(configuration).filter { $0.area == .keys && $0.severity == .error }
            #expect(findings.map(\.message) == ["the key set has no key that can verify tokens; \(message)"])
        }
        let both = Self.key(modulusBytes: 256).replacing("]", with: ",\(unknown)]")
        try await Self.withKeySet(both) { configuration in
            let findings = try await Self.examine(configuration).filter { $0.area == .keys }
            #expect(findings.contains { $0.severity == .ok && $0.message == "not used: \(message)" }, "\(findings)")
            #expect(!findings.contains { $0.severity == .error })
        }
    }

    @Test func aKeySetThatCannotBeReachedIsAnError() async throws {
        let folder = try TemporaryFolder()
        var configuration = Scenario.configuration(in: folder)
        configuration.authentication.keySets = [try #require(URL(string: "http://127.0.0.1:1/keys"))]
        let findings = try await Self.examine(configuration).filter { $0.area == .keys && $0.severity == .error }
        #expect(findings.map(\.place.description) == ["http://127.0.0.1:1/keys"])
    }

    @Test(
        arguments: [(0.0, Finding.Severity.ok), (-30, .warning), (30, .warning), (-90, .error), (3600, .error)],
        ["Fri, 13 Nov 2026 12:00:00 GMT", "Friday, 13-Nov-26 12:00:00 GMT", "Fri Nov 13 12:00:00 2026"]
    )
    func theClockIsCompared(_ difference: (seconds: Double, level: Finding.Severity), text: String) {
        let (seconds, level) = difference
        let doctor = Doctor(logger: Scenario.logger, now: { Date(timeIntervalSince1970: 1_794_571_200 + seconds) })
        var findings: [Finding] = []
        doctor.checkClock(against: text, of: "https://a.example", &findings)
        #expect(findings.map(\.severity) == [level])
        findings.expectRemedies()
        #expect(findings.first?.place.location == "https://a.example")
        guard level != .ok else { return }
        #expect(findings.first?.message.contains(seconds > 0 ? "ahead of" : "behind") == true)
    }

    @Test func theClockIsComparedWithThatOfTheKeySet() async throws {
        try await Self.withKeySet(Self.key(modulusBytes: 256)) { configuration in
            let late = try await Self.examine(configuration, now: Date(timeIntervalSinceNow: 3600))
            #expect(late.filter { $0.area == .clock }.map(\.severity) == [.error])
            let right = try await Self.examine(configuration)
            #expect(right.filter { $0.area == .clock }.map(\.severity) == [.ok])
        }
    }

    @Test func keySetOfACache() async throws {
        try await Self.withKeySet(Self.key(modulusBytes: 256), headers: [.age: "3600"]) { configuration in
            // The cache passes on the date at which it has got the answer.
            let findings = try await Self.examine(configuration, now: Date(timeIntervalSinceNow: 3600))
            #expect(!findings.contains { $0.area == .clock }, "\(findings)")
            #expect(findings.contains { $0.area == .keys && $0.message == "RS256, kid r1" })
        }
    }

    // MARK: Ports

    /// What is said of the ports when a storage in PostgreSQL is configured, whose server need not be there.
    private static func lookAtPort(
        _ port: Int,
        in folder: TemporaryFolder,
        isEncrypted: Bool = false
    ) async throws -> (
        isRunning: Bool, findings: [Finding]
    ) {
        var configuration = Scenario.configuration(in: folder)
        configuration.storage = .postgresql(PostgresSettings(uri: "postgresql://u:p@127.0.0.1:1/d"))
        configuration.port = port
        // In use as well, by the service that runs.
        configuration.metricsPort = port
        if isEncrypted { configuration.tls = try TLSFiles(in: folder) }
        var findings: [Finding] = []
        let isRunning = try await Doctor(logger: Scenario.logger).checkPorts(configuration, &findings)
        findings.expectRemedies()
        return (isRunning, findings)
    }

    @Test(arguments: [false, true])
    func aServiceThatUsesAStorageWithOthersIsKnownByItsPort(isEncrypted: Bool) async throws {
        let folder = try TemporaryFolder()
        let files = try TLSFiles(in: folder)
        try await Scenario.run(in: folder, configure: { if isEncrypted { $0.tls = files } }) { scenario in
            let (isRunning, findings) = try await Self.lookAtPort(
                scenario.address.port,
                in: folder,
                isEncrypted: isEncrypted
            )
            #expect(isRunning)
            #expect(findings.map(\.severity) == [.ok], "\(findings)")
        }
        try await Scenario.run(configure: { $0.probes.useHTTP = false }) { scenario in
            let isRunning = try await Self.lookAtPort(scenario.address.port, in: folder).isRunning
            #expect(isRunning)
        }
    }

    @Test func anotherProgramOnThePortIsAnError() async throws {
        let router = Router()
        router.get("probes/liveness") { _, _ in "{}" }
        let folder = try TemporaryFolder()
        try await Application(router: router, logger: Scenario.logger).test(.live) { client in
            let (isRunning, findings) = try await Self.lookAtPort(try #require(client.port), in: folder)
            #expect(!isRunning)
            #expect(findings.map(\.severity) == [.error, .error], "\(findings)")
        }
    }

    // MARK: Disks

    @Test(
        arguments: [
            (0, .error), ((100 << 20) - 1, .error), (100 << 20, .warning), ((1 << 30) - 1, .warning), (1 << 30, .ok),
        ] as [(Int64, Finding.Severity)]
    )
    func somebodyIsToldBeforeTheDiskIsFull(bytes: Int64, level: Finding.Severity) async throws {
        let folder = try TemporaryFolder()
        let doctor = Doctor(logger: Scenario.logger, freeBytes: { _ in bytes })
        let findings = try await doctor.examine(Scenario.configuration(in: folder))
        findings.expectRemedies()
        // The storage and the source are in the same folder.
        let message = "\(ByteCount.text(bytes)) are free on the disk"
        let disks = findings.filter { $0.area == .storage && $0.message == message }
        #expect(disks.map(\.severity) == [level], "\(findings)")
        let place = try #require(disks.first?.place.location)
        #expect(URL(filePath: place).standardized.path == URL(filePath: folder.path("")).standardized.path)
        #expect(disks.first?.remedy?.hasPrefix("Make room") == (level == .ok ? nil : true))
    }

    @Test func ofADiskThatTellsNothingNothingIsTold() async throws {
        let doctor = Doctor(logger: Scenario.logger, freeBytes: { _ in nil })
        let findings = try await doctor.examine(Scenario.configuration(in: try TemporaryFolder()))
        #expect(!findings.contains { $0.message.contains("free on the disk") })
        #expect(Doctor.freeBytes(at: "/nowhere") == nil)
    }

    @Test(arguments: [(256 << 20, 0), ((256 << 20) + 1, 1)] as [(UInt64, Int)])
    func aWriteAheadLogThatOnlyGrowsIsAWarning(bytes: UInt64, count: Int) throws {
        let folder = try TemporaryFolder()
        let path = folder.path("buckets.db-wal")
        try Data().write(to: URL(filePath: path))
        // Without contents, it takes no room.
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        try file.truncate(atOffset: bytes)
        try file.close()
        var findings: [Finding] = []
        Doctor(logger: Scenario.logger).checkLog(path, &findings)
        #expect(findings.map(\.severity) == Array(repeating: .warning, count: count))
        findings.expectRemedies()
    }

    @Test func aDatabaseThatOthersCanReadIsAWarningWithTheCommandThatClosesItUnlessItsFolderIsClosed() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("source.db")
        for suffix in ["", "-wal"] { try Data().write(to: URL(filePath: path + suffix)) }
        for (folderMode, mode, logMode, words) in [
            (0o755, 0o600, 0o600, nil), (0o755, 0o644, 0o600, "read"), (0o755, 0o600, 0o604, "read"),
            (0o755, 0o666, 0o600, "change"), (0o711, 0o644, 0o644, "read"), (0o700, 0o666, 0o666, nil),
            (0o755, 0o640, 0o640, nil),
        ] as [(Int, Int, Int, String?)] {
            for (file, mode) in [(folder.path(""), folderMode), (path, mode), (path + "-wal", logMode)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
            }
            var findings: [Finding] = []
            let file = DatabaseFile(path: path, log: path + "-wal", others: [path + "-shm"])
            Doctor(logger: Scenario.logger).checkReaders(of: file, &findings)
            #expect(findings.count == (words == nil ? 0 : 1))
            for finding in findings {
                #expect(
                    finding.severity == .warning && finding.message.contains("can \(words ?? "") the file"),
                    "\(finding)"
                )
                #expect(finding.remedy?.contains("'\(path)'") == (mode & 0o007 != 0), "\(finding)")
                #expect(finding.remedy?.contains("'\(path)-wal'") == (logMode & 0o007 != 0), "\(finding)")
            }
        }
    }

    // MARK: Words

    @Test(arguments: [
        (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"), (5 << 30, "5 GiB"),
    ])
    func numbersOfBytesAreForPeople(bytes: Int64, text: String) {
        #expect(ByteCount.text(bytes) == text)
    }
}
