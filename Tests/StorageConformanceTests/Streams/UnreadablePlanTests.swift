import GRDB
import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// A plan that this service cannot read, of a newer one for example, stops nothing else.
@Suite struct UnreadablePlanTests {
    private static let yaml = "config: {edition: 3}\nstreams: {a: {query: SELECT * FROM t}}\n"

    private func spoilPlans(_ scenario: StorageScenario) async throws {
        if scenario.home.kind == .postgres {
            try scenario.home.run(#"UPDATE replication_streams SET sync_plan = '{"version":99}'"#)
            return
        }
        try await scenario.storage.pool.write { db in
            try db.execute(sql: #"UPDATE replication_streams SET sync_plan = '{"version":99}'"#)
        }
    }

    @Test(arguments: TestedStorage.durable)
    func theSameTextIsDeployedAgainWhenItsPlanCannotBeRead(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.yaml, on: kind)
        let old = scenario.stream.id
        try await spoilPlans(scenario)
        let storage = try await scenario.reopenStorage()
        #expect(try await storage.streams().isEmpty)
        await #expect(throws: SyncPlanError.unsupportedVersion(99)) { try await storage.activeStream() }

        let new = try await storage.deploy(Self.yaml, plan: try plan(Self.yaml))
        #expect(new.id > old)
        #expect(try await storage.streams().map(\.id) == [new.id])
        #expect(try await storage.deploy(Self.yaml, plan: try plan(Self.yaml)).id == new.id)

        var writer = try await scenario.writer(of: new.id)
        try await writer.setResumePosition(.at(0))
        try await writer.markSnapshotDone(noCheckpointBefore: .at(0))
        _ = try await writer.commit(.at(1), createsEmptyCheckpoints: true)
        #expect(try await storage.activeStream()?.id == new.id)
        let replaced = try #require(try await storage.streams().first { $0.id == old })
        #expect(replaced.state == .stop)
        try await storage.deleteData(of: old)
        #expect(try await storage.streams().map(\.id) == [new.id])
    }

    @Test(arguments: TestedStorage.durable)
    func anotherTextIsDeployedBesideAPlanThatCannotBeRead(_ kind: TestedStorage) async throws {
        var scenario = try await StorageScenario(Self.yaml, on: kind)
        try await spoilPlans(scenario)
        let storage = try await scenario.reopenStorage()
        let other = Self.yaml + "# a comment"
        let new = try await storage.deploy(other, plan: try plan(other))
        #expect(try await storage.streams().map(\.id) == [new.id])
    }
}
