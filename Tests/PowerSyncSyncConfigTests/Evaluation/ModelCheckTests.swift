import PowerSyncProtocol
import PowerSyncSyncConfig
import TestSupport
import Testing

/// A client gets exactly the rows that the query selects, whatever way they take through buckets.
///
/// Random small tables are evaluated by the plan and, as a model, by nested loops.
@Suite struct ModelCheckTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var query: String
        /// Whether a row of `p` is selected, given one row of each other table.
        var matches: @Sendable (_ p: SourceRow, _ s: SourceRow, _ m: SourceRow) -> Bool
        var testDescription: String { name }
    }

    /// `=` of values that can be keys.
    private static func equal(_ lhs: SQLValue?, _ rhs: SQLValue?) -> Bool {
        guard let lhs = lhs?.normalizedKey, let rhs = rhs?.normalizedKey else { return false }
        return lhs == rhs
    }

    static let cases = [
        Case(name: "one level", query: "SELECT * FROM p WHERE a IN (SELECT s.x FROM s WHERE s.y = auth.user_id())") {
            p,
            s,
            _ in equal(p["a"], s["x"]) && equal(s["y"], 1)
        },
        Case(
            name: "correlated through two levels",
            query: """
                SELECT * FROM p WHERE a IN (SELECT s.x FROM s WHERE s.y = p.b AND s.z IN
                    (SELECT m.x FROM m WHERE m.y = auth.user_id()))
                """
        ) { p, s, m in
            equal(p["a"], s["x"]) && equal(s["y"], p["b"]) && equal(s["z"], m["x"]) && equal(m["y"], 1)
        },
        Case(
            name: "circle",
            query: """
                SELECT * FROM p WHERE a IN (SELECT s.x FROM s WHERE s.y = auth.user_id() AND s.z IN
                    (SELECT m.x FROM m WHERE m.y = p.b))
                """
        ) { p, s, m in
            equal(p["a"], s["x"]) && equal(s["y"], 1) && equal(s["z"], m["x"]) && equal(m["y"], p["b"])
        },
        Case(
            name: "intersection in one row",
            query: "SELECT * FROM p WHERE a IN (SELECT s.x FROM s WHERE s.y = p.a AND s.z = auth.user_id())"
        ) { p, s, _ in
            equal(p["a"], s["x"]) && equal(s["y"], p["a"]) && equal(s["z"], 1)
        },
        Case(
            name: "alternatives and filters",
            query: """
                SELECT * FROM p WHERE NOT c = 2 AND (a = auth.user_id() OR b IN (SELECT s.x FROM s WHERE s.y = 1
                    AND s.z = auth.user_id()))
                """
        ) { p, s, _ in
            !equal(p["c"], 2)
                && (equal(p["a"], 1) || (equal(p["b"], s["x"]) && equal(s["y"], 1) && equal(s["z"], 1)))
        },
        Case(
            name: "existence that depends on the row",
            query: """
                SELECT * FROM p WHERE a = auth.user_id() AND auth.user_id() IN (SELECT s.x FROM s WHERE s.y IN
                    (SELECT m.x FROM m WHERE m.y = p.b))
                """
        ) { p, s, m in
            equal(p["a"], 1) && equal(s["x"], 1) && equal(s["y"], m["x"]) && equal(m["y"], p["b"])
        },
    ]

    private static let values: [SQLValue] = [1, 1.0, 2, 2, 3, nil]

    @Test(arguments: cases) func clientsGetWhatTheQuerySelects(_ test: Case) async throws {
        let plan = try plan(query: test.query)
        for seed in 1...60 as ClosedRange<UInt64> {
            var generator = SeededGenerator(seed: seed)
            func rows(_ columns: String...) -> [SourceRow] {
                (0..<4).map { number in
                    SourceRow(
                        columns: [SourceRow.Column(name: "id", value: .integer(Int64(number)))]
                            + columns.map { name in
                                let value = Self.values.randomElement(using: &generator) ?? nil
                                return SourceRow.Column(name: name, value: value)
                            }
                    )
                }
            }
            let (p, s, m) = (rows("a", "b", "c"), rows("x", "y", "z"), rows("x", "y"))
            let index = ParameterStore(plan, ["s": s, "m": m])
            let buckets = Set(try await plan.bucketNames(token: ["sub": 1], index: index))
            for row in p {
                let isSelected = s.contains { s in m.contains { m in test.matches(row, s, m) } }
                let isSynced = !buckets.isDisjoint(with: plan.bucketNames("p", row))
                #expect(isSynced == isSelected, "seed \(seed): \(row) with \(s) and \(m)")
            }
        }
    }
}
