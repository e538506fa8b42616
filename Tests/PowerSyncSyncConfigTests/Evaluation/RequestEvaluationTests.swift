import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// What many subscriptions of one request have in common is evaluated once.
@Suite struct RequestEvaluationTests {
    private static let shared = """
        SELECT * FROM t WHERE connection.parameter('filter') -> 'in' -> 'in' ->> 'region' = 'eu'
            AND a = subscription.parameter('list') AND b = auth.user_id()
        """

    private func streams(
        _ count: Int,
        _ parameters: (Int) -> JSONObject = { _ in [:] }
    ) -> StreamingSyncRequest.Streams {
        StreamingSyncRequest.Streams(
            includeDefaults: false,
            subscriptions: (0..<count).map {
                StreamingSyncRequest.Subscription(stream: "s", parameters: parameters($0))
            }
        )
    }

    private func prepare(
        _ query: String,
        parameters: JSONObject,
        streams: StreamingSyncRequest.Streams
    ) throws -> BucketQuerier {
        try plan(query: query).querier(
            for: SyncPlanRequest(tokenPayload: ["sub": "u1"], parameters: parameters, streams: streams),
            bucketPrefix: "1#"
        )
    }

    @Test(.timeLimit(.minutes(1))) func largeParametersAreReadOnce() async throws {
        let rest = String(repeating: "x", count: 900_000)
        let querier = try prepare(
            Self.shared,
            parameters: ["filter": ["in": ["in": ["region": "eu", "rest": .string(rest)]]]],
            streams: streams(1000) { ["list": .integer(Int64($0))] }
        )
        let buckets = try await querier.buckets { _ in [:] }
        #expect(buckets.count == 1000)
        #expect(buckets.last?.name.rawValue == #"1#s|0[999,"u1"]"#)
    }

    @Test func keysOfARequestAreLimitedTogether() async throws {
        let querier = try prepare(
            "SELECT * FROM t WHERE a = connection.parameter('filter') ->> 'region' AND b = auth.user_id()",
            parameters: ["filter": ["region": .string(String(repeating: "x", count: 1 << 20))]],
            streams: streams(20)
        )
        let errors = querier.streams.flatMap(\.errors)
        #expect(errors.map(\.subject) == (15..<20).map(StreamError.Subject.subscription))
        #expect(
            errors.allSatisfy {
                $0.message
                    == "Error evaluating bucket ids: the keys of one request have more than 16777216 bytes together"
            }
        )
        let buckets = try await querier.buckets { _ in [:] }
        #expect(buckets.map(\.reasons) == [(0..<15).map(BucketReason.subscription)])
    }

    @Test func rowsOfFunctionsCountAsKeys() throws {
        let elements: [ExactJSON] = (0..<3).map { .string(String(repeating: "\($0)", count: 1 << 20)) }
        let querier = try prepare(
            "SELECT * FROM t WHERE a IN connection.parameter('ids') AND b = auth.user_id()",
            parameters: ["ids": .array(elements)],
            streams: streams(7)
        )
        #expect(querier.streams.flatMap(\.errors).map(\.subject) == [.subscription(5), .subscription(6)])
    }

    @Test func whatCannotBeEvaluatedIsReportedWhereItIsReached() throws {
        let querier = try prepare(
            """
            SELECT * FROM t WHERE b = auth.user_id() AND CASE WHEN subscription.parameter('on') = 1
                THEN connection.parameter('filter') ->> 'region' = subscription.parameter('region') ELSE 0 END
            """,
            parameters: ["filter": "oops"],
            streams: streams(4) { ["on": .integer(Int64($0 % 2))] }
        )
        let errors = querier.streams.flatMap(\.errors)
        #expect(errors.map(\.subject) == [.subscription(1), .subscription(3)])
        #expect(errors.allSatisfy { $0.message == "Error evaluating bucket ids: the value is not JSON text" })
    }

    @Test func eachSubscriptionComparesWithItsOwnParameters() async throws {
        let querier = try prepare(
            """
            SELECT * FROM t WHERE b = auth.user_id()
                AND connection.parameter('filter') ->> 'region' = subscription.parameter('region')
            """,
            parameters: ["filter": ["region": "eu"]],
            streams: streams(3) { ["region": .string(["us", "eu", "eu"][$0])] }
        )
        let buckets = try await querier.buckets { _ in [:] }
        #expect(buckets.map(\.reasons) == [[.subscription(1), .subscription(2)]])
    }
}
