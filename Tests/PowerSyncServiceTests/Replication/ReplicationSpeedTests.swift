import GRDB
import Testing

@testable import PowerSyncService

/// A load that takes minutes if a step per row is slow; the time is for reading, not for gating.
@Suite(.timeLimit(.minutes(2))) struct ReplicationSpeedTests {
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
            for todo in 0..<50_000 {
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

    @Test func fiftyThousandRowsAreCopied() async throws {
        let scenario = try SourceScenario(schema: Self.schema, config: Self.config)
        try await load(scenario)
        let clock = ContinuousClock()
        let time = try await clock.measure { try await scenario.replicate() }
        print("copied 50,000 rows in \(time)")
        let rows = try await scenario.rows(#"todos|0["l7"]"#)
        #expect(rows.count == 1000)
    }

    @Test func fiftyThousandChangesAreFollowed() async throws {
        let scenario = try SourceScenario(schema: Self.schema, config: Self.config)
        try await scenario.replicate()
        try await load(scenario)
        let clock = ContinuousClock()
        let time = try await clock.measure { try await scenario.replicate() }
        print("followed 50,000 rows in \(time)")
        #expect(try await scenario.rows(#"todos|0["l7"]"#).count == 1000)
    }
}
