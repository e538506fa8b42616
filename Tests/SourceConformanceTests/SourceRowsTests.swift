import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServiceCore

/// Rows that a source is asked for by their keys (docs/service.md "What a source promises").
@Suite(.timeLimit(.minutes(2))) struct SourceRowsTests {
    @Test(arguments: SourceKind.readingRows)
    func rowsAreFoundByTheirKeys(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        // What it shows of rows keeps tables from being dropped.
        defer { try? tested.source.close() }
        try await tested.write(
            ["a", "b", "A"].map { .insert("items", id: $0, ["name": "n", "body": .text("body of \($0)")]) }
        )
        let before = try await tested.source.head()
        try await tested.write(.update("items", id: "a", ["name": "later"]), .delete("items", id: "b"))
        let table = try #require(try await tested.source.tables(for: tested.plan).first)
        let reading = try #require(tested.source.rowReading)
        let present = try await reading.rows(
            of: table,
            keys: [["a"], ["b"], ["A"], ["c"], [nil], [1]],
            showing: []
        )
        #expect(Set(present.rows) == (try await tested.rows()))
        #expect(present.rows.count == 2)
        #expect(present.isComplete)
        #expect(present.position.lsn > before.lsn)
        #expect(present.position.history == before.history)
        #expect(try await reading.rows(of: table, keys: [], showing: []).rows.isEmpty)
    }

    @Test(arguments: SourceKind.readingRows)
    func anAnswerDoesNotGrowWithItsRows(_ kind: SourceKind) async throws {
        let tested = try await TestedSource(kind)
        // What it shows of rows keeps tables from being dropped.
        defer { try? tested.source.close() }
        let large = String(repeating: "x", count: PresentRows.maximumBytes / 2)
        let ids = ["a", "b", "c", "d", "e", "f"]
        for id in ids { try await tested.write(.insert("items", id: id, ["name": 1, "body": .text(large)])) }
        let table = try #require(try await tested.source.tables(for: tested.plan).first)
        let reading = try #require(tested.source.rowReading)
        var rest = Set(ids.map { [SQLValue.text($0)] })
        var found: Set<SourceRow> = []
        while !rest.isEmpty {
            let reading = try #require(tested.source.rowReading)
            let present = try await reading.rows(of: table, keys: Array(rest), showing: [])
            // The last one makes it larger than the limit.
            #expect((1...2).contains(present.rows.count))
            #expect(present.isComplete == (present.rows.count == rest.count))
            found.formUnion(present.rows)
            rest.subtract(present.rows.map(table.key))
        }
        #expect(try await found == tested.rows())
        // One row, of any size, is a complete answer.
        try await tested.write(.update("items", id: "a", ["body": .text(large + large + large)]))
        let one = try await reading.rows(of: table, keys: [["a"]], showing: [])
        #expect(one.isComplete && one.rows.count == 1)
    }
}
