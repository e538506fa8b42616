import PowerSyncSyncConfig
import Testing

/// Rows to parameter indexes (docs/sync-config.md "Rows to buckets").
@Suite struct ParameterIndexTests {
    private let table = SourceTableName(schema: "main", name: "m")

    private func lookups(_ plan: SyncPlan, _ row: SourceRow) -> [String] {
        plan.evaluateParameters(row, of: table).map { entry in
            "\(entry.lookup) → \(entry.rows.map(\.values))"
        }
    }

    @Test func aRowHasOneEntryUnderItsKey() throws {
        let plan = try plan(query: "SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())")
        #expect(lookups(plan, ["id": 1, "uid": "u1", "grp": "g1"]) == [#"0["u1"] → [["g1"]]"#])
        #expect(lookups(plan, ["uid": nil, "grp": "g1"]).isEmpty)
        #expect(lookups(plan, ["uid": "u1", "grp": nil]).isEmpty)
        #expect(lookups(plan, ["uid": "u1", "grp": .blob([])]).isEmpty)
        #expect(plan.evaluateParameters(["uid": "u1"], of: SourceTableName(schema: "main", name: "docs")).isEmpty)
    }

    @Test func aSubqueryWithoutConditionHasAnEmptyKey() throws {
        let plan = try plan(query: "SELECT * FROM docs WHERE grp IN (SELECT grp FROM m)")
        #expect(lookups(plan, ["grp": "g1"]) == [#"0[] → [["g1"]]"#])
    }

    @Test func filtersKeepRowsOut() throws {
        let plan = try plan(
            query: "SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id() AND NOT archived)"
        )
        #expect(lookups(plan, ["uid": "u1", "grp": "g1", "archived": 0]).count == 1)
        #expect(lookups(plan, ["uid": "u1", "grp": "g1", "archived": 1]).isEmpty)
    }

    @Test func keysAreNormalisedAndOutputsKeepTheirType() throws {
        let plan = try plan(query: "SELECT * FROM docs WHERE grp IN (SELECT grp FROM m WHERE uid = auth.user_id())")
        #expect(lookups(plan, ["uid": 314.0, "grp": 1.0]) == ["0[314] → [[1.0]]"])
        #expect(lookups(plan, ["uid": 314, "grp": 1]) == ["0[314] → [[1]]"])
        #expect(lookups(plan, ["uid": "314", "grp": 1]) == ["0[\"314\"] → [[1]]"])
        #expect(lookups(plan, ["uid": .integer(.max), "grp": 1]) == ["0[9223372036854775807] → [[1]]"])
    }

    @Test func anIndexForExistenceHasNoOutputs() throws {
        let plan = try plan(query: "SELECT * FROM audit WHERE auth.user_id() IN (SELECT id FROM m WHERE is_admin)")
        #expect(lookups(plan, ["id": "u1", "is_admin": 1]) == [#"0["u1"] → [[]]"#])
        #expect(lookups(plan, ["id": "u1", "is_admin": 0]).isEmpty)
    }
}
