import GRDB
import GRDBSQLite
import NIOCore
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// More subscriptions than a request may have, or than a service serves (docs/client-sync.md "Too many subscriptions").
@Suite struct SubscriptionLimitTests {
    private let stream = StreamDescription(name: "page", isDefault: false)

    private func key(_ number: Int, padding: Int = 0) -> StreamKey {
        var parameters: JSONObject = ["id": .integer(Int64(number))]
        if padding > 0 { parameters["padding"] = .string(String(repeating: "x", count: padding)) }
        return StreamKey(name: "page", parameters: parameters)
    }

    /// Subscribes to pages in their order, a second apart, as an app that shows one after the other.
    private func visit(_ pages: Range<Int>, _ scenario: SyncScenario, padding: Int = 0) throws {
        for page in pages {
            scenario.now = scenario.now.adding(seconds: 1)
            try scenario.subscribe(key(page, padding: padding))
        }
    }

    private func pages(_ request: StreamingSyncRequest) -> [Int] {
        request.streams.subscriptions.compactMap {
            if case .integer(let page)? = $0.parameters?["id"] { Int(page) } else { nil }
        }
    }

    /// The pages that the status names as left out.
    private func leftOut(_ scenario: SyncScenario) -> Set<Int> {
        Set(
            (scenario.status.streams ?? []).filter(\.isLeftOut).compactMap {
                if case .integer(let page)? = $0.key.parameters?["id"] { Int(page) } else { nil }
            }
        )
    }

    @Test func whatIsHeldComesFirstAndThenWhatWasHeldLast() throws {
        let scenario = try SyncScenario()
        try visit(1..<6, scenario)
        #expect(try pages(scenario.start()) == [5, 4, 3, 2, 1])
        scenario.now = scenario.now.adding(seconds: 1)
        // By id among those that are held.
        #expect(try pages(scenario.start(live: [key(4), key(2)])) == [2, 4, 5, 3, 1])
        scenario.now = scenario.now.adding(seconds: 1)
        #expect(try pages(scenario.start(live: [key(1)])) == [1, 2, 4, 5, 3])
        // The lifetime does not count, but when it began.
        scenario.now = scenario.now.adding(seconds: 1)
        try scenario.subscribe(key(3), timeToLive: 60)
        scenario.now = scenario.now.adding(seconds: 1)
        #expect(try pages(scenario.start(live: [key(5)])) == [5, 3, 1, 2, 4])
    }

    @Test func anotherOrderIsNoOtherRequest() throws {
        let scenario = try SyncScenario()
        try visit(1..<4, scenario)
        try scenario.start()
        scenario.now = scenario.now.adding(seconds: 1)
        #expect(try scenario.send(.subscriptionsChanged, live: [key(1)]).isEmpty)
        #expect(try scenario.send(.subscriptionsChanged, live: []).isEmpty)
        // The service means the positions of the request.
        try scenario.receive(.checkpoint(1, [.bucket("a", .subscription(0))], streams: [stream]), .done(3))
        #expect(scenario.status.streams?.map { $0.lastSyncedAt != nil } == [false, false, true])
    }

    @Test func aRequestHasAThousandSubscriptionsAtMost() throws {
        let scenario = try SyncScenario()
        try visit(1..<1_201, scenario)
        let request = try scenario.start(live: [key(7)])
        #expect(pages(request) == [7] + (202...1_200).reversed())
        let others = Set(1...201).subtracting([7])
        #expect(leftOut(scenario) == others)
        try scenario.receive(.checkpoint(1, [], streams: [stream]), .done)
        #expect(leftOut(scenario) == others)
        #expect(
            try scenario.database.integer("SELECT count(*) FROM ps_stream_subscriptions WHERE ttl = 86400") == 1_200
        )
        // One more that is not held is left out, and named.
        try scenario.subscribe(key(2_000), timeToLive: 1)
        scenario.now = scenario.now.adding(seconds: 2)
        try scenario.subscribe(key(2_001))
        try scenario.send(.subscriptionsChanged, live: [key(7), key(2_001)])
        #expect(!scenario.engine.isActive)
        let next = try scenario.start(live: [key(7), key(2_001)])
        #expect(pages(next) == [7, 2_001] + (203...1_200).reversed())
        // What is held comes back.
        #expect(
            try scenario.send(.subscriptionsChanged, live: [key(7), key(3)]).last == .closeStream(hideDisconnect: true)
        )
        #expect(try pages(scenario.start(live: [key(7), key(3)])).prefix(3) == [3, 7, 2_001])
    }

    @Test func whereThereIsRoomWhatWasLeftOutComesBack() throws {
        let scenario = try SyncScenario()
        try visit(1..<1_003, scenario)
        #expect(try pages(scenario.start()).count == 1_000)
        try scenario.write { try StreamSubscriptions.unsubscribeAll($0, key(1_002)) }
        #expect(try scenario.send(.subscriptionsChanged, live: []).last == .closeStream(hideDisconnect: true))
        #expect(try pages(scenario.start()).suffix(2) == [3, 2])
        #expect(leftOut(scenario) == [1])
    }

    @Test(arguments: [(400, 1_000), (1_000, 1_000), (60_000, 20)])
    func aBodyHas900KiBAtMost(padding: Int, total: Int) throws {
        let scenario = try SyncScenario()
        try visit(1..<total + 1, scenario, padding: padding)
        let request = try scenario.start(live: [key(1, padding: padding)])
        let size = request.encodedJSON().readableBytes
        #expect(size <= SubscriptionLimit.maximumBodyBytes)
        let count = request.streams.subscriptions.count
        #expect(count == total || size + padding + 100 > SubscriptionLimit.maximumBodyBytes)
        #expect(pages(request) == [1] + (total + 2 - count...total).reversed())
        #expect(leftOut(scenario) == Set(2..<total + 2 - count))
    }

    @Test func bucketsCountAndHeldSubscriptionsStayBesideThem() throws {
        let scenario = try SyncScenario()
        try visit(1..<11, scenario, padding: 60_000)
        try scenario.start()
        // Two buckets with long names for each page: 800 KiB of positions.
        let buckets = (0..<10).flatMap { page in
            (0..<2).map {
                BucketDescription.bucket("\($0)" + String(repeating: "\(page)", count: 40_000), .subscription(page))
            }
        }
        try scenario.receive(.checkpoint(20, buckets, streams: [stream]))
        for (index, bucket) in buckets.enumerated() {
            try scenario.receive(.ops(bucket.name.rawValue, .put(Int64(index + 1), "row \(index)")))
        }
        try scenario.receive(.done)
        let live = (1..<11).map { key($0, padding: 60_000) }
        #expect(try pages(scenario.start(live: live)).count == 10)
        scenario.now = scenario.now.adding(seconds: 1)
        // The others have room as far as the body has.
        let request = try scenario.start(live: [live[0]])
        #expect(request.encodedJSON().readableBytes <= SubscriptionLimit.maximumBodyBytes)
        #expect(pages(request).first == 1)
        let count = pages(request).count
        #expect(count < 10)
        // Their buckets are gone then, and that is no reason to ask for them again at once.
        try scenario.receive(.checkpoint(21, [], streams: [stream]), .done)
        #expect(try scenario.send(.subscriptionsChanged, live: [live[0]]).isEmpty)
        #expect(try pages(scenario.start(live: [live[0]])).count == count)
        scenario.now = scenario.now.adding(seconds: 3_600)
        #expect(try pages(scenario.start(live: [live[0]])).count == 10)
    }

    @Test func eachRefusalLeavesOutHalfOfWhatIsNotHeld() throws {
        let scenario = try SyncScenario()
        try visit(1..<101, scenario)
        let live = [key(1), key(2)]
        var counts = [try pages(scenario.start(live: live)).count]
        while let message = scenario.refuseSubscriptions() {
            #expect(message.contains("\(counts[counts.count - 1]) stream subscriptions"))
            let request = try scenario.start(live: live)
            counts.append(request.streams.subscriptions.count)
            #expect(pages(request).prefix(2) == [1, 2])
            #expect(pages(request).dropFirst(2) == (103 - counts[counts.count - 1]..<101).reversed()[...])
        }
        #expect(counts == [100, 51, 26, 14, 8, 5, 3, 2])
        #expect(leftOut(scenario) == Set(3..<101))
    }

    @Test func aLearnedLimitHoldsForAnHourAndMakesRoomForWhatIsHeld() throws {
        let scenario = try SyncScenario()
        try visit(1..<101, scenario)
        try scenario.start()
        #expect(scenario.refuseSubscriptions() != nil)
        #expect(try pages(scenario.start()) == (51...100).reversed())
        try scenario.receive(.checkpoint(1, [], streams: [stream]), .done)
        #expect(leftOut(scenario) == Set(1...50))
        // Held: in the place of the oldest of the others.
        #expect(try scenario.send(.subscriptionsChanged, live: [key(1)]).last == .closeStream(hideDisconnect: true))
        #expect(try pages(scenario.start(live: [key(1)])) == [1] + (52...100).reversed())
        scenario.now = scenario.now.adding(seconds: 3_599)
        #expect(try pages(scenario.start(live: [key(1)])).count == 50)
        // An open stream is not ended for a trial.
        scenario.now = scenario.now.adding(seconds: 1)
        #expect(try scenario.receive(.tokenExpires(in: 4_000)).kinds.isEmpty)
        #expect(try pages(scenario.start(live: [key(1)])).count == 100)
        #expect(leftOut(scenario).isEmpty)
    }

    @Test func aRestartOfTheAppTriesEverything() throws {
        let scenario = try SyncScenario()
        try visit(1..<11, scenario)
        try scenario.start()
        #expect(scenario.refuseSubscriptions() != nil)
        scenario.restart()
        #expect(try pages(scenario.start()).count == 10)
    }

    @Test func whatIsLeftOutIsNotSyncedAnyMore() throws {
        let scenario = try SyncScenario()
        try visit(1..<3, scenario)
        try scenario.start()
        let buckets = [BucketDescription.bucket("b2", .subscription(0)), .bucket("b1", .subscription(1))]
        try scenario.receive(.checkpoint(1, buckets, streams: [stream]), .done)
        #expect(scenario.status.streams?.map { $0.lastSyncedAt != nil } == [true, true])
        #expect(scenario.refuseSubscriptions() != nil)
        try scenario.start()
        // Its data is there until the next checkpoint.
        #expect(scenario.status.streams?.map { $0.lastSyncedAt != nil } == [true, true])
        try scenario.receive(.checkpoint(2, [.bucket("b2", .subscription(0))], streams: [stream]), .done)
        #expect(scenario.status.streams?.map { $0.lastSyncedAt != nil } == [false, true])
        #expect(
            try scenario.database.rows("SELECT last_synced_at IS NULL FROM ps_stream_subscriptions ORDER BY id")
                == ["1", "0"]
        )
    }

    // MARK: - A service that serves what there is room for

    private func refusing(_ positions: Int...) -> StreamDescription {
        StreamDescription(
            name: "page",
            isDefault: false,
            errors: positions.map {
                StreamError(subject: .subscription($0), message: "[PSYNC_S2305] Too many buckets: 3 (limit of 2)")
            }
        )
    }

    @Test func whatTheServiceHasNoRoomForIsNamedAndStaysInTheRequest() throws {
        let scenario = try SyncScenario()
        try visit(1..<4, scenario)
        try scenario.start(live: [key(3)])
        let buckets = [BucketDescription.bucket("b3", .subscription(0)), .bucket("b2", .subscription(1))]
        let actions = try scenario.receive(.checkpoint(1, buckets, streams: [refusing(2)]), .done)
        #expect(leftOut(scenario) == [1])
        #expect(scenario.status.streams?.map { $0.lastSyncedAt != nil } == [false, true, true])
        let warnings = actions.compactMap(\.warning)
        #expect(warnings.count == 1)
        #expect(
            warnings.first?.contains(
                "no room for 1 stream subscription, which is not synced. The status of its stream says so."
            ) == true
        )
        // Nothing changes for keepalives, and the log does not repeat it.
        #expect(try scenario.receive(.tokenExpires(in: 4_000), .diff(2)).compactMap(\.warning).isEmpty)
        #expect(scenario.engine.isActive)
        #expect(leftOut(scenario) == [1])
        // There is room now.
        let all = [1, 0, 2].map { BucketDescription.bucket("b\($0)", .subscription($0)) }
        try scenario.receive(.checkpoint(3, all, streams: [stream]), .done)
        #expect(leftOut(scenario).isEmpty)
        #expect(scenario.status.streams?.allSatisfy { $0.lastSyncedAt != nil } == true)
    }

    @Test func whatIsHeldNowIsAskedForInFrontOfWhatIsNot() throws {
        let scenario = try SyncScenario()
        try visit(1..<4, scenario)
        try scenario.start(live: [key(3)])
        try scenario.receive(.checkpoint(1, [], streams: [refusing(2)]), .done)
        let held = [key(1), key(3)]
        #expect(try scenario.send(.subscriptionsChanged, live: held).last == .closeStream(hideDisconnect: true))
        #expect(try pages(scenario.start(live: held)) == [1, 3, 2])
        // All that is held stands in front: another order would change nothing.
        try scenario.receive(.checkpoint(2, [], streams: [refusing(1, 2)]), .done)
        #expect(try scenario.send(.subscriptionsChanged, live: held).isEmpty)
        #expect(try scenario.receive(.tokenExpires(in: 4_000)).kinds.isEmpty)
    }

    // MARK: - Cost

    @Test func aSubscriptionCostsTheSameHoweverManyThereAre() throws {
        let scenario = try SyncScenario()
        func steps(_ page: Int) throws -> Int {
            try scenario.database.queue.write { db in
                try db.countingSteps {
                    try StreamSubscriptions.subscribe(db, key(page), now: scenario.now)
                    #expect(try StreamSubscriptions.status(db, of: key(page))?.key == key(page))
                }
            }
        }
        // Statements are prepared, and statistics of the table do not change any more.
        for page in 0..<10 { _ = try steps(page) }
        let first = try steps(10)
        for page in 11..<1_000 { _ = try steps(page) }
        #expect(try steps(1_000) <= first + 20)
    }
}

extension SyncAction {
    fileprivate var warning: String? {
        if case .log(let message) = self, message.severity == .warning { message.text } else { nil }
    }
}

extension Database {
    /// How many instructions of its virtual machine SQLite executes in a closure.
    fileprivate func countingSteps(_ body: () throws -> Void) throws -> Int {
        final class Counter { var steps = 0 }
        let counter = Counter()
        sqlite3_progress_handler(
            sqliteConnection,
            1,
            { pointer in
                pointer.map { Unmanaged<Counter>.fromOpaque($0).takeUnretainedValue().steps += 1 }
                return 0
            },
            Unmanaged.passUnretained(counter).toOpaque()
        )
        defer { sqlite3_progress_handler(sqliteConnection, 0, nil, nil) }
        try body()
        return withExtendedLifetime(counter) { counter.steps }
    }
}
