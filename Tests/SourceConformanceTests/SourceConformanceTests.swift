import PowerSyncSyncConfig
import ServiceTestSupport
import Testing
import TestSupport

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// What every source does, one list of cases for all of them (docs/service.md "What a source promises").
@Suite(.timeLimit(.minutes(2))) struct SourceConformanceTests {
    private func insert(_ ids: [String], name: SQLValue = "n") -> [RowWrite] {
        ids.map { .insert("items", id: $0, ["name": name, "body": .text("body of \($0)")]) }
    }

    /// A follower that has seen everything.
    private func follower(_ tested: TestedSource) async throws -> SourceFollower {
        var follower = try await SourceFollower(tested)
        try await follower.copy()
        try await follower.catchUp()
        return follower
    }

    private func expectLostHistory(_ body: () async throws -> Void) async {
        await #expect { try await body() } throws: { ($0 as? ReplicationSourceError)?.code == .historyLost }
    }

    // MARK: Copying

    @Test(arguments: SourceKind.allCases)
    func snapshotWhileChangesCome(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        // Several pages of each source.
        let ids = (0..<4500).map { "r\(10_000 + $0)" }
        try await tested.write(insert(ids))
        var follower = try await SourceFollower(tested)
        var page = 0
        try await follower.copy {
            page += 1
            guard page < 4 else { return }
            try await tested.write(
                // Before and behind what has been read, and from one to the other.
                .insert("items", id: "a\(page)"),
                .insert("items", id: "z\(page)"),
                .update("items", id: "r\(10_000 + page)", ["name": "changed"]),
                .update("items", id: "r14\(400 + page)", ["id": .text("b\(page)")]),
                .update("items", id: "r1000\(3 + page)", ["id": .text("y\(page)"), "name": "moved"]),
                .delete("items", id: "r14\(490 + page)"),
                .delete("items", id: "r1001\(page)")
            )
        }
        #expect(page > 1)
        try await follower.catchUp()
        #expect(try await follower.allRows == tested.rows())
        #expect(follower.allRows.count == 4500)
    }

    // MARK: Following

    @Test(arguments: SourceKind.allCases)
    func firstAnswerIsACommit(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        let follower = try await follower(tested)
        try await tested.source.withChanges(
            of: follower.slot,
            after: follower.position,
            tables: follower.tables,
            plan: tested.plan
        ) { reader in
            let messages = try await reader.next()
            guard case .commit(let lsn)? = messages.last else {
                Issue.record("\(messages)")
                return
            }
            #expect(lsn >= follower.position.lsn)
        }
    }

    @Test(arguments: SourceKind.allCases)
    func transactionsAreAtomicAndInOrder(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        try await tested.write(insert(["a", "b"], name: 0))
        var follower = try await follower(tested)
        for round in 0..<5 {
            let numbers = (1...10).map { Int64(round * 10 + $0) }
            // While they are read.
            async let written: Void = {
                for number in numbers {
                    try await tested.write(
                        .update("items", id: "a", ["name": .integer(number)]),
                        .insert("items", id: "x\(number)"),
                        .update("items", id: "b", ["name": .integer(number)]),
                        .delete("items", id: "x\(number)")
                    )
                }
            }()
            var last: Int64 = 0
            try await follower.catchUp { follower in
                let names = follower.allRows.map { $0["name"] }
                #expect(follower.allRows.count == 2 && names[0] == names[1])
                guard let number = names[0]?.number else { return }
                #expect(number >= last)
                last = number
            }
            try await written
        }
        try await follower.catchUp()
        #expect(try await follower.allRows == tested.rows())
        #expect(follower.allRows.first?["name"]?.number == 50)
    }

    struct Transaction: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var writes: [RowWrite]
        var left: Set<String>

        init(_ name: String, _ writes: [RowWrite], left: Set<String>) {
            testDescription = name
            self.writes = writes
            self.left = left
        }
    }

    @Test(
        arguments: SourceKind.allCases,
        [
            Transaction("delete", [.delete("items", id: "a")], left: ["b", "c"]),
            Transaction("another key", [.update("items", id: "a", ["id": "d"])], left: ["b", "c", "d"]),
            Transaction(
                "keys in a circle",
                [
                    .update("items", id: "a", ["id": "x"]), .update("items", id: "b", ["id": "a"]),
                    .update("items", id: "x", ["id": "b", "name": "was a"]),
                ],
                left: ["a", "b", "c"]
            ),
            Transaction(
                "deleted, and back",
                [.delete("items", id: "a"), .insert("items", id: "a", ["body": "another"])],
                left: ["a", "b", "c"]
            ),
            Transaction(
                "come and gone",
                [.insert("items", id: "d"), .update("items", id: "d", ["id": "e"]), .delete("items", id: "e")],
                left: ["a", "b", "c"]
            ),
            Transaction("all at once", [.truncate("items")], left: []),
            Transaction("all at once, and a new one", [.truncate("items"), .insert("items", id: "b")], left: ["b"]),
            Transaction("a large value that stays", [.update("items", id: "a", ["name": 7])], left: ["a", "b", "c"]),
            Transaction("a large value", [.update("items", id: "a", ["body": "other"])], left: ["a", "b", "c"]),
            Transaction("nothing", [], left: ["a", "b", "c"]),
        ]
    )
    func whatATransactionDoesToABAndC(_ kind: SourceKind, _ transaction: Transaction) async throws {
        let tested = try await TestedSource(kind)
        try await tested.write(insert(["a", "b", "c"]))
        var follower = try await follower(tested)
        try await tested.write(transaction.writes)
        // A table that was emptied may count as another one.
        if try await !follower.catchUp() {
            try await follower.copy()
            try await follower.catchUp()
        }
        #expect(try await follower.allRows == tested.rows())
        #expect(Set(follower.allRows.compactMap { $0["id"] }) == Set(transaction.left.map { .text($0) }))
    }

    @Test(arguments: SourceKind.allCases)
    func valuesAreTheSameInCopiesAndChanges(_ kind: SourceKind) async throws {
        let values: [SQLValue] = [
            nil, 0, .integer(.min), .integer(.max), 0.1, -0.0, .real(.infinity), "", "ü\u{0}é", .blob([]),
            .blob([0, 255]),
        ]
        let tested = try await TestedSource(kind)
        var follower = try await follower(tested)
        for (index, value) in values.enumerated() {
            try await tested.write(.insert("items", id: "é\(index)", ["name": value, "body": value]))
        }
        try await follower.catchUp()
        let followed = follower.allRows
        try await follower.copy()
        #expect(followed == follower.allRows)
        #expect(followed.count == values.count)
    }

    // MARK: Tables

    @Test(
        arguments: SourceKind.allCases,
        [
            [.addColumn("color", to: "items")], [.drop("items")], [.create("others", columns: ["id", "x"])],
            [.drop("items"), .create("items", columns: ["id", "name", "body"])],
        ] as [[TableChange]]
    )
    func changedTablesAreNoticedAndCopiedAnew(_ kind: SourceKind, _ changes: [TableChange]) async throws {
        let tested = try await TestedSource(kind)
        try await tested.write(insert(["a", "b"]))
        var follower = try await follower(tested)
        for change in changes { try await tested.alter(change) }
        try await tested.write(.insert("items", id: "c"), .insert("others", id: "o"))
        let hasOldTables = try await follower.catchUp()
        #expect(!hasOldTables)
        try await follower.copy()
        let hasNewTables = try await follower.catchUp()
        #expect(hasNewTables)
        #expect(try await follower.allRows == tested.rows())
    }

    @Test(arguments: SourceKind.allCases)
    func outdatedTablesAreRefused(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        let table = try #require(try await tested.source.tables(for: tested.plan).first)
        try await tested.alter(.addColumn("color", to: "items"))
        _ = try await tested.source.tables(for: tested.plan)
        func isOutdated(_ error: any Error) -> Bool { (error as? ReplicationSourceError)?.code == .tablesChanged }
        await #expect {
            var reader = try await tested.source.snapshot(of: table, after: nil)
            _ = try await reader.next()
        } throws: {
            isOutdated($0)
        }
        guard let reading = tested.source.rowReading else { return }
        await #expect { _ = try await reading.rows(of: table, keys: [["a"]], showing: []) } throws: {
            isOutdated($0)
        }
    }

    // MARK: Positions

    @Test(arguments: SourceKind.allCases)
    func everythingAfterAnAcknowledgedPositionIsReadAgain(_ kind: SourceKind) async throws {
        var tested = try await TestedSource(kind)
        try await tested.write(insert(["a", "b"]))
        var kept = try await follower(tested)
        for round in 0..<4 {
            let source = tested.source
            if round % 2 == 0 {
                try await source.acknowledge(DurablePosition(confirmedByDisk: kept.position), of: kept.slot)
            }
            try await tested.write(.insert("items", id: "c\(round)"), .delete("items", id: "c\(round - 1)"))
            // What is not kept is delivered again.
            var lost = kept
            try await lost.catchUp()
            try await tested.write(.update("items", id: "a", ["name": .integer(Int64(round))]))
            tested = try await tested.restarted()
            var follower = try await SourceFollower(kept, on: tested)
            try await follower.catchUp()
            #expect(try await follower.allRows == tested.rows())
            kept = follower
        }
    }

    @Test(arguments: SourceKind.allCases)
    func droppedStreamsAreForgotten(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        let follower = try await follower(tested)
        try await tested.source.dropStream("nobody")
        try await tested.source.dropStream(follower.slot)
        try await tested.source.dropStream(follower.slot)
        await expectLostHistory { _ = try await SourceFollower(follower, on: tested) }
    }

    // MARK: Histories

    struct Restoration: CustomTestStringConvertible, Sendable {
        var lost: Int
        var written: Int
        var testDescription: String { "\(lost) transactions lost, \(written) written instead" }

        static let all = [
            Restoration(lost: 1, written: 0), Restoration(lost: 5, written: 2), Restoration(lost: 5, written: 6),
            Restoration(lost: 2, written: 40),
        ]
    }

    @Test(arguments: SourceKind.allCases, Restoration.all)
    func restoredSourceHasAnotherHistory(_ kind: SourceKind, _ restoration: Restoration) async throws {
        var tested = try await TestedSource(kind, isRestored: true)
        try await tested.write(insert(["a", "b"]))
        var follower = try await follower(tested)
        let backup = try await tested.backUp()
        for number in 0..<restoration.lost { try await tested.write(insert(["lost\(number)"])) }
        try await follower.catchUp()
        tested = try await tested.restarted(with: backup)
        for number in 0..<restoration.written { try await tested.write(insert(["new\(number)"])) }

        let head = try await tested.source.head(having: follower.position)
        #expect(head.history != follower.position.history)
        await expectLostHistory { [tested] in _ = try await SourceFollower(follower, on: tested) }
        var again = try await self.follower(tested)
        #expect(try await again.allRows == tested.rows())
        #expect(again.position.history == head.history)
        try await tested.write(insert(["c"]))
        try await again.catchUp()
        #expect(try await again.allRows == tested.rows())
    }

    @Test(arguments: SourceKind.allCases)
    func positionsOfOthersCountToo(_ kind: SourceKind) async throws {
        var tested = try await TestedSource(kind, isRestored: true)
        let follower = try await follower(tested)
        let backup = try await tested.backUp()
        try await tested.write(insert(["lost"]))
        let reached = try await tested.source.head()
        tested = try await tested.restarted(with: backup)
        await expectLostHistory { [tested] in
            _ = try await SourceFollower(follower, on: tested, reached: reached.lsn)
        }
        #expect(try await tested.source.head().history != reached.history)
    }

    @Test(arguments: SourceKind.allCases, Restoration.all)
    func restorationIsNoticedByReaders(_ kind: SourceKind, _ restoration: Restoration) async throws {
        let tested = try await TestedSource(kind, isRestored: true)
        var follower = try await follower(tested)
        let backup = try await tested.backUp()
        for number in 0..<restoration.lost { try await tested.write(insert(["lost\(number)"])) }
        try await follower.catchUp()
        await expectLostHistory { [follower] in
            try await tested.source.withChanges(
                of: follower.slot,
                after: follower.position,
                tables: follower.tables,
                plan: tested.plan
            ) { reader in
                _ = try await reader.next()
                try await tested.restore(backup)
                for number in 0..<restoration.written { try await tested.write(insert(["new\(number)"])) }
                while true { _ = try await reader.next() }
            }
        }
        #expect(try await tested.source.head().history != follower.position.history)
        let again = try await self.follower(tested)
        #expect(try await again.allRows == tested.rows())
    }

    // MARK: Random

    @Test(
        arguments: SourceKind.allCases,
        (1...6 as ClosedRange<UInt64>).one(in: 2)
    )
    func followersEndWithTheRowsOfTheSource(_ kind: SourceKind, _ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var tested = try await TestedSource(kind, isRestored: true)
        var follower = try await follower(tested)
        var backup = try await tested.backUp()
        // A database is backed up and restored slowly.
        for _ in 0..<(kind == .postgres || kind == .mysql ? 20 : 60) {
            switch random.number(below: 12) {
            case 0:
                var tables = [TableChange.addColumn("c\(random.next())", to: "items")]
                if random.number(below: 2) == 0 {
                    tables = [.drop("items"), .create("items", columns: TestedSource.columns)]
                }
                for change in tables { try await tested.alter(change) }
            case 1:
                try await tested.source.acknowledge(
                    DurablePosition(confirmedByDisk: follower.position),
                    of: follower.slot
                )
            case 2: backup = try await tested.backUp()
            case 3: tested = try await tested.restarted()
            case 4 where random.number(below: 3) == 0: tested = try await tested.restarted(with: backup)
            case 5 where random.number(below: 3) == 0: try await tested.restore(backup)
            default:
                for _ in 0...random.number(below: 3) {
                    try await tested.write((0...random.number(below: 5)).map { _ in RowWrite.random(&random) })
                }
                if random.number(below: 2) == 0 { continue }
            }
            do {
                follower = try await SourceFollower(follower, on: tested)
                if try await follower.catchUp() == false {
                    try await follower.copy()
                    let isUpToDate = try await follower.catchUp()
                    #expect(isUpToDate)
                }
            } catch let error as ReplicationSourceError where error.code == .historyLost {
                follower = try await self.follower(tested)
            }
            #expect(try await follower.allRows == tested.rows())
        }
    }
}
