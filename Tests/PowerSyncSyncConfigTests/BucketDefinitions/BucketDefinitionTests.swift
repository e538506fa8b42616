import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Legacy bucket definitions (docs/sync-config.md "Bucket definitions").
@Suite struct BucketDefinitionTests {
    /// A definition `a` of edition 1 with these queries.
    static func yaml(_ parameters: [String], _ data: [String], options: String = "", edition: Int = 1) -> String {
        var lines = ["config: {edition: \(edition)}", "bucket_definitions:", "  a:"]
        if !options.isEmpty { lines.append("    \(options)") }
        if !parameters.isEmpty {
            lines.append("    parameters: [\(parameters.map(yamlQuoted).joined(separator: ", "))]")
        }
        lines.append("    data: [\(data.map(yamlQuoted).joined(separator: ", "))]")
        return lines.joined(separator: "\n")
    }

    private static let user = "SELECT request.user_id() AS u"
    private static let mine = "SELECT * FROM t WHERE a = bucket.u"

    struct Row: Sendable, CustomTestStringConvertible {
        var data: String
        var row: SourceRow
        /// Bucket rows as `[keys] data`.
        var synced: [String]
        var hasParameter = true
        var testDescription: String { "\(data) with \(row.columns.map { "\($0.name) = \($0.value)" })" }
    }

    static let rows = [
        Row(
            data: "SELECT * FROM t",
            row: ["_id": "1", "a": "x", "_v": 1, "id": "i"],
            synced: [#"[] {"a":"x","id":"i"}"#],
            hasParameter: false
        ),
        Row(
            data: "SELECT _id AS id, _v, * FROM t",
            row: ["_id": "1", "a": "x", "_v": 1],
            synced: [#"[] {"id":"1","_v":1,"a":"x"}"#],
            hasParameter: false
        ),
        Row(
            data: "SELECT upper(a) AS a, * FROM t",
            row: ["_id": "1", "a": "x", "_v": 1, "id": "i"],
            synced: [#"[] {"a":"X","id":"i"}"#],
            hasParameter: false
        ),
        Row(
            data: "SELECT masked AS a, * FROM t",
            row: ["id": "i", "a": "x", "b": 1],
            synced: [#"[] {"id":"i","b":1}"#],
            hasParameter: false
        ),
        Row(
            data: "SELECT masked AS a, * FROM t",
            row: ["id": "i", "a": "x", "masked": .blob([1])],
            synced: [#"[] {"id":"i"}"#],
            hasParameter: false
        ),
        Row(
            data: "SELECT id FROM t WHERE a = bucket.u AND b = bucket.u",
            row: ["id": 1, "a": "p", "b": "p"],
            synced: [#"["p"] {"id":1}"#]
        ),
        Row(
            data: "SELECT id FROM t WHERE a = bucket.u AND b = bucket.u",
            row: ["id": 1, "a": "p", "b": "q"],
            synced: []
        ),
        Row(data: "SELECT id FROM t WHERE bucket.u = 'x'", row: ["id": 1], synced: [#"["x"] {"id":1}"#]),
        Row(data: "SELECT id FROM t WHERE bucket.u", row: ["id": 1], synced: ["[1] {\"id\":1}"]),
        Row(
            data: "SELECT id FROM t WHERE a = bucket.u OR b = bucket.u",
            row: ["id": 1, "a": "p", "b": "q"],
            synced: [#"["p"] {"id":1}"#, #"["q"] {"id":1}"#]
        ),
        Row(
            data: "SELECT id FROM t WHERE bucket.u IN a",
            row: ["id": 1, "a": #"["p","q"]"#],
            synced: [#"["p"] {"id":1}"#, #"["q"] {"id":1}"#]
        ),
        Row(
            data: "SELECT id FROM t WHERE a || b = bucket.u AND c",
            row: ["id": 1, "a": "p", "b": "q", "c": 1],
            synced: [#"["pq"] {"id":1}"#]
        ), Row(data: "SELECT id FROM t WHERE a = bucket.u", row: ["id": 1, "a": nil], synced: []),
        Row(
            data: "SELECT id, a != 'x' AS r FROM t WHERE a != 'x'",
            row: ["id": 1, "a": nil],
            synced: [],
            hasParameter: false
        ),
        Row(
            data: "SELECT id, a != 'x' AS r FROM t WHERE NOT a",
            row: ["id": 1, "a": nil],
            synced: [#"[] {"id":1,"r":null}"#],
            hasParameter: false
        ),
        Row(
            data: "SELECT id FROM t WHERE 'x' IN a",
            row: ["id": 1, "a": #"["x","y"]"#],
            synced: ["[] {\"id\":1}"],
            hasParameter: false
        ),
        Row(
            data: "SELECT id FROM t WHERE NOT ('x' IN a)",
            row: ["id": 1, "a": #"["x","y"]"#],
            synced: [],
            hasParameter: false
        ),
        Row(
            data: "SELECT id, a ->> 'x.y' AS v FROM t",
            row: ["id": 1, "a": #"{"x.y":1,"x":{"y":2}}"#],
            synced: [#"[] {"id":1,"v":2}"#],
            hasParameter: false
        ),
        Row(
            data: "SELECT z.id FROM t AS z WHERE z.a = bucket.u",
            row: ["id": 1, "a": "p"],
            synced: [#"["p"] {"id":1}"#]
        ),
    ]

    @Test(arguments: rows) func evaluatesRows(_ test: Row) throws {
        let plan = try plan(Self.yaml(test.hasParameter ? [Self.user] : [], [test.data]))
        let rows = plan.evaluate(test.row, of: SourceTableName(schema: "main", name: "t"), bucketPrefix: "7#").map {
            "\($0.bucket) \($0.data)"
        }
        #expect(rows == test.synced.map { "7#a\($0)" })
    }

    struct Request: Sendable, CustomTestStringConvertible {
        var parameters: [String]
        var token: JSONObject
        var tables: [(String, [SourceRow])] = []
        var keys: [String]
        var data = "SELECT * FROM t WHERE a = bucket.u"
        var testDescription: String { "\(parameters) with \(token.text)" }
    }

    private static let two = "SELECT * FROM t WHERE a = bucket.d AND b = bucket.c"

    static let requests = [
        Request(parameters: [user], token: ["sub": "u1"], keys: [#"["u1"]"#]),
        Request(parameters: ["SELECT request.jwt() ->> 'none' AS u"], token: [:], keys: ["[null]"]),
        Request(
            parameters: ["SELECT owner AS u FROM x WHERE k = request.user_id()"],
            token: ["sub": "u1"],
            tables: [("x", [["k": "u1", "owner": nil], ["k": "u1", "owner": "o"]])],
            keys: [#"["o"]"#, "[null]"]
        ),
        Request(
            parameters: ["SELECT token_parameters.user_id AS d, token_parameters.region AS c"],
            token: ["sub": "u1", "parameters": ["user_id": "x", "region": "eu"]],
            keys: [#"["u1","eu"]"#],
            data: two
        ),
        Request(
            parameters: [
                "SELECT depot AS d, id AS c FROM x WHERE k = request.user_id()",
                "SELECT id AS c, depot AS d FROM y WHERE k = request.user_id()",
            ],
            token: ["sub": "u1"],
            tables: [("x", [["k": "u1", "depot": "D", "id": 1]]), ("y", [["k": "u1", "depot": "E", "id": 2]])],
            keys: [#"["D",1]"#, #"["E",2]"#],
            data: two
        ),
        Request(
            parameters: ["SELECT value AS u FROM json_each(request.jwt() -> 'ids') WHERE value > 1"],
            token: ["ids": [1, 2, 3]],
            keys: ["[2]", "[3]"]
        ),
        Request(
            parameters: ["SELECT request.user_id() AS u WHERE request.jwt() ->> 'role' = 'a'"],
            token: ["sub": "u1", "role": "b"],
            keys: []
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE k IN request.jwt() -> 'ks'"],
            token: ["ks": ["p", "q"]],
            tables: [("x", [["k": "p", "id": 1], ["k": "q", "id": 2], ["k": "r", "id": 3]])],
            keys: ["[1]", "[2]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE request.user_id() IN members"],
            token: ["sub": "u1"],
            tables: [("x", [["members": #"["u1","u2"]"#, "id": 1], ["members": "[]", "id": 2]])],
            keys: ["[1]"]
        ),
        Request(
            parameters: [
                "SELECT id AS u FROM x WHERE k = request.user_id() AND NOT archived AND request.jwt() ->> 'on'"
            ],
            token: ["sub": "u1", "on": true],
            tables: [("x", [["k": "u1", "id": 1, "archived": 1], ["k": "u1", "id": 2, "archived": 0]])],
            keys: ["[2]"]
        ),
        Request(
            parameters: ["SELECT request.user_id() || '!' AS u WHERE 'x' IN request.jwt() -> 'roles'"],
            token: ["sub": "u1", "roles": ["x"]],
            keys: [#"["u1!"]"#]
        ),
        Request(
            parameters: ["SELECT request.user_id() AS u FROM x WHERE k = request.user_id()"],
            token: ["sub": "u1"],
            tables: [("x", [["k": "u1"]])],
            keys: [#"["u1"]"#]
        ),
        Request(
            parameters: ["SELECT request.user_id() AS u FROM x WHERE k = request.user_id()"],
            token: ["sub": "u2"],
            tables: [("x", [["k": "u1"]])],
            keys: []
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE k = request.user_id()"],
            token: [:],
            tables: [("x", [["k": nil, "id": 1]])],
            keys: []
        ),
        // The side of the row is any expression of it.
        Request(
            parameters: ["SELECT id AS u FROM x WHERE owner::text = request.user_id()"],
            token: ["sub": "7"],
            tables: [("x", [["owner": 7, "id": 1], ["owner": "8", "id": 2], ["owner": nil, "id": 3]])],
            keys: ["[1]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE lower(email) = request.jwt() ->> 'email'"],
            token: ["email": "a@b"],
            tables: [("x", [["email": "A@b", "id": 1], ["email": "c@d", "id": 2], ["email": nil, "id": 3]])],
            keys: ["[1]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE request.user_id() IN json_extract(meta, '$.owners')"],
            token: ["sub": "u1"],
            tables: [
                (
                    "x",
                    [
                        ["meta": #"{"owners":["u1","u2"]}"#, "id": 1], ["meta": #"{"owners":["u2"]}"#, "id": 2],
                        ["meta": #"{"owners":{"a":"u1"}}"#, "id": 3], ["meta": #"{"owners":"u1"}"#, "id": 4],
                    ]
                )
            ],
            keys: ["[1]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE request.user_id() IN (meta -> 'members')"],
            token: ["sub": "u1"],
            tables: [
                ("x", [["meta": #"{"members":["u1"]}"#, "id": 1], ["meta": #"{"members":[]}"#, "id": 2]])
            ],
            keys: ["[1]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE meta ->> 'owner' = request.user_id() AND NOT archived"],
            token: ["sub": "u1"],
            tables: [
                (
                    "x",
                    [
                        ["meta": #"{"owner":"u1"}"#, "id": 1], ["meta": #"{"owner":"u2"}"#, "id": 2],
                        ["meta": #"{"owner":"u1"}"#, "id": 3, "archived": 1],
                    ]
                )
            ],
            keys: ["[1]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE lower(k) IN request.jwt() -> 'ks'"],
            token: ["ks": ["p", "q"]],
            tables: [("x", [["k": "P", "id": 1], ["k": "q", "id": 2], ["k": "R", "id": 3]])],
            keys: ["[1]", "[2]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE request.user_id() || '!' = a || b"],
            token: ["sub": "u1"],
            tables: [("x", [["a": "u1", "b": "!", "id": 1], ["a": "u1", "b": "", "id": 2]])],
            keys: ["[1]"]
        ),
        // A column that is compared with two values of the request must have both.
        Request(
            parameters: ["SELECT id AS u FROM x WHERE k = request.user_id() AND k = request.jwt() ->> 'k'"],
            token: ["sub": "u1", "k": "u1"],
            tables: [("x", [["k": "u1", "id": 1], ["k": "u2", "id": 2]])],
            keys: ["[1]"]
        ),
        Request(
            parameters: ["SELECT id AS u FROM x WHERE k = request.user_id() AND k = request.jwt() ->> 'k'"],
            token: ["sub": "u1", "k": "u2"],
            tables: [("x", [["k": "u1", "id": 1], ["k": "u2", "id": 2]])],
            keys: []
        ),
        // Without columns there is one bucket, for some.
        Request(
            parameters: ["SELECT FROM x WHERE x.id = request.user_id() AND x.is_admin = true"],
            token: ["sub": "u1"],
            tables: [("x", [["id": "u1", "is_admin": 1], ["id": "u2", "is_admin": 0]])],
            keys: ["[]"],
            data: "SELECT * FROM t"
        ),
        Request(
            parameters: ["SELECT FROM x WHERE x.id = request.user_id() AND x.is_admin = true"],
            token: ["sub": "u2"],
            tables: [("x", [["id": "u1", "is_admin": 1], ["id": "u2", "is_admin": 0]])],
            keys: [],
            data: "SELECT * FROM t"
        ),
        Request(
            parameters: ["SELECT WHERE request.jwt() ->> 'role' = 'a'"],
            token: ["role": "a"],
            keys: ["[]"],
            data: "SELECT * FROM t"
        ),
        Request(
            parameters: ["SELECT WHERE request.jwt() ->> 'role' = 'a'"],
            token: ["role": "b"],
            keys: [],
            data: "SELECT * FROM t"
        ),
        Request(
            parameters: ["SELECT WHERE request.jwt() ->> 'role' = 'a'", "SELECT FROM x WHERE k = request.user_id()"],
            token: ["sub": "u1", "role": "b"],
            tables: [("x", [["k": "u1"], ["k": "u1"]])],
            keys: ["[]"],
            data: "SELECT * FROM t"
        ),
        Request(
            parameters: ["SELECT FROM json_each(request.jwt() -> 'ids') WHERE value > 1"],
            token: ["ids": [1, 2, 3]],
            keys: ["[]"],
            data: "SELECT * FROM t"
        ),
        Request(
            parameters: ["SELECT FROM json_each(request.jwt() -> 'ids') WHERE value > 3"],
            token: ["ids": [1, 2, 3]],
            keys: [],
            data: "SELECT * FROM t"
        ),
    ]

    @Test(arguments: requests) func findsBuckets(_ test: Request) async throws {
        let plan = try plan(Self.yaml(test.parameters, [test.data]))
        var index = ParameterStore()
        for (table, rows) in test.tables { index.add(rows, of: table, plan) }
        let loaded = try SyncPlan(encodedJSON: plan.encodedJSON())
        #expect(try await loaded.bucketNames(token: test.token, index: index) == test.keys.map { "1#a\($0)" }.sorted())
    }

    static let priorities: [(admin: Bool, priorities: [Int32])] = [(true, [0]), (false, [])]

    @Test(arguments: priorities) func aParameterQuerySaysThePriority(admin: Bool, priorities: [Int32]) async throws {
        let plan = try plan(
            Self.yaml(["SELECT request.user_id() AS u, 0 AS _priority WHERE request.jwt() ->> 'admin'"], [Self.mine])
        )
        let buckets = try await plan.buckets(token: ["sub": "u1", "admin": .bool(admin)])
        #expect(buckets.map(\.priority) == priorities.map { Priority($0) })
    }

    @Test func aDefinitionIsADefaultStream() async throws {
        let plan = try plan(Self.yaml([], ["SELECT * FROM t"], options: "priority: 1"))
        let querier = plan.querier(for: SyncPlanRequest(tokenPayload: [:]), bucketPrefix: "1#")
        #expect(querier.streams == [StreamDescription(name: "a", isDefault: true)])
        let buckets = try await plan.buckets(token: [:])
        #expect(buckets.map(\.name.rawValue) == ["1#a[]"])
        #expect(buckets.map(\.priority) == [Priority(1)])
    }

    @Test func aMissingValueOfTheRequestIsNotLookedUp() throws {
        let plan = try plan(Self.yaml(["SELECT id AS u FROM x WHERE k = request.user_id()"], [Self.mine]))
        func isDynamic(_ token: JSONObject) -> Bool {
            plan.querier(for: SyncPlanRequest(tokenPayload: token), bucketPrefix: "1#").hasDynamicBuckets
        }
        #expect(isDynamic(["sub": "u1"]))
        #expect(!isDynamic([:]))
    }

    @Test func oneDefinitionHasOneBucketDefinition() throws {
        let plan = try plan(
            Self.yaml(
                [Self.user, "SELECT id AS u FROM x WHERE k = request.user_id()"],
                [Self.mine, "SELECT id FROM s WHERE b = bucket.u"]
            )
        )
        #expect(plan.buckets.map(\.name) == ["a"])
        #expect(plan.buckets[0].evaluators.count == 2)
        #expect(plan.streams.map(\.queriers.count) == [2])
    }

    @Test func twoDefinitionsOfTheSameRowsKeepTheirNames() throws {
        let plan = try plan("bucket_definitions: {a: {data: [SELECT * FROM t]}, b: {data: [SELECT * FROM t]}}")
        #expect(plan.bucketNames("t", ["id": 1]) == ["1#a[]", "1#b[]"])
    }
}
