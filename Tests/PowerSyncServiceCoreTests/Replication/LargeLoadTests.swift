import GRDB
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Loads that take several batches, of a snapshot and of the change log.
@Suite(.timeLimit(.minutes(2))) struct LargeLoadTests {
    /// More than two batches of the writer.
    private static let todos = 5_000

    private static let config = """
        config:
          edition: 3
        streams:
          lists:
            query: SELECT * FROM lists WHERE owner = auth.user_id()
          todos:
            query: SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner = auth.user_id())
        """
    private static let schema = [
        "CREATE TABLE lists (id TEXT PRIMARY KEY, owner TEXT, name TEXT)",
        "CREATE TABLE todos (id TEXT PRIMARY KEY, list_id TEXT, text TEXT, done INTEGER, created_at TEXT)",
    ]

    private func load(_ scenario: SourceScenario) async throws {
        try await scenario.source.pool.write { db in
            for list in 0..<50 {
                try db.execute(sql: "INSERT INTO lists VALUES (?, 'u1', ?)", arguments: ["l\(list)", "List \(list)"])
            }
            for todo in 0..<Self.todos {
                try db.execute(
                    sql: "INSERT INTO todos VALUES (?, ?, ?, ?, ?)",
                    arguments: [
                        "6f1c2f3e-0000-4000-8000-\(100_000_000_000 + todo)", "l\(todo % 50)",
                        "Something to be done, number \(todo)", todo % 2, "2026-01-01T00:00:00.000Z",
                    ]
                )
            }
        }
        scenario.source.signal.advance()
    }

    @Test func aSnapshotOfSeveralBatchesIsCopied() async throws {
        let scenario = try SourceScenario(schema: Self.schema, config: Self.config)
        try await load(scenario)
        try await scenario.replicate()
        #expect(try await scenario.rows(#"todos|0["l7"]"#).count == Self.todos / 50)
    }

    @Test func changesOfSeveralBatchesAreFollowed() async throws {
        let scenario = try SourceScenario(schema: Self.schema, config: Self.config)
        try await scenario.replicate()
        try await load(scenario)
        try await scenario.replicate()
        #expect(try await scenario.rows(#"todos|0["l7"]"#).count == Self.todos / 50)
    }
}
