import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// The stored form of plans (docs/sync-config.md "The plan").
@Suite struct SyncPlanCodingTests {
    private let plan: SyncPlan

    init() throws {
        plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream(
                    "s",
                    """
                    SELECT id, a AS "Name", 9007199254740993 AS big, 0.1 AS r, null AS n, 'x"y' AS t FROM t
                    WHERE a IN (SELECT x.a FROM x WHERE x.b = t.b AND NOT x.c IS NULL AND (x.d = 1 OR x.e))
                        AND a = auth.parameter('$.a') AND connection.parameter('on') != 'no'
                    """,
                    "SELECT * FROM \"app_%\".\"log_%\" WHERE auth.user_id() IN (SELECT id FROM users WHERE admin)",
                    options: ["auto_subscribe: true", "priority: 1"]
                )
            )
        )
    }

    @Test func aStoredPlanIsTheSamePlan() throws {
        let text = try plan.encodedJSON()
        let loaded = try SyncPlan(encodedJSON: text)
        #expect(loaded == plan)
        #expect(try loaded.encodedJSON() == text)
    }

    @Test func aStoredPlanEvaluatesTheSame() async throws {
        let loaded = try SyncPlan(encodedJSON: try plan.encodedJSON())
        let row: SourceRow = ["id": "1", "a": "A", "b": 5]
        #expect(!plan.synced("t", row).isEmpty)
        #expect(loaded.synced("t", row) == plan.synced("t", row))
        #expect(!plan.synced("log_1", row, schema: "app_x").isEmpty)
        #expect(loaded.synced("log_1", row, schema: "app_x") == plan.synced("log_1", row, schema: "app_x"))

        let tables: KeyValuePairs<String, [SourceRow]> = [
            "x": [
                ["a": "A", "b": 5, "c": 1, "d": 1], ["a": "B", "b": 6, "c": 1, "d": 1], ["a": "A", "b": 7, "d": 1],
            ],
            "users": [["id": "u1", "admin": 1]],
        ]
        let token: JSONObject = ["sub": "u1", "a": "A"]
        let names = try await plan.bucketNames(token: token, index: ParameterStore(plan, tables))
        #expect(names == [#"1#s|0["A",5]"#, "1#s|2[]"])
        #expect(try await loaded.bucketNames(token: token, index: ParameterStore(loaded, tables)) == names)
    }

    @Test func theVersionIsStored() throws {
        #expect(try plan.encodedJSON().contains(#""version":1"#))
        #expect(SyncPlan.version == 1)
    }

    @Test(arguments: [0, SyncPlan.version + 1])
    func anotherVersionIsRefused(_ version: Int) throws {
        let text = try plan.encodedJSON().replacing(#""version":1"#, with: #""version":\#(version)"#)
        let error = #expect(throws: SyncPlanError.unsupportedVersion(version)) { try SyncPlan(encodedJSON: text) }
        #expect(error?.description.contains("version \(version), this service runs version 1.") == true)
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"version":1}"#, #"{"version":"1"}"#,
        #"{"version":1,"evaluators":[],"parameterIndexes":[],"buckets":[{"name":"a","evaluators":[0]}],"streams":[]}"#,
    ])
    func damagedPlansAreRefused(_ text: String) {
        #expect(throws: SyncPlanError.self) { try SyncPlan(encodedJSON: text) }
    }

    static let damages: [(old: String, new: String)] = [
        (#""instantiation":[{"lookup":{"output":0,"#, #""instantiation":[{"lookup":{"output":1,"#),
        (#""instantiation":[{"lookup":{"output":0,"#, #""instantiation":[{"lookup":{"output":-1,"#),
        (#""position":0,"stage":1}}]"#, #""position":1,"stage":1}}]"#),
        (#""position":0,"stage":1}}]"#, #""position":0,"stage":2}}]"#),
        (#""position":0,"stage":0}}]"#, #""position":0,"stage":1}}]"#),
        (#""inputs":[{"lookup":{"output":0,"position":0,"stage":0}}]"#, #""inputs":[]"#),
        (#""instantiation":[{"lookup":{"output":0,"position":0,"stage":1}}]"#, #""instantiation":[]"#),
        (#""inputs":[{"lookup":{"#, #""inputs":[{"request":"auth"},{"lookup":{"#),
        (#""bucket":0"#, #""bucket":1"#), (#""index":0"#, #""index":2"#), (#""index":0"#, #""index":-1"#),
    ]

    /// The plan has two lookups, of which the second one is keyed by what the first one finds.
    @Test(arguments: damages) func positionsThatLeadNowhereAreRefused(_ damage: (old: String, new: String)) throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: """
                SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE b IN (SELECT id FROM v WHERE c = auth.user_id()))
                """
        )
        let text = try plan.encodedJSON()
        let parts = text.split(separator: damage.old, omittingEmptySubsequences: false)
        try #require(parts.count == 2)
        #expect(throws: SyncPlanError.self) { try SyncPlan(encodedJSON: parts.joined(separator: damage.new)) }
    }

    static let values: [SQLValue] = [
        nil, 0, .integer(.min), .integer(.max), 0.1, 1.0, 1e300, "", "1", "ü\"\\", .blob([]), .blob([0, 255]),
    ]

    @Test func valuesKeepTheirTypeAndDigits() throws {
        let text = try JSONEncoder().encode(Self.values)
        #expect(try JSONDecoder().decode([SQLValue].self, from: text) == Self.values)
    }
}
