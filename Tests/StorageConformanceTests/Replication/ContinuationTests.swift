import PowerSyncProtocol
import PowerSyncSyncConfig
import ServiceTestSupport
import TestSupport
import Testing

@testable import PowerSyncServiceCore

/// Sync configs of which parts stay when another config takes their place.
@Suite(.timeLimit(.minutes(1))) struct ContinuationTests {
    private typealias Scenario = ContinuationScenario
    private static let first = Scenario.config(("a", Scenario.all), ("b", Scenario.notes))

    @Test(arguments: TestedStorage.distinct)
    func aChangedStreamIsReadAloneWhileTheOthersStay(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies))
        try await scenario.replicating {
            let old = try await scenario.deployAndServe(Self.first)
            var connection = scenario.storage.checkpoints(of: try #require(try await scenario.storage.activeStream()))
                .makeAsyncIterator()
            let before = try await scenario.count("a|0[]", old.stream, at: old.checkpoint)

            let deployment = try await scenario.deployer.deploy(second)
            #expect(deployment.outcome == .started)
            #expect(deployment.stream.id == old.stream.id)
            #expect(
                deployment.plan.streams.map(\.description) == [
                    "a: kept (unchanged)", "b: read from notes (the queries of its rows changed)",
                ]
            )
            let new = try await scenario.served(second)
            #expect(new.stream.id == old.stream.id)
            #expect(scenario.source.count("items") == 1)
            #expect(scenario.source.count("notes") == 2)
            #expect(try await scenario.count("a|0[]", new.stream, at: new.checkpoint) == before)
            #expect(try await scenario.buckets(of: "u0", new.stream, at: new.checkpoint) == ["a|0[]", "b|0:2[]"])
            #expect(try await scenario.count("b|0:2[]", new.stream, at: new.checkpoint) == 8)
            try await scenario.expectState(new.stream, at: new.checkpoint)
            // Streams of clients end: they come back, and keep what they have.
            while let checkpoint = try await connection.next() { #expect(checkpoint.configNumber == 1) }

            scenario.model.write([.update("items", id: "items1", ["body": "new"]), .delete("notes", id: "notes1")])
            let later = try await scenario.served(second)
            try await scenario.expectState(later.stream, at: later.checkpoint)
            #expect(scenario.log.lines.contains { $0.contains("stream=b") && $0.contains("change=read") })
        }
    }

    /// Two rows of a chunk are as much as is evaluated and written at once.
    @Test func rowsThatAreLargeInManyBucketsAreReadAFewAtATime() async throws {
        let scenario = try await Scenario(.sqlite)
        let text = String(repeating: "x", count: 900_000)
        scenario.model.write((0..<5).map { .update("notes", id: "notes\($0)", ["body": .text(text)]) })
        let notes = (0..<10).map { (name: "b\($0)", query: "\(Scenario.notes) WHERE id <> 'none \($0)'") }
        let second = Scenario.config(
            ("a", Scenario.all),
            notes[0],
            notes[1],
            notes[2],
            notes[3],
            notes[4],
            notes[5],
            notes[6],
            notes[7],
            notes[8],
            notes[9]
        )
        try await scenario.replicating {
            try await scenario.deployAndServe(Scenario.config(("a", Scenario.all)))
            let (stream, checkpoint) = try await scenario.deployAndServe(second)
            try await scenario.expectState(stream, at: checkpoint)
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func aStreamThatStartsAgainGivesItsPartsNamesThatNoneHadBefore(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies))
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.first)
            try await scenario.deployer.deploy(second)
            _ = try await scenario.served(second)
        }
        let old = try #require(try await scenario.storage.activeStream())
        let restarted = try await scenario.storage.restart(old.id)
        try await scenario.replicating {
            // Ends when clients are served from the other one.
            for try await _ in scenario.storage.checkpoints(of: old) {}
            try await scenario.deployer.deploy(Self.first)
            let new = try await scenario.served(Self.first)
            #expect(new.stream.id == restarted.id)
            #expect(try await scenario.buckets(of: "u0", new.stream, at: new.checkpoint) == ["a|0[]", "b|0:3[]"])
            try await scenario.expectState(new.stream, at: new.checkpoint)
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func anotherLabelOfTheNextConfigKeepsWhatWasRead(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies), ("c", Scenario.bodies))
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.first)
            scenario.source.hold("notes", afterRows: 0)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(second) }
            let before = try #require(try await scenario.storage.streams().last?.next)
            let relabelled = try await scenario.storage.deploy(
                second,
                versionLabel: "another",
                plan: plan(second),
                mode: .keepingParts
            )
            #expect(relabelled.next?.versionLabel == "another")
            #expect(relabelled.next?.filledTables == before.filledTables)
            #expect(relabelled.next?.number == before.number)
            scenario.source.release()
            let new = try await scenario.served(second)
            try await scenario.expectState(new.stream, at: new.checkpoint)
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func theOldConfigIsServedWhileTablesAreRead(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies))
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.first)
            scenario.source.hold("notes", afterRows: 0)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(second) }

            // Among them rows that are about to be read.
            scenario.model.write([
                .update("notes", id: "notes0", ["body": "new"]), .delete("notes", id: "notes1"),
                .insert("notes", id: "notes9", ["body": "new"]), .delete("items", id: "items1"),
            ])
            let old = try await scenario.served(Self.first)
            try await scenario.expectState(old.stream, at: old.checkpoint)
            #expect(old.stream.next?.content == second)

            scenario.source.release()
            let new = try await scenario.served(second)
            try await scenario.expectState(new.stream, at: new.checkpoint)
            #expect(scenario.source.count("items") == 1)
        }
    }

    /// What needs no rows is served at once: names, priorities, what chooses the bucket, and streams that are gone.
    @Test(
        arguments: TestedStorage.distinct,
        [
            ("renamed from b", Scenario.config(("a", Scenario.all), ("c", Scenario.notes))),
            (
                "only what requests get of it changed",
                Scenario.config(("a", Scenario.all), ("b", Scenario.notes + "\n    priority: 1"))
            ),
            ("no longer in the config", Scenario.config(("a", Scenario.all))),
        ]
    )
    func whatNeedsNoRowsReadsNothing(_ kind: TestedStorage, _ change: (reason: String, config: String)) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            let old = try await scenario.deployAndServe(Self.first)
            let deployment = try await scenario.deployer.deploy(change.config)
            #expect(deployment.outcome == .served)
            #expect(deployment.plan.everythingIsRead == nil)
            #expect(deployment.plan.streams.map(\.reason).contains(change.reason), "\(deployment.plan.streams)")
            let new = try await scenario.served(change.config)
            #expect(new.stream.id == old.stream.id)
            #expect(new.stream.configNumber == 2)
            #expect(scenario.source.count("items") == 1 && scenario.source.count("notes") == 1)
            #expect(try await scenario.count("a|0[]", new.stream, at: new.checkpoint) == 8)
            scenario.model.write([.update("items", id: "items1", ["body": "new"]), .delete("notes", id: "notes1")])
            let later = try await scenario.served(change.config)
            try await scenario.expectState(later.stream, at: later.checkpoint)
        }
    }

    /// Another parameter chooses the bucket: its rows are those that are stored.
    @Test(arguments: TestedStorage.distinct)
    func anotherClaimChoosesTheBucketOfTheSameRows(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let first = Scenario.config(("a", Scenario.ofOwner))
        let second = Scenario.config(("a", "SELECT * FROM items WHERE owner = auth.parameter('owner')"))
        try await scenario.replicating {
            let old = try await scenario.deployAndServe(first)
            #expect(try await scenario.buckets(of: "u1", old.stream, at: old.checkpoint) == [#"a|0["u1"]"#])
            #expect(try await scenario.deployer.deploy(second).outcome == .served)
            let new = try await scenario.served(second)
            #expect(try await scenario.buckets(of: "u1", new.stream, at: new.checkpoint).isEmpty)
            #expect(try await scenario.count(#"a|0["u1"]"#, new.stream, at: new.checkpoint) == 4)
            #expect(scenario.source.count("items") == 1)
        }
    }

    /// Lookups are parts of their own: a table that only a new lookup reads is read for it, and rows stay.
    @Test(arguments: TestedStorage.distinct)
    func aNewLookupIsReadAlone(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let first = Scenario.config(("a", Scenario.ofOwner))
        let second = Scenario.config(
            ("a", "SELECT * FROM items WHERE owner IN (SELECT owner FROM notes WHERE body = auth.user_id())")
        )
        try await scenario.replicating {
            try await scenario.deployAndServe(first)
            let deployment = try await scenario.deployer.deploy(second)
            #expect(deployment.plan.streams.map(\.description) == ["a: read from notes (its lookups changed)"])
            let new = try await scenario.served(second)
            let buckets = try await scenario.buckets(of: "old", new.stream, at: new.checkpoint)
            #expect(buckets == [#"a|0["u0"]"#, #"a|0["u1"]"#])
            #expect(scenario.source.count("items") == 1)
            #expect(scenario.source.count("notes") == 1)
            try await scenario.expectState(new.stream, at: new.checkpoint)
        }
    }

    /// An option that changes values, or no part that is the same, makes a new stream in which everything is read.
    @Test(
        arguments: TestedStorage.distinct,
        [
            (
                DeploymentPlan.Reason.optionChanged,
                Scenario.config(("a", Scenario.all), options: ", timestamp_max_precision: seconds")
            ),
            (.nothingIsKept, Scenario.config(("a", Scenario.bodies))),
        ]
    )
    func everythingIsReadForAListOfReasons(
        _ kind: TestedStorage,
        _ change: (reason: DeploymentPlan.Reason, config: String)
    ) async throws {
        let scenario = try await Scenario(kind)
        try await scenario.replicating {
            let old = try await scenario.deployAndServe(Self.first)
            let deployment = try await scenario.deployer.deploy(change.config)
            #expect(deployment.plan.everythingIsRead == change.reason)
            #expect(deployment.stream.id > old.stream.id)
            let new = try await scenario.served(change.config)
            try await scenario.expectState(new.stream, at: new.checkpoint)
        }
    }

    /// Back to the text before: before anything was read, nothing has to be read; afterwards, what is the same is kept.
    @Test(arguments: TestedStorage.distinct)
    func theTextBeforeComesBack(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies))
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.first)
            scenario.source.hold("notes", afterRows: 3)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(second) }
            #expect(try await scenario.deployer.deploy(Self.first).outcome == .rolledBack)
            scenario.source.release()
            scenario.model.write([.update("notes", id: "notes1", ["body": "new"])])
            let old = try await scenario.served(Self.first)
            #expect(old.stream.next == nil && old.stream.configNumber == 1)
            try await scenario.expectState(old.stream, at: old.checkpoint)

            let new = try await scenario.deployAndServe(second)
            // Its number is another one than that of the abandoned attempt, whose operations are left.
            #expect(try await scenario.buckets(of: "u0", new.stream, at: new.checkpoint) == ["a|0[]", "b|0:3[]"])
            try await scenario.expectState(new.stream, at: new.checkpoint)
            let back = try await scenario.deployAndServe(Self.first)
            #expect(back.stream.id == old.stream.id)
            try await scenario.expectState(back.stream, at: back.checkpoint)
            #expect(scenario.source.count("items") == 1)
        }
    }

    @Test(arguments: TestedStorage.distinct)
    func ofThreeInFlightTheLastOneCounts(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies))
        let third = Scenario.config(("a", Scenario.all), ("b", "SELECT id, owner FROM notes"))
        let fourth = Scenario.config(("a", Scenario.all), ("c", Scenario.notes), ("d", "SELECT id FROM notes"))
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.first)
            scenario.source.hold("notes", afterRows: 3)
            for config in [second, third, fourth] {
                try await scenario.source.untilHeld {
                    let outcome = try await scenario.deployer.deploy(config).outcome
                    #expect(outcome == .started)
                }
            }
            scenario.model.write([.update("notes", id: "notes1", ["body": "new"]), .delete("notes", id: "notes0")])
            scenario.source.release()
            let new = try await scenario.served(fourth)
            try await scenario.expectState(new.stream, at: new.checkpoint)
            let buckets = try await scenario.buckets(of: "u0", new.stream, at: new.checkpoint)
            #expect(buckets == ["a|0[]", "b|0[]", "d|0:4[]"])
            #expect(scenario.source.count("items") == 1)
        }
    }

    /// A service that ends while tables are read goes on after its next start.
    @Test(arguments: TestedStorage.distinct, [0, 1, 3, 4, 6, 7])
    func aFillThatWasInterruptedGoesOnInTheNextLife(_ kind: TestedStorage, rows: Int) async throws {
        let scenario = try await Scenario(kind)
        let second = Scenario.config(("a", Scenario.all), ("b", Scenario.bodies), ("c", "SELECT id FROM items"))
        try await scenario.replicating {
            try await scenario.deployAndServe(Self.first)
            scenario.source.hold("notes", afterRows: rows)
            try await scenario.source.untilHeld { try await scenario.deployer.deploy(second) }
            // The first three rows are saved while others are read.
            if rows > 3 { try await scenario.untilFillIsStored() }
        }
        scenario.model.write([.update("notes", id: "notes1", ["body": "new"]), .delete("items", id: "items0")])
        // A page has three rows, and others are read while one is saved: what was stored is not read again.
        let stream = try #require(try await scenario.storage.streams().first)
        let isKept = try await scenario.storage.progress(of: stream.id).tables.contains { $0.fill != nil }
        if rows == 0 { #expect(!isKept) }
        #expect(try await scenario.deployer.deploy(second).outcome == .unchanged)
        scenario.source.release()
        try await scenario.replicating {
            let new = try await scenario.served(second)
            try await scenario.expectState(new.stream, at: new.checkpoint)
            #expect(try await scenario.count("a|0[]", new.stream, at: new.checkpoint) == 9)
            #expect(scenario.source.count("notes") == (isKept ? 2 : 3))
        }
    }

    /// Whatever is deployed and written in whatever order, what clients are served is what the source had, and rows of a stream that
    /// stays cost no operations.
    @Test(arguments: 1...16 as ClosedRange<UInt64>)
    func randomDeploymentsAndWrites(seed: UInt64) async throws {
        let scenario = try await Scenario(seed.isMultiple(of: 2) ? .inMemory : .sqlite)
        let queries = [
            Scenario.notes, Scenario.bodies, "SELECT id, owner FROM notes",
            "SELECT * FROM notes WHERE owner = auth.user_id()",
            "SELECT * FROM items WHERE owner IN (SELECT owner FROM notes WHERE body = auth.user_id())",
        ]
        var random = SeededGenerator(seed: seed)
        var changes = 8
        try await scenario.replicating { try await scenario.deployAndServe(Self.first) }
        var text = Self.first
        for _ in 0..<3 {
            let steps = (0..<10).map { _ in random.next() }
            var texts: [UInt64: String] = [:]
            for step in steps {
                var random = SeededGenerator(seed: step)
                let query = queries[random.number(below: queries.count)]
                let other = queries[random.number(below: queries.count)]
                texts[step] = Scenario.config(("a", Scenario.all), ("b\(random.number(below: 2))", query), ("c", other))
                if random.number(below: 3) == 0 { text = texts[step] ?? text } else { texts[step] = nil }
            }
            let deployed = texts
            let last = text
            try await scenario.replicating {
                for step in steps {
                    var random = SeededGenerator(seed: step &+ 1)
                    if let text = deployed[step] { try await scenario.deployer.deploy(text) }
                    let id = random.number(below: 8)
                    scenario.model.write([.update("notes", id: "notes\(id)", ["body": .text("\(step)")])])
                    scenario.model.write([.update("items", id: "items\(id)", ["body": .text("\(step)")])])
                }
                let served = try await scenario.deployAndServe(last)
                try await scenario.expectState(served.stream, at: served.checkpoint)
            }
            changes += steps.count
        }
        let end = try #require(try await scenario.storage.streams().last)
        let checkpoint = try #require(try await scenario.storage.activeStream()?.checkpoint)
        #expect(end.id.rawValue == 1, "seed \(seed)")
        #expect(try await scenario.count("a|0[]", end, at: checkpoint) <= changes, "seed \(seed)")
    }

    /// Where a deployment leaves an event alone, its numbers stay, also those whose rows are gone; where it changes it, rows are read.
    @Test(arguments: TestedStorage.distinct)
    func anEventThatStaysKeepsItsWriteCheckpoints(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        func config(_ query: String, _ condition: String) -> String {
            Scenario.config(("b", query)) + """

                event_definitions:
                  write_checkpoints:
                    payloads:
                      - SELECT owner AS user_id, id AS client_id, CAST(body AS INTEGER) AS checkpoint FROM items WHERE \(condition)
                """
        }
        @Sendable func numbers(_ checkpoint: StorageCheckpoint) async throws -> [Int64?] {
            let plan = try #require(try await scenario.storage.activeStream()).plan
            var numbers: [Int64?] = []
            for client in ["items0", "items2"] {
                let lookups = plan.writeCheckpointLookups(userID: "u0", clientID: client)
                numbers.append(try await scenario.storage.writeCheckpoint(lookups, at: checkpoint)?.rawValue)
            }
            return numbers
        }
        let first = config(Scenario.notes, "body != 'old'")
        let second = config(Scenario.bodies, "body != 'old'")
        let third = config("SELECT id FROM notes", "body != 'old'")
        let fourth = config("SELECT id FROM notes", "body != 'old' AND id != 'x'")
        try await scenario.replicating {
            let old = try await scenario.deployAndServe(first)
            scenario.model.write([
                .update("items", id: "items0", ["body": "7"]), .update("items", id: "items2", ["body": "8"]),
            ])
            #expect(try await numbers(scenario.served(first).checkpoint) == [7, 8])
            scenario.model.write([.delete("items", id: "items0")])
            let new = try await scenario.deployAndServe(second)
            #expect(new.stream.id == old.stream.id)
            #expect(scenario.source.count("items") == 1)
            #expect(try await numbers(new.checkpoint) == [7, 8])
            // Streams that all change do not end what is kept of the event.
            let alone = try await scenario.deployAndServe(third)
            #expect(alone.stream.id == old.stream.id)
            #expect(try await numbers(alone.checkpoint) == [7, 8])
            // Another event: what the table has now.
            let changed = try await scenario.deployAndServe(fourth)
            #expect(changed.stream.id == old.stream.id)
            #expect(scenario.source.count("items") == 2)
            #expect(try await numbers(changed.checkpoint) == [nil, 8])
        }
    }
}
