import Foundation
import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServicePostgres
@testable import PowerSyncServiceSQLite

/// What a storage keeps of the clients of one user (docs/service.md "Write checkpoints of the service").
@Suite(.timeLimit(.minutes(2))) struct WriteCheckpointRetentionTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    /// How a client asks.
    enum Kind: String, CaseIterable, CustomTestStringConvertible {
        case counted, requested

        var testDescription: String { rawValue }

        func ask(_ storage: any BucketStorage, _ key: String, _ number: Int64 = 1) async throws -> Int64 {
            switch self {
            case .counted: try await storage.createWriteCheckpoint(userKey: key, head: .at(0)).rawValue
            case .requested:
                try await storage.recordCheckpointRequest(WriteCheckpoint(number), userKey: key, head: .at(0)).rawValue
            }
        }
    }

    @Test(
        arguments: TestedStorage.durable,
        Kind.allCases
    )
    func clientsOfAUserAreLimited(_ storage: TestedStorage, _ kind: Kind) async throws {
        let scenario = try await StorageScenario(Self.config, on: storage)
        let limit = WriteCheckpointRetention.clientsOfUser
        try await fill(scenario, clients: limit, of: "a")
        for other in ["b", "b/1", "a%2F1/x", "ab/1"] { #expect(try await kind.ask(scenario.storage, other) == 1) }
        // A mark makes one character with the slash before it.
        for client in ["x", "\u{301}y", "y/z", ""] { #expect(try await kind.ask(scenario.storage, "a/\(client)") >= 1) }
        #expect(try await scenario.rowCount("write_checkpoints") == limit + 4)
        // Those that asked last are left, and those of others.
        for key in ["a/x", "a/\u{301}y", "a/y/z", "a/", "b", "b/1", "a%2F1/x", "ab/1"] {
            #expect(try await number(of: key, scenario) != nil, "\(key)")
        }
        for client in 1...4 { #expect(try await number(of: "a/\(client)", scenario) == nil) }
        #expect(try await number(of: "a/5", scenario) == 7)
    }

    @Test(arguments: TestedStorage.durable)
    func numbersDoNotComeAgain(_ storage: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: storage)
        try await fill(scenario, clients: WriteCheckpointRetention.clientsOfUser, of: "a")
        // The numbers are 7; this one takes the place of the first client.
        #expect(try await Kind.counted.ask(scenario.storage, "a/new") == 1)
        #expect(try await number(of: "a/1", scenario) == nil)
        #expect(try await Kind.counted.ask(scenario.storage, "a/1") == 8)
        #expect(try await Kind.counted.ask(scenario.storage, "b/1") == 1)
    }

    @Test(arguments: TestedStorage.durable)
    func clientsThatAreGoneAreForgotten(_ storage: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: storage)
        for _ in 0..<3 { _ = try await Kind.counted.ask(scenario.storage, "a/1") }
        _ = try await Kind.counted.ask(scenario.storage, "a/2")
        #expect(try await scenario.storage.compact().deletedRequests == 0)
        try await age(scenario, "a/1", by: WriteCheckpointRetention.ofClients + 60)
        try await age(scenario, "a/2", by: WriteCheckpointRetention.ofClients - 3600)
        #expect(try await scenario.storage.compact().deletedRequests == 1)
        #expect(try await Kind.counted.ask(scenario.storage, "a/1") == 4)
        #expect(try await Kind.counted.ask(scenario.storage, "a/2") == 2)
    }

    // MARK: Rows

    /// Stores clients 1, 2, 3 … of a user, the first of which has asked longest ago, with the number 7.
    private func fill(_ scenario: StorageScenario, clients: Int, of user: String) async throws {
        if scenario.home.kind == .postgres {
            try scenario.home.run(
                """
                INSERT INTO write_checkpoints (user_key, digest, owner, write_checkpoint, lsn, history_id, used_at)
                SELECT k, sha256(k), sha256('\(user)'), 7, '', 1, now() - interval '1 hour' + n * interval '1 s'
                FROM generate_series(1, \(clients)) AS n, LATERAL (SELECT convert_to('\(user)/' || n, 'UTF8')) AS key (k)
                """
            )
            return
        }
        try await scenario.storage.pool.write { db in
            try db.execute(
                sql: """
                    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(clients))
                    INSERT INTO write_checkpoints (user_key, owner, write_checkpoint, lsn, history_id, used_at)
                    SELECT '\(user)/' || n, '\(user)', 7, '', 1, strftime('%s') - 3600 + n FROM numbers
                    """
            )
        }
    }

    private func age(_ scenario: StorageScenario, _ key: String, by seconds: TimeInterval) async throws {
        if scenario.home.kind == .postgres {
            try scenario.home.run(
                """
                UPDATE write_checkpoints SET used_at = now() - interval '\(seconds) s'
                WHERE user_key = convert_to('\(key)', 'UTF8')
                """
            )
            return
        }
        try await scenario.storage.pool.write { db in
            try db.execute(
                sql: "UPDATE write_checkpoints SET used_at = strftime('%s') - ? WHERE user_key = ?",
                arguments: [seconds, key]
            )
        }
    }

    private func number(of key: String, _ scenario: StorageScenario) async throws -> Int64? {
        if scenario.home.kind == .postgres {
            return try scenario.home.run(
                "SELECT write_checkpoint FROM write_checkpoints WHERE user_key = convert_to('\(key)', 'UTF8')"
            ).first?.first.flatMap { $0 }.flatMap { Int64($0) }
        }
        return try await scenario.storage.pool.read { db in
            try Int64.fetchOne(
                db,
                sql: "SELECT write_checkpoint FROM write_checkpoints WHERE user_key = ?",
                arguments: [key]
            )
        }
    }
}
