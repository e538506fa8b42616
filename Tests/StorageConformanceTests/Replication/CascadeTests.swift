import Logging
import PowerSyncProtocol
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Rows that change with others, without a change in the stream: no checkpoint has a state that the source did not have.
@Suite(.timeLimit(.minutes(1))) struct CascadeTests {
    private static let config = """
        config:
          edition: 3
        streams:
          all:
            queries:
              - SELECT * FROM lists
              - SELECT * FROM todos
              - SELECT * FROM notes
        """

    /// Lists, todos of lists, and notes of todos; notes may also be of another note.
    private struct Scenario: Sendable {
        let home: any StorageHome
        let source = ModelSource()
        let storage: any BucketStorage
        let plan: SyncPlan
        let log = CollectedLog()
        let progress = ChangeSignal()

        init(_ kind: TestedStorage) async throws {
            plan = try ServiceTestSupport.plan(config)
            home = try kind.home()
            storage = try await home.open()
            source.alter(.create("lists", columns: ["id"]))
            source.alter(.create("todos", columns: ["id", "list_id"]))
            source.alter(.create("notes", columns: ["id", "todo_id", "note_id"]))
            source.setReferences([["list_id"]], of: "todos")
            source.setReferences([["note_id"], ["todo_id"]], of: "notes")
        }

        func replicating(_ body: @escaping @Sendable () async throws -> Void) async throws {
            _ = try await storage.deploy(config, plan: plan)
            let replicator = Replicator(
                storage: storage,
                source: source,
                streamsChanged: ChangeSignal(),
                logger: log.logger,
                touch: { progress.advance() }
            )
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await replicator.run() }
                group.addTask { try await body() }
                try await group.next()
                group.cancelAll()
            }
        }

        /// Waits for a checkpoint that has everything that is committed now; every checkpoint before it, and itself, must be a state of
        /// the source.
        func settle() async throws {
            let head = source.content.head
            try await source.emitMarker()
            for try await checkpoint in storage.checkpoints(of: try await active()) {
                try await expectState(at: checkpoint)
                if checkpoint.lsn >= head.lsn { return }
            }
            throw ReplicatorEnded()
        }

        private func active() async throws -> ActiveReplicationStream {
            while true {
                let seen = progress.version
                if let stream = try await storage.activeStream() { return stream }
                try await progress.wait(after: seen)
            }
        }

        private func expectState(at checkpoint: StorageCheckpoint) async throws {
            let stream = try #require(try await storage.streams().first { $0.id == checkpoint.streamID })
            var expected: [String] = []
            for table in ["lists", "todos", "notes"] {
                let rows = try #require(source.rows(of: table, at: checkpoint.lsn))
                let name = SourceTableName(schema: "main", name: table)
                expected += rows.flatMap { plan.evaluate($0, of: name, bucketPrefix: stream.bucketPrefix) }.map(\.data)
            }
            let found = try await storage.allOperations("all|0[]", of: stream, at: checkpoint)
            #expect(reduceByIdentity(found).values.compactMap(\.data).sorted() == expected.sorted())
        }

        /// Deletes a list, and what the rules delete with it.
        func delete(list: String, with others: [RowWrite]) {
            source.write([.delete("lists", id: list)], cascading: others) { tables in
                func id(_ table: String) -> String { tables[table]?.descriptor.relationID ?? "" }
                return Cascade(
                    relationID: id("todos"),
                    columns: ["list_id"],
                    values: [[.text(list)]],
                    references: [
                        .init(relationID: id("notes"), columns: ["todo_id"], parentID: id("todos"), keyPlaces: [0]),
                        .init(relationID: id("notes"), columns: ["note_id"], parentID: id("notes"), keyPlaces: [0]),
                    ],
                    moment: nil
                )
            }
        }

        /// Two lists with two todos each, todos with two notes each, and notes of notes.
        func writeRows() {
            source.write(
                ["a", "b"].flatMap { list in
                    [.insert("lists", id: list)]
                        + [1, 2].flatMap { number in
                            let todo = "\(list)\(number)"
                            return [RowWrite.insert("todos", id: todo, ["list_id": .text(list)])]
                                + ["x", "y"].map { .insert("notes", id: todo + $0, ["todo_id": .text(todo)]) }
                                + [.insert("notes", id: "of \(todo)x", ["note_id": .text("\(todo)x")])]
                        }
                }
            )
        }

        var copies: Int { log.lines.count { $0.contains("has been copied") } }
    }

    private static let rowsOfA: [RowWrite] =
        ["a1", "a2"].flatMap { todo in
            [.delete("todos", id: todo), .delete("notes", id: todo + "x"), .delete("notes", id: "of \(todo)x")]
                + [.update("notes", id: todo + "y", ["todo_id": .null])]
        }

    @Test(arguments: TestedStorage.distinct)
    func rowsThatGoWithOthersAreFound(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        scenario.writeRows()
        try await scenario.replicating {
            try await scenario.settle()
            scenario.delete(list: "a", with: Self.rowsOfA)
            try await scenario.settle()
            // With rows that have just come, and without those that refer to no list by now.
            scenario.source.write([
                .insert("todos", id: "b3", ["list_id": "b"]), .update("todos", id: "b2", ["list_id": .null]),
            ])
            scenario.delete(
                list: "b",
                with: [
                    .delete("todos", id: "b1"), .delete("notes", id: "b1x"), .delete("notes", id: "of b1x"),
                    .delete("notes", id: "b1y"), .delete("todos", id: "b3"),
                ]
            )
            try await scenario.settle()
        }
        #expect(scenario.copies == 3)
    }

    @Test(arguments: TestedStorage.distinct)
    func anotherProcessFindsTheRows(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        scenario.writeRows()
        try await scenario.replicating { try await scenario.settle() }
        scenario.delete(list: "a", with: Self.rowsOfA)
        scenario.delete(list: "none", with: [])
        try await scenario.replicating { try await scenario.settle() }
        #expect(scenario.copies == 3)
    }

    /// Which texts are equal to one beyond ASCII, only the source knows.
    @Test(arguments: TestedStorage.distinct)
    func whatCannotBeFoundHasEverythingCopied(_ kind: TestedStorage) async throws {
        let scenario = try await Scenario(kind)
        scenario.writeRows()
        scenario.source.write([
            .insert("todos", id: "ä", ["list_id": "a"]), .insert("notes", id: "n", ["todo_id": "Ä"]),
            .insert("notes", id: "of n", ["note_id": "n"]),
        ])
        try await scenario.replicating {
            try await scenario.settle()
            let before = try await scenario.storage.activeStream()?.id
            scenario.delete(
                list: "a",
                with: Self.rowsOfA + [
                    .delete("todos", id: "ä"), .delete("notes", id: "n"), .delete("notes", id: "of n"),
                ]
            )
            // Another stream takes over when it has all rows.
            while true {
                let seen = scenario.progress.version
                if try await scenario.storage.activeStream()?.id != before { break }
                try await scenario.progress.wait(after: seen)
            }
            try await scenario.settle()
        }
        #expect(scenario.copies == 6)
    }

    // MARK: Lookups

    private static func lookup(_ values: SQLValue...) -> String? {
        ReferenceLookup.entry(values, in: ["a", "b"], ofTable: "t")?.rawValue
    }

    @Test func valuesThatACollationTakesForEqualAreUnderOneLookup() {
        for (one, other) in [("abc", "ABC"), ("x", "x  "), ("jar", "IAR"), ("v\u{1}", "U"), ("ä", "ö")] {
            #expect(Self.lookup(.text(one), 1) == Self.lookup(.text(other), 1))
        }
        for (one, other) in [("a", "b"), ("a", "ä"), ("", "*"), ("a b", "ab")] {
            #expect(Self.lookup(.text(one), 1) != Self.lookup(.text(other), 1))
        }
        #expect(Self.lookup(7, 1) == Self.lookup(.real(7), 1))
        #expect(Self.lookup(7, 1) != Self.lookup(.text("7"), 1))
        #expect(Self.lookup(.blob([1, 11]), 1) != Self.lookup(.blob([11, 1]), 1))
        #expect(Self.lookup(.text("1"), .text("23")) != Self.lookup(.text("12"), .text("3")))
        #expect(Self.lookup(.null, 1) == nil)
    }

    @Test func whatIsLookedForHasEveryRowThatMayBeEqual() {
        func lookups(_ values: SQLValue...) -> Set<String>? {
            ReferenceLookup.lookups(values, in: ["a", "b"], ofTable: "t").map { Set($0.map(\.rawValue)) }
        }
        #expect(lookups(1, 2)?.count == 1)
        let found = lookups(.text("A"), 2)
        #expect(found?.contains(Self.lookup(.text("a"), 2) ?? "") == true)
        #expect(found?.contains(Self.lookup(.text("ä"), 2) ?? "") == true)
        #expect(lookups(.text("A"), .text("B"))?.count == 4)
        #expect(lookups(.text("ä"), 2) == nil)
        #expect(lookups(.null, 2) == [])
    }

    // MARK: The order

    private static func table(_ id: String) -> SourceTable {
        SourceTable(
            id: "record of \(id)",
            descriptor: SourceTableDescriptor(
                name: SourceTableName(schema: "main", name: id),
                relationID: id,
                identity: [.init(name: "id", type: "TEXT")]
            )
        )
    }

    /// A row is saved after those that were found by it: until then they are found by it again.
    @Test func rowsAreInTheOrderInWhichTheyWereFound() {
        let (todos, notes) = (Self.table("todos"), Self.table("notes"))
        var search = CascadeSearch(
            Cascade(
                relationID: "todos",
                columns: ["list_id"],
                values: [["a"]],
                references: [
                    .init(relationID: "notes", columns: ["todo_id"], parentID: "todos", keyPlaces: [0]),
                    .init(relationID: "notes", columns: ["note_id"], parentID: "notes", keyPlaces: [0]),
                ],
                moment: nil
            ),
            among: ["todos": todos, "notes": notes]
        )
        #expect(search.next()?.table == todos)
        #expect(search.found([["t"]], of: todos) == 1)
        #expect(search.next()?.table == notes)
        #expect(search.found([["n"], ["m"]], of: notes) == 3)
        // Notes of notes, and then one that refers to itself.
        #expect(search.next()?.table == notes)
        #expect(search.found([["o"], ["n"]], of: notes) == 4)
        #expect(search.next()?.table == notes)
        #expect(search.found([["o"]], of: notes) == 4)
        #expect(search.next() == nil)
        #expect(search.rows.map(\.table) == [todos, notes, notes])
        #expect(search.rows.map { Set($0.keys) } == [[["t"]], [["n"], ["m"]], [["o"]]])
        #expect(search.unknownTables.isEmpty)
        search.giveUp(todos)
        #expect(Set(search.unknownTables) == [todos, notes])
    }
}
