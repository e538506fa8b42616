import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore

/// A part of a sync config depends on the columns that it reads, whatever others read (docs/service.md "What a deployment keeps").
@Suite(.timeLimit(.minutes(1))) struct ColumnTests {
    private typealias Scenario = ContinuationScenario
    private static let bodies = "SELECT id, body FROM items"
    private static let owners = "SELECT id, owner FROM items"
    private static let everything = "SELECT * FROM items"
    private static let lookup =
        "SELECT id FROM notes WHERE owner IN (SELECT owner FROM items WHERE id = auth.user_id())"

    /// Another stream reads other columns: its own lookup, all columns, or some.
    @Test(arguments: TestedStorage.distinct, [owners, everything, lookup])
    func moreColumnsAreReadForWhatIsNewAlone(_ kind: TestedStorage, _ query: String) async throws {
        let scenario = try await Scenario(kind)
        let first = Scenario.config(("a", Self.bodies), ("b", Scenario.notes))
        let second = Scenario.config(("a", Self.bodies), ("b", Scenario.notes), ("c", query))
        try await scenario.replicating {
            let old = try await scenario.deployAndServe(first)
            scenario.source.hold("items", afterRows: 3)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(second) }
            // Checkpoints go on.
            scenario.model.write([.update("items", id: "items1", ["body": "new"])])
            let meanwhile = try await scenario.served(first)
            #expect(try await scenario.count("a|0[]", meanwhile.stream, at: meanwhile.checkpoint) == 9)
            scenario.source.release()
            let new = try await scenario.served(second)
            #expect(new.stream.id == old.stream.id)
            #expect(try await scenario.count("a|0[]", new.stream, at: new.checkpoint) == 9)
            #expect(scenario.source.count("notes") == (query == Self.lookup ? 2 : 1))
            #expect(scenario.source.count("items") == 2)
            try await scenario.expectState(new.stream, at: new.checkpoint)

            // Fewer columns again, and then more.
            let back = try await scenario.deployAndServe(first)
            #expect(scenario.source.count("items") == 2)
            try await scenario.expectState(back.stream, at: back.checkpoint)
            let again = try await scenario.deployAndServe(second)
            #expect(try await scenario.count("a|0[]", again.stream, at: again.checkpoint) == 9)
            #expect(scenario.source.count("items") == 3)
            try await scenario.expectState(again.stream, at: again.checkpoint)
        }
        // A new life finds nothing to read.
        try await scenario.replicating {
            let end = try await scenario.served(second)
            try await scenario.expectState(end.stream, at: end.checkpoint)
            #expect(scenario.source.count("items") == 3)
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func anAbandonedConfigLeavesNothingToRead(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let first = Scenario.config(("a", Self.bodies), ("b", Scenario.notes))
        let second = Scenario.config(("a", Self.bodies), ("b", Scenario.notes), ("c", Self.owners))
        try await scenario.replicating {
            try await scenario.deployAndServe(first)
            scenario.source.hold("items", afterRows: 3)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(second) }
            // The replicator knows of it when it reads no more.
            try await scenario.source.untilCancelled {
                let outcome = try await scenario.deployer.deploy(first).outcome
                #expect(outcome == .rolledBack)
            }
            scenario.source.release()
            // Of the abandoned one alone.
            scenario.model.setColumn("owner", of: "items", to: "u9")
            let old = try await scenario.served(first)
            #expect(try await scenario.count("a|0[]", old.stream, at: old.checkpoint) == 8)
            #expect(scenario.source.count("items") == 2)
            let new = try await scenario.deployAndServe(second)
            #expect(try await scenario.count("a|0[]", new.stream, at: new.checkpoint) == 8)
            try await scenario.expectState(new.stream, at: new.checkpoint)
        }
    }

    // MARK: Columns that change

    private static let both = Scenario.config(("a", bodies), ("c", owners))

    @Test(arguments: TestedStorage.distinct)
    func aColumnThatChangesConcernsTheStreamThatReadsIt(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            let before = try await scenario.deployAndServe(Self.both)
            scenario.source.hold("items", afterRows: 3)
            try await scenario.source.untilHeld { scenario.model.setColumn("body", of: "items", to: "changed") }
            // Clients get checkpoints meanwhile.
            scenario.model.write([.update("items", id: "items7", ["owner": "u7"])])
            let meanwhile = try await scenario.served(Self.both)
            #expect(meanwhile.checkpoint.opID > before.checkpoint.opID)
            scenario.source.release()
            let after = try await scenario.readAgain(Self.both)
            try await scenario.expectState(after.stream, at: after.checkpoint)
            #expect(try await scenario.count("a|0[]", after.stream, at: after.checkpoint) == 16)
            #expect(try await scenario.count("c|0[]", after.stream, at: after.checkpoint) == 9)
            #expect(scenario.source.count("items") == 2)
            #expect(scenario.log.lines.contains { $0.contains("has other columns") && $0.contains("changed=body") })
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func aColumnThatNoStreamReadsCostsNothing(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let config = Scenario.config(("a", Self.owners))
        try await scenario.replicating {
            try await scenario.deployAndServe(config)
            scenario.model.setColumn("body", of: "items", to: "changed")
            scenario.model.setColumn("color", of: "items", to: "red")
            scenario.model.setColumn("body", of: "items", to: nil)
            let after = try await scenario.served(config)
            #expect(try await scenario.count("a|0[]", after.stream, at: after.checkpoint) == 8)
            #expect(scenario.source.count("items") == 1)
        }
    }

    /// Whether it comes, goes, or becomes another one: rows are read once, and each that has another value makes one operation.
    @Test(arguments: TestedStorage.distinct, [SQLValue?.some("red"), .some(.null), .none])
    func aColumnUnderAStarIsFilledInOnePass(_ kind: TestedStorage, _ value: SQLValue?) async throws {
        let scenario = try await Scenario(kind)
        let config = Scenario.config(("a", Self.everything))
        try await scenario.replicating {
            try await scenario.deployAndServe(config)
            scenario.model.setColumn("body", of: "items", to: value)
            let after = try await scenario.readAgain(config)
            try await scenario.expectState(after.stream, at: after.checkpoint)
            #expect(try await scenario.count("a|0[]", after.stream, at: after.checkpoint) == 16)
            #expect(scenario.source.count("items") == 2)
        }
    }

    /// A service that ends while rows are read again goes on where it was, also with a column that changed since.
    @Test(arguments: TestedStorage.distinct, [false, true])
    func readingAgainGoesOnInTheNextLife(_ kind: TestedStorage, changesAgain: Bool) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.both)
            // The second page waits to be saved.
            scenario.source.hold("items", afterRows: 6)
            try await scenario.source.untilHeld { scenario.model.setColumn("body", of: "items", to: "changed") }
            // A checkpoint stores how far the table has been read.
            try await scenario.served(Self.both)
        }
        if changesAgain { scenario.model.setColumn("body", of: "items", to: "again") }
        scenario.source.release()
        try await scenario.replicating {
            let after = try await scenario.readAgain(Self.both)
            try await scenario.expectState(after.stream, at: after.checkpoint)
            #expect(scenario.source.count("items") == (changesAgain ? 3 : 2))
            #expect(try await scenario.count("c|0[]", after.stream, at: after.checkpoint) == 8)
        }
    }

    /// While a config is on its way: its new part has the values that the columns have in the end.
    @Test(arguments: TestedStorage.distinct, ["body", "owner"])
    func aColumnChangesWhileAConfigIsOnItsWay(_ kind: TestedStorage, _ column: String) async throws {
        let scenario = try await Scenario(kind)
        let first = Scenario.config(("a", Self.bodies), ("b", Scenario.notes))
        let second = Scenario.config(("a", Self.bodies), ("b", Scenario.bodies), ("c", Self.owners))
        try await scenario.replicating {
            try await scenario.deployAndServe(first)
            // The tables are read in the order of their names: the rows of items are there.
            scenario.source.hold("notes", afterRows: 3)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(second) }
            scenario.model.setColumn(column, of: "items", to: "changed")
            scenario.source.release()
            _ = try await scenario.served(second)
            let new = try await scenario.readAgain(second)
            try await scenario.expectState(new.stream, at: new.checkpoint)
            let count = try await scenario.count("a|0[]", new.stream, at: new.checkpoint)
            #expect(count == (column == "body" ? 16 : 8))
        }
    }
}
