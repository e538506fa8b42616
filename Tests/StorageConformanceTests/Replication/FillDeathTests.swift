import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore

/// A service that dies at any step of reading tables beside the change stream.
@Suite(.timeLimit(.minutes(3))) struct FillDeathTests {
    private typealias Scenario = ContinuationScenario

    /// A config of a stream that stays, and two whose queries are others than those of the other config.
    private static func config(_ isFirst: Bool) -> String {
        Scenario.config(
            ("a", Scenario.all),
            ("b", isFirst ? Scenario.bodies : Scenario.notes),
            ("c", isFirst ? "SELECT id FROM items" : "SELECT id, owner FROM items")
        )
    }

    /// Whatever was stored when it dies, the next one goes on: clients have what the source has, for as few operations as if nothing
    /// had happened.
    @Test(arguments: TestedStorage.durable)
    func theNextOneGoesOnAfterADeathAtAnyStep(_ kind: TestedStorage) async throws {
        var scenario = try await Scenario(kind)
        var isFirst = true
        try await scenario.replicating { [scenario] in try await scenario.deployAndServe(Self.config(true)) }
        // Of `a`: eight rows, and each change of one.
        var operations = 8
        var hasSurvived = false
        for step in (1...100).one(in: kind == .sqlite ? 2 : 5) where !hasSurvived {
            isFirst.toggle()
            let config = Self.config(isFirst)
            func write(_ moment: String) {
                scenario.model.write([
                    .update("items", id: "items\(step % 8)", ["body": .text("\(moment) \(step)")]),
                    .update("notes", id: "notes\(step % 8)", ["body": .text("\(moment) \(step)")]),
                ])
                operations += 1
            }
            write("before")
            try await scenario.deployer.deploy(config)
            let model = scenario.model
            let hasDied = try await scenario.replicating(dyingAfter: step) { [scenario] in
                model.write([.update("notes", id: "notes\((step + 1) % 8)", ["body": "meanwhile"])])
                try await scenario.served(config)
            }
            hasSurvived = !hasDied
            scenario = try await scenario.reopened()
            write("after")
            #expect(try await scenario.deployer.deploy(config).outcome == .unchanged)
            try await scenario.replicating { [scenario, operations] in
                let (stream, checkpoint) = try await scenario.served(config)
                try await scenario.expectState(stream, at: checkpoint)
                for bucket in try await scenario.buckets(of: "u0", stream, at: checkpoint) {
                    let count = try await scenario.count(bucket, stream, at: checkpoint)
                    // New parts have eight rows, three of which may have changed when they had been read.
                    #expect(count <= (bucket == "a|0[]" ? operations : 8 + 3), "step \(step): \(bucket)")
                }
            }
        }
        #expect(hasSurvived)
    }
}
