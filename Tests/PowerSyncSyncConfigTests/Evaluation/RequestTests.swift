import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Requests to buckets (docs/sync-config.md "Requests to buckets").
@Suite struct RequestTests {
    private typealias Streams = StreamingSyncRequest.Streams
    private typealias Subscription = StreamingSyncRequest.Subscription

    private let plan: SyncPlan

    init() throws {
        plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream("own", "SELECT * FROM t WHERE a = auth.user_id()"),
                TestStream(
                    "sub",
                    "SELECT * FROM t WHERE id = subscription.parameter('id')",
                    options: ["accept_potentially_dangerous_queries: true"]
                ),
                TestStream("adm", "SELECT * FROM t WHERE auth.parameter('admin')"),
                TestStream("dyn", "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())")
            )
        )
    }

    @Test func theUserGetsTheirBucket() async throws {
        #expect(try await plan.bucketNames() == [#"1#own|0["u1"]"#])
        #expect(try await plan.bucketNames(token: ["sub": 5]) == ["1#own|0[5]"])
        #expect(try await plan.bucketNames(token: [:]).isEmpty)
        #expect(try await plan.bucketNames(token: ["sub": nil]).isEmpty)
    }

    @Test func subscriptionsCarryParametersAndReasons() async throws {
        let once = Streams(
            includeDefaults: false,
            subscriptions: [Subscription(stream: "sub", parameters: ["id": "7"])]
        )
        #expect(
            try await plan.buckets(streams: once)
                == [
                    ResolvedBucket(
                        name: BucketName(#"1#sub|0["7"]"#),
                        priority: .default,
                        reasons: [.subscription(0)],
                        stream: "sub"
                    )
                ]
        )
        var twice = once
        twice.subscriptions.append(
            Subscription(stream: "sub", parameters: ["id": "7"], overridePriority: .highest)
        )
        #expect(
            try await plan.buckets(streams: twice)
                == [
                    ResolvedBucket(
                        name: BucketName(#"1#sub|0["7"]"#),
                        priority: .highest,
                        reasons: [.subscription(0), .subscription(1)],
                        stream: "sub"
                    )
                ]
        )
    }

    @Test func aSubscriptionWithoutTheParameterHasNoBuckets() async throws {
        let streams = Streams(
            includeDefaults: false,
            subscriptions: [
                Subscription(stream: "sub"), Subscription(stream: "sub", parameters: ["id": nil]),
                Subscription(stream: "nothing"),
            ]
        )
        #expect(try await plan.bucketNames(streams: streams).isEmpty)
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"], streams: streams)
        let querier = plan.querier(for: request, bucketPrefix: "1#")
        #expect(querier.streams == [StreamDescription(name: "sub", isDefault: false)])
        #expect(!querier.hasDynamicBuckets)
    }

    static let adminValues: [(ExactJSON?, isAdmin: Bool)] = [
        (true, true), (1, true), ("1", true), (false, false), ("yes", false), (nil, false), (.null, false),
        ([1], false),
    ]

    @Test(arguments: adminValues) func requestFiltersGoByTruth(_ value: ExactJSON?, isAdmin: Bool) async throws {
        var token: JSONObject = [:]
        token["admin"] = value
        #expect(try await plan.bucketNames(token: token) == (isAdmin ? ["1#adm|0[]"] : []))
    }

    @Test func lookupsGiveDynamicBuckets() async throws {
        let index = ParameterStore(
            plan,
            ["u": [["id": "k1", "x": "u1"], ["id": "k2", "x": "u1"], ["id": "k3", "x": "u2"]]]
        )
        let names = try await plan.bucketNames(index: index)
        #expect(names == [#"1#dyn|0["k1"]"#, #"1#dyn|0["k2"]"#, #"1#own|0["u1"]"#])
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"])
        #expect(plan.querier(for: request, bucketPrefix: "1#").hasDynamicBuckets)
        #expect(try await plan.bucketNames() == [#"1#own|0["u1"]"#])
    }

    @Test func requestValuesThatAreMissingMakeNoLookups() {
        let request = SyncPlanRequest(tokenPayload: [:])
        #expect(!plan.querier(for: request, bucketPrefix: "1#").hasDynamicBuckets)
    }

    @Test func withoutDefaultsAndSubscriptionsThereIsNothing() async throws {
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"], streams: Streams(includeDefaults: false))
        let querier = plan.querier(for: request, bucketPrefix: "1#")
        #expect(querier.streams.isEmpty)
        #expect(try await querier.buckets { _ in [:] }.isEmpty)
    }

    @Test func parametersOfTheDefaultSubscriptionAreNull() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE a = auth.user_id() AND subscription.parameter('p') IS NULL"
        )
        #expect(try await plan.buckets().map(\.reasons) == [[.defaultStream(0)]])
        let streams = Streams(subscriptions: [Subscription(stream: "s", parameters: ["p": 1])])
        #expect(try await plan.buckets(streams: streams).map(\.reasons) == [[.defaultStream(0)]])
        let without = Streams(subscriptions: [Subscription(stream: "s")])
        #expect(try await plan.buckets(streams: without).map(\.reasons) == [[.subscription(0), .defaultStream(0)]])
    }

    @Test func onlyASubscriptionHasAnObjectOfParameters() async throws {
        func reasons(where condition: String) async throws -> [BucketReason] {
            let plan = try PowerSyncSyncConfigTests.plan(
                query: "SELECT * FROM t WHERE a = auth.user_id() AND subscription.parameters() \(condition)"
            )
            let streams = Streams(subscriptions: [
                Subscription(stream: "s"), Subscription(stream: "s", parameters: ["p": 1]),
            ])
            return try await plan.buckets(streams: streams).flatMap(\.reasons)
        }
        #expect(try await reasons(where: "IS NULL") == [.defaultStream(0)])
        #expect(try await reasons(where: "= '{}'") == [.subscription(0)])
        #expect(try await reasons(where: #"= '{"p":1}'"#) == [.subscription(1)])
    }

    @Test(arguments: [(true, "[1]"), (false, "[2]")])
    func parametersAreSplitAtDotsOnlyWithoutTheFix(isFixed: Bool, key: String) async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            """
            config: {edition: 3, fixed_json_extract: \(isFixed)}
            streams: {s: {auto_subscribe: true, query: "SELECT * FROM t WHERE k = auth.parameter('a.b')"}}
            """
        )
        #expect(try await plan.bucketNames(token: ["a.b": 1, "a": ["b": 2]]) == ["1#s|0\(key)"])
    }

    @Test func namesOfStreamsThatLookAlikeAreDifferentStreams() async throws {
        // "é" as one scalar and as two: equal as Swift strings.
        let plan = try PowerSyncSyncConfigTests.plan(
            config(TestStream("caf\u{e9}", "SELECT * FROM t", options: ["priority: 3"]))
        )
        func count(_ name: String) async throws -> Int {
            try await plan.buckets(streams: Streams(subscriptions: [Subscription(stream: name)])).count
        }
        #expect(try await count("caf\u{e9}") == 1)
        #expect(try await count("cafe\u{301}") == 0)
    }

    @Test func whoIsBlockedGetsNothing() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE NOT (t.hidden = 1 OR auth.parameter('blocked') = 1)"
        )
        #expect(try await plan.bucketNames(token: ["blocked": 0]) == ["1#s|0[]"])
        #expect(try await plan.bucketNames(token: ["blocked": 1]).isEmpty)
        #expect(plan.bucketNames("t", ["id": 1, "hidden": 0]) == ["1#s|0[]"])
        #expect(plan.bucketNames("t", ["id": 1, "hidden": 1]).isEmpty)
    }

    @Test func reasonsReferToTheStreamsOfTheReply() async throws {
        let streams = Streams(subscriptions: [Subscription(stream: "adm", overridePriority: Priority(1))])
        let token: JSONObject = ["admin": true]
        let request = SyncPlanRequest(tokenPayload: token, streams: streams)
        let descriptions = plan.querier(for: request, bucketPrefix: "1#").streams
        #expect(descriptions.map(\.name) == ["own", "adm", "dyn"])
        #expect(descriptions.allSatisfy { $0.isDefault && $0.errors.isEmpty })
        // The explicit subscription comes first, then the default one; the smallest priority wins.
        let buckets = try await plan.buckets(token: token, streams: streams)
        #expect(buckets.map(\.reasons) == [[.subscription(0), .defaultStream(1)]])
        #expect(buckets.map(\.priority) == [Priority(1)])
    }

    @Test func sharedBucketsKeepTheReasonOfEachStream() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE k = auth.user_id()"),
                TestStream("b", "SELECT * FROM t WHERE k = auth.parameter('k')")
            )
        )
        let buckets = try await plan.buckets(token: ["sub": "u1", "k": "u1"])
        #expect(buckets.map(\.name.rawValue) == [#"1#a|0["u1"]"#])
        #expect(buckets.map(\.reasons) == [[.defaultStream(0), .defaultStream(1)]])
    }

    @Test func aBrokenSubscriptionIsReportedAndTheOthersWork() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE a IN ifnull(subscription.parameter('ids'), '[]') AND b = auth.user_id()"
        )
        let streams = Streams(
            subscriptions: [
                Subscription(stream: "s", parameters: ["ids": [9]]),
                Subscription(stream: "s", parameters: ["ids": "9,10"]),
            ]
        )
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"], streams: streams)
        let querier = plan.querier(for: request, bucketPrefix: "1#")
        #expect(
            querier.streams.map(\.errors) == [
                [
                    StreamError(
                        subject: .subscription(1),
                        message: "Error evaluating bucket ids: the value is not JSON text"
                    )
                ]
            ]
        )
        #expect(try await querier.buckets { _ in [:] }.map(\.name.rawValue) == [#"1#s|0[9,"u1"]"#])
    }

    @Test func aQueryThatCannotBeEvaluatedTakesNothingFromTheOthers() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream(
                    "s",
                    "SELECT * FROM t WHERE a IN auth.parameter('ids') AND b = auth.user_id()",
                    "SELECT * FROM u WHERE a = auth.user_id() OR b IN connection.parameter('ids')",
                    "SELECT * FROM v WHERE a = auth.user_id() AND uuid_blob(auth.parameter('ids')) IS NULL",
                    "SELECT * FROM w WHERE a IN (SELECT id FROM x WHERE b IN auth.parameter('ids'))",
                    "SELECT id FROM y WHERE a = auth.user_id()"
                ),
                TestStream("r", "SELECT * FROM z WHERE a = auth.user_id()")
            )
        )
        let token: JSONObject = ["sub": "u1", "ids": "oops"]
        let request = SyncPlanRequest(tokenPayload: token, parameters: ["ids": "oops"])
        let querier = plan.querier(for: request, bucketPrefix: "1#")
        // Each reason is told once.
        let reasons = ["the value is not JSON text", "the value is not a UUID"]
        #expect(
            querier.streams.map(\.errors) == [
                reasons.map {
                    StreamError(subject: .defaultSubscription, message: "Error evaluating bucket ids: \($0)")
                }, [],
            ]
        )
        let names = try await querier.buckets { _ in [:] }.map(\.name.rawValue)
        #expect(names == [#"1#s|1["u1"]"#, #"1#r|0["u1"]"#])
        // The branches of a query are judged by themselves, too.
        for table in ["u", "y"] { #expect(plan.bucketNames(table, ["id": 1, "a": "u1"]) == [#"1#s|1["u1"]"#]) }
    }

    @Test func wholeParametersAreTheirText() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE p = connection.parameters() AND o = auth.user_id()"
        )
        let names = try await plan.bucketNames(parameters: ["region": "eu"])
        #expect(names == [#"1#s|0["u1","{\"region\":\"eu\"}"]"#])
    }

    @Test func twoWaysToOneBucketAreOneReason() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: """
                SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE x = auth.user_id())
                    OR a IN (SELECT y FROM u WHERE x = auth.user_id())
                """
        )
        let index = ParameterStore(plan, ["u": [["id": 1, "y": 1, "x": "u1"], ["id": 2, "y": 3, "x": "u1"]]])
        let streams = Streams(subscriptions: [Subscription(stream: "s")])
        let buckets = try await plan.buckets(streams: streams, index: index)
        #expect(buckets.map(\.name.rawValue) == ["1#s|0[1]", "1#s|0[2]", "1#s|0[3]"])
        #expect(buckets.allSatisfy { $0.reasons == [.subscription(0), .defaultStream(0)] })
    }

    static let paths: [(key: String, bucket: String?)] = [
        ("role", #"["admin"]"#), ("a.b", "[1]"), ("$.a.b", "[2]"), ("$.list[1]", #"["y"]"#), ("$.list.0", #"["x"]"#),
        ("$.\"a.b\"", "[1]"), ("list", #"["[\"x\",\"y\"]"]"#), ("a", #"["{\"b\":2}"]"#), ("nothing", nil),
        ("$.list[7]", nil), ("$.list[2]", nil), ("$.list.+1", nil), ("$.list.-1", nil), ("$.list.x", nil),
        ("$.list[99999999999999999999]", nil), ("$.a[0]", nil), ("$.\"a\".\"b\"", "[2]"), ("$.role.x", nil),
        ("$.list[a]", nil), ("$x", nil), ("$.", nil), ("$.list[0", nil), ("$ .a", nil), ("$.a..b", nil),
        ("$.list[#-1]", #"["y"]"#), ("yes", "[1]"), ("no", "[0]"), ("none", nil), ("half", "[0.5]"),
        ("big", "[9223372036854775807]"), ("whole", "[314]"),
    ]

    @Test(arguments: paths) func parametersAreReadByNameOrPath(_ key: String, bucket: String?) async throws {
        let token: JSONObject = [
            "role": "admin", "key": .string(key), "a.b": 1, "a": ["b": 2], "list": ["x", "y"], "yes": true, "no": false,
            "none": nil,
            "half": 0.5, "big": .integer(.max), "whole": 314.0,
        ]
        // What is wrong with a path that is a constant would be said when the config is compiled.
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE k = auth.parameter(auth.parameter('key'))"
        )
        #expect(try await plan.bucketNames(token: token) == (bucket.map { ["1#s|0\($0)"] } ?? []))
    }

    @Test func connectionParametersAreTheClients() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE r = connection.parameter('region') AND o = auth.user_id()"
        )
        #expect(try await plan.bucketNames(parameters: ["region": "eu"]) == [#"1#s|0["u1","eu"]"#])
        #expect(try await plan.bucketNames().isEmpty)
    }

    @Test func numbersMeetInLookups() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.parameter('n'))"
        )
        let rows: [SourceRow] = [["id": "int", "x": 314], ["id": "real", "x": 2.0], ["id": "text", "x": "5"]]
        let index = ParameterStore(plan, ["u": rows + [["id": "max", "x": .integer(.max)]]])
        #expect(try await plan.bucketNames(token: ["n": 314.0], index: index) == [#"1#s|0["int"]"#])
        #expect(try await plan.bucketNames(token: ["n": 2], index: index) == [#"1#s|0["real"]"#])
        #expect(try await plan.bucketNames(token: ["n": 5], index: index).isEmpty)
        #expect(try await plan.bucketNames(token: ["n": .integer(.max)], index: index) == [#"1#s|0["max"]"#])
    }

    @Test func integerAndRealOutputsGiveOneBucket() async throws {
        let index = ParameterStore(plan, ["u": [["id": 1, "x": "u1"], ["id": 1.0, "x": "u1"]]])
        #expect(try await plan.bucketNames(index: index) == ["1#dyn|0[1]", #"1#own|0["u1"]"#])
    }
}
