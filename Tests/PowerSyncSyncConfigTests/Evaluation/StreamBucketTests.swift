import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Requests to buckets for the whole language (docs/sync-config.md "Requests to buckets").
@Suite struct StreamBucketTests {
    private typealias Streams = StreamingSyncRequest.Streams
    private typealias Subscription = StreamingSyncRequest.Subscription

    private static let streams = [
        TestStream("own", "SELECT * FROM t WHERE a = auth.user_id()"),
        TestStream("ids", "SELECT * FROM t WHERE id IN auth.parameter('ids')"),
        TestStream("adm", "SELECT * FROM t WHERE auth.parameter('admin')"),
        TestStream("dyn", "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())"),
    ]

    static let tokens: [(token: JSONObject, buckets: [String])] = [
        (["sub": "u1"], [#"own|0["u1"]"#]), (["ids": ["1", 2]], [#"ids|0["1"]"#, "ids|0[2]"]), (["ids": []], []),
        (["ids": .null], []),
        (["ids": ["1", "1", 1.0, 1]], [#"ids|0["1"]"#, "ids|0[1]"]), (["ids": "[7]"], ["ids|0[7]"]),
        (["admin": true], ["adm|0[]"]), (["admin": "1"], ["adm|0[]"]),
        (["admin": "yes"], []), (["admin": false], []), (["admin": .double(.infinity)], []),
        (["sub": .integer(.max)], ["own|0[9223372036854775807]"]),
        (["sub": .double(.infinity)], []),
        (["ids": ["x": 5, "y": [1]]], ["ids|0[5]", #"ids|0["[1]"]"#]),
    ]

    @Test(arguments: tokens) func theTokenDecides(token: JSONObject, buckets: [String]) async throws {
        let plan = try plan(config(Self.streams))
        #expect(try await plan.bucketNames(token: token) == buckets.map { "1#\($0)" }.sorted())
    }

    @Test(arguments: ["x", 5] as [ExactJSON]) func whatIsNoArrayIsAnErrorOfItsStream(_ ids: ExactJSON) async throws {
        let plan = try plan(config(Self.streams))
        let querier = plan.querier(for: SyncPlanRequest(tokenPayload: ["sub": "u1", "ids": ids]), bucketPrefix: "1#")
        #expect(querier.streams.filter { !$0.errors.isEmpty }.map(\.name) == ["ids"])
        #expect(querier.streams.flatMap(\.errors).map(\.subject) == [.defaultSubscription])
        #expect(try await querier.buckets { _ in [:] }.map(\.name.rawValue) == [#"1#own|0["u1"]"#])
    }

    private static let withDefault = TestStream(
        "s",
        "SELECT * FROM t WHERE id IN ifnull(subscription.parameter('ids'), '[\"d\"]') AND auth.user_id() = 'u1'"
    )

    @Test func parametersHaveDefaults() async throws {
        let plan = try plan(config(Self.withDefault))
        let streams = Streams(subscriptions: [
            Subscription(stream: "s", parameters: ["ids": "[\"a\"]"]),
            Subscription(stream: "s", parameters: ["ids": "[\"b\"]"], overridePriority: Priority(1)),
            Subscription(stream: "s", parameters: ["ids": "oops"]),
        ])
        let buckets = try await plan.buckets(streams: streams)
        #expect(buckets.map(\.name.rawValue) == [#"1#s|0["a"]"#, #"1#s|0["b"]"#, #"1#s|0["d"]"#])
        #expect(buckets.map(\.priority) == [Priority(3), Priority(1), Priority(3)])
        #expect(buckets.map(\.reasons) == [[.subscription(0)], [.subscription(1)], [.defaultStream(0)]])
        let querier = plan.querier(
            for: SyncPlanRequest(tokenPayload: ["sub": "u1"], streams: streams),
            bucketPrefix: "1#"
        )
        #expect(querier.streams.map { $0.errors.map(\.subject) } == [[.subscription(2)]])
    }

    @Test func aBucketOfTwoSubscriptionsHasBothReasons() async throws {
        let plan = try plan(config(Self.withDefault))
        let streams = Streams(subscriptions: [
            Subscription(stream: "s", parameters: ["ids": "[\"a\",\"d\"]"], overridePriority: Priority(1))
        ])
        let buckets = try await plan.buckets(streams: streams)
        #expect(buckets.map(\.reasons) == [[.subscription(0)], [.subscription(0), .defaultStream(0)]])
        #expect(buckets.map(\.priority) == [Priority(1), Priority(1)])
    }

    @Test func rowsOfALookupThatAreEqualGiveOneBucketAndOneReason() async throws {
        let plan = try plan(config(Self.streams))
        let rows = Array(repeating: ["id": "k", "x": "u1"] as SourceRow, count: 100)
        let buckets = try await plan.buckets(token: ["sub": "u1"], index: ParameterStore(plan, ["u": rows]))
        #expect(buckets.map(\.name.rawValue) == [#"1#own|0["u1"]"#, #"1#dyn|0["k"]"#])
        #expect(buckets.map(\.reasons.count) == [1, 1])
    }

    @Test func aBucketOfThreeStreamsHasTheReasonOfEach() async throws {
        let plan = try plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE k = auth.user_id()"),
                TestStream("b", "SELECT * FROM t WHERE k = auth.parameter('k')"),
                TestStream(
                    "c",
                    "SELECT * FROM t WHERE k = subscription.parameter('k')",
                    options: ["accept_potentially_dangerous_queries: true"]
                )
            )
        )
        let streams = Streams(subscriptions: [Subscription(stream: "c", parameters: ["k": "u1"])])
        let buckets = try await plan.buckets(token: ["sub": "u1", "k": "u1"], streams: streams)
        #expect(buckets.map(\.name.rawValue) == [#"1#a|0["u1"]"#])
        #expect(buckets.map(\.reasons) == [[.defaultStream(0), .defaultStream(1), .subscription(0)]])
    }

    /// Two streams of different priorities, one of them without being asked for, and up to two more subscriptions with a priority of their
    /// own or without.
    @Test(arguments: [0, 1, 2, 3], [0, 1, 2, 3])
    func aBucketHasTheHighestOfItsPriorities(first: Int32, second: Int32) async throws {
        let plan = try plan(
            config(
                TestStream(
                    "a",
                    "SELECT * FROM t WHERE k = auth.user_id()",
                    options: ["auto_subscribe: true", "priority: \(first)"]
                ),
                TestStream(
                    "b",
                    "SELECT * FROM t WHERE k = subscription.parameter('k')",
                    options: ["priority: \(second)", "accept_potentially_dangerous_queries: true"]
                )
            )
        )
        let overrides: [Int32?] = [nil, 0, 1, 2, 3]
        for one in overrides {
            for other in overrides {
                let streams = Streams(
                    subscriptions: [one, other].map {
                        Subscription(stream: "b", parameters: ["k": "u1"], overridePriority: $0.map { Priority($0) })
                    }
                )
                let buckets = try await plan.buckets(token: ["sub": "u1"], streams: streams)
                let highest = min(first, one ?? second, other ?? second)
                #expect(buckets.map(\.name.rawValue) == [#"1#a|0["u1"]"#])
                #expect(
                    buckets.map(\.priority) == [Priority(highest)],
                    "\(first), \(second), \(one as Any), \(other as Any)"
                )
                #expect(buckets.map(\.reasons) == [[.defaultStream(0), .subscription(0), .subscription(1)]])
            }
        }
    }

    @Test func numbersOfTheTokenKeepTheirTypeAndDigits() async throws {
        let token = try JSONObject(parsing: #"{"sub":"u1","n":1,"r":1.0,"big":9007199254740993}"#)
        func value(_ expression: String) async throws -> [String] {
            let plan = try plan(query: "SELECT * FROM t WHERE k = \(expression) AND auth.user_id() = 'u1'")
            return try await plan.bucketNames(token: token).map { String($0.dropFirst("1#s|0".count)) }
        }
        #expect(try await value("typeof(auth.parameter('n'))") == [#"["integer"]"#])
        #expect(try await value("typeof(auth.parameter('r'))") == [#"["real"]"#])
        #expect(try await value("auth.parameter('n') / 2") == ["[0]"])
        #expect(try await value("auth.parameter('r') / 2") == ["[0.5]"])
        #expect(try await value("auth.parameter('big')") == ["[9007199254740993]"])
        #expect(
            try await value("auth.parameters()") == [
                #"["{\"sub\":\"u1\",\"n\":1,\"r\":1.0,\"big\":9007199254740993}"]"#
            ]
        )
        #expect(try await value("auth.parameters() ->> '$.sub'") == [#"["u1"]"#])
    }

    @Test func realKeysMeetTheSameInteger() async throws {
        let plan = try plan(query: "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.parameter('n'))")
        let index = ParameterStore(plan, ["u": [["id": "k", "x": 9_007_199_254_740_992.0]]])
        #expect(try await plan.bucketNames(token: ["n": 9_007_199_254_740_992], index: index) == [#"1#s|0["k"]"#])
        #expect(try await plan.bucketNames(token: ["n": 9_007_199_254_740_993], index: index).isEmpty)
    }

    struct Join: Sendable, CustomTestStringConvertible {
        var query: String
        var tables: [(String, [SourceRow])]
        var token: JSONObject = ["sub": "u1"]
        var keys: [String]
        var testDescription: String { query }
    }

    private static let shops: [SourceRow] = [["id": "s1", "a": "A1", "b": "B1"], ["id": "s2", "a": "A2", "b": "B2"]]
    private static let access: [SourceRow] = [
        ["uid": "u1", "sid": "s1"], ["uid": "u1", "sid": "s2"], ["uid": "u2", "sid": "s1"],
    ]
    private static let pairs = "SELECT p.* FROM p, s WHERE p.a = s.a AND p.b = s.b AND s.k = auth.user_id()"
    private static let same = "SELECT p.* FROM p, s WHERE p.a = s.a AND p.a = s.b AND s.k = auth.user_id()"

    static let joins = [
        Join(
            query: pairs,
            tables: [("s", [["k": "u1", "a": 1, "b": "A"], ["k": "u1", "a": 2, "b": "B"]])],
            keys: [#"[1,"A"]"#, #"[2,"B"]"#]
        ),
        Join(
            query:
                "SELECT * FROM p WHERE a IN (SELECT a FROM s WHERE k = auth.user_id()) AND b IN (SELECT b FROM s WHERE k = auth.user_id())",
            tables: [
                ("s", [["k": "u1", "a": 1, "b": "A"], ["k": "u1", "a": 2, "b": "B"], ["k": "u1", "a": 2, "b": "C"]])
            ],
            keys: [#"[1,"A"]"#, #"[1,"B"]"#, #"[1,"C"]"#, #"[2,"A"]"#, #"[2,"B"]"#, #"[2,"C"]"#]
        ),
        Join(
            query: same,
            tables: [("s", [["k": "u1", "a": "A", "b": "B"], ["k": "u1", "a": "B", "b": "A"]])],
            keys: []
        ),
        Join(
            query: same,
            tables: [
                (
                    "s",
                    [
                        ["k": "u1", "a": "A", "b": "A"], ["k": "u1", "a": "A", "b": "B"],
                        ["k": "u1", "a": "B", "b": "B"],
                    ]
                )
            ],
            keys: [#"["A"]"#, #"["B"]"#]
        ),
        Join(
            query:
                "SELECT p.* FROM p JOIN s ON p.a = s.a AND p.b = s.b INNER JOIN us ON s.id = us.sid WHERE us.uid = auth.user_id()",
            tables: [("s", shops), ("us", access)],
            keys: [#"["A1","B1"]"#, #"["A2","B2"]"#]
        ),
        Join(
            query:
                "SELECT p.* FROM p, s, us WHERE p.sid = us.sid AND p.b = s.b AND s.id = us.sid AND us.uid = auth.user_id()",
            tables: [("s", shops), ("us", access)],
            keys: [#"["B1","s1"]"#, #"["B2","s2"]"#]
        ),
        Join(
            query:
                "SELECT * FROM p WHERE b IN (SELECT id FROM s WHERE a = auth.user_id()) AND 'm' IN auth.parameter('mods')",
            tables: [("s", [["id": "k", "a": "u1"]])],
            token: ["sub": "u1", "mods": ["x"]],
            keys: []
        ),
        Join(
            query:
                "SELECT * FROM p WHERE b IN (SELECT id FROM s WHERE a = auth.user_id()) AND 'm' IN auth.parameter('mods')",
            tables: [("s", [["id": "k", "a": "u1"]])],
            token: ["sub": "u1", "mods": ["x", "m"]],
            keys: [#"["k"]"#]
        ),
        Join(
            query: "SELECT * FROM p WHERE auth.user_id() IN (SELECT id FROM s WHERE a)",
            tables: [("s", [["id": "u1", "a": 1]])],
            keys: ["[]"]
        ),
        Join(
            query: "SELECT * FROM p WHERE auth.user_id() IN (SELECT id FROM s WHERE a)",
            tables: [("s", [["id": "u1", "a": 0]])],
            keys: []
        ),
        Join(
            query: "SELECT p.* FROM p, s WHERE p.a = auth.user_id() AND s.a = 'k'",
            tables: [("s", [["a": "x"]])],
            keys: []
        ),
        Join(
            query: "SELECT p.* FROM p, s WHERE p.a = auth.user_id() AND s.a = 'k'",
            tables: [("s", [["a": "k"]])],
            keys: [#"["u1"]"#]
        ),
        Join(query: "SELECT p.* FROM p, s WHERE p.a = auth.user_id()", tables: [("s", [])], keys: [#"["u1"]"#]),
        Join(
            query: "SELECT * FROM p WHERE a IN auth.parameter('ids') AND b IN auth.parameter('ids')",
            tables: [],
            token: ["ids": [1, 2]],
            keys: ["[1,1]", "[1,2]", "[2,1]", "[2,2]"]
        ),
        Join(
            query: "SELECT * FROM p WHERE a IN (SELECT id FROM s WHERE b IN auth.parameter('bs'))",
            tables: [("s", [["id": 1, "b": "x"], ["id": 2, "b": "y"], ["id": 3, "b": "z"]])],
            token: ["bs": ["x", "z"]],
            keys: ["[1]", "[3]"]
        ),
        Join(
            query: "SELECT * FROM p WHERE a = auth.parameter('l') AND a IN (SELECT id FROM s WHERE b = auth.user_id())",
            tables: [("s", [["id": "l1", "b": "u1"], ["id": "l2", "b": "u1"]])],
            token: ["sub": "u1", "l": "l1"],
            keys: [#"["l1"]"#]
        ),
        Join(
            query: "SELECT p.* FROM p, json_each(auth.parameter('perms')) j WHERE p.a = j.key AND p.b = j.value",
            tables: [],
            token: ["perms": ["x": 1, "y": 2]],
            keys: [#"["x",1]"#, #"["y",2]"#]
        ),
        Join(
            query: "SELECT p.* FROM p, json_each(auth.parameter('perms')) j WHERE p.a = j.key AND j.value > 1",
            tables: [],
            token: ["perms": ["x": 1, "y": 2]],
            keys: [#"["y"]"#]
        ),
    ]

    @Test(arguments: joins) func lookupsJoinAsSQLDoes(_ test: Join) async throws {
        let plan = try plan(query: test.query)
        var index = ParameterStore()
        for (table, rows) in test.tables { index.add(rows, of: table, plan) }
        #expect(try await plan.bucketNames(token: test.token, index: index) == test.keys.map { "1#s|0\($0)" }.sorted())
        let loaded = try SyncPlan(encodedJSON: plan.encodedJSON())
        #expect(
            try await loaded.bucketNames(token: test.token, index: index) == test.keys.map { "1#s|0\($0)" }.sorted()
        )
    }

    @Test func anArrayOfTheRequestThatIsEmptyNeedsNoLookups() throws {
        let plan = try plan(
            query:
                "SELECT * FROM p WHERE b IN (SELECT id FROM s WHERE a = auth.user_id()) AND 'm' IN auth.parameter('mods')"
        )
        func isDynamic(_ mods: ExactJSON) -> Bool {
            plan.querier(for: SyncPlanRequest(tokenPayload: ["sub": "u1", "mods": mods]), bucketPrefix: "")
                .hasDynamicBuckets
        }
        #expect(!isDynamic(["x"]))
        #expect(isDynamic(["m"]))
    }

    @Test func circlesEndAsOutputsOfTheInnermostLookup() throws {
        let plan = try plan(
            query: "SELECT a.* FROM a, b, c, d WHERE a.c1 = b.c1 AND b.c2 = c.c2 AND c.c3 = d.c3 AND d.c4 = a.c4"
        )
        #expect(plan.streams[0].queriers[0].stages.map { $0.map(plan.table) } == [["d"], ["c"], ["b"]])
        let d = try #require(plan.parameterIndexes.first { $0.table.table == "d" })
        #expect(d.keys.isEmpty && d.outputs.count == 2)
        #expect(plan.evaluators[0].partitionKeys == [.column("c1"), .column("c4")])
    }

    static let shapes: [(query: String, definitions: Int, indexes: Int)] = [
        ("SELECT * FROM t WHERE NOT (a = 1 AND auth.parameter('r') = 'x')", 2, 0),
        ("SELECT t.* FROM t, u WHERE u.x = 1 OR t.a = 2", 2, 1),
        ("SELECT * FROM t WHERE a = 1 OR b = 2 OR a = 3", 1, 0),
        ("SELECT * FROM t WHERE NOT (NOT (a = 1 AND (b = auth.user_id() OR b = 1)))", 2, 0),
        ("SELECT t.* FROM t, u WHERE t.a = auth.user_id()", 1, 0),
        ("SELECT t.* FROM t, u WHERE t.a = auth.user_id() AND u.x = u.y", 1, 1),
        (
            "SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE x = auth.user_id()) OR a IN (SELECT y FROM u WHERE x = auth.user_id())",
            1, 2
        ),
    ]

    @Test(arguments: shapes) func queriesBecomeDefinitionsAndIndexes(
        query: String,
        definitions: Int,
        indexes: Int
    ) throws {
        let plan = try plan(query: query)
        #expect(plan.buckets.count == definitions)
        #expect(plan.parameterIndexes.count == indexes)
    }

    @Test func manyNegationsAreOne() throws {
        #expect(
            try plan(query: "SELECT * FROM t WHERE NOT NOT NOT (a = 1)")
                == plan(query: "SELECT * FROM t WHERE NOT (a = 1)")
        )
    }
}
