import PowerSyncProtocol
import PowerSyncSyncConfig
import TestSupport
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Sync configs that are deployed while the source is replicated.
@Suite(.timeLimit(.minutes(1))) struct SyncConfigDeployerTests {
    private typealias Scenario = DeploymentScenario

    @Test(arguments: TestedStorage.distinct)
    func theOldConfigFollowsTheSourceWhileTheNewOneIsCopied(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            let old = try await scenario.deployer.deploy(Scenario.first).stream.id
            try await scenario.settled(old)
            let active = try #require(try await scenario.storage.activeStream())
            var connection = scenario.storage.checkpoints(of: active).makeAsyncIterator()

            let new = try await scenario.deployHeld(Scenario.second)
            scenario.model.write([
                .insert("items", id: "r9", ["body": "new"]), .update("items", id: "r1", ["body": "new"]),
                .delete("items", id: "r2"),
            ])
            try await scenario.expectState(at: try await scenario.settled(old))
            #expect(try await scenario.states() == [.active, .processing])

            scenario.source.release()
            try await scenario.expectState(at: try await scenario.settled(new))
            while let checkpoint = try await connection.next() { #expect(checkpoint.streamID == old) }
            #expect(try await scenario.storage.activeStream()?.id == new)
            try await scenario.deleted(old)
            #expect(scenario.model.content.acknowledged.count == 1)

            // The stream goes on after its activation.
            scenario.model.write([.delete("items", id: "r3")])
            try await scenario.expectState(at: try await scenario.settled(new))
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func theSecondOfTwoInFlightCounts(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            let old = try await scenario.deployer.deploy(Scenario.first).stream.id
            try await scenario.settled(old)
            let abandoned = try await scenario.deployHeld(Scenario.second)
            let new = try await scenario.deployHeld(Scenario.third)
            try await scenario.deleted(abandoned)
            #expect(try await scenario.states() == [.active, .processing])
            scenario.source.release()
            try await scenario.expectState(at: try await scenario.settled(new))
            // Logged after the checkpoint, each by a task of its own.
            for stream in [old, new] {
                _ = try await scenario.log.line(
                    containing: "The replication stream is active",
                    "replication_stream=\(stream)"
                )
            }
            let activations = scenario.log.lines.filter { $0.contains("The replication stream is active") }
            #expect(activations.count == 2)
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func theActiveTextAbandonsTheOneInProgress(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            let old = try await scenario.deployer.deploy(Scenario.first).stream.id
            try await scenario.settled(old)
            let abandoned = try await scenario.deployHeld(Scenario.second)
            let deployment = try await scenario.deployer.deploy(Scenario.first)
            #expect(deployment.outcome == .rolledBack)
            #expect(deployment.stream.id == old)
            #expect(scenario.log.lines.contains { $0.contains("is abandoned") && $0.contains("code=PSYNC_S1103") })
            try await scenario.deleted(abandoned)
            scenario.source.release()
            scenario.model.write([.delete("items", id: "r1")])
            try await scenario.expectState(at: try await scenario.settled(old))
            #expect(try await scenario.states() == [.active])
        }
    }

    @Test func theSameTextChangesNothing() async throws {
        let scenario = try await Scenario(.inMemory)
        try await scenario.replicating {
            let old = try await scenario.deployer.deploy(Scenario.first).stream.id
            #expect(try await scenario.deployer.deploy(Scenario.first).outcome == .unchanged)
            try await scenario.settled(old)
            #expect(try await scenario.deployer.deploy(Scenario.first).outcome == .unchanged)
            let new = try await scenario.deployHeld(Scenario.second)
            let again = try await scenario.deployer.deploy(Scenario.second)
            #expect(again.outcome == .unchanged)
            #expect(again.stream.id == new)
            #expect(try await scenario.states() == [.active, .processing])
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func anotherLabelOfTheSameTextCopiesNothing(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            let first = try await scenario.deployer.deploy(Scenario.first, versionLabel: "1")
            #expect(first.outcome == .started && first.stream.versionLabel == "1")
            try await scenario.settled(first.stream.id)
            #expect(try await scenario.deployer.deploy(Scenario.first, versionLabel: "1").outcome == .unchanged)
            let other = try await scenario.deployer.deploy(Scenario.first, versionLabel: "2")
            #expect(other.outcome == .relabelled && other.stream.id == first.stream.id)
            #expect(other.stream.versionLabel == "2")
            #expect(try await scenario.states() == [.active])
            #expect(try await scenario.deployer.reprocess().versionLabel == "2")
        }
        let lines = scenario.log.lines
        #expect(lines.contains { $0.contains("is deployed") && $0.contains("version_label=1") }, "\(lines)")
        #expect(lines.count { $0.contains("another version label") && $0.contains("version_label=2") } == 1)
    }

    @Test func aBrokenTextIsRememberedUntilAnotherIsDeployed() async throws {
        let scenario = try await Scenario(.inMemory)
        let old = try await scenario.deployer.deploy(Scenario.first).stream.id
        let broken = Scenario.first + "\n    query: SELECT * FORM items\n"
        await #expect {
            try await scenario.deployer.deploy(broken)
        } throws: { error in
            guard case .rejected(let findings) = error as? SyncConfigDeploymentError else { return false }
            return findings.contains { $0.severity == .error }
        }
        #expect(scenario.deployer.rejection?.content == broken)
        #expect(try await scenario.storage.streams().map(\.id) == [old])
        try await scenario.deployer.deploy(Scenario.first)
        #expect(scenario.deployer.rejection == nil)
    }

    @Test(arguments: TestedStorage.distinct)
    func aCopyThatWasInterruptedGoesOnInTheNextLife(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let old = try await scenario.deployer.deploy(Scenario.first).stream.id
        try await scenario.replicating {
            try await scenario.settled(old)
            _ = try await scenario.deployHeld(Scenario.second)
        }
        scenario.model.write([.delete("items", id: "r1"), .insert("items", id: "r9", ["name": 9])])
        // What a service does when it starts with the text.
        let again = try await scenario.deployer.deploy(Scenario.second)
        #expect(again.outcome == .unchanged)
        scenario.source.release()
        try await scenario.replicating {
            try await scenario.expectState(at: try await scenario.settled(again.stream.id))
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func theActiveConfigCanBeCopiedAgain(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        await #expect {
            try await scenario.deployer.reprocess()
        } throws: { error in
            if case .noActiveConfig = error as? SyncConfigDeploymentError { true } else { false }
        }
        try await scenario.replicating {
            let old = try await scenario.deployer.deploy(Scenario.first).stream.id
            try await scenario.settled(old)
            scenario.source.hold()
            let new = try await scenario.deployer.reprocess()
            #expect(new.id != old)
            #expect(new.content == Scenario.first)
            await #expect {
                try await scenario.deployer.reprocess()
            } throws: { error in
                if case .otherInProgress(new.id) = error as? SyncConfigDeploymentError { true } else { false }
            }
            scenario.source.release()
            try await scenario.expectState(at: try await scenario.settled(new.id))
        }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func randomDeploymentsWritesAndEndsClientsNeverHaveAnythingThatTheSourceDidNotHave(seed: UInt64) async throws {
        let scenario = try await Scenario(seed.isMultiple(of: 2) ? .inMemory : .sqlite)
        let configs = [Scenario.first, Scenario.second, Scenario.third]
        var random = SeededGenerator(seed: seed)
        for _ in 0..<4 {
            let steps = (0..<12).map { _ in random.next() }
            try await scenario.replicating {
                for step in steps {
                    var random = SeededGenerator(seed: step)
                    switch random.number(below: 6) {
                    case 0, 1: scenario.model.write((0...random.number(below: 3)).map { _ in .random(&random) })
                    case 2, 3: try await scenario.deployer.deploy(configs[random.number(below: 3)])
                    case 4: scenario.source.hold()
                    default: scenario.source.release()
                    }
                    try await scenario.expectPublishedState()
                }
            }
        }
        scenario.source.release()
        let last = try await scenario.deployer.deploy(Scenario.second).stream.id
        try await scenario.replicating { try await scenario.expectState(at: try await scenario.settled(last)) }
    }
}

extension DeploymentScenario {
    /// What clients have at this moment is what the source had.
    fileprivate func expectPublishedState() async throws {
        guard let stream = try await storage.activeStream() else { return }
        var checkpoints = storage.checkpoints(of: stream).makeAsyncIterator()
        guard let checkpoint = try await checkpoints.next() else { return }
        do {
            try await expectState(at: checkpoint)
        } catch let error as BucketStorageError where error.code == .unknownStream {
            #expect(try await storage.activeStream()?.id != checkpoint.streamID)
        }
    }
}
