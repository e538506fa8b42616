import PostgresTestSupport
import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Nodes that share a storage and deploy different sync configs, of which one replicates (docs/postgres-storage.md "Several processes").
@Suite(.timeLimit(.minutes(2))) struct SeveralNodesTests {
    private typealias Scenario = ContinuationScenario
    private static let first = Scenario.config(("a", Scenario.all), ("b", Scenario.notes))
    private static let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies))
    private static let third = Scenario.config(("a", Scenario.all), ("c", Scenario.ofOwner))

    /// Runs `body` while the node that replicates hears of what the other one deploys, and the other one of checkpoints.
    private func following(
        _ scenario: Scenario,
        _ other: any BucketStorage,
        _ body: @escaping @Sendable () async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await scenario.storage.follow { look in
                    if look == .streamsChanged { scenario.deployer.streamsChanged.advance() }
                }
            }
            group.addTask { try await other.follow { _ in } }
            defer { group.cancelAll() }
            try await scenario.replicating(body)
        }
    }

    /// Waits until a node serves a checkpoint, or a later one.
    private func wait(for checkpoint: StorageCheckpoint, in storage: any BucketStorage) async throws {
        while true {
            let seen = storage.feed.signal.version
            if let current = storage.feed.current, current == checkpoint || current.advances(over: checkpoint) {
                return
            }
            try await storage.feed.signal.wait(after: seen)
        }
    }

    @Test func theLastOneThatIsDeployedIsServedByAll() async throws {
        let scenario = try await Scenario(.postgres)
        let other = try await scenario.home.open()
        let otherDeployer = SyncConfigDeployer(storage: other, logger: scenario.log.logger)
        try await following(scenario, other) {
            let old = try await scenario.deployAndServe(Self.first)
            try await self.wait(for: old.checkpoint, in: other)

            // One node deploys, and the other one before rows have been read for it.
            scenario.source.hold("notes", afterRows: 3)
            try await scenario.source.untilHeld { try await otherDeployer.deploy(Self.second) }
            scenario.model.write([.update("items", id: "items1", ["body": "new"])])
            let meanwhile = try await scenario.served(Self.first)
            try await self.wait(for: meanwhile.checkpoint, in: other)
            let active = try #require(try await other.activeStream())
            #expect(active.checkpoint.configNumber == meanwhile.checkpoint.configNumber)
            #expect(try await scenario.deployer.deploy(Self.third).outcome == .started)
            scenario.source.release()

            let new = try await scenario.served(Self.third)
            #expect(new.stream.id == old.stream.id)
            try await scenario.expectState(new.stream, at: new.checkpoint)
            try await self.wait(for: new.checkpoint, in: other)
            #expect(try await other.activeStream()?.plan == new.stream.plan)

            // What the other node goes back to is what it had deployed, with rows that have changed since.
            scenario.model.write([.update("notes", id: "notes1", ["body": "newer"])])
            #expect(try await otherDeployer.deploy(Self.second).outcome == .started)
            let last = try await scenario.served(Self.second)
            try await scenario.expectState(last.stream, at: last.checkpoint)
            try await self.wait(for: last.checkpoint, in: other)
            #expect(try await scenario.count("a|0[]", last.stream, at: last.checkpoint) == 9)
            #expect(scenario.source.count("items") == 2, "for the stream c alone")
        }
        try other.close()
    }
}
