import Testing

@testable import PowerSyncClient

@Suite struct RowComparisonTests {
    /// A row that reads as `<key><value>`, for example `a1`.
    private struct Row: Sendable, Equatable {
        let key: Character
        let value: Substring

        init(_ text: Substring) {
            key = text.first ?? "?"
            value = text.dropFirst()
        }

        var text: String { "\(key)\(value)" }
    }

    /// Results as texts, and what each differs in.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let results: [String]
        let diffs: [String?]

        init(_ description: String, _ results: [String], _ diffs: [String?]) {
            testDescription = description
            self.results = results
            self.diffs = diffs
        }
    }

    static let cases = [
        Case("an empty first result", [""], ["all[] +[] -[] ~[] =[]"]),
        Case("a first result", ["a1 b1"], ["all[a1 b1] +[a1 b1] -[] ~[] =[]"]),
        Case("an equal result", ["a1", "a1"], ["all[a1] +[a1] -[] ~[] =[]", nil]),
        Case("twice nothing", ["", ""], ["all[] +[] -[] ~[] =[]", nil]),
        Case("added", ["a1", "b1 a1"], ["all[a1] +[a1] -[] ~[] =[]", "all[b1 a1] +[b1] -[] ~[] =[a1]"]),
        Case(
            "removed, in the old order",
            ["c1 a1 b1", "b1"],
            ["all[c1 a1 b1] +[c1 a1 b1] -[] ~[] =[]", "all[b1] +[] -[c1 a1] ~[] =[b1]"]
        ),
        Case("updated", ["a1 b1", "a2 b1"], ["all[a1 b1] +[a1 b1] -[] ~[] =[]", "all[a2 b1] +[] -[] ~[a1>a2] =[b1]"]),
        Case(
            "all at once",
            ["a1 b1 c1", "d1 c2 a1"],
            ["all[a1 b1 c1] +[a1 b1 c1] -[] ~[] =[]", "all[d1 c2 a1] +[d1] -[b1] ~[c1>c2] =[a1]"]
        ),
        Case("another order", ["a1 b1", "b1 a1"], ["all[a1 b1] +[a1 b1] -[] ~[] =[]", nil]),
        Case(
            "another order shows with the next change",
            ["a1 b1", "b1 a1", "b1 a2"],
            ["all[a1 b1] +[a1 b1] -[] ~[] =[]", nil, "all[b1 a2] +[] -[] ~[a1>a2] =[b1]"]
        ),
        Case("the last row of a key", ["a1 b1 a2", "a2 b1"], ["all[b1 a2] +[b1 a2] -[] ~[] =[]", nil]),
        Case(
            "emptied and filled",
            ["a1", "", "a1"],
            ["all[a1] +[a1] -[] ~[] =[]", "all[] +[] -[a1] ~[] =[]", "all[a1] +[a1] -[] ~[] =[]"]
        ),
    ]

    @Test(arguments: cases)
    func eachResultIsComparedWithTheOneBefore(_ example: Case) {
        var comparison = RowComparison<Row, Character>()
        let diffs = example.results.map { result in
            comparison.compare(result.split(separator: " ").map(Row.init), keyBy: \.key).map(describe)
        }
        #expect(diffs == example.diffs)
    }

    @Test func duplicatesAreNoted() {
        var comparison = RowComparison<Row, Character>()
        _ = comparison.compare([Row("a1"), Row("b1")], keyBy: \.key)
        #expect(!comparison.hasSeenDuplicates)
        _ = comparison.compare([Row("a1"), Row("a1")], keyBy: \.key)
        #expect(comparison.hasSeenDuplicates)
    }

    private func describe(_ diff: WatchDiff<Row>) -> String {
        func list(_ rows: [Row]) -> String { "[" + rows.map(\.text).joined(separator: " ") + "]" }
        let updated = diff.updated.map { "\($0.previous.text)>\($0.current.text)" }.joined(separator: " ")
        return "all\(list(diff.all)) +\(list(diff.added)) -\(list(diff.removed)) ~[\(updated)] =\(list(diff.unchanged))"
    }
}
