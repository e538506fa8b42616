import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres

/// Parameter entries in PostgreSQL, of which there may be many of one lookup (docs/postgres-storage.md "Tables").
@Suite(.timeLimit(.minutes(1))) struct ParameterEntryTests {
    private static let config = """
        config:
          edition: 3
        streams:
          d:
            query: SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())
        """
    private static let u1 = #"0["u1"]"#

    @Test func noMoreThanTheLimitIsRead() async throws {
        var scenario = try await StorageScenario(Self.config, on: .postgres)
        let table = try await scenario.table("m")
        for number in 0..<50 {
            let row: SourceRow = ["id": .integer(Int64(number)), "uid": "u1", "grp": .text("g\(number)")]
            try await scenario.save(.insert(row), of: table)
        }
        // What is gone does not count.
        for number in 40..<50 { try await scenario.save(.delete(key: [.integer(Int64(number))]), of: table) }
        let checkpoint = try await scenario.commit()
        for limit in [10, 39] {
            await #expect(throws: BucketLimitError(limit: .parameterResults(limit: limit))) {
                try await scenario.lookUp(Self.u1, limit: limit)
            }
        }
        #expect(try await scenario.lookUp(Self.u1, limit: 40).count == 40)
        #expect(try await scenario.lookUp(Self.u1, limit: .max).count == 40)
        let storage = try #require(scenario.storage as? PostgresBucketStorage)
        let count = try await storage.ask("counting") { db in
            let lookups = [ParameterLookup(rawValue: Self.u1)]
            return try PostgresBucketStorage.readEntries(of: lookups, at: checkpoint, limit: 10, db) { _ in }
        }
        #expect(count == 11)
    }

    @Test func entriesOfOneRowAreBesideEachOther() async throws {
        let scenario = try await StorageScenario(Self.config, on: .postgres)
        let stream = scenario.stream.id
        try scenario.home.run(
            """
            INSERT INTO parameter_entries (stream, op_id, lookup, source_table, source_key, outputs)
            SELECT \(stream), n, 1, 1, md5((n % 1000)::text)::uuid, '\\x00000000' FROM generate_series(1, 10000) AS n;
            ANALYZE parameter_entries
            """
        )
        let storage = try #require(scenario.storage as? PostgresBucketStorage)
        let lines = try await storage.ask("explaining") { db in
            try db.rows(
                "EXPLAIN \(PostgresCompaction.removal(in: db.schema))",
                [.integer(stream.rawValue), .integers([1, 2, 3])]
            ) { try $0.text(0) }
        }
        #expect(lines.contains { $0.contains("Index Cond") && $0.contains("source_key = ") }, "\(lines)")
    }
}
