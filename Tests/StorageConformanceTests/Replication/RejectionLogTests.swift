import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What operators hear about rows that are missing on clients.
@Suite struct RejectionLogTests {
    private static let yaml = """
        config: {edition: 3}
        streams:
          a: {auto_subscribe: true, query: SELECT * FROM test WHERE auth.user_id() IN test.users}
          b: {auto_subscribe: true, query: SELECT * FROM test}
        """

    @Test(arguments: TestedStorage.durable) func rowsThatCannotBeEvaluatedAreLoggedOncePerTableAndReason(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(Self.yaml, on: kind)
        let table = try await scenario.table("test")
        let collected = CollectedLog()
        let log = RejectionLog(logger: collected.logger, statistics: ReplicationStatistics())
        for id in ["x", "y"] {
            let row: SourceRow = ["id": .text(id), "users": "oops"]
            let rejected = try await scenario.save(.insert(row), .insert(["id": "z", "users": "[]"]), of: table)
            #expect(rejected.map(\.key) == [[SourceRow.Column(name: "id", value: .text(id))]])
            log.report(rejected)
        }
        let line = try #require(collected.lines.first)
        #expect(collected.lines.count == 1)
        #expect(line.hasPrefix("warning A row cannot be evaluated"))
        #expect(line.contains("error=the value is not JSON text"))
        #expect(line.contains("table=main.test") && line.contains(#"row_key=id="x""#))
        #expect(line.contains("target=buckets of a|0"))
        try await scenario.commit()
        #expect(try await scenario.summary("b|0[]") == ["PUT x", "PUT z", "PUT y", "PUT z"])
    }

    @Test(arguments: TestedStorage.durable) func rowsWithoutAnIDAreNotSentAndAreCounted(
        _ kind: TestedStorage
    ) async throws {
        var scenario = try await StorageScenario(
            """
            config: {edition: 3}
            streams:
              a: {auto_subscribe: true, queries: [SELECT name FROM test, SELECT name AS id FROM test]}
              b: {auto_subscribe: true, query: SELECT name FROM test WHERE owner = auth.user_id()}
            """,
            on: kind
        )
        let table = try await scenario.table("test")
        let collected = CollectedLog()
        let statistics = ReplicationStatistics()
        let log = RejectionLog(logger: collected.logger, statistics: statistics)
        for id in ["x", "y"] {
            log.report(try await scenario.save(.insert(["id": .text(id), "name": "n", "owner": "u"]), of: table))
        }
        let line = try #require(collected.lines.first)
        #expect(collected.lines.count == 1)
        #expect(line.hasPrefix("warning A row has no id, and is not sent"))
        #expect(line.contains("a || '-' || b AS id") && line.contains("user_id AS id"))
        #expect(line.contains("table=main.test") && line.contains("buckets of a|0, b|0"))
        #expect(statistics.counts.rowsWithoutID == ["main.test": 2])
        try await scenario.commit()
        #expect(try await scenario.summary("a|0[]") == ["PUT n", "PUT n"])
        #expect(try await scenario.summary(#"b|0["u"]"#) == [])
    }

    @Test(arguments: TestedStorage.durable, [SQLValue.null, .text(""), .blob([1])])
    func aRowThatLosesItsIDIsRemoved(_ kind: TestedStorage, _ lost: SQLValue) async throws {
        var scenario = try await StorageScenario(
            "config: {edition: 3}\nstreams: {a: {auto_subscribe: true, query: SELECT code AS id FROM test}}",
            on: kind
        )
        let table = try await scenario.table("test")
        let row: SourceRow = ["id": "x", "code": "c"]
        _ = try await scenario.save(.insert(row), of: table)
        try await scenario.commit()
        let rejected = try await scenario.save(.update(["id": "x", "code": lost]), of: table)
        #expect(rejected.map(\.reason) == [.withoutID(definitions: ["a|0"])])
        try await scenario.commit()
        #expect(try await scenario.summary("a|0[]") == ["PUT c", "REMOVE c"])
        _ = try await scenario.save(.update(row), of: table)
        try await scenario.commit()
        #expect(try await scenario.summary("a|0[]") == ["PUT c", "REMOVE c", "PUT c"])
    }

    @Test func everyRowThatIsTooLargeIsLogged() {
        let collected = CollectedLog()
        let log = RejectionLog(logger: collected.logger, statistics: ReplicationStatistics())
        let row = RejectedRow(
            table: SourceTableName(schema: "main", name: "test"),
            key: [SourceRow.Column(name: "id", value: "x")],
            reason: .tooLarge(
                bytes: 16_000_000,
                limit: 15_000_000,
                buckets: [BucketName("a|0[]"), BucketName("b|0[]")]
            )
        )
        log.report([row, row])
        #expect(collected.lines.count == 2)
        #expect(collected.lines.allSatisfy { $0.contains("bytes=16000000") && $0.contains("code=PSYNC_S1002") })
        #expect(collected.lines.allSatisfy { $0.contains("a|0[] and 1 more") })
    }
}
