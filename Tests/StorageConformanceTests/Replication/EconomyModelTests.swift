import Foundation
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
/// 50 runs over each of both storages in this process and 20 over PostgreSQL; `POWERSYNC_ALL_CASES` makes 25 times as many.
@Suite(.timeLimit(.minutes(10))) struct EconomyModelTests {
    private typealias Scenario = ContinuationScenario

    /// Portions of seeds: with a failure, the seed is in its comment.
    private static func portions(_ count: UInt64, of runs: UInt64) -> [ClosedRange<UInt64>] {
        let factor: UInt64 = ProcessInfo.processInfo.environment["POWERSYNC_ALL_CASES"] == nil ? 1 : 25
        return (0..<(count * factor)).map { $0 * runs + 1...($0 + 1) * runs }
    }

    @Test(arguments: [TestedStorage.inMemory, .sqlite], portions(2, of: 25))
    func clientsHaveWhatSQLSelectsForTheFewestOperations(
        _ kind: TestedStorage,
        seeds: ClosedRange<UInt64>
    ) async throws {
        for seed in seeds {
            var run = try await EconomyRun(kind)
            try await run.play(seed: kind == .sqlite ? seed + 1_000_000 : seed)
        }
    }

    /// One after the other in one storage, which takes longer to make than a run.
    @Test(arguments: portions(1, of: 20))
    func clientsOfPostgreSQLHaveWhatSQLSelectsForTheFewestOperations(seeds: ClosedRange<UInt64>) async throws {
        var run = try await EconomyRun(.postgres)
        for seed in seeds { try await run.play(seed: seed + 2_000_000) }
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

    private var scenario: ContinuationScenario
    private let least = NIOLockedValueBox(LeastOperations())
    /// The queries of the config that was deployed last, and its text; and whether something may have been written that was not read.
    private let config: NIOLockedValueBox<(queries: [String], text: String, isBehind: Bool)>

    init(_ kind: TestedStorage) async throws {
        scenario = try await Scenario(kind)
        let first = [Self.kept, Scenario.notes]
        config = NIOLockedValueBox((first, Self.text(first), false))
        try await scenario.deployer.deploy(Self.text(first))
        try await look()
        try await scenario.replicating { [scenario] in try await scenario.served(Self.text(first)) }
    }

    private static func text(_ queries: [String]) -> String {
        (["config: {edition: 3}", "streams:"]
            + queries.enumerated().flatMap { number, query in
                ["  s\(number):", "    auto_subscribe: true", "    query: \(query)"]
            }).joined(separator: "\n")
    }

    /// Two lives of the service, with something that happens before each, and the comparison at the end.
    mutating func play(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        do {
            for _ in 0..<2 {
                for _ in 0..<random.number(below: 3) { try await take(Self.step(&random), seed, isRunning: false) }
                let steps = (0..<(2 + random.number(below: 4))).map { _ in Self.step(&random) }
                try await scenario.replicating { [self] in
                    for step in steps { try await take(step, seed, isRunning: true) }
                    // What was stored without a checkpoint would be read again, and make operations that the model does not know.
                    _ = try await scenario.readAgain(config.withLockedValue(\.text))
                }
                if scenario.home.kind != .inMemory { scenario = try await scenario.reopened() }
            }
            try await scenario.replicating { [self] in try await compare(seed) }
        } catch {
            Issue.record(error, "seed \(seed)")
        }
    }

    private static func step(_ random: inout SeededGenerator) -> Step {
        let table = ["items", "notes"][random.number(below: 2)]
        let value = SQLValue.text(["u0", "u1", "x"][random.number(below: 3)])
        switch random.number(below: 12) {
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

    private func take(_ step: Step, _ seed: UInt64, isRunning: Bool) async throws {
        switch step {
        case .write(let writes):
            scenario.model.write(writes)
            config.withLockedValue { $0.isBehind = true }
        case .column(let table, let value):
            scenario.model.setColumn("extra", of: table, to: value)
            config.withLockedValue { $0.isBehind = true }
        case .deploy(let queries):
            // What was written before is read for the new parts, too, if it has not been read yet: the model does not know how much that is.
            if config.withLockedValue(\.isBehind) {
                guard isRunning else { return }
                try await compare(seed)
            }
            let text = Self.text(queries)
            try await scenario.deployer.deploy(text)
            config.withLockedValue { $0 = (queries, text, false) }
        case .compare:
            if isRunning { try await compare(seed) }
            return
        }
        try await look()
    }

    private func look() async throws {
        guard let stream = try await scenario.storage.streams().last else { return }
        least.withLockedValue { $0.look(at: scenario.model, stream) }
    }

    /// Compares what a user has with what SQLite selects, and the operations with the fewest.
    private func compare(_ seed: UInt64) async throws {
        let (queries, text) = config.withLockedValue { config in
            config.isBehind = false
            return (config.queries, config.text)
        }
        let (stream, checkpoint) = try await scenario.readAgain(text)
        var rows: Set<String> = []
        for bucket in try await scenario.buckets(of: "u0", stream, at: checkpoint) {
            let operations = try await scenario.storage.allOperations(bucket, of: stream, at: checkpoint)
            for row in reduceByIdentity(operations).values {
                let data = try JSONObject(parsing: row.data ?? "").members.map { "\($0.name)=\($0.value.text)" }
                rows.insert("\(row.table) \(data.sorted())")
            }
        }
        let expected = try Self.select(queries, from: scenario.model.content)
        #expect(rows == expected, "seed \(seed)")
        let least = least.withLockedValue { $0 }
        let exceeded = try await least.exceeded(by: stream) { try await scenario.count($0, stream, at: checkpoint) }
        #expect(exceeded.isEmpty, "seed \(seed)")
        #expect(stream.id.rawValue == 1, "seed \(seed)")
    }

    /// What the queries of a user give, by the SQL of SQLite.
    private static func select(_ queries: [String], from content: ModelSource.Content) throws -> Set<String> {
        try DatabaseQueue().write { db in
            for (name, table) in content.tables {
                try db.execute(sql: "CREATE TABLE \(name) (\(table.columns.joined(separator: ", ")))")
                for row in table.sorted {
                    let values = row.columns.map { column in
                        if case .text(let text) = column.value { return "'\(text)'" }
                        return "NULL"
                    }
                    let columns = row.columns.map(\.name).joined(separator: ", ")
                    try db.execute(sql: "INSERT INTO \(name) (\(columns)) VALUES (\(values.joined(separator: ", ")))")
                }
            }
            return try queries.reduce(into: []) { found, query in
                let table = query.contains("FROM items") ? "items" : "notes"
                let sql = query.replacing("auth.user_id()", with: "'u0'")
                for row in try Row.fetchAll(db, sql: sql) {
                    let data = row.map { name, value in
                        "\(name)=\(String.fromDatabaseValue(value).map { "\"\($0)\"" } ?? "null")"
                    }
                    found.insert("\(table) \(data.sorted())")
                }
            }
        }
    }
}
