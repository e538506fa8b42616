import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Limits (docs/sync-config.md "Limits of a connection").
@Suite struct BucketLimitTests {
    private let plan: SyncPlan

    init() throws {
        plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())"),
                TestStream("b", "SELECT * FROM t WHERE c IN (SELECT id FROM v WHERE x = auth.user_id())")
            )
        )
    }

    private func rows(_ count: Int) -> [SourceRow] {
        (0..<count).map { ["id": .integer(Int64($0)), "x": "u1"] }
    }

    @Test func aThousandBucketsAreAllowedAndOneMoreIsNot() async throws {
        let index = ParameterStore(plan, ["u": rows(600), "v": rows(400)])
        #expect(try await plan.buckets(index: index).count == 1000)
        let more = ParameterStore(plan, ["u": rows(600), "v": rows(401)])
        let limits = BucketLimits(maximumParameterResults: 2000)
        let error = await #expect(throws: BucketLimitError.self) {
            try await plan.buckets(index: more, limits: limits)
        }
        #expect(error?.message == "Too many buckets: 1001 (limit of 1000)")
        #expect(error?.description == "[PSYNC_S2305] Too many buckets: 1001 (limit of 1000)")
        #expect(error?.breakdown.map { "\($0.name) \($0.count)" } == ["a 600", "b 401"])
    }

    @Test func resultsOfAllLookupsCountTogether() async throws {
        let index = ParameterStore(plan, ["u": rows(600), "v": rows(401)])
        let error = await #expect(throws: BucketLimitError.self) { try await plan.buckets(index: index) }
        #expect(error?.message == "Too many parameter query results (limit of 1000)")
        #expect(error?.breakdown.map { "\($0.name) \($0.count)" } == ["a: u 600", "b: v 401"])
        // The client is told of the stream, the table of its lookup, the count and the way out.
        #expect(error?.details.hasPrefix("Most of them are for a: u (600). Restrict the lookup: ") == true)
    }

    @Test func keysOfOneLookupAreLimited() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: """
                SELECT * FROM t WHERE b IN (SELECT id FROM w WHERE p IN (SELECT a FROM u WHERE x = auth.user_id())
                    AND q IN (SELECT a FROM v WHERE x = auth.user_id()))
                """
        )
        let rows = (0..<40).map { ["a": .integer($0), "x": "u1"] as SourceRow }
        let index = ParameterStore(plan, ["u": rows, "v": rows])
        let error = await #expect(throws: BucketLimitError.self) { try await plan.buckets(index: index) }
        #expect(
            error?.message
                == "Attempted to fetch 1600 lookups at once, a maximum of 1000 lookups are allowed."
        )
    }

    @Test func asManyKeysAsTheLimitAreLookedUpAndOneMoreAreNot() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: """
                SELECT * FROM t WHERE b IN (SELECT id FROM w WHERE p IN (SELECT a FROM u WHERE x = auth.user_id())
                    AND q IN (SELECT a FROM v WHERE x = auth.user_id()))
                """
        )
        func index(_ u: Int64, _ v: Int64) -> ParameterStore {
            func rows(_ count: Int64) -> [SourceRow] { (0..<count).map { ["a": .integer($0), "x": "u1"] } }
            return ParameterStore(plan, ["u": rows(u), "v": rows(v), "w": [["id": "here", "p": 24, "q": 39]]])
        }
        #expect(try await plan.buckets(index: index(25, 40)).map(\.name.rawValue) == [#"1#s|0["here"]"#])
        let error = await #expect(throws: BucketLimitError.self) { try await plan.buckets(index: index(77, 13)) }
        #expect(error?.limit == .lookups(count: 1001, limit: 1000))
    }

    @Test func aLookupOfSeveralStreamsCountsOnce() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())"),
                TestStream("b", "SELECT * FROM t2 WHERE c IN (SELECT id FROM u WHERE x = auth.user_id())")
            )
        )
        let limits = BucketLimits(maximumBuckets: 4000)
        let buckets = try await plan.buckets(index: ParameterStore(plan, ["u": rows(1000)]), limits: limits)
        #expect(buckets.count == 2000)
        let error = await #expect(throws: BucketLimitError.self) {
            try await plan.buckets(index: ParameterStore(plan, ["u": rows(1001)]), limits: limits)
        }
        #expect(error?.limit == .parameterResults(limit: 1000))
        #expect(error?.breakdown.map { "\($0.name) \($0.count)" } == ["a: u 1001"])
    }

    @Test(arguments: ["SELECT k", "SELECT DISTINCT k"]) func equalResultsOfALookupCountOnce(select: String) async throws
    {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE b IN (\(select) FROM u WHERE x = auth.user_id())"
        )
        func index(_ count: Int64, distinct: Int64) -> ParameterStore {
            ParameterStore(
                plan,
                ["u": (0..<count).map { ["id": .integer($0), "k": .integer($0 % distinct), "x": "u1"] }]
            )
        }
        let few = try await plan.buckets(index: index(1200, distinct: 3))
        #expect(few.map(\.name.rawValue) == ["1#s|0[0]", "1#s|0[1]", "1#s|0[2]"])
        #expect(try await plan.buckets(index: index(5000, distinct: 1000)).count == 1000)
        let error = await #expect(throws: BucketLimitError.self) {
            try await plan.buckets(index: index(5000, distinct: 1001))
        }
        #expect(error?.limit == .parameterResults(limit: 1000))
    }

    @Test func theBreakdownNamesTheLargestHundred() async throws {
        // Stream s120 has the most buckets; of those with as many as each other the first names are listed.
        let streams = (21...120).map { number in
            TestStream("s\(number)", "SELECT * FROM t\(number) WHERE b IN (SELECT id FROM u\(number))")
        }
        let small = TestStream("tiny", "SELECT * FROM t WHERE b IN (SELECT id FROM u)")
        let plan = try PowerSyncSyncConfigTests.plan(config([small] + streams))
        var index = ParameterStore(plan, ["u": rows(1), "u120": rows(3)])
        for number in 21..<120 { index.add(rows(2), of: "u\(number)", plan) }
        let error = await #expect(throws: BucketLimitError.self) {
            try await plan.buckets(index: index, limits: BucketLimits(maximumBuckets: 201))
        }
        #expect(error?.limit == .buckets(count: 202, limit: 201))
        let breakdown = try #require(error).breakdown
        #expect(breakdown.count == 100)
        #expect(breakdown.first.map { "\($0.name) \($0.count)" } == "s120 3")
        #expect(breakdown.dropFirst().map(\.name) == (21..<120).map { "s\($0)" }.sorted())
    }

    @Test func hugeProductsAreRefusedEarly() async throws {
        let conditions = "abcd".map { "\($0) IN (SELECT k FROM u WHERE n = '\($0)' AND x = auth.user_id())" }
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE " + conditions.joined(separator: " AND ")
        )
        let rows = "abcd".flatMap { name in
            (0..<250).map { ["k": .integer($0), "n": .text(String(name)), "x": "u1"] as SourceRow }
        }
        let index = ParameterStore(plan, ["u": rows])
        let error = await #expect(throws: BucketLimitError.self) { try await plan.buckets(index: index) }
        #expect(error?.limit == .buckets(count: 250_000, limit: 1000))
        #expect(error?.breakdown.map { "\($0.name) \($0.count)" } == ["s 250000"])
    }

    @Test func equalRowsOfALookupAreOneCombination() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: """
                SELECT * FROM t WHERE b IN (SELECT k FROM u WHERE x = auth.user_id())
                    AND c IN (SELECT k FROM v WHERE x = auth.user_id())
                """
        )
        let rows = Array(repeating: ["k": 7, "x": "u1"] as SourceRow, count: 501)
        let limits = BucketLimits(maximumBuckets: 1, maximumParameterResults: 2000)
        let buckets = try await plan.buckets(index: ParameterStore(plan, ["u": rows, "v": rows]), limits: limits)
        #expect(buckets.map(\.name.rawValue) == ["1#s|0[7,7]"])
    }

    private func subscriptions(_ count: Int, _ parameters: (Int) -> JSONObject) -> StreamingSyncRequest.Streams {
        StreamingSyncRequest.Streams(
            subscriptions: (0..<count).map {
                StreamingSyncRequest.Subscription(stream: "s", parameters: parameters($0))
            }
        )
    }

    @Test func elementsOfArraysOfARequestAreLimitedOverAllSubscriptions() throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE a IN ifnull(subscription.parameter('ids'), '[]') AND b = auth.user_id()"
        )
        // The first repeats one value, the others have 60,000 each.
        let streams = subscriptions(4) { number in
            let ids = (0..<60_000).map { number == 0 ? 0 : Int64(number * 100_000 + $0) }
            return ["ids": .array(ids.map { .integer($0) })]
        }
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"], streams: streams)
        let errors = plan.querier(for: request, bucketPrefix: "1#").streams.flatMap(\.errors)
        #expect(errors.map(\.subject) == [.subscription(2), .subscription(3)])
        #expect(errors.allSatisfy { $0.message.contains("more than 100000 different rows for one request") })
    }

    @Test func namesOfBucketsAreLimitedTogether() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE a = connection.parameter('org') AND b = subscription.parameter('list')"
        )
        let org = String(repeating: "x", count: 1 << 20)
        func buckets(_ count: Int) async throws -> Int {
            try await plan.buckets(
                parameters: ["org": .string(org)],
                streams: subscriptions(count) { ["list": .string("\($0)")] }
            )
            .count
        }
        #expect(try await buckets(3) == 3)
        let found = try await plan.found(
            parameters: ["org": .string(org)],
            streams: subscriptions(4) { ["list": .string("\($0)")] }
        )
        #expect(found.buckets.map(\.reasons) == (0..<3).map { [.subscription($0)] })
        #expect(found.refusals.map(\.index) == [3])
        #expect(found.refusals.first?.error.limit == .nameBytes)
        #expect(found.refusals.first?.error.breakdown.map { "\($0.name) \($0.count)" } == ["s 3"])
    }

    @Test func subscriptionsToTheSameBucketsAreLimited() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE a IN connection.parameter('few') AND b IN connection.parameter('many')"
        )
        func numbers(_ count: Int64) -> ExactJSON { .array((0..<count).map { .integer($0) }) }
        func buckets(_ count: Int) async throws -> [ResolvedBucket] {
            try await plan.buckets(
                parameters: ["few": numbers(10), "many": numbers(100)],
                streams: subscriptions(count) { _ in [:] }
            )
        }
        let few = try await buckets(3)
        #expect(few.count == 1000 && few.allSatisfy { $0.reasons.count == Set($0.reasons).count })
        let found = try await plan.found(
            parameters: ["few": numbers(10), "many": numbers(100)],
            streams: subscriptions(300) { _ in [:] }
        )
        // The first reason of each bucket, without a subscription, does not count.
        #expect(found.buckets.count == 1000 && found.buckets.allSatisfy { $0.reasons.count == 251 })
        #expect(found.refusals.map(\.index) == Array(250..<300))
        #expect(found.refusals.allSatisfy { $0.error.limit == .reasons })
    }

    @Test func lookupsAreReadOnce() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())"),
                TestStream("b", "SELECT * FROM t2 WHERE c IN (SELECT id FROM u WHERE x = auth.user_id())")
            )
        )
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"])
        var reads: [[ParameterLookup]] = []
        _ = try await plan.querier(for: request, bucketPrefix: "").buckets { lookups in
            reads.append(lookups)
            return [:]
        }
        #expect(reads == [[ParameterLookup(rawValue: #"0["u1"]"#)]])
    }

    @Test func aLookupOfTooManyRowsIsRefusedEarly() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())"
        )
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"])
        let rows = (0..<250_001).map { ParameterRow(values: [.integer($0)]) }
        let limits = BucketLimits(maximumParameterResults: 250_001)
        let error = await #expect(throws: BucketLimitError.self) {
            try await plan.querier(for: request, bucketPrefix: "").buckets(limits: limits) { lookups in
                Dictionary(uniqueKeysWithValues: lookups.map { ($0, rows) })
            }
        }
        #expect(error?.limit == .buckets(count: 250_000, limit: 1000))
    }

    @Test func rowsOfAnotherShapeAreIgnored() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())"
        )
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"])
        let rows: [ParameterRow] = [
            ParameterRow(values: []), ParameterRow(values: ["a", "b"]), ParameterRow(values: ["k"]),
        ]
        let buckets = try await plan.querier(for: request, bucketPrefix: "").buckets { lookups in
            Dictionary(uniqueKeysWithValues: lookups.map { ($0, rows) })
        }
        #expect(buckets.map(\.name.rawValue) == [#"s|0["k"]"#])
    }

    @Test func nothingIsReadBehindALookupWithoutRows() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            query: """
                SELECT * FROM t WHERE b IN (SELECT id FROM u WHERE x = auth.user_id())
                    AND c IN (SELECT id FROM v WHERE x = auth.user_id())
                """
        )
        func tables(_ index: ParameterStore) async throws -> [String] {
            let request = SyncPlanRequest(tokenPayload: ["sub": "u1"])
            var reads: [String] = []
            _ = try await plan.querier(for: request, bucketPrefix: "").buckets { lookups in
                reads += lookups.map(\.rawValue)
                return index.rows(for: lookups)
            }
            return reads
        }
        #expect(try await tables(ParameterStore(plan, ["u": rows(1)])) == [#"0["u1"]"#, #"1["u1"]"#])
        #expect(try await tables(ParameterStore(plan, ["v": rows(1)])) == [#"0["u1"]"#])
    }

    @Test func errorsOfTheStoragePassThrough() async throws {
        struct Unavailable: Error {}
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1"])
        await #expect(throws: Unavailable.self) {
            try await plan.querier(for: request, bucketPrefix: "").buckets { _ in throw Unavailable() }
        }
    }
}
