import PostgresTestSupport
import RunningServiceTestSupport
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncService

/// A running service whose sync config reads all columns of a table without an id: it says so when it begins, before any row is there.
@Suite(.timeLimit(.minutes(1))) struct RowsWithoutIDTests {
    private static let table = "CREATE TABLE counters (user_id TEXT PRIMARY KEY, n INTEGER)"
    private static let config =
        "config: {edition: 3}\nstreams: {a: {auto_subscribe: true, query: SELECT * FROM counters}}"

    enum Source: CaseIterable { case embedded, postgres }

    @Test(arguments: Source.allCases) func aRunningSourceNamesTheTable(_ source: Source) async throws {
        let folder = try TemporaryFolder()
        let database = try source == .postgres ? TestDatabase(Self.table) : nil
        let log = CollectedLog()
        try await ServiceScenario.run(
            in: folder,
            log: log,
            configure: { configuration in
                configuration.syncConfig = .content(Self.config)
                configuration.source = .embedded(path: folder.path("source.db"), statements: [Self.table])
                guard let database else { return }
                var settings = PostgresSettings(uri: database.uri)
                settings.tls = .disable
                configuration.source = .postgresql(settings)
            }
        ) { _ in
            let line = try await log.line(containing: "counters", "user_id AS id")
            #expect(line.hasPrefix("warning "), "\(line)")
        }
        #expect(log.lines.count { $0.contains("counters") && $0.contains("user_id AS id") } == 1)
    }
}
