import PostgresTestSupport
import PowerSyncSyncConfig
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncOperations
@testable import PowerSyncService
@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// `powersync test-connection`, `powersync doctor` and the start of a service look at the same things (docs/postgres.md "Checking a
/// server").
@Suite(.timeLimit(.minutes(1))) struct SameChecksTests {
    private static let syncConfig = """
        config: {edition: 3}
        streams:
          all:
            auto_subscribe: true
            queries:
              - SELECT * FROM lists
              - SELECT * FROM Project
              - SELECT id, nmae FROM lists
              - SELECT * FROM hidden
              - SELECT * FROM policies
              - SELECT * FROM unlogged
              - SELECT * FROM shown
              - SELECT * FROM nokey
        """

    /// What each of them says, in a few words.
    private static let expected = [
        "no table “project”", "no column “nmae”", "may not read public.hidden", "Policies of public.policies",
        "public.unlogged is unlogged", "public.shown is a view", "public.nokey has no primary key",
        "public.audit_log is in publication powersync and has no replica identity",
    ]

    @Test func theySayTheSame() async throws {
        let database = try TestDatabase(
            """
            CREATE TABLE lists (id text PRIMARY KEY, name text); CREATE TABLE "Project" (id text PRIMARY KEY);
            CREATE TABLE hidden (id text PRIMARY KEY); CREATE TABLE policies (id text PRIMARY KEY);
            ALTER TABLE policies ENABLE ROW LEVEL SECURITY; CREATE UNLOGGED TABLE unlogged (id text PRIMARY KEY);
            CREATE VIEW shown AS SELECT * FROM lists; CREATE TABLE nokey (id text); CREATE TABLE audit_log (what text)
            """
        )
        let role = "role_\(database.name)"
        try database.run(
            """
            CREATE ROLE \(role) LOGIN REPLICATION; GRANT USAGE ON SCHEMA public TO \(role);
            GRANT SELECT ON lists, "Project", policies, unlogged, shown, nokey TO \(role)
            """
        )
        defer { _ = try? database.run("DROP OWNED BY \(role); DROP ROLE \(role)") }
        let folder = try TemporaryFolder()
        var configuration = ServiceScenario.configuration(in: folder)
        var settings = PostgresSettings(uri: database.uri)
        settings.tls = .disable
        settings.overrides["user"] = role
        configuration.source = .postgresql(settings)
        configuration.syncConfig = .content(Self.syncConfig)

        let report = try await SyncService.checkSource(of: configuration, logger: ServiceScenario.logger)
        guard case .checked(let found) = report.outcome else {
            Issue.record("\(report.outcome)")
            return
        }
        let doctor = try await Doctor(logger: ServiceScenario.logger).examine(configuration)
        let log = CollectedLog()
        let source = try await configuration.openSource(logger: log.logger)
        let stream = ReplicationStream(
            id: ReplicationStreamID(rawValue: 1),
            state: .processing,
            sourceHandle: "none",
            content: Self.syncConfig,
            plan: try plan(Self.syncConfig),
            isSnapshotDone: false
        )
        try await source.warn(about: stream)
        try source.close()

        let texts = [
            found.map(\.message), doctor.filter { $0.area == .source && $0.severity != .ok }.map(\.message), log.lines,
        ]
        for part in Self.expected {
            for (speaker, lines) in zip(["test-connection", "doctor", "serve"], texts) {
                #expect(lines.contains { $0.contains(part) }, "\(speaker) does not say \(part): \(lines)")
            }
        }
        // And nothing else.
        #expect(texts[0] == texts[1])
        #expect(texts[0].count == texts[2].count)
        #expect(log.lines.allSatisfy { $0.hasPrefix("warning ") })
    }
}
