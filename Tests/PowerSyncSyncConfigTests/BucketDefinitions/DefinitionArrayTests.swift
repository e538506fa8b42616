import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// What `IN` of bucket definitions looks into: arrays, and nothing else.
@Suite struct DefinitionArrayTests {
    struct Array: Sendable, CustomTestStringConvertible {
        var value: SQLValue
        /// Whether `u1` is an element.
        var contains: Bool
        var testDescription: String { "\(value)" }
    }

    static let arrays = [
        Array(value: #"["u1"]"#, contains: true), Array(value: #"["x","u1"]"#, contains: true),
        Array(value: "[]", contains: false), Array(value: #"{"owner":"u1"}"#, contains: false),
        Array(value: #"{"u1":true}"#, contains: false), Array(value: #""u1""#, contains: false),
        Array(value: "u1", contains: false), Array(value: "true", contains: false), Array(value: "1", contains: false),
        Array(value: 1, contains: false), Array(value: nil, contains: false), Array(value: "null", contains: false),
        Array(value: "", contains: false), Array(value: .blob([1]), contains: false),
        Array(value: 1.5, contains: false),
    ]

    @Test(arguments: arrays) func aColumnHasToBeAnArray(_ array: Array) async throws {
        let row: SourceRow = ["id": 1, "readers": array.value]
        let data = try plan(
            BucketDefinitionTests.yaml(["SELECT request.user_id() AS u"], ["SELECT * FROM t WHERE bucket.u IN readers"])
        )
        #expect(data.bucketNames("t", row).contains(#"1#a["u1"]"#) == array.contains)
        #expect(data.bucketNames("t", row).count <= 2)

        let literal = try plan(BucketDefinitionTests.yaml([], ["SELECT * FROM t WHERE 'u1' IN readers"]))
        #expect(literal.bucketNames("t", row) == (array.contains ? ["1#a[]"] : []))

        let parameters = try plan(
            BucketDefinitionTests.yaml(
                ["SELECT id AS u FROM t WHERE request.user_id() IN readers"],
                ["SELECT * FROM t WHERE a = bucket.u"]
            )
        )
        let index = ParameterStore(parameters, ["t": [row]])
        #expect(try await parameters.bucketNames(index: index) == (array.contains ? ["1#a[1]"] : []))
    }

    struct RequestArray: Sendable, CustomTestStringConvertible {
        var value: ExactJSON
        var keys: [String]
        var testDescription: String { "\(value)" }
    }

    static let requestArrays = [
        RequestArray(value: ["p", "q"], keys: [#"["p"]"#, #"["q"]"#]), RequestArray(value: [], keys: []),
        RequestArray(value: "p", keys: []), RequestArray(value: #"["p"]"#, keys: []),
        RequestArray(value: ["k": "p"], keys: []), RequestArray(value: ["p": true], keys: []),
        RequestArray(value: true, keys: []), RequestArray(value: .null, keys: []), RequestArray(value: 1, keys: []),
        RequestArray(value: 1.5, keys: []), RequestArray(value: "", keys: []),
    ]

    /// A condition on the request alone that cannot be evaluated is an error of its query.
    @Test(arguments: requestArrays) func aConditionOnTheRequestConcernsItsQuery(_ array: RequestArray) async throws {
        let plan = try plan(
            BucketDefinitionTests.yaml(
                ["SELECT 'p' AS u WHERE 'p' IN request.parameters() -> 'ks'", "SELECT request.user_id() AS u"],
                ["SELECT * FROM t WHERE a = bucket.u"]
            )
        )
        let names = try await plan.bucketNames(parameters: ["ks": array.value])
        let isFound = array.keys.contains(#"["p"]"#)
        #expect(names == (isFound ? [#"1#a["p"]"#] : []) + [#"1#a["u1"]"#])
    }

    /// What a client sends concerns the query that reads it, and not what else leads to the buckets of the definition.
    @Test(arguments: requestArrays) func aValueOfTheRequestHasToBeAnArray(_ array: RequestArray) async throws {
        let plan = try plan(
            BucketDefinitionTests.yaml(
                ["SELECT k AS u FROM x WHERE k IN request.parameters() -> 'ks'", "SELECT request.user_id() AS u"],
                ["SELECT * FROM t WHERE a = bucket.u"]
            )
        )
        let index = ParameterStore(plan, ["x": [["k": "p"], ["k": "q"], ["k": "r"], ["k": 1], ["k": "k"]]])
        let names = try await plan.bucketNames(parameters: ["ks": array.value], index: index)
        #expect(names == (array.keys + [#"["u1"]"#]).map { "1#a\($0)" }.sorted())
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"], parameters: ["ks": array.value])
        #expect(plan.querier(for: request, bucketPrefix: "1#").streams.flatMap(\.errors).isEmpty)
    }
}
