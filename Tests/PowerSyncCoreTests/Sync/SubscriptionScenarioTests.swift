import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The engine's part of subscriptions (docs/client-sync.md "Stream subscriptions").
@Suite struct SubscriptionScenarioTests {
    private let defaultStream = StreamDescription(name: "s", isDefault: true)
    private let optionalStream = StreamDescription(name: "s", isDefault: false)
    private let key = StreamKey(name: "s")

    /// `name|params|active|default|ttl`.
    private func rows(_ scenario: SyncScenario) throws -> [String] {
        try scenario.database.rows(
            "SELECT stream_name, local_params, active, is_default, ttl FROM ps_stream_subscriptions ORDER BY id"
        )
    }

    private func expiry(_ scenario: SyncScenario) throws -> Int64? {
        try scenario.database.integer("SELECT expires_at FROM ps_stream_subscriptions")
    }

    @Test
    func defaultStreamAppearsWithTheCheckpointAndIsSyncedWithItsBuckets() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(
            .checkpoint(1, [.bucket("a", count: 1, priority: 1, .defaultStream(0))], streams: [defaultStream])
        )
        var expected = StreamStatus(
            key: key,
            isActive: true,
            isDefault: true,
            priority: Priority(1),
            progress: OperationCounts(total: 1)
        )
        #expect(scenario.status.streams == [expected])
        #expect(try rows(scenario) == ["s|null|1|1|"])
        try scenario.receive(.done(1))
        expected.lastSyncedAt = scenario.now
        #expect(scenario.status.streams == [expected])
        let stored = try scenario.database.integer("SELECT last_synced_at FROM ps_stream_subscriptions")
        #expect(stored == scenario.now.rawValue)
    }

    @Test
    func defaultStreamThatIsNoLongerListedDisappears() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(1, [], streams: [defaultStream]))
        try scenario.receive(.checkpoint(1, [], streams: [StreamDescription(name: "s2", isDefault: true)]))
        #expect(try rows(scenario) == ["s2|null|1|1|"])
        // A diff does not change the list.
        try scenario.receive(.diff(2))
        #expect(try rows(scenario) == ["s2|null|1|1|"])
    }

    @Test
    func subscribingToADefaultStream() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(.checkpoint(1, [], streams: [defaultStream]))
        try scenario.subscribe(key, timeToLive: 60)
        #expect(try rows(scenario) == ["s|null|1|1|60"])
        try scenario.receive(.checkpoint(1, []))
        #expect(try rows(scenario) == ["s|null|0|0|60"])
        #expect(scenario.status.streams?[0].isActive == false)
        #expect(scenario.status.streams?[0].hasExplicitSubscription == true)
    }

    /// The event waits while the engine handles lines.
    @Test
    func whatASubscriptionWasWhenItWasStoredDoesNotTakeThePlaceOfWhatItHasBecome() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: 60)
        try scenario.start()
        let streams = [StreamDescription(name: "s", isDefault: false)]
        try scenario.receive(.checkpoint(1, [.bucket("a", .subscription(0))], streams: streams))
        let stored = try #require(try scenario.database.queue.read { try StreamSubscriptions.status($0, of: key) })
        try scenario.receive(.done)
        #expect(scenario.status.streams?.first?.lastSyncedAt == scenario.now)
        _ = try scenario.send(.subscriptionStored(stored))
        #expect(scenario.status.streams?.first?.lastSyncedAt == scenario.now)
    }

    @Test
    func unsubscribing() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key)
        #expect(try scenario.start().streams.subscriptions.map(\.stream) == ["s"])
        try scenario.receive(.checkpoint(1, [], streams: [optionalStream]))
        try scenario.write { try StreamSubscriptions.unsubscribeAll($0, key) }
        #expect(try scenario.send(.subscriptionsChanged, live: []).last == .closeStream(hideDisconnect: true))
        #expect(try rows(scenario) == ["s|null|1|0|"])
        #expect(try scenario.start().streams.subscriptions.isEmpty)
        try scenario.receive(.checkpoint(1, []))
        #expect(try rows(scenario).isEmpty)
    }

    @Test(arguments: [false, true])
    func expiredSubscriptionLivesOnOnlyWithAHandle(hasHandle: Bool) throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: 3600)
        scenario.now = scenario.now.adding(seconds: 7200)
        let request = try scenario.start(live: hasHandle ? [key] : [])
        #expect(request.streams.subscriptions.count == (hasHandle ? 1 : 0))
        #expect(try expiry(scenario) == (hasHandle ? scenario.now.adding(seconds: 3600).rawValue : nil))
    }

    @Test
    func keepalivesRenewStoppingDoesNot() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: 3600)
        try scenario.start(live: [key])
        for seconds in [10, 20, 4000] as [Int32] {
            scenario.now = scenario.now.adding(seconds: 60)
            try scenario.receive(.tokenExpires(in: seconds))
            #expect(try expiry(scenario) == scenario.now.adding(seconds: 3600).rawValue)
        }
        scenario.now = scenario.now.adding(seconds: 60)
        try scenario.send(.keepaliveAnswered)
        #expect(try expiry(scenario) == scenario.now.adding(seconds: 3600).rawValue)
        let last = try expiry(scenario)
        scenario.now = scenario.now.adding(seconds: 60)
        try scenario.send(.stop)
        #expect(try expiry(scenario) == last)
    }

    @Test
    func newSubscriptionOrPriorityRestartsTheIteration() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.subscribe(key)
        let actions = try scenario.send(.subscriptionsChanged, live: [key])
        #expect(actions == [.closeStream(hideDisconnect: true)])
        #expect(scenario.status.isConnected)
        #expect(!scenario.engine.isActive)

        #expect(
            try scenario.start(live: [key]).streams.subscriptions == [.init(stream: "s", overridePriority: nil)]
        )
        try scenario.subscribe(key, priority: 1)
        #expect(try scenario.send(.subscriptionsChanged, live: [key]).count == 1)
        let request = try scenario.start(live: [key])
        #expect(request.streams.subscriptions == [.init(stream: "s", overridePriority: Priority(1))])
        // The more urgent of two priorities stays.
        try scenario.subscribe(key, priority: 2)
        #expect(try scenario.send(.subscriptionsChanged, live: [key]).isEmpty)
    }

    @Test(arguments: [false, true])
    func afterTheLastHandleASubscriptionEndsWithItsLifetime(isKeepaliveALine: Bool) throws {
        let keepalive = isKeepaliveALine ? SyncEvent.line(.tokenExpires(in: 4000)) : .keepaliveAnswered
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: 60)
        try scenario.start(live: [key])
        #expect(try scenario.send(.subscriptionsChanged, live: []).isEmpty)
        scenario.now = scenario.now.adding(seconds: 59)
        #expect(try scenario.send(keepalive).kinds.isEmpty)
        scenario.now = scenario.now.adding(seconds: 2)
        #expect(try scenario.send(keepalive).last == .closeStream(hideDisconnect: true))
    }

    @Test
    func orderOfParametersDoesNotMatter() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(StreamKey(name: "s", parameters: ["b": 1, "a": ["y": "/", "x": 2]]))
        try scenario.subscribe(StreamKey(name: "s", parameters: ["a": ["x": 2, "y": "/"], "b": 1]))
        #expect(
            try scenario.database.rows("SELECT local_params FROM ps_stream_subscriptions")
                == [#"{"a":{"x":2,"y":"/"},"b":1}"#]
        )
        let request = try scenario.start()
        #expect(request.streams.subscriptions[0].parameters?["b"] == 1)
    }

    @Test(arguments: [[1, 3], [3, 1]] as [[Int32]])
    func streamIsSyncedWhenAllItsBucketsAre(_ priorities: [Int32]) throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key)
        try scenario.start()
        let buckets = priorities.map { BucketDescription.bucket("b\($0)", priority: $0, .subscription(0)) }
        try scenario.receive(.checkpoint(2, buckets, streams: [optionalStream]), .done(1))
        #expect(scenario.status.streams?[0].priority == Priority(3))
        #expect(scenario.status.streams?[0].lastSyncedAt == nil)
        #expect(scenario.status.streams?[0].progress == OperationCounts())
        try scenario.receive(.done)
        #expect(scenario.status.streams?[0].lastSyncedAt == scenario.now)
        #expect(scenario.status.streams?[0].progress == nil)
    }

    @Test
    func subscriptionWithoutBucketsIsSyncedByACompleteCheckpoint() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key)
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a", priority: 1)], streams: [optionalStream]), .done(1))
        #expect(scenario.status.streams?[0].lastSyncedAt == nil)
        try scenario.receive(.done)
        #expect(scenario.status.streams?[0].lastSyncedAt == scenario.now)
        #expect(scenario.status.streams?[0].priority == nil)
    }

    @Test
    func errorsOfStreamsAreLogged() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(StreamKey(name: "s", parameters: ["list": 5]))
        try scenario.start()
        let streams = [
            StreamDescription(
                name: "s",
                isDefault: false,
                errors: [
                    StreamError(subject: .subscription(0), message: "not an array"),
                    StreamError(subject: .subscription(9), message: "unknown index"),
                ]
            ),
            StreamDescription(
                name: "d",
                isDefault: true,
                errors: [StreamError(subject: .defaultSubscription, message: "broken")]
            ),
        ]
        let warnings = try scenario.receive(.checkpoint(1, [], streams: streams)).messages(.warning)
        #expect(warnings.count == 2)
        #expect(warnings[0].contains(#"s {"list":5}"#) && warnings[0].contains("not an array"))
        #expect(warnings[1].contains("stream d") && warnings[1].contains("broken"))
    }

    @Test
    func offlineSubscriptionIsListedAndNotActive() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: 60)
        let status = try scenario.write { try DownloadStatus.offline($0) }
        #expect(
            status.streams == [
                StreamStatus(
                    key: key,
                    hasExplicitSubscription: true,
                    expiresAt: scenario.now.adding(seconds: 60)
                )
            ]
        )
    }

    @Test
    func defaultStreamsCanBeDeclined() throws {
        let scenario = try SyncScenario()
        #expect(try scenario.start(includeDefaultStreams: false).streams.includeDefaults == false)
    }

    @Test
    func clearingRemovesAllSubscriptions() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key)
        try scenario.write { try LocalData.clear($0, []) }
        #expect(try scenario.write { try DownloadStatus.offline($0) }.streams == [])
    }

    @Test
    func lifetimeOf0LastsAsLongAsThereAreHandles() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: 0)
        scenario.now = scenario.now.adding(seconds: 1)
        #expect(try scenario.start(live: [key]).streams.subscriptions.count == 1)
        for _ in 0..<3 {
            scenario.now = scenario.now.adding(seconds: 20)
            #expect(try scenario.receive(.tokenExpires(in: 4000)).kinds.isEmpty)
        }
        try scenario.send(.subscriptionsChanged, live: [])
        scenario.now = scenario.now.adding(seconds: 20)
        #expect(try scenario.receive(.tokenExpires(in: 4000)).last == .closeStream(hideDisconnect: true))
        #expect(try rows(scenario).isEmpty)
    }

    @Test(arguments: [SyncEvent.line(.tokenExpires(in: 4000)), .keepaliveAnswered])
    func lifetimeOf0LastsAlsoWhenTheEngineWasNotToldOfTheHandleYet(keepalive: SyncEvent) throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.subscribe(key, timeToLive: 0)
        scenario.now = scenario.now.adding(seconds: 1)
        #expect(try scenario.send(keepalive, live: [key]).last == .closeStream(hideDisconnect: true))
        #expect(try scenario.start(live: [key]).streams.subscriptions.count == 1)
    }

    @Test
    func lifetimesAreLimitedTo100Years() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: .max)
        #expect(try rows(scenario) == ["s|null|0|0|\(StreamSubscriptions.maximumTimeToLive)"])
        let error = #expect(throws: SyncEngineError.self) { try scenario.subscribe(key, timeToLive: -1) }
        #expect(error?.code == .argument)
        // Another writer may store anything; renewing it must not overflow.
        try scenario.database.write("UPDATE ps_stream_subscriptions SET ttl = 9223372036854775807")
        try scenario.start(live: [key])
        #expect(try expiry(scenario) == scenario.now.adding(seconds: StreamSubscriptions.maximumTimeToLive).rawValue)
    }

    @Test
    func whatIsKnownOfAStreamAfterARestart() throws {
        let scenario = try SyncScenario()
        try scenario.start()
        try scenario.receive(
            .checkpoint(1, [.bucket("a", priority: 1, .defaultStream(0))], streams: [defaultStream]),
            .done
        )
        #expect(scenario.status.streams?[0].priority == Priority(1))
        scenario.restart()
        let stream = try #require(try scenario.write { try DownloadStatus.offline($0) }.streams?.first)
        #expect(stream.lastSyncedAt == scenario.now)
        #expect(stream.priority == nil)
        #expect(stream.progress == nil)
    }

    @Test
    func oneBucketCanBelongToSeveralSubscriptionsAndCountsOnceInEach() throws {
        let scenario = try SyncScenario()
        let keys = [StreamKey(name: "s", parameters: ["n": 1]), StreamKey(name: "s", parameters: ["n": 2])]
        for key in keys { try scenario.subscribe(key) }
        try scenario.start()
        try scenario.receive(
            .checkpoint(
                2,
                [.bucket("a", count: 2, .subscription(0), .subscription(1), .subscription(0), .subscription(99))],
                streams: [optionalStream]
            ),
            .ops("a", .put(1, "x"))
        )
        #expect(scenario.status.streams?.map(\.key) == keys)
        #expect(scenario.status.streams?.map(\.progress) == Array(repeating: .init(total: 2, downloaded: 1), count: 2))
    }

    @Test
    func expiredTokenRenewsTheSubscriptionsThatAreInUse() throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key, timeToLive: 60)
        try scenario.start(live: [key])
        scenario.now = scenario.now.adding(seconds: 50)
        try scenario.receive(.tokenExpires(in: 0))
        #expect(try expiry(scenario) == scenario.now.adding(seconds: 60).rawValue)
    }

    @Test(arguments: [false, true])
    func repliesReferToTheRowsThatTheSubscriptionsHaveNow(isHeldBack: Bool) throws {
        let scenario = try SyncScenario()
        try scenario.subscribe(key)
        try scenario.start()
        if isHeldBack { try scenario.database.write("INSERT INTO items (id) VALUES ('local')") }
        let streams = [optionalStream, StreamDescription(name: "d", isDefault: true)]
        try scenario.receive(.checkpoint(1, [.bucket("a", .subscription(0))], streams: streams), .done)
        #expect(scenario.engine.hasPendingCheckpoint == isHeldBack)
        // As when another process has forgotten the subscription, and the app subscribes again.
        try scenario.database.write("DELETE FROM ps_stream_subscriptions WHERE stream_name = 's'")
        try scenario.subscribe(key)
        #expect(try scenario.send(.subscriptionsChanged, live: []).kinds == ["status"])
        #expect(scenario.status.streams?.map(\.key.name) == ["d", "s"])
        #expect(scenario.status.streams?.map(\.priority) == [nil, Priority(3)])
        try scenario.receive(.diff(2))
        #expect(scenario.status.streams?.map(\.key.name) == ["d", "s"])
        #expect(scenario.status.streams?.map(\.priority) == [nil, Priority(3)])
    }
}
