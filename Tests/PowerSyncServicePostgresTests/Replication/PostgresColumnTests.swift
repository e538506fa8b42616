import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Which columns of a table are read is each stream's own (docs/service.md "What a deployment keeps", docs/postgres.md "Changed tables").
@Suite(.timeLimit(.minutes(5))) struct PostgresColumnTests {
    private static let names = "SELECT id, name FROM lists"
    private static let notes = "SELECT id, note FROM lists"

    private static func config(_ queries: String...) -> String {
        let streams = queries.enumerated().map { "s\($0): {query: \"\($1)\"}" }
        return "{config: {edition: 3}, streams: {\(streams.joined(separator: ", "))}}"
    }

    private func scenario(_ config: String) throws -> PostgresScenario {
        try PostgresScenario(
            """
            CREATE TABLE lists (id text PRIMARY KEY, size int, name text, note text);
            INSERT INTO lists VALUES ('a', 1, 'one', 'x'), ('b', 2, 'two', 'y');
            CREATE TABLE others (id text PRIMARY KEY, name text, note text);
            INSERT INTO others SELECT 'o' || i, 'n', 'm' FROM generate_series(1, 100) AS i
            """,
            config: config,
            catalogueInterval: .milliseconds(50)
        )
    }

    private static func copies(_ scenario: PostgresScenario) -> Int {
        scenario.log.lines.count { $0.contains("has been copied") }
    }

    /// The operations of a bucket at the newest checkpoint.
    private func count(_ bucket: String, _ scenario: PostgresScenario) async throws -> Int {
        let checkpoint = try #require(scenario.storage.feed.current)
        let stream = try #require(try await scenario.storage.streams().first { $0.id == checkpoint.streamID })
        return try await scenario.storage.allOperations(bucket, of: stream, at: checkpoint).count
    }

    // MARK: Deployments

    @Test func anotherColumnIsReadForTheNewStreamAlone() async throws {
        let first = Self.config(Self.names, "SELECT id, name FROM others")
        let second = Self.config(Self.names, "SELECT id, name FROM others", Self.notes)
        let scenario = try scenario(first)
        let deployer = SyncConfigDeployer(storage: scenario.storage, logger: scenario.log.logger)
        let replicator = Replicator(
            storage: scenario.storage,
            source: scenario.source,
            streamsChanged: deployer.streamsChanged,
            logger: scenario.log.logger
        )
        try await deployer.deploy(first)
        try await replicator.whileRunning {
            try await scenario.caughtUp()
            // Nobody can read the table: a deployment that wanted to would wait.
            let session = try scenario.database.connect()
            try session.run("BEGIN; LOCK TABLE others IN ACCESS EXCLUSIVE MODE")
            for (number, text) in [second, first, second].enumerated() {
                try await deployer.deploy(text)
                let active = try await scenario.served(text)
                let last = active.plan.buckets.last?.name ?? ""
                #expect(try await count("\(last)[]", scenario) == (text == first ? 100 : 2), "\(number)")
                #expect(try await count("s0|0[]", scenario) == 2)
                #expect(try await count("s1|0[]", scenario) == 100)
            }
            #expect(Self.copies(scenario) == 2)
            try session.run("COMMIT")
            try scenario.database.run("UPDATE lists SET note = 'new'")
            try await scenario.source.emitMarker()
            try await scenario.served(second)
            #expect(try await count("s0|0[]", scenario) == 2)
        }
    }

    // MARK: Changes of tables

    /// Changes of a table, and which of a stream of names and one of notes they concern.
    private static let changes: [(sql: String, names: Int, notes: Int)] = [
        ("ALTER TABLE lists DROP name; ALTER TABLE lists ADD name text DEFAULT 'new'", 4, 2),
        ("ALTER TABLE lists RENAME note TO remark", 2, 4),
        ("ALTER TABLE lists RENAME note TO remark; ALTER TABLE lists RENAME size TO note", 2, 4),
        ("ALTER TABLE lists DROP note", 2, 4), ("ALTER TABLE lists ALTER name TYPE varchar", 2, 2),
        ("ALTER TABLE lists DROP size; ALTER TABLE lists ADD color text DEFAULT 'red'", 2, 2),
    ]

    @Test(arguments: changes)
    func aColumnConcernsTheStreamThatReadsIt(_ sql: String, names: Int, notes: Int) async throws {
        let scenario = try scenario(Self.config(Self.names, Self.notes))
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run(sql)
            try await scenario.caughtUpWithTables()
            #expect(try await count("s0|0[]", scenario) == names)
            #expect(try await count("s1|0[]", scenario) == notes)
            #expect(Self.copies(scenario) == 1)
            #expect(scenario.log.lines.contains { $0.contains("has another form") } == false)
        }
        for bucket in ["s0|0[]", "s1|0[]"] { try await expectFreshRows(bucket, scenario) }
    }

    private func expectFreshRows(_ bucket: String, _ scenario: PostgresScenario) async throws {
        let fresh = try PostgresScenario(config: scenario.config, database: scenario.database)
        try await fresh.replicate()
        let (own, others) = (try await scenario.rows(bucket), try await fresh.rows(bucket))
        #expect(own == others, "\(bucket)")
        let slot = try #require(try await fresh.stream()).sourceHandle
        try await fresh.source.dropStream(slot)
        try fresh.source.close()
    }

    /// A column under a star is filled while changes come, from the rows: its default is another value in each.
    @Test func aColumnWithRandomValuesIsFilledInOnePass() async throws {
        let scenario = try scenario(Self.config("SELECT * FROM others"))
        try await scenario.replicating {
            try await scenario.caughtUp()
            try scenario.database.run("ALTER TABLE others ADD number float DEFAULT 0.5, ADD other text")
            try scenario.database.run("UPDATE others SET other = 'x' WHERE id = 'o1'")
            try await scenario.caughtUpWithTables()
            #expect(Self.copies(scenario) == 1)
            #expect(try await count("s0|0[]", scenario) <= 201)
        }
        try await expectFreshRows("s0|0[]", scenario)
    }
}
