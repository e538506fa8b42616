import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Finding names, of which a stream may have very many (docs/postgres-storage.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct NameLookupTests {
    private static let config = """
        config: {edition: 3}
        streams:
          g: {query: SELECT * FROM test}
        """

    @Test func statisticsAreNotNeeded() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let stream = scenario.stream.id
        let storage = try #require(scenario.storage as? PostgresBucketStorage)
        for table in ["names", "buckets", "lookups"] {
            try scenario.home.run(
                """
                ALTER TABLE \(table)_\(stream) SET (autovacuum_enabled = off);
                INSERT INTO \(table) (stream, name) SELECT \(stream), sha256(n::text::bytea) FROM generate_series(1, 3000) AS n
                """
            )
            let lines = try await storage.ask("explaining") { db in
                try db.rows(
                    """
                    EXPLAIN SELECT t.id FROM unnest($2::bytea[]) AS given (name)
                        JOIN \(PostgresStorageSchema.named("\(db.schema).\(table)", "given.name", as: "t"))
                    """,
                    [.integer(stream.rawValue), .names((0..<1_000).map { "name \($0)" })]
                ) { try $0.text(0) }
            }
            let usesIndex = lines.contains { $0.contains("Index Cond") && $0.contains("digest = sha256(given.name)") }
            #expect(usesIndex, "\(lines)")
        }
    }
}
