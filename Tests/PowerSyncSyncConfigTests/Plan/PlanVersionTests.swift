import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Plans that earlier services stored still run (docs/sync-config.md "The plan").
@Suite struct PlanVersionTests {
    private static func fixture(_ name: String) throws -> String {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: folder.appending(path: "Fixtures/SyncPlans/\(name).json"), encoding: .utf8)
    }

    /// It has every part of the language.
    @Test func aPlanOfVersion1Runs() throws {
        let plan = try SyncPlan(encodedJSON: Self.fixture("version1"))
        let row: SourceRow = ["id": 1, "a": "[1]", "k": "u", "b": 2]
        #expect(plan.synced("t_x", row) == [#"1#s|0["u",1,"x"] t/1 {"id":1,"n":"T_X"}"#])
        // The plan was compiled from edition 2, where NULL is not unequal.
        #expect(plan.synced("t_x", ["id": 1, "a": "[1]", "k": "u", "b": nil]).isEmpty)
        #expect(plan.bucketNames("d", ["id": 1, "a": "u"]) == [#"1#legacy["u"]"#])
    }

    @Test(arguments: [
        #"{"version":1,"evaluators":[],"parameterIndexes":[],"buckets":[{"name":"a","evaluators":[0]}],"streams":[],"valueOptions":{"timestampsISO8601":true,"customPostgresTypes":true}}"#,
        #"{"version":1,"evaluators":[{"table":{"table":"t"},"functions":[],"filters":[{"output":[0,"value"]}],"partitionKeys":[],"columns":["*"]}],"parameterIndexes":[],"buckets":[],"streams":[],"valueOptions":{"timestampsISO8601":true,"customPostgresTypes":true}}"#,
        #"{"version":1,"evaluators":[{"table":{"table":"t"},"functions":[],"filters":[{"call":["upper"]}],"partitionKeys":[],"columns":["*"]}],"parameterIndexes":[],"buckets":[],"streams":[],"valueOptions":{"timestampsISO8601":true,"customPostgresTypes":true}}"#,
        #"{"version":1,"evaluators":[{"table":{"table":"t"},"functions":[],"filters":[{"call":["nothing"]}],"partitionKeys":[],"columns":["*"]}],"parameterIndexes":[],"buckets":[],"streams":[],"valueOptions":{"timestampsISO8601":true,"customPostgresTypes":true}}"#,
    ])
    func damagedPlansAreRefused(_ text: String) {
        #expect(throws: SyncPlanError.self) { try SyncPlan(encodedJSON: text) }
    }

    @Test(arguments: [true, false])
    func optionsOfTheSourceHaveTheirStoredNames(isOn: Bool) throws {
        let options = #""valueOptions":{"customPostgresTypes":\#(isOn),"timestampsISO8601":\#(!isOn)}"#
        let text = #"{"buckets":[],"evaluators":[],"parameterIndexes":[],"streams":[],\#(options),"version":1}"#
        let plan = try SyncPlan(encodedJSON: text)
        #expect(plan.valueOptions.writesDeclaredTypesAsJSON == isOn)
        #expect(plan.valueOptions.timestampsISO8601 == !isOn)
        #expect(try plan.encodedJSON() == text)
    }

    /// Keys are ordered by this text: a change of it changes bucket names of configs that are compiled from then on.
    @Test func theCanonicalOrderOfKeysIsStable() throws {
        let columns = [
            "a", "upper(a)", "lower(b)", "a || b", "\"Z\"", "t.schema()", "a ->> 'x'", "CASE WHEN a THEN 1 END",
            "CAST(a AS text)", "a + 1", "a = b", "NOT a", "a IS NULL", "a AND b",
            "a OR b", "a BETWEEN 1 AND 2", "a IN ARRAY[1]",
        ]
        let conditions = columns.enumerated().map { "(\($0.element)) = auth.parameter('p\($0.offset)')" }
        let plan = try plan(query: "SELECT * FROM t WHERE " + conditions.reversed().joined(separator: " AND "))
        let expected = [
            #"(NOT column("a"))"#, #"(column("a") AND column("b"))"#, #"(column("a") OR column("b"))"#,
            #"add(column("a"), 1)"#, #"between(column("a"), 1, 2)"#, #"castText(column("a"))"#,
            #"choice(column("a"), 1, null)"#, #"column("Z")"#, #"column("a")"#,
            #"concatenate(column("a"), column("b"))"#, #"equal(column("a"), column("b"))"#, #"inList(column("a"), 1)"#,
            #"isNull(column("a"))"#, #"lower(column("b"))"#, #"memberValue(column("a"), "x")"#, "table.schema()",
            #"upper(column("a"))"#,
        ]
        #expect(plan.evaluators[0].partitionKeys.map(\.description) == expected)
    }
}
