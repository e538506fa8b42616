import PowerSyncProtocol
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// Write checkpoints in the storage (docs/service.md "Write checkpoints of the service").
@Suite struct WriteCheckpointTests {
    private static let config = """
        config:
          edition: 3
        streams:
          g:
            query: SELECT * FROM test
        """

    private func visible(_ scenario: StorageScenario, _ key: String = "u/c") async throws -> Int64? {
        try await scenario.storage.visibleWriteCheckpoint(userKey: key, at: try scenario.checkpoint)?.rawValue
    }

    private func create(_ scenario: StorageScenario, head: Int64, _ key: String = "u/c") async throws -> Int64 {
        try await scenario.storage.createWriteCheckpoint(userKey: key, head: .at(head)).rawValue
    }

    private func commit(_ scenario: inout StorageScenario, at position: Int64) async throws {
        _ = try await scenario.writer.commit(.at(position), createsEmptyCheckpoints: true)
    }

    @Test(arguments: TestedStorage.durable)
    func writeCheckpointIsVisibleWhenItsHeadIsReached(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        try await commit(&scenario, at: 5)
        #expect(try await visible(scenario) == nil)
        #expect(try await create(scenario, head: 5) == 1)
        #expect(try await visible(scenario) == 1)
        #expect(try await create(scenario, head: 9) == 2)
        try await commit(&scenario, at: 9)
        #expect(try await visible(scenario) == 2)
    }

    @Test(arguments: TestedStorage.durable)
    func visibleNumberStaysWhileANewerOneWaits(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.config, on: kind)
        try await commit(&scenario, at: 5)
        _ = try await create(scenario, head: 5)
        #expect(try await create(scenario, head: 9) == 2)
        #expect(try await visible(scenario) == 1)
        #expect(try await create(scenario, head: 10) == 3)
        #expect(try await visible(scenario) == 1)
        try await commit(&scenario, at: 9)
        #expect(try await visible(scenario) == 1)
        try await commit(&scenario, at: 10)
        #expect(try await visible(scenario) == 3)
        try await scenario.reopen()
        #expect(try await visible(scenario) == 3)
    }

    @Test(arguments: TestedStorage.durable)
    func clientsOfOneUserHaveTheirOwnNumbers(_ kind: TestedStorage) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind)
        #expect(try await create(scenario, head: 1, "u/a") == 1)
        #expect(try await create(scenario, head: 1, "u/b") == 1)
        #expect(try await create(scenario, head: 1, "u") == 1)
        #expect(try await create(scenario, head: 1, "u/a") == 2)
        #expect(try await visible(scenario, "u/b") == 1)
    }

    @Test(arguments: TestedStorage.durable) func withoutAnActiveStreamThereAreNoWriteCheckpoints(
        _ kind: TestedStorage
    ) async throws {
        let scenario = try await StorageScenario(Self.config, on: kind, isActive: false)
        await #expect { try await create(scenario, head: 1) } throws: {
            ($0 as? BucketStorageError)?.code == .noActiveStream
        }
    }
}
