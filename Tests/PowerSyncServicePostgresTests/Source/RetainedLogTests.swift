import Logging
import PostgresTestSupport
import PowerSyncServiceCore
import Testing

@testable import PowerSyncServicePostgres

/// What a server keeps of its log for slots of the service.
@Suite(.timeLimit(.minutes(1))) struct RetainedLogTests {
    @Test func onlySlotsOfTheServiceAreToldWithTheBytesBehindThem() async throws {
        let database = try TestDatabase("CREATE TABLE lists (id text PRIMARY KEY)")
        let prefix = "\(database.name)_"
        for name in ["\(prefix)b", "\(prefix)a", "other_\(database.name)"] {
            try database.run("SELECT pg_create_logical_replication_slot('\(name)', 'pgoutput')")
        }
        try database.run("INSERT INTO lists SELECT n::text FROM generate_series(1, 1000) n")
        try database.run(
            "SELECT pg_replication_slot_advance('\(prefix)b', pg_current_wal_lsn())"
        )
        try database.run("INSERT INTO lists SELECT n::text FROM generate_series(1001, 1100) n")

        var settings = PostgresSource.Settings(connection: database.connectionString)
        settings.slotNamePrefix = prefix
        let source = PostgresSource(settings, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let logs = try await source.retainedLogs()
        try source.close()
        #expect(logs.map(\.handle) == ["\(prefix)a", "\(prefix)b"])
        let bytes = logs.compactMap(\.unacknowledgedBytes)
        try #require(bytes.count == 2)
        #expect(bytes[1] > 0)
        #expect(bytes[0] > bytes[1])
        for log in logs {
            let retained = try #require(log.retainedBytes)
            #expect(retained >= log.unacknowledgedBytes ?? .max)
        }
    }
}
