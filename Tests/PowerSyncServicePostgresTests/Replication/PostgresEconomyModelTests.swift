import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// Random writes, changes of tables, deployments and ends of the service over a server: clients have what its SQL selects, for the fewest
/// operations that are possible (*What costs what*).
///
/// 20 runs; `POWERSYNC_ALL_CASES` makes 25 times as many. What copies tables is not among their changes: ``PostgresModelTests`` has that.
@Suite(.timeLimit(.minutes(10))) struct PostgresEconomyModelTests {
    @Test(arguments: ClosedRange.portions(1, of: 20))
    func clientsHaveWhatSQLSelectsForTheFewestOperations(seeds: ClosedRange<UInt64>) async throws {
        var run = try await PostgresEconomyRun()
        for seed in seeds { try await run.play(seed: seed) }
    }
}

/// A database to which random things happen, and a service that replicates it.
private struct PostgresEconomyRun {
    private static let tables = ["items", "notes"]
    private static let schema = tables.map { table in
        """
        CREATE TABLE \(table) (id text PRIMARY KEY, owner text, body text, unread text);
        INSERT INTO \(table) SELECT '\(table)' || n, 'u' || n % 2, 'old', 'old' FROM generate_series(0, 7) AS n
        """
    }.joined(separator: ";")

    private static let queries = [
        "SELECT id, body FROM notes", "SELECT id, owner FROM notes", "SELECT * FROM notes",
        "SELECT id, owner, body FROM notes WHERE owner = auth.user_id()",
        "SELECT id, body FROM items WHERE owner IN (SELECT owner FROM notes WHERE body = auth.user_id())",
        "SELECT * FROM items",
    ]
    /// In all configs, so that one is always kept.
    private static let kept = "SELECT id, owner FROM items WHERE owner = auth.user_id()"

    private enum Step: Sendable {
        case write(String)
        case alter(String)
        case deploy(queries: [String])
        case compare
    }

    private struct State: Sendable {
        var least = LeastOperations()
        /// The queries of the config that was deployed last, and its text.
        var queries: [String]
        var text: String
        /// The stream, as that deployment has left it.
        var stream: ReplicationStream
        /// Whether something may have been written that was not read.
        var isBehind = false
        /// Whether a table may be another one than was read.
        var isAltered = false
        /// Whether tables may still be read for the config: where a column changes meanwhile, what was read of a table that is read for the
        /// first time is removed, and the model does not know how much that is.
        var isDeploying = false
    }

    private var scenario: PostgresScenario
    private var deployer: SyncConfigDeployer
    private let state: NIOLockedValueBox<State>
    /// Advances while replication is alive.
    private let signs = ChangeSignal()

    init() async throws {
        scenario = try PostgresScenario(Self.schema, catalogueInterval: .milliseconds(10))
        deployer = SyncConfigDeployer(storage: scenario.storage, logger: scenario.log.logger)
        let queries = [Self.kept, Self.queries[0]]
        let text = Self.text(queries)
        let stream = try await deployer.deploy(text).stream
        state = NIOLockedValueBox(State(queries: queries, text: text, stream: stream))
        try look()
        // A column that changes while tables are copied would have them copied anew.
        try await replicator.whileRunning { [scenario] in _ = try await scenario.served(text) }
    }

    private var replicator: Replicator {
        Replicator(
            storage: scenario.storage,
            source: scenario.source,
            streamsChanged: deployer.streamsChanged,
            logger: scenario.log.logger,
            touch: { [signs] in signs.advance() }
        )
    }

    private static func text(_ queries: [String]) -> String {
        (["config: {edition: 3}", "streams:"]
            + queries.enumerated().flatMap { number, query in
                ["  s\(number):", "    auto_subscribe: true", "    query: \(query)"]
            }).joined(separator: "\n")
    }

    /// A life of the service, with something that happens before it, and the comparison at the end.
    mutating func play(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var steps = (0..<(3 + random.number(below: 6))).map { number in
            // One of each kind in any case.
            Self.step(number < 3 ? [0, 6, 8][number] : random.number(below: 12), &random)
        }
        steps.shuffle(using: &random)
        let before = random.number(below: 4)
        do {
            var later = Array(steps.dropFirst(before))
            for step in steps.prefix(before) {
                switch step {
                // What was written before is read for the new parts, too, if it has not been read yet: the model does not know how much that is.
                case .deploy where state.withLockedValue(\.isBehind): later.insert(step, at: 0)
                case .alter where state.withLockedValue(\.isDeploying): later.insert(step, at: 0)
                case .compare: break
                default: try await take(step, seed)
                }
            }
            try await replicator.whileRunning { [self, later] in
                for step in later { try await take(step, seed) }
                // What was stored without a checkpoint would be read again, and make operations that the model does not know.
                try await compare(seed)
            }
            scenario = try scenario.reopened()
            deployer = SyncConfigDeployer(storage: scenario.storage, logger: scenario.log.logger)
        } catch {
            Issue.record(error, "seed \(seed)")
        }
    }

    private static func step(_ kind: Int, _ random: inout SeededGenerator) -> Step {
        let table = tables[random.number(below: 2)]
        let value = ["u0", "u1", "x"][random.number(below: 3)]
        let id = "\(table)\(random.number(below: 9))"
        switch kind {
        case 0...5:
            // A transaction changes a row once.
            let write =
                switch random.number(below: 9) {
                case 0:
                    "INSERT INTO \(table) (id, owner, body) VALUES ('\(id)', '\(value)', 'new') ON CONFLICT DO NOTHING"
                case 1: "DELETE FROM \(table) WHERE id = '\(id)'"
                case 2: "UPDATE \(table) SET owner = '\(value)' WHERE id >= '\(id)'"
                case 3: "UPDATE \(table) SET unread = unread || '.'"
                case 4: "UPDATE \(table) SET body = body, owner = owner"
                case 5:
                    """
                    UPDATE \(table) AS t SET id = id || '\(value)'
                    WHERE id = '\(id)' AND NOT EXISTS (SELECT 1 FROM \(table) WHERE id = t.id || '\(value)')
                    """
                default: "UPDATE \(table) SET body = '\(value)' WHERE id <= '\(id)'"
                }
            return .write(write)
        case 6, 7:
            let change =
                switch random.number(below: 9) {
                case 0, 1: "ALTER TABLE \(table) ADD COLUMN IF NOT EXISTS extra text DEFAULT '\(value)'"
                case 2, 3: "ALTER TABLE \(table) DROP COLUMN IF EXISTS extra"
                case 4: "ALTER TABLE \(table) REPLICA IDENTITY \(random.number(below: 2) == 0 ? "FULL" : "DEFAULT")"
                case 5: "ALTER TABLE \(table) ALTER body SET DEFAULT '\(value)', ALTER owner SET STATISTICS 50"
                case 6: "COMMENT ON TABLE \(table) IS '\(value)'; GRANT SELECT ON \(table) TO public"
                case 7: "DROP INDEX IF EXISTS \(table)_body; CREATE INDEX \(table)_body ON \(table) (body)"
                default: "ALTER PUBLICATION powersync SET (publish = 'insert, update, delete, truncate')"
                }
            return .alter(change)
        case 8, 9:
            let more = (0..<(1 + random.number(below: 2))).map { _ in queries[random.number(below: queries.count)] }
            return .deploy(queries: [kept] + more)
        default: return .compare
        }
    }

    private func take(_ step: Step, _ seed: UInt64) async throws {
        switch step {
        case .write(let sql):
            try scenario.database.run(sql)
            state.withLockedValue { $0.isBehind = true }
        case .alter(let sql):
            if state.withLockedValue(\.isDeploying) { try await compare(seed) }
            try scenario.database.run(sql)
            state.withLockedValue { ($0.isBehind, $0.isAltered) = (true, true) }
        case .deploy(let queries):
            if state.withLockedValue(\.isBehind) { try await compare(seed) }
            let text = Self.text(queries)
            let stream = try await deployer.deploy(text).stream
            state.withLockedValue { ($0.queries, $0.text, $0.stream, $0.isDeploying) = (queries, text, stream, true) }
        case .compare: return try await compare(seed)
        }
        try look()
    }

    private func look() throws {
        let tables = try Self.tables.map { table in
            let rows = try rows("SELECT * FROM \(table)").map { row in
                SourceRow(
                    columns: row.members.map { member in
                        guard case .string(let text) = member.value else {
                            return .init(name: member.name, value: .null)
                        }
                        return .init(name: member.name, value: .text(text))
                    }
                )
            }
            return (SourceTableName(schema: PostgresSource.defaultSchema, name: table), rows)
        }
        state.withLockedValue { $0.least.look(at: tables, $0.stream) }
    }

    /// What the server selects.
    private func rows(_ query: String) throws -> [JSONObject] {
        try scenario.database.run("SELECT to_json(q) FROM (\(query)) AS q").map { try JSONObject(parsing: $0[0] ?? "") }
    }

    /// Waits until clients are served everything that is committed now, rows of which columns have changed with their values.
    private func caughtUp(with text: String, isAltered: Bool) async throws -> ReplicationStream {
        try await scenario.served(text)
        guard isAltered else { return try await scenario.served(text) }
        for _ in 0..<2 {
            let seen = scenario.source.catalogueLooks.version
            try await scenario.source.catalogueLooks.wait(after: seen)
        }
        while true {
            let seen = signs.version
            let stream = try await scenario.served(text)
            if try await !scenario.storage.progress(of: stream.id).tables.contains(where: \.isOutdated) { break }
            try await signs.wait(after: seen)
        }
        return try await scenario.served(text)
    }

    /// Compares what a user has with what the server selects, and the operations with the fewest.
    private func compare(_ seed: UInt64) async throws {
        let (queries, text, isAltered, least) = state.withLockedValue { state in
            defer { (state.isBehind, state.isAltered, state.isDeploying) = (false, false, false) }
            return (state.queries, state.text, state.isAltered, state.least)
        }
        let stream = try await caughtUp(with: text, isAltered: isAltered)
        state.withLockedValue { $0.stream = stream }
        let checkpoint = try #require(scenario.storage.feed.current)
        let found = try await scenario.storage.rowTexts(of: "u0", stream, at: checkpoint)
        let expected = try queries.reduce(into: Set<String>()) { expected, query in
            let table = query.contains("FROM items") ? "items" : "notes"
            for row in try rows(query.replacing("auth.user_id()", with: "'u0'")) {
                expected.insert(rowText(table, row))
            }
        }
        #expect(found == expected, "seed \(seed)")
        let storage = scenario.storage
        let exceeded = try await least.exceeded(by: stream) { bucket in
            try await storage.allOperations(bucket, of: stream, at: checkpoint).count
        }
        #expect(exceeded.isEmpty, "seed \(seed)")
        #expect(stream.id.rawValue == 1, "seed \(seed)")
    }
}
