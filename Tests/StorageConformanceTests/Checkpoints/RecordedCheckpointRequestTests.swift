import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Checkpoint requests in the storage (docs/protocol.md "Write checkpoints").
@Suite struct RecordedCheckpointRequestTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """
    private static let key = "u/c"

    private func visible(_ scenario: StorageScenario) async throws -> Int64? {
        try await scenario.storage.visibleWriteCheckpoint(userKey: Self.key, at: try scenario.checkpoint)?.rawValue
    }

    private func request(_ id: Int64, _ scenario: StorageScenario, head: Int64) async throws -> Int64 {
        try await scenario.storage.recordCheckpointRequest(WriteCheckpoint(id), userKey: Self.key, head: .at(head))
            .rawValue
    }

    private func create(_ scenario: StorageScenario, head: Int64) async throws -> Int64 {
        try await scenario.storage.createWriteCheckpoint(userKey: Self.key, head: .at(head)).rawValue
    }

    private func commit(_ scenario: inout StorageScenario, at position: Int64) async throws {
        _ = try await scenario.writer.commit(.at(position), createsEmptyCheckpoints: true)
    }

    private func isDeletable(_ scenario: StorageScenario) async throws -> Bool? {
        if scenario.home.kind == .postgres {
            return try scenario.home.run("SELECT requested_at IS NOT NULL FROM write_checkpoints").first?.first == "t"
        }
        return try await scenario.storage.pool.read { db in
            try Bool.fetchOne(db, sql: "SELECT requested_at IS NOT NULL FROM write_checkpoints")
        }
    }

    @Test(arguments: TestedStorage.durable)
    func largerNumbersAreRecorded(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        try await commit(&scenario, at: 5)
        #expect(try await request(41, scenario, head: 5) == 41)
        #expect(try await visible(scenario) == 41)
        #expect(try await request(50, scenario, head: 9) == 50)
        #expect(try await visible(scenario) == 41)
        try await commit(&scenario, at: 9)
        #expect(try await visible(scenario) == 50)
        #expect(try await isDeletable(scenario) == true)
    }

    @Test(arguments: TestedStorage.durable)
    func repeatedNumbersKeepTheirPosition(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        #expect(try await request(3, scenario, head: 5) == 3)
        #expect(try await request(3, scenario, head: 9) == 3)
        try await commit(&scenario, at: 5)
        #expect(try await visible(scenario) == 3)
    }

    @Test(arguments: TestedStorage.durable)
    func smallerNumbersChangeNothing(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        #expect(try await request(7, scenario, head: 5) == 7)
        #expect(try await request(6, scenario, head: 9) == 7)
        try await commit(&scenario, at: 5)
        #expect(try await visible(scenario) == 7)
        try await scenario.reopen()
        #expect(try await request(1, scenario, head: 10) == 7)
        #expect(try await visible(scenario) == 7)
    }

    @Test(arguments: TestedStorage.durable)
    func bothWaysOfMakingWriteCheckpointsShareTheNumbersOfAClient(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        #expect(try await create(scenario, head: 1) == 1)
        #expect(try await isDeletable(scenario) == false)
        #expect(try await request(1, scenario, head: 1) == 1)
        #expect(try await request(5, scenario, head: 1) == 5)
        #expect(try await isDeletable(scenario) == true)
        #expect(try await create(scenario, head: 1) == 6)
        #expect(try await isDeletable(scenario) == false)
        #expect(try await request(2, scenario, head: 1) == 6)
        #expect(try await isDeletable(scenario) == false)
    }

    @Test(arguments: TestedStorage.durable)
    func theLargestNumberIsNotExceeded(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        #expect(try await request(.max - 1, scenario, head: 1) == .max - 1)
        #expect(try await create(scenario, head: 1) == .max)
        #expect(try await create(scenario, head: 2) == .max)
        #expect(try await request(.max, scenario, head: 3) == .max)
        try await commit(&scenario, at: 2)
        #expect(try await visible(scenario) == .max)
    }

    @Test(arguments: TestedStorage.durable) func withoutAnActiveStreamThereAreNoRequests(
        _ kind: TestedStorage
    ) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind, isActive: false)
        await #expect { try await request(1, scenario, head: 1) } throws: {
            ($0 as? BucketStorageError)?.code == .noActiveStream
        }
    }
}
