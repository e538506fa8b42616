import Foundation
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncTesting
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct SyncStreamTests {
    private let harness = SyncHarness()

    private func stream(_ name: String = "a", _ params: JsonParam? = nil) -> any SyncStream {
        harness.database.syncStream(name: name, params: params)
    }

    /// The service refuses each request with such a priority, and so all syncing.
    @Test(arguments: [4, 7, Int32.max]) func otherPrioritiesAreRefusedAtTheCall(_ number: Int32) async throws {
        let error = await #expect(throws: PowerSyncError.self) {
            try await stream().subscribe(ttl: nil, priority: BucketPriority(number))
        }
        #expect(error?.localizedDescription.contains("0, 1, 2 or 3, not \(number)") == true)
        #expect(try await harness.integer("SELECT count(*) FROM ps_stream_subscriptions") == 0)
        // What an earlier version has stored is asked for without priority.
        _ = try await stream().subscribe(ttl: nil, priority: nil)
        try await harness.database.execute(
            sql: "UPDATE ps_stream_subscriptions SET local_priority = ?",
            parameters: [Int64(number)]
        )
        let service = try await harness.connectAndAccept()
        #expect(service.request.streams.subscriptions == [.init(stream: "a", parameters: nil)])
    }

    @Test func subscriptionsAreRequestedAndFollowTheirPriorities() async throws {
        let first = try await stream("a", ["id": .int(1)]).subscribe(ttl: nil, priority: nil)
        let second = try await stream("a", ["id": .int(2)]).subscribe(ttl: nil, priority: BucketPriority(1))
        let service = try await harness.connectAndAccept()
        #expect(
            service.request.streams
                == .init(
                    includeDefaults: true,
                    subscriptions: [
                        .init(stream: "a", parameters: ["id": 1]),
                        .init(stream: "a", parameters: ["id": 2], overridePriority: Priority(1)),
                    ]
                )
        )
        #expect(harness.database.currentStatus.forStream(stream: first)?.subscription.hasSynced == false)
        service.send(
            .checkpoint(
                2,
                [
                    .bucket("x", count: 0, priority: 3, .subscription(0)),
                    .bucket("y", count: 0, priority: 1, .subscription(1)),
                ],
                streams: [StreamDescription(name: "a", isDefault: false)]
            )
        )
        try await harness.wait { $0.downloading }
        let status = try #require(harness.database.currentStatus.forStream(stream: first))
        #expect(status.subscription.active)
        #expect(status.subscription.hasExplicitSubscription)
        #expect(!status.subscription.hasSynced)
        #expect(status.progress != nil)
        service.send(.done(1))
        try await second.waitForFirstSync()
        #expect(harness.database.currentStatus.forStream(stream: first)?.subscription.hasSynced == false)
        service.send(.done)
        try await first.waitForFirstSync()
    }

    @Test func parametersOfAllKindsComeBack() async throws {
        let params: JsonParam = [
            "zero": .int(0), "one": .int(1), "yes": .bool(true), "real": .double(1.5), "text": .string("a/b"),
            "null": .null, "list": .array([.int(1), .string("x")]), "object": .object(["k": .bool(false)]),
        ]
        let subscription = try await stream("a", params).subscribe()
        #expect(harness.database.currentStatus.syncStreams?.first?.subscription.parameters == params)
        let request = try await harness.connectAndAccept().request
        #expect(request.streams.subscriptions.first?.parameters.map { JsonParam($0) } == params)
        #expect(harness.database.currentStatus.forStream(stream: subscription) != nil)
    }

    @Test func defaultStreamsAreReported() async throws {
        let service = try await harness.connectAndAccept()
        service.send(.checkpoint(1, streams: [StreamDescription(name: "d", isDefault: true)]))
        try await harness.wait { $0.syncStreams?.isEmpty == false }
        let status = try #require(harness.database.currentStatus.syncStreams?.first?.subscription)
        #expect(status.name == "d")
        #expect(status.isDefault)
        #expect(!status.hasExplicitSubscription)
        #expect(status.parameters == nil)
    }

    @Test func subscribingOfflineIsOneStatusElement() async throws {
        try await harness.database.execute("SELECT 1")
        var flow = harness.database.currentStatus.asFlow().makeAsyncIterator()
        #expect(await flow.next()?.syncStreams?.isEmpty == true)
        let subscription = try await stream().subscribe()
        let status = await flow.next()
        #expect(status?.syncStreams?.count == 1)
        #expect(status?.forStream(stream: subscription)?.progress == nil)
        #expect(status?.forStream(stream: subscription)?.subscription.active == false)
        try await harness.database.close()
        #expect(await flow.next() == nil)
    }

    @Test func concurrentSubscriptionsAreAllShown() async throws {
        let subscriptions = try await withThrowingTaskGroup { tasks in
            for number in 0..<20 {
                tasks.addTask { try await stream("stream \(number)").subscribe() }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
        }
        #expect(harness.database.currentStatus.syncStreams?.count == subscriptions.count)
    }

    @Test func subscribingWhileConnectedReconnectsAtOnce() async throws {
        let service = try await harness.connectAndAccept()
        let subscription = try await stream().subscribe()
        try await harness.passSubscriptionChanges()
        let next = try await harness.service.nextStream()
        #expect(service.isClosed)
        #expect(next.request.streams.subscriptions.map(\.stream) == ["a"])
        #expect(harness.database.currentStatus.forStream(stream: subscription) != nil)
    }

    @Test func subscribingManyTimesInARowReconnectsOnce() async throws {
        let service = try await harness.connectAndAccept()
        var subscriptions: [any SyncStreamSubscription] = []
        for number in 0..<200 { subscriptions.append(try await stream("stream \(number)").subscribe()) }
        #expect(!service.isClosed)
        let next = try await harness.clock.withoutDelays { try await harness.service.nextStream() }
        #expect(next.request.streams.subscriptions.count == subscriptions.count)
        next.accept()
        try await harness.wait { $0.connected }
        #expect(harness.service.streamRequests == 2)
        #expect(!next.isClosed)
    }

    @Test(
        arguments: [[nil, 1], [2, 1], [1, 2], [1, nil]]
    )
    func moreUrgentPriorityCountsWhicheverComesLast(_ priorities: [Int32?]) async throws {
        var subscriptions: [any SyncStreamSubscription] = []
        for priority in priorities {
            subscriptions.append(try await stream().subscribe(ttl: nil, priority: priority.map { BucketPriority($0) }))
        }
        let request = try await harness.connectAndAccept().request
        #expect(request.streams.subscriptions.map(\.overridePriority) == [Priority(1)])
        for subscription in subscriptions { try await subscription.unsubscribe() }
    }

    @Test func orderOfParametersDoesNotMatter() async throws {
        let keys = (0..<8).map { "key\($0)" }
        let forward = JsonParam(uniqueKeysWithValues: keys.map { ($0, .string($0)) })
        let backward = JsonParam(uniqueKeysWithValues: keys.reversed().map { ($0, .string($0)) })
        let subscriptions = [try await stream("a", forward).subscribe(), try await stream("a", backward).subscribe()]
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.count == 1)
        for subscription in subscriptions { try await subscription.unsubscribe() }
    }

    @Test func unsubscribingTwiceReleasesOneHandle() async throws {
        let kept = try await stream().subscribe(ttl: 0, priority: nil)
        var released: (any SyncStreamSubscription)? = try await stream().subscribe(ttl: 0, priority: nil)
        try await released?.unsubscribe()
        try await released?.unsubscribe()
        released = nil
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.map(\.stream) == [kept.name])
        try await kept.unsubscribe()
    }

    @Test func lastHandleWithoutTimeToLiveEndsTheStream() async throws {
        do {
            let subscription = try await stream().subscribe(ttl: 0, priority: nil)
            #expect(subscription.name == "a")
        }
        harness.date.advance(by: 1)
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.isEmpty)
    }

    @Test func lastHandleThatIsReleasedWhileConnectedEndsTheStream() async throws {
        let subscription = try await stream().subscribe(ttl: 1, priority: nil)
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.count == 1)
        harness.date.advance(by: 2)
        try await subscription.unsubscribe()
        try await harness.passSubscriptionChanges()
        #expect(try await harness.service.nextStream().request.streams.subscriptions.isEmpty)
    }

    @Test(arguments: [false, true])
    func handleFromBeforeTheEndOfItsSubscriptionKeepsNoLaterOne(isCleared: Bool) async throws {
        let old = try await stream().subscribe(ttl: 0, priority: nil)
        if isCleared {
            try await harness.database.disconnectAndClear()
        } else {
            try await stream().unsubscribeAll()
        }
        let new = try await stream().subscribe(ttl: 0, priority: nil)
        try await new.unsubscribe()
        harness.date.advance(by: 1)
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.isEmpty)
        try await old.unsubscribe()
    }

    @Test func aSubscriptionThatCouldNotBeStoredKeepsNoLaterOne() async throws {
        try await harness.database.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON ps_stream_subscriptions BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        await #expect(throws: PowerSyncError.self) { try await stream().subscribe(ttl: 0, priority: nil) }
        try await harness.database.execute("DROP TRIGGER refuse")
        let subscription = try await stream().subscribe(ttl: 0, priority: nil)
        try await subscription.unsubscribe()
        harness.date.advance(by: 1)
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.isEmpty)
    }

    @Test(arguments: [Int32(0), 3]) func theFirstAndTheLastPriorityAreRequested(_ number: Int32) async throws {
        let subscription = try await stream().subscribe(ttl: nil, priority: BucketPriority(number))
        let request = try await harness.connectAndAccept().request
        #expect(request.streams.subscriptions.map(\.overridePriority) == [Priority(number)])
        try await subscription.unsubscribe()
    }

    @Test(arguments: [(0.0, 0), (0.1, 1), (59.5, 60), (60.0, 60)])
    func partsOfASecondOfATimeToLiveAreWholeOnes(ttl: Double, stored: Int) async throws {
        let subscription = try await stream().subscribe(ttl: ttl, priority: nil)
        #expect(try await harness.integer("SELECT ttl FROM ps_stream_subscriptions") == stored)
        try await subscription.unsubscribe()
    }

    @Test func expiredSubscriptionWithAHandleIsRequested() async throws {
        let subscription = try await stream().subscribe(ttl: 10, priority: nil)
        harness.date.advance(by: 3600)
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.count == 1)
        try await subscription.unsubscribe()
    }

    @Test func aSubscriptionBesideAClearIsThereOrNot() async throws {
        for _ in 0..<50 {
            async let isCleared: Void = harness.database.disconnectAndClear()
            let subscription = try await stream().subscribe(ttl: 0, priority: nil)
            try await isCleared
            harness.date.advance(by: 1)
            let stored = try await harness.integer("SELECT count(*) FROM ps_stream_subscriptions")
            // The handle keeps what is stored, although its time to live is over.
            #expect(try await harness.connectAndAccept().request.streams.subscriptions.count == stored)
            try await subscription.unsubscribe()
        }
    }

    @Test func aWaitEndsWithTheDatabase() async throws {
        var database: (any PowerSyncDatabaseProtocol)? = ScriptedTransport().makeDatabase(schema: SyncHarness.schema)
        let subscription = try await #require(database).syncStream(name: "a", params: nil).subscribe()
        let waiting = Task { try await subscription.waitForFirstSync() }
        database = nil
        await #expect(throws: PowerSyncError.self) { try await waiting.value }
    }

    @Test func unsubscribingAllRemovesTheStreamFromTheRequest() async throws {
        let subscription = try await stream().subscribe()
        try await stream().unsubscribeAll()
        #expect(try await harness.connectAndAccept().request.streams.subscriptions.isEmpty)
        try await subscription.unsubscribe()
    }

    @Test func unsubscribingAllWhileConnectedReconnects() async throws {
        let subscription = try await stream().subscribe()
        _ = try await harness.connectAndAccept()
        try await stream().unsubscribeAll()
        try await harness.passSubscriptionChanges()
        #expect(try await harness.service.nextStream().request.streams.subscriptions.isEmpty)
        try await subscription.unsubscribe()
    }

    @Test(arguments: [-1.0, .nan]) func nonsensicalTimeToLiveIsAnError(ttl: Double) async {
        await #expect(throws: PowerSyncError.self) { try await stream().subscribe(ttl: ttl, priority: nil) }
    }

    @Test func infiniteTimeToLiveIsClamped() async throws {
        let subscription = try await stream().subscribe(ttl: .infinity, priority: nil)
        #expect(try await harness.integer("SELECT ttl FROM ps_stream_subscriptions") == 3_153_600_000)
        try await subscription.unsubscribe()
    }

    @Test func cancelledWaitForAStreamThrows() async throws {
        let subscription = try await stream().subscribe()
        let task = Task { try await subscription.waitForFirstSync() }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
