import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// What a client gets whose subscriptions are more than the limits allow: what it gets without subscribing, then the subscriptions
/// that there is room for, in the order of the request (docs/sync-config.md "Limits of a connection").
@Suite struct SubscriptionLimitTests {
    typealias Subscription = StreamingSyncRequest.Subscription

    private let plan: SyncPlan

    init() throws {
        plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream("page", "SELECT * FROM todos WHERE list = subscription.parameter('list')", options: []),
                TestStream(
                    "lists",
                    "SELECT * FROM lists WHERE id IN (SELECT list FROM members WHERE owner = auth.user_id())"
                ),
                TestStream(
                    "team",
                    "SELECT * FROM notes WHERE id IN (SELECT note FROM teams WHERE team = subscription.parameter('team'))",
                    options: []
                )
            )
        )
    }

    /// Three lists of the user, and teams with so many notes.
    private func index(lists: Int = 3, _ teams: (name: String, notes: Int)...) -> ParameterStore {
        let members = (0..<lists).map { ["list": .text("m\($0)"), "owner": "u1"] as SourceRow }
        let notes = teams.flatMap { team in
            (0..<team.notes).map { ["note": .text("\(team.name)\($0)"), "team": .text(team.name)] as SourceRow }
        }
        return ParameterStore(plan, ["members": members, "teams": notes])
    }

    private func page(_ list: String) -> Subscription {
        Subscription(stream: "page", parameters: ["list": .string(list)])
    }
    private func team(_ name: String) -> Subscription {
        Subscription(stream: "team", parameters: ["team": .string(name)])
    }

    private func found(
        _ subscriptions: [Subscription],
        _ index: ParameterStore? = nil,
        limits: BucketLimits = BucketLimits(maximumBuckets: 10, maximumParameterResults: 12)
    ) async throws -> FoundBuckets {
        try await plan.found(streams: .init(subscriptions: subscriptions), index: index ?? self.index(), limits: limits)
    }

    /// Which subscriptions have buckets.
    private func served(_ found: FoundBuckets) -> [Int] {
        let reasons = found.buckets.flatMap(\.reasons)
        return Set(reasons.compactMap { if case .subscription(let index) = $0 { index } else { nil } }).sorted()
    }

    /// The subscriptions with errors, by stream.
    private func errors(_ found: FoundBuckets) -> [String] {
        found.streams.flatMap { stream in
            stream.errors.map { "\(stream.name) \($0.subject): \($0.message.prefix(16))" }
        }
    }

    @Test func pagesBeyondTheLimitHaveErrorsAndNothingElseChanges() async throws {
        let found = try await found((0..<12).map { page("\($0)") })
        #expect(served(found) == Array(0..<7))
        #expect(found.buckets.count == 10)
        // In the order of the plan, as ever.
        #expect(found.buckets.map(\.stream) == Array(repeating: "page", count: 7) + Array(repeating: "lists", count: 3))
        #expect(found.streams.map(\.name) == ["page", "lists"])
        #expect(errors(found) == (7..<12).map { "page subscription(\($0)): [PSYNC_S2305] To" })
        #expect(found.refusals.map(\.index) == Array(7..<12))
        let message = found.streams[0].errors.first?.message
        #expect(message?.contains("Too many buckets: 11 (limit of 10), most of them for page (8). Unsub") == true)
    }

    @Test func whatClientsGetWithoutSubscribingComesFirstAndMustFit() async throws {
        let found = try await found((0..<12).map { page("\($0)") }, index(lists: 10))
        #expect(served(found) == [])
        #expect(found.buckets.map(\.stream) == Array(repeating: "lists", count: 10))
        let error = await #expect(throws: BucketLimitError.self) {
            try await self.found([page("a")], index(lists: 11))
        }
        #expect(error?.message == "Too many buckets: 11 (limit of 10)")
    }

    @Test func aSubscriptionThatIsTooLargeLeavesRoomForThoseBehindIt() async throws {
        let found = try await found(
            [page("a"), team("big"), page("b"), team("small")],
            index(("big", 8), ("small", 2))
        )
        #expect(served(found) == [0, 2, 3])
        #expect(errors(found) == ["team subscription(1): [PSYNC_S2305] To"])
    }

    @Test func bucketsThatAreThereTakeNoRoom() async throws {
        let pages = (0..<7).map { page("\($0)") }
        let found = try await found(pages + [page("new"), page("0"), page("6")])
        #expect(served(found) == Array(0..<7) + [8, 9])
        #expect(found.refusals.map(\.index) == [7])
    }

    @Test func rowsOfLookupsThatWereRefusedDoNotCount() async throws {
        let teams = index(("big", 13), ("a", 4), ("b", 3), ("c", 4), ("d", 2))
        let limits = BucketLimits(maximumBuckets: 100, maximumParameterResults: 12)
        // Three rows of members, 13 of the first team: too many; the next two have room, then there is none for four, but for two.
        let found = try await found([team("big"), team("a"), team("b"), team("c"), team("d")], teams, limits: limits)
        #expect(served(found) == [1, 2, 4])
        #expect(found.refusals.map(\.index) == [0, 3])
        #expect(found.refusals.allSatisfy { $0.error.limit == .parameterResults(limit: 12) })
        #expect(found.refusals[0].error.breakdown.map(\.name) == ["team: teams", "lists: members"])
    }

    @Test func combinationsAreAMatterOfTheirSubscription() async throws {
        let plan = try PowerSyncSyncConfigTests.plan(
            config(
                TestStream("l", "SELECT * FROM l"),
                TestStream(
                    "s",
                    """
                    SELECT * FROM t WHERE a IN subscription.parameter('x') AND b IN subscription.parameter('x')
                        AND c IN subscription.parameter('x')
                    """,
                    options: []
                )
            )
        )
        func numbers(_ count: Int64) -> JSONObject { ["x": .array((0..<count).map { .integer($0) })] }
        let streams = StreamingSyncRequest.Streams(
            subscriptions: [3, 100, 4].map { Subscription(stream: "s", parameters: numbers($0)) }
        )
        let found = try await plan.found(streams: streams)
        #expect(served(found) == [0, 2])
        #expect(found.buckets.count == 1 + 64)
        #expect(found.refusals.map(\.index) == [1])
    }

    @Test func subscriptionsBehindTheFirstThousandAreErrorsAndAreNotEvaluated() async throws {
        let many = Subscription(stream: "page", parameters: ["list": "x"])
        let found = try await found(Array(repeating: many, count: 1_000) + [page("late"), team("late"), page("x")])
        #expect(served(found) == Array(0..<1_000))
        #expect(found.refusals.map(\.index) == [1_000, 1_001, 1_002])
        #expect(found.refusals.map(\.stream) == ["page", "team", "page"])
        #expect(found.refusals.allSatisfy { $0.error.limit == .subscriptions(count: 1_003) })
        #expect(errors(found).count == 3)
        #expect(found.streams.map(\.name) == ["page", "lists", "team"])
    }

    @Test func subscriptionsToUnknownStreamsHaveNoErrors() async throws {
        let unknown = Subscription(stream: "unknown")
        let found = try await found(Array(repeating: unknown, count: 1_500))
        #expect(found.streams.map(\.name) == ["lists"])
        #expect(found.refusals.isEmpty && found.buckets.count == 3)
    }
}
