import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Which checkpoints have what a subscription asks for (docs/client-sync.md "Stream subscriptions").
@Suite struct AnsweredSubscriptionTests {
    private let defaultStream = StreamDescription(name: "s", isDefault: true)
    private let optionalStream = StreamDescription(name: "s", isDefault: false)
    private let key = StreamKey(name: "s")

    @Test
    func subscriptionThatWasTakenBackWaitsForItsDataWhenItIsMadeAgain() throws {
        let first = StreamKey(name: "s", parameters: ["list": 1])
        let second = StreamKey(name: "s", parameters: ["list": 2])
        let buckets = [BucketDescription.bucket("a", .subscription(0)), .bucket("b", .subscription(1))]
        let scenario = try SyncScenario()
        try scenario.subscribe(first)
        try scenario.subscribe(second)
        try scenario.start()
        try scenario.receive(.checkpoint(1, buckets, streams: [optionalStream]), .done)
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [scenario.now, scenario.now])

        try scenario.write { try StreamSubscriptions.unsubscribeAll($0, first) }
        try scenario.send(.subscriptionsChanged, live: [second])
        try scenario.start()
        // The row stays, since the stream is listed. Its bucket goes.
        try scenario.receive(.checkpoint(2, [.bucket("b", .subscription(0))], streams: [optionalStream]), .done)
        #expect(scenario.status.streams?.map(\.key) == [first, second])
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [nil, scenario.now])

        try scenario.subscribe(first)
        #expect(
            try scenario.database.rows("SELECT last_synced_at IS NULL FROM ps_stream_subscriptions ORDER BY id")
                == ["1", "0"]
        )
        // Before the iteration hears of it, and after.
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [nil, scenario.now])
        try scenario.send(.subscriptionsChanged, live: [first, second])
        try scenario.start()
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [nil, scenario.now])
        try scenario.receive(.checkpoint(3, buckets, streams: [optionalStream]), .done)
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [scenario.now, scenario.now])
    }

    @Test
    func checkpointDoesNotAnswerParametersOfADefaultStreamThatWereNotAskedFor() throws {
        let withParameters = StreamKey(name: "s", parameters: ["list": 1])
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a", .defaultStream(0))], streams: [defaultStream]))
        try scenario.subscribe(withParameters)
        try scenario.receive(.diff(2), .done)
        #expect(scenario.status.streams?.map(\.key) == [key, withParameters])
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [scenario.now, nil])

        try scenario.send(.subscriptionsChanged, live: [withParameters])
        try scenario.start()
        try scenario.receive(
            .checkpoint(
                2,
                [.bucket("a", .defaultStream(0)), .bucket("b", .subscription(0))],
                streams: [defaultStream]
            ),
            .done
        )
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [scenario.now, scenario.now])
    }

    @Test
    func defaultStreamThatWasDeclinedIsSyncedOnlyWhenItWasAskedFor() throws {
        let withParameters = StreamKey(name: "s", parameters: ["list": 1])
        let scenario = try SyncScenario()
        try scenario.subscribe(withParameters)
        try scenario.start(includeDefaultStreams: false)
        try scenario.subscribe(key)
        try scenario.receive(.checkpoint(1, [.bucket("a", .subscription(0))], streams: [defaultStream]), .done)
        #expect(scenario.status.streams?.map(\.key) == [withParameters, key])
        #expect(scenario.status.streams?.map(\.lastSyncedAt) == [scenario.now, nil])
    }
}
