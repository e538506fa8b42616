import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// What parts of a sync config have left that the next one does not have (docs/service.md "Compaction").
@Suite(.timeLimit(.minutes(1))) struct LeftoverTests {
    private typealias Scenario = ContinuationScenario
    private static let first = Scenario.config(
        ("a", Scenario.all),
        ("b", Scenario.ofOwner),
        ("c", "SELECT * FROM notes WHERE owner IN (SELECT owner FROM items WHERE id = auth.user_id())")
    )
    private static let second = Scenario.config(("a", Scenario.all))

    @Test(arguments: TestedStorage.durable)
    func compactionDeletesIt(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        @Sendable func count(_ table: String) async throws -> Int? {
            try await scenario.home.rowCount(table, in: scenario.storage)
        }
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.first)
            #expect(try await scenario.storage.compact().deletedLeftovers == 0)
            #expect(try await [count("buckets"), count("lookups"), count("parameter_entries")] == [5, 8, 8])
            try await scenario.deployAndServe(Self.second)
            // The end of a table gives operations, which compaction leaves alone until a checkpoint has them.
            let new = try await scenario.servedWithout("notes", Self.second)
            // Two buckets of b, two of c, and a lookup for each item.
            let deleted = try await scenario.storage.compact().deletedLeftovers
            #expect(deleted == 12)
            let left = try await [count("buckets"), count("lookups"), count("parameter_entries")]
            #expect(left == [1, 0, 0])
            #expect(try await count("superseded_operations") == 0)
            #expect(try await count("superseded_entries") == 0)
            #expect(try await scenario.count("a|0[]", new.stream, at: new.checkpoint) == 8)

            // What rows gave to it is forgotten: nothing of it comes again.
            scenario.model.write([
                .update("items", id: "items1", ["owner": "u9"]), .delete("items", id: "items2"),
                .insert("items", id: "items9", ["owner": "u0", "body": "new"]),
            ])
            let later = try await scenario.served(Self.second)
            try await scenario.expectState(later.stream, at: later.checkpoint)
            #expect(try await scenario.count("a|0[]", later.stream, at: later.checkpoint) == 11)
            #expect(try await [count("buckets"), count("lookups")] == [1, 0])
            #expect(try await scenario.storage.compact().deletedLeftovers == 0)

            // And the part may come again.
            let again = try await scenario.deployAndServe(Self.first)
            try await scenario.expectState(again.stream, at: again.checkpoint)
        }
    }

    /// A part of the next config is none, nor is one of the config that is served meanwhile.
    @Test(arguments: TestedStorage.durable)
    func whatIsReadForTheNextConfigStays(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.second)
            scenario.source.hold("items", afterRows: 3)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(Self.first) }
            #expect(try await scenario.storage.compact().deletedLeftovers == 0)
            scenario.source.release()
            let new = try await scenario.served(Self.first)
            #expect(try await scenario.storage.compact().deletedLeftovers == 0)
            try await scenario.expectState(new.stream, at: new.checkpoint)
        }
    }
}
