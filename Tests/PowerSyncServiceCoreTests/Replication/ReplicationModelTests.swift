import GRDB
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Random source changes, and what clients and lookups would see after each commit.
@Suite(.timeLimit(.minutes(2))) struct ReplicationModelTests {
    private static let schema = [
        "CREATE TABLE lists (id TEXT PRIMARY KEY, owner TEXT, slug TEXT UNIQUE, archived INTEGER)",
        "CREATE TABLE todos (list_id TEXT, number INTEGER, id TEXT, text, PRIMARY KEY (list_id, number))",
    ]
    private static let config = """
        config:
          edition: 3
        streams:
          lists:
            query: SELECT * FROM lists WHERE owner = auth.user_id()
          todos:
            query: SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner = auth.user_id())
          names:
            query: SELECT slug AS id, owner FROM lists
        """

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func bucketsAlwaysEqualTheEvaluatedSource(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var scenario = try SourceScenario(schema: Self.schema, config: Self.config)
        for _ in 0..<8 {
            // Each round is one life of the service. Some writes happen before it starts.
            try await write(to: scenario, &random)
            let transactions = (0..<random.number(below: 8)).map { _ in random.next() }
            let running = scenario
            try await running.replicating {
                for seed in transactions {
                    var random = SeededGenerator(seed: seed)
                    try await write(to: running, &random)
                    // Sometimes several transactions are covered by one checkpoint, or cut off by the end of the
                    // service.
                    if random.number(below: 3) > 0 { continue }
                    try await running.caughtUp()
                    if random.number(below: 3) == 0 { _ = try await running.storage.compact() }
                    try await expectSameRows(running)
                }
            }
            scenario = try scenario.reopened()
            try await scenario.replicate()
            try await expectSameRows(scenario)
        }
    }

    // MARK: Source

    /// Writes a random transaction by another program.
    private func write(to scenario: SourceScenario, _ random: inout SeededGenerator) async throws {
        let statements = (0...random.number(below: 6)).map { _ in statement(&random) }
        try await scenario.foreignConnection().write { db in
            for statement in statements { try db.execute(sql: statement) }
        }
        // Spares the test the polling interval.
        scenario.source.signal.advance()
    }

    private func statement(_ random: inout SeededGenerator) -> String {
        let id = "l\(random.number(below: 6))"
        let other = "l\(random.number(below: 6))"
        let owner = ["'u1'", "'u2'", "NULL"][random.number(below: 3)]
        let slug = random.number(below: 5)
        let number = random.number(below: 4)
        return switch random.number(below: 16) {
        case 0...2: "INSERT OR REPLACE INTO lists VALUES ('\(id)', \(owner), 's\(slug)', 0)"
        case 3: "INSERT OR IGNORE INTO lists VALUES ('\(id)', \(owner), 's\(slug)', 0)"
        case 4: "UPDATE lists SET owner = \(owner) WHERE id = '\(id)'"
        case 5: "UPDATE OR REPLACE lists SET id = '\(other)' WHERE id = '\(id)'"
        case 6: "UPDATE OR REPLACE lists SET slug = 's\(slug)' WHERE id = '\(id)'"
        case 7: "UPDATE lists SET archived = archived + 1"
        case 8: "DELETE FROM lists WHERE id = '\(id)'"
        case 9...11: "INSERT OR REPLACE INTO todos VALUES ('\(id)', \(number), '\(id).\(number)', \(slug).5)"
        case 12: "UPDATE OR REPLACE todos SET list_id = '\(other)' WHERE list_id = '\(id)'"
        case 13: "UPDATE OR IGNORE todos SET number = number + 1"
        case 14: "DELETE FROM todos WHERE list_id = '\(id)'"
        default:
            random.number(below: 4) == 0
                ? "DELETE FROM todos"
                : "INSERT INTO todos SELECT '\(id)', number + 100, 'x' || number, 'é' FROM todos WHERE number < 4 "
                    + "AND list_id = '\(other)' ON CONFLICT DO NOTHING"
        }
    }

    // MARK: Comparison

    private func expectSameRows(_ scenario: SourceScenario) async throws {
        let checkpoint = try #require(scenario.storage.feed.current)
        let stream = try #require(try await scenario.storage.streams().first { $0.id == checkpoint.streamID })
        var expectedRows: [BucketName: Set<String>] = [:]
        var expectedLookups: [ParameterLookup: [ParameterRow]] = [:]
        for descriptor in try await scenario.source.tables(for: stream.plan) {
            var reader = try await scenario.source.snapshot(of: descriptor, after: nil)
            while let chunk = try await reader.next() {
                for row in chunk.rows {
                    for found in stream.plan.evaluate(row, of: descriptor.name, bucketPrefix: stream.bucketPrefix) {
                        expectedRows[found.bucket, default: []].insert("\(found.table) \(found.id) \(found.data)")
                    }
                    for entry in stream.plan.evaluateParameters(row, of: descriptor.name) {
                        expectedLookups[entry.lookup, default: []] += entry.rows
                    }
                }
            }
        }

        let (buckets, lookups) = try await scenario.storage.pool.read { [id = stream.id.rawValue] db in
            (
                try String.fetchSet(db, sql: "SELECT name FROM buckets WHERE stream = ?", arguments: [id]),
                try String.fetchSet(db, sql: "SELECT name FROM lookups WHERE stream = ?", arguments: [id])
            )
        }
        let names = buckets.map { BucketName($0) }
        #expect(Set(names).isSuperset(of: expectedRows.keys))
        let checksums = try await scenario.storage.checksums(names, at: checkpoint)
        for name in names {
            let operations = try await scenario.storage.allOperations(
                String(name.rawValue.dropFirst(stream.bucketPrefix.count)),
                of: stream,
                at: checkpoint
            )
            let rows = reduceByIdentity(operations).values.map { "\($0.table) \($0.id) \($0.data ?? "")" }
            #expect(Set(rows) == expectedRows[name, default: []], "\(name)")
            let sum = operations.map(\.checksum).reduce(.zero, +)
            #expect(checksums[name] == BucketChecksum(checksum: sum, count: Int64(operations.count)), "\(name)")
        }
        let found = try await scenario.storage.parameterRows(
            lookups.map { ParameterLookup(rawValue: $0) },
            at: checkpoint,
            limit: .max
        )
        #expect(found.mapValues { Set($0) } == expectedLookups.mapValues { Set($0) })
    }
}
