import GRDB
import NIOConcurrencyHelpers
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore

/// Random writes, changes of tables, deployments and ends of the service: clients have what plain SQL selects, for the fewest operations
/// that are possible (docs/service.md "What a deployment keeps").
///
/// 500 runs in this process, a fifth of them over SQLite, which waits for the disk, and 20 over PostgreSQL; `POWERSYNC_ALL_CASES` makes 25 times
/// as many.
/// Each run has writes, a changed column and a deployment, before the service starts or while it runs, and ends with the service. Some
/// runs follow each other in one storage, which takes longer to make than a run: what fails says its seed, and a case has all seeds of a storage.
@Suite(.timeLimit(.minutes(10))) struct EconomyModelTests {
    @Test(arguments: ClosedRange.portions(40, of: 10))
    func clientsHaveWhatSQLSelectsForTheFewestOperations(seeds: ClosedRange<UInt64>) async throws {
        try await play(seeds, over: .inMemory, from: 0)
    }

    @Test(arguments: ClosedRange.portions(10, of: 10))
    func clientsOfSQLiteHaveWhatSQLSelectsForTheFewestOperations(seeds: ClosedRange<UInt64>) async throws {
        try await play(seeds, over: .sqlite, from: 1_000_000)
    }

    @Test(arguments: ClosedRange.portions(1, of: 20))
    func clientsOfPostgreSQLHaveWhatSQLSelectsForTheFewestOperations(seeds: ClosedRange<UInt64>) async throws {
        try await play(seeds, over: .postgres, from: 2_000_000)
    }

    private func play(_ seeds: ClosedRange<UInt64>, over kind: TestedStorage, from first: UInt64) async throws {
        var run = try await EconomyRun(kind)
        for seed in seeds { try await run.play(seed: first + seed) }
    }
}

/// A storage, and a source to which random things happen.
private struct EconomyRun {
    private typealias Scenario = ContinuationScenario

    private static let queries = [
        Scenario.notes, Scenario.bodies, "SELECT id, owner FROM notes",
        "SELECT * FROM notes WHERE owner = auth.user_id()",
        "SELECT id, body FROM items WHERE owner IN (SELECT owner FROM notes WHERE body = auth.user_id())",
        Scenario.all,
    ]
    /// In all configs, so that one is always kept.
    private static let kept = "SELECT id, owner FROM items WHERE owner = auth.user_id()"

    private enum Step: Sendable {
        case write([RowWrite])
        case column(table: String, SQLValue?)
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
        /// Whether tables may still be read for the config: where a column changes meanwhile, what was read of a table that is read for the
        /// first time is removed, and the model does not know how much that is.
        var isDeploying = false
    }

    private var scenario: ContinuationScenario
    private let state: NIOLockedValueBox<State>
    /// What says what queries give.
    private let database: DatabaseQueue

    init(_ kind: TestedStorage) async throws {
        scenario = try await Scenario(kind)
        database = try DatabaseQueue()
        let first = [Self.kept, Scenario.notes]
        let text = Self.text(first)
        let stream = try await scenario.deployer.deploy(text).stream
        state = NIOLockedValueBox(State(queries: first, text: text, stream: stream))
        look()
        try await scenario.replicating { [scenario] in try await scenario.served(text) }
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
            Self.step(number < 3 ? [0, 7, 8][number] : random.number(below: 12), &random)
        }
        steps.shuffle(using: &random)
        let before = random.number(below: 4)
        do {
            var later = Array(steps.dropFirst(before))
            for step in steps.prefix(before) {
                switch step {
                // What was written before is read for the new parts, too, if it has not been read yet: the model does not know how much that is.
                case .deploy where state.withLockedValue(\.isBehind): later.insert(step, at: 0)
                case .column where state.withLockedValue(\.isDeploying): later.insert(step, at: 0)
                case .compare: break
                default: try await take(step, seed)
                }
            }
            try await scenario.replicating { [self, later] in
                for step in later { try await take(step, seed) }
                // What was stored without a checkpoint would be read again, and make operations that the model does not know.
                try await compare(seed)
            }
            if scenario.home.kind != .inMemory { scenario = try await scenario.reopened() }
        } catch {
            Issue.record(error, "seed \(seed)")
        }
    }

    private static func step(_ kind: Int, _ random: inout SeededGenerator) -> Step {
        let table = ["items", "notes"][random.number(below: 2)]
        let value = SQLValue.text(["u0", "u1", "x"][random.number(below: 3)])
        switch kind {
        case 0...6:
            // A transaction changes a row once.
            let ids = Set((0...random.number(below: 3)).map { _ in random.number(below: 9) }).sorted()
            return .write(
                ids.map { number in
                    let id = "\(table)\(number)"
                    return switch random.number(below: 6) {
                    case 0: .insert(table, id: id, ["owner": value, "body": "new"])
                    case 1: .delete(table, id: id)
                    case 2: .update(table, id: id, ["owner": value])
                    case 3: .update(table, id: id, ["body": value, "extra": value])
                    default: .update(table, id: id, ["body": value])
                    }
                }
            )
        case 7: return .column(table: table, random.number(below: 3) == 0 ? nil : value)
        case 8, 9:
            let more = (0..<(1 + random.number(below: 2))).map { _ in queries[random.number(below: queries.count)] }
            return .deploy(queries: [kept] + more)
        default: return .compare
        }
    }

    private func take(_ step: Step, _ seed: UInt64) async throws {
        switch step {
        case .write(let writes):
            scenario.model.write(writes)
            state.withLockedValue { $0.isBehind = true }
        case .column(let table, let value):
            if state.withLockedValue(\.isDeploying) { try await compare(seed) }
            scenario.model.setColumn("extra", of: table, to: value)
            state.withLockedValue { $0.isBehind = true }
        case .deploy(let queries):
            if state.withLockedValue(\.isBehind) { try await compare(seed) }
            let text = Self.text(queries)
            let stream = try await scenario.deployer.deploy(text).stream
            state.withLockedValue { ($0.queries, $0.text, $0.stream, $0.isDeploying) = (queries, text, stream, true) }
        case .compare: return try await compare(seed)
        }
        look()
    }

    private func look() {
        let rows = scenario.model.content.allRows
        state.withLockedValue { $0.least.look(at: rows, $0.stream) }
    }

    /// Compares what a user has with what SQLite selects, and the operations with the fewest.
    private func compare(_ seed: UInt64) async throws {
        let (queries, text, least) = state.withLockedValue { state in
            (state.isBehind, state.isDeploying) = (false, false)
            return (state.queries, state.text, state.least)
        }
        let (stream, checkpoint) = try await scenario.readAgain(text)
        state.withLockedValue { $0.stream = stream }
        let rows = try await scenario.storage.rowTexts(of: "u0", stream, at: checkpoint)
        let expected = try select(queries, from: scenario.model.content)
        #expect(rows == expected, "seed \(seed)")
        let exceeded = try await least.exceeded(by: stream) { try await scenario.count($0, stream, at: checkpoint) }
        #expect(exceeded.isEmpty, "seed \(seed)")
        #expect(stream.id.rawValue == 1, "seed \(seed)")
    }

    /// What the queries of a user give, by the SQL of SQLite.
    private func select(_ queries: [String], from content: ModelSource.Content) throws -> Set<String> {
        try database.write { db in
            for (name, table) in content.tables {
                try db.execute(sql: "DROP TABLE IF EXISTS \(name)")
                try db.execute(sql: "CREATE TABLE \(name) (\(table.columns.joined(separator: ", ")))")
                let columns = table.columns.joined(separator: ", ")
                let places = table.columns.map { _ in "?" }.joined(separator: ", ")
                let insert = try db.makeStatement(sql: "INSERT INTO \(name) (\(columns)) VALUES (\(places))")
                for row in table.rows.values {
                    let values = table.columns.map { column -> String? in
                        guard case .text(let text) = row[column] else { return nil }
                        return text
                    }
                    try insert.execute(arguments: StatementArguments(values))
                }
            }
            return try db.rowTexts(of: queries)
        }
    }
}
