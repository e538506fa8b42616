import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

/// Synced rows meet constraints that only the client has (docs/client-sync.md "Publishing rows").
@Suite(.timeLimit(.minutes(2))) struct PublishedConstraintsTests {
    typealias Kind = ConstraintModel.Kind
    typealias Thing = ConstraintModel.Thing

    /// All of them when all cases are wanted.
    private static func seeds(_ count: UInt64) -> [UInt64] { (0..<count) + (count..<200).one(in: 60) }

    private static let ids = (0..<8).map { "t\($0)" }

    /// A state in which each position and each default is there once; the order of ids is that of publishing.
    private static func valid(_ generator: inout SeededGenerator) -> ([String: Thing], Set<String>) {
        let parents = Set(["p0", "p1", "p2"].filter { _ in Bool.random(using: &generator) })
        let ids = ids.shuffled(using: &generator).prefix(Int.random(in: 0...8, using: &generator))
        let defaults = Dictionary(grouping: ids) { _ in ["x", "y"].randomElement(using: &generator) ?? "x" }
        var things: [String: Thing] = [:]
        let positions = (1...8).shuffled(using: &generator)
        for (list, ids) in defaults {
            let theDefault = ids.randomElement(using: &generator)
            for id in ids {
                things[id] = Thing(
                    position: positions[things.count],
                    list: list,
                    isDefault: id == theDefault,
                    amount: Int.random(in: 0..<100, using: &generator),
                    title: ["a", "b"].randomElement(using: &generator),
                    parent: parents.randomElement(using: &generator)
                )
            }
        }
        return (things, parents)
    }

    /// A column that only the app writes is not given up, as nothing would write it again.
    @Test(arguments: ["lower(title)", "title, note", "title"])
    func exchangeLeavesTheColumnsOfTheAppAsTheyAre(_ key: String) throws {
        let table = ClientRawTable(
            name: "things",
            structure: .init(tableName: "local_things", syncedColumns: ["title"])
        )
        let scenario = try SyncScenario(rawTables: [table])
        try scenario.database.run(
            "CREATE TABLE local_things (id TEXT PRIMARY KEY, title TEXT, note TEXT); CREATE UNIQUE INDEX u ON local_things (\(key))"
        )
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "1", type: "things", data: #"{"title":"x"}"#),
                .put(2, "2", type: "things", data: #"{"title":"y"}"#)
            ),
            .done
        )
        try scenario.database.run("UPDATE local_things SET note = 'mine'")
        try scenario.receive(
            .diff(4, [.bucket("a")]),
            .ops(
                "a",
                .put(3, "1", type: "things", data: #"{"title":"y"}"#),
                .put(4, "2", type: "things", data: #"{"title":"x"}"#)
            ),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM local_things ORDER BY id") == ["1|y|mine", "2|x|mine"])
    }

    @Test(
        arguments: Kind.allCases,
        seeds(12)
    )
    func stateThatTheConstraintsAllowIsStoredWhateverTheOrderOfItsRows(_ kind: Kind, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var model = try ConstraintModel(kind, isDeferred: seed % 2 == 0)
        for step in 0..<12 {
            let (things, parents) = Self.valid(&generator)
            let actions = try model.publish(things, parents: parents)
            #expect(try model.shown == things.mapValues(\.text), "seed \(seed), step \(step)")
            #expect(model.setAside.isEmpty, "seed \(seed), step \(step)")
            #expect(actions.messages(.warning).isEmpty)
        }
        #expect(try model.scenario.updatedRows.isEmpty)
        #expect(try model.scenario.database.entries().isEmpty)
    }

    private static func mutated(
        _ things: [String: Thing],
        _ generator: inout SeededGenerator
    ) -> [String: Thing] {
        var things = things
        for id in things.keys.sorted() where Int.random(in: 0..<4, using: &generator) == 0 {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: things[id]?.position = Int.random(in: 1...8, using: &generator)
            case 1: things[id]?.isDefault = true
            case 2: things[id]?.amount = 100
            case 3: things[id]?.title = nil
            case 4: things[id]?.title = "bad"
            default: things[id]?.parent = "nobody"
            }
        }
        return things
    }

    /// Only rows that the others refuse are set aside, and they are stored when nothing refuses them any more.
    @Test(
        arguments: [Kind.view, .referencedView, .inferred, .ownUpsert, .direct],
        seeds(16)
    )
    func refusedRows(_ kind: Kind, seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var model = try ConstraintModel(kind, isDeferred: seed % 2 == 0)
        for step in 0..<10 {
            let (valid, parents) = Self.valid(&generator)
            let things = Self.mutated(valid, &generator)
            _ = try model.publish(things, parents: parents)
            let (shown, setAside) = (try model.shown, model.setAside)
            for id in Self.ids where !setAside.contains(id) {
                #expect(shown[id] == things[id]?.text, "\(id), seed \(seed), step \(step)")
            }
            for id in setAside {
                #expect(try model.refuses(id), "\(id), seed \(seed), step \(step)")
            }
            #expect(try model.scenario.updatedRows.count == setAside.count)
            let syncedAt = model.scenario.status.lastSyncedAt
            #expect(syncedAt == model.scenario.now)
        }
        let (things, parents) = Self.valid(&generator)
        _ = try model.publish(things, parents: parents)
        #expect(try model.shown == things.mapValues(\.text), "seed \(seed)")
        #expect(model.setAside.isEmpty)
        #expect(try model.scenario.updatedRows.isEmpty)
    }
}
