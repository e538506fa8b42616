import Foundation
import PostgresTestSupport
import PowerSyncProtocol
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// What keeps a service from starting is told by `powersync doctor` in the same words.
@Suite(.timeLimit(.minutes(2))) struct DoctorStartTests {
    private typealias Scenario = ServiceScenario

    private static func doctor(_ now: Date = Date()) -> Doctor {
        Doctor(logger: Scenario.logger, now: { now })
    }

    /// The words of an error, in a finding.
    private static func expect(_ error: ServiceError?, in findings: [Finding], _ location: SourceLocation) {
        findings.expectRemedies(sourceLocation: location)
        let errors = findings.filter { $0.severity == .error }
        let words = error.map { ([$0.message] + $0.diagnostics).joined(separator: "\n") }
        let isTold = errors.contains { finding in
            words.map { finding.message.hasPrefix($0) } == true
                && error?.key.map { finding.place.description.hasSuffix($0) } != false
        }
        #expect(isTold, "\(String(describing: error)) is not in \(errors)", sourceLocation: location)
    }

    /// With what a service refuses to start.
    private static func refusal(of configuration: ServiceConfiguration, now: Date = Date()) async -> ServiceError? {
        let log = CollectedLog()
        defer {
            // What has failed is what the error says, and nothing else.
            let others = log.lines.filter { $0.contains("child channel") || $0.contains("CancellationError") }
            #expect(others.isEmpty)
        }
        do {
            let service = try SyncService(
                configuration: configuration,
                logger: log.logger,
                timing: Timing(now: { now })
            )
            try await service.whileRunning { _ in }
            return nil
        } catch {
            return error as? ServiceError
        }
    }

    /// The names and sizes of all files in a folder.
    private static func contents(of folder: TemporaryFolder) throws -> [String: Int] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path(""))
        return try Dictionary(
            uniqueKeysWithValues: names.map { name in
                (name, try Data(contentsOf: URL(filePath: folder.path(name))).count)
            }
        )
    }

    @Test(arguments: RefusedStart.all)
    func itSaysWhatTheStartSaysAndChangesNothing(_ refused: RefusedStart) async throws {
        let folder = try TemporaryFolder()
        var configuration = Scenario.configuration(in: folder)
        try await refused.prepare(&configuration, folder)
        let before = try Self.contents(of: folder)
        let findings = try await Self.doctor(refused.now).examine(configuration)
        #expect(try Self.contents(of: folder) == before)
        Self.expect(
            await Self.refusal(of: configuration, now: refused.now),
            in: findings,
            SourceLocation(fileID: #fileID, filePath: #filePath, line: #line, column: #column)
        )
        // Nor has the start left anything behind but the lock of a file that was there.
        let after = try Self.contents(of: folder).filter { file in
            !before.keys.contains { file.key == $0 + ".lock" }
        }
        #expect(after == before)
    }

    @Test func aPortThatIsTakenLeavesNoFiles() async throws {
        try await Scenario.run { scenario in
            let folder = try TemporaryFolder()
            var configuration = Scenario.configuration(in: folder)
            configuration.port = scenario.address.port
            configuration.storage = .sqlite(path: folder.path("data/deep/buckets.db"))
            #expect(await Self.refusal(of: configuration)?.code == .portInUse)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("")).isEmpty)
        }
    }

    @Test(arguments: RefusedConfiguration.all.map(\.yaml))
    func ofAFileItSaysWhatReadingSays(yaml: String) async throws {
        try await Self.examineFile(yaml)
    }

    @Test(arguments: RefusedConnection.all.map(\.0))
    func ofAConnectionItSaysWhatReadingSays(connection: String) async throws {
        try await Self.examineFile(RefusedConnection.yaml(connection))
    }

    private static func examineFile(_ yaml: String) async throws {
        let folder = try TemporaryFolder()
        let file = folder.path("service.yaml")
        try yaml.write(toFile: file, atomically: true, encoding: .utf8)
        let environment = ["PS_A": "text"]
        let error = #expect(throws: ServiceError.self) {
            try ServiceConfiguration(contentsOf: file, environment: environment)
        }
        let findings = try await doctor().examine(file: file, environment: environment)
        expect(error, in: findings, SourceLocation(fileID: #fileID, filePath: #filePath, line: #line, column: #column))
        let line = error?.line.map { ":\($0)" } ?? ""
        #expect(findings.first?.place.description.hasPrefix(file + line) == true)
    }

    @Test func aMissingFileIsNamed() async throws {
        let findings = try await Self.doctor().examine(file: "/nowhere/service.yaml", environment: [:])
        #expect(findings.map(\.place.description) == ["/nowhere/service.yaml"])
        #expect(findings.first?.message == "the service configuration does not exist")
    }

    @Test func aPortAndAStorageOfOthersAreTold() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { scenario in
            let other = try TemporaryFolder()
            var samePort = Scenario.configuration(in: other)
            samePort.port = scenario.address.port
            try await Self.expectRefusal(of: samePort)

            var sameStorage = Scenario.configuration(in: other)
            sameStorage.storage = .sqlite(path: folder.path("buckets.db"))
            try await Self.expectRefusal(of: sameStorage)
        }
    }

    private static func expectRefusal(of configuration: ServiceConfiguration) async throws {
        let findings = try await doctor().examine(configuration)
        expect(
            await refusal(of: configuration),
            in: findings,
            SourceLocation(fileID: #fileID, filePath: #filePath, line: #line, column: #column)
        )
    }

    @Test func aServiceThatRunsIsInOrder() async throws {
        let folder = try TemporaryFolder()
        try await Scenario.run(in: folder) { scenario in
            var configuration = Scenario.configuration(in: folder)
            configuration.port = scenario.address.port
            let findings = try await Self.doctor().examine(configuration)
            #expect(findings.allSatisfy { $0.severity != .error }, "\(findings)")
            #expect(findings.contains { $0.area == .ports && $0.message.hasSuffix("the service is running") })
        }
    }

    @Test(arguments: ["127.0.0.1", "0.0.0.0"])
    func addressOfTheMetrics(_ host: String) async throws {
        var configuration = Scenario.configuration(in: try TemporaryFolder())
        let port = FreePort.take()
        (configuration.metricsHost, configuration.metricsPort) = (host, port)
        let findings = try await Self.doctor().examine(configuration)
        #expect(
            findings.contains {
                $0.area == .ports && $0.severity == .ok
                    && $0.message.hasPrefix("port \(port) for metrics is free on \(host)")
            },
            "\(findings)"
        )
    }

    @Test func theMetricsNeedAPortOfTheirOwn() async throws {
        try await Scenario.run { scenario in
            let folder = try TemporaryFolder()
            var configuration = Scenario.configuration(in: folder)
            configuration.metricsPort = scenario.address.port
            let findings = try await Self.doctor().examine(configuration)
            findings.expectRemedies()
            let finding = findings.first { $0.area == .ports && $0.severity == .error }
            #expect(finding?.place.description == "telemetry.prometheus_port")
            #expect(finding?.message.hasPrefix("port \(scenario.address.port) is not free") == true)
        }
    }

    @Test func whatAPostgresSourceLacksIsToldWithTheStatement() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text); DROP PUBLICATION powersync")
        let folder = try TemporaryFolder()
        var configuration = Scenario.configuration(in: folder)
        var settings = PostgresSettings(uri: database.uri)
        settings.tls = .disable
        configuration.source = .postgresql(settings)
        configuration.syncConfig = .content("config: {edition: 3}\nstreams: {a: {query: SELECT * FROM lists}}")
        let findings = try await Self.doctor().examine(configuration)
        findings.expectRemedies()
        let missing = findings.first { $0.code == .publicationMissing }
        #expect(missing?.severity == .error)
        #expect(missing?.remedy == "CREATE PUBLICATION powersync FOR TABLE public.lists;")
        #expect(findings.contains { $0.severity == .warning && $0.message.contains("no primary key") })
        #expect(!FileManager.default.fileExists(atPath: folder.path("buckets.db")))
    }

    // MARK: A storage in PostgreSQL

    /// A service with its storage in PostgreSQL, as a role that the address does not name if there is one.
    private static func configuration(
        in folder: TemporaryFolder,
        storage uri: String,
        as role: String? = nil
    ) -> ServiceConfiguration {
        var settings = PostgresSettings(uri: uri)
        settings.tls = .disable
        settings.overrides["user"] = role
        var configuration = Scenario.configuration(in: folder)
        configuration.storage = .postgresql(settings)
        return configuration
    }

    /// Where nobody listens.
    private static let nowhere = "postgresql://u:p@127.0.0.1:1/d"

    @Test func aStorageThatCannotBeReachedIsExplained() async throws {
        let folder = try TemporaryFolder()
        let configuration = Self.configuration(in: folder, storage: Self.nowhere)
        try await Self.expectRefusal(of: configuration)
        let calls: [() async throws -> Void] = [
            { _ = try await SyncService.migrate(configuration) },
            { _ = try await SyncService.teardownPlan(of: configuration) },
            { try await SyncService.tearDown(configuration, logger: Scenario.logger) { _ in } },
        ]
        for call in calls {
            let error = await #expect(throws: ServiceError.self) { try await call() }
            #expect(error?.code == .storage)
            #expect(error?.message.contains("Check hostname and port") == true, "\(String(describing: error))")
        }
    }

    @Test(arguments: ["127.0.0.1:1", "no-such-host.invalid"])
    func aStorageOutOfReach(_ host: String) async throws {
        let folder = FileManager.default.temporaryDirectory
        var settings = PostgresSettings(uri: "postgresql://postgres:postgres@\(host)/postgres?connect_timeout=5")
        settings.tls = .disable
        var configuration = ServiceConfiguration(
            source: .embedded(path: folder.appending(path: "none/source.db").path, statements: []),
            storage: .postgresql(settings),
            syncConfig: .deployed
        )
        configuration.port = 0
        configuration.host = "127.0.0.1"
        let findings = try await Doctor(logger: ServiceScenario.logger).examine(configuration)
        let error = try #require(findings.first { $0.area == .storage && $0.severity == .error })
        let text = "\(error.message) \(error.remedy ?? "")"
        for word in ["moved away", "makes it again", "damaged", "(secret)", "teardown"] {
            #expect(!text.contains(word), "\(text)")
        }
        #expect(error.remedy?.contains("the storage itself is left as it is") == true)
        // User, password and host are the same text, and the message is whole.
        #expect(text.contains("as postgres"), "\(text)")
    }

    @Test func aStorageThatCannotBeReachedIsToldOnce() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY)")
        let folder = try TemporaryFolder()
        var configuration = Self.configuration(in: folder, storage: Self.nowhere)
        var settings = PostgresSettings(uri: database.uri)
        settings.tls = .disable
        configuration.source = .postgresql(settings)
        configuration.syncConfig = .content("config: {edition: 3}\nstreams: {a: {query: SELECT * FROM lists}}")
        let errors = try await Self.doctor().examine(configuration).filter { $0.severity == .error }
        #expect(errors.map(\.area) == [.storage], "\(errors)")
    }

    @Test func aRoleThatMayNotMakeTheStorageIsTold() async throws {
        let database = try TestDatabase()
        let role = "guest_\(database.name)"
        try database.run("CREATE ROLE \(role) LOGIN")
        defer { _ = try? database.run("DROP ROLE \(role)") }
        let folder = try TemporaryFolder()
        let configuration = Self.configuration(in: folder, storage: database.uri, as: role)
        try await Self.expectRefusal(of: configuration)
        // One that has been made for it can be used.
        try database.run("CREATE SCHEMA powersync_storage AUTHORIZATION \(role)")
        let findings = try await Self.doctor().examine(configuration)
        #expect(findings.allSatisfy { $0.severity != .error }, "\(findings)")
        try database.run("DROP SCHEMA powersync_storage CASCADE")
    }
}
