import PowerSyncSyncConfig
import Testing

/// Columns of subqueries are copied wherever they are mentioned: what they stand for is limited.
@Suite struct ExpressionSizeTests {
    /// A query over subqueries, each of which makes the column `k` from the `k` of the next one.
    private func query(_ column: String, levels: Int) -> String {
        let inner = "(SELECT id, k FROM t) AS d"
        let tables = (0..<levels).reduce(inner) { table, _ in "(SELECT id, \(column) AS k FROM \(table)) AS d" }
        return "SELECT id, k FROM \(tables)"
    }

    private func problems(_ query: String) -> [String] {
        SyncConfig.parse(config(TestStream("s", query))).diagnostics.map { "\($0.code) \($0.message)" }
    }

    @Test func columnsThatDoubleAreLimited() throws {
        let allowed = try plan(query: query("k || k", levels: 5))
        #expect(
            allowed.synced("t", ["id": 1, "k": "x"])
                == [#"1#s|0[] t/1 {"id":1,"k":"\#(String(repeating: "x", count: 32))"}"#]
        )
        #expect(
            problems(query("k || k", levels: 18))
                == ["sql.syntax The columns of subqueries stand for more than 10000 names and operators."]
        )
    }

    @Test func levelsOfColumnsCountTogether() throws {
        let column = String(repeating: "NOT ", count: 30) + "k"
        #expect(problems(query(column, levels: 3)).isEmpty)
        #expect(problems(query(column, levels: 4)) == ["sql.syntax The expression has more than 100 levels."])
    }

    @Test func theHighestExpressionCanBeStored() throws {
        let column = "k" + String(repeating: " != 1", count: 32)
        let plan = try plan(query: query(column, levels: 3))
        let stored = try SyncPlan(encodedJSON: try plan.encodedJSON())
        let row: SourceRow = ["id": 1, "k": 5]
        #expect(stored.synced("t", row) == plan.synced("t", row))
    }
}
