import PowerSync
import PowerSyncTesting
import Testing

/// Faults begin, are noticed and end, and clients go on.
@Suite(.timeLimit(.minutes(1))) struct FaultTests {
    private let service: FakeService

    init() throws {
        service = try TodoApp.service(users: "alice", "bob")
    }

    @Test func offlineBreaksOpenStreamsOfTheUserAlone() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        let bob = try await TodoApp.database(of: "bob", service)
        let outage = service.begin(.offline, for: "alice")
        try await outage.waitUntilNoticed()
        #expect(service.connectedUsers == ["bob"])
        #expect(!alice.currentStatus.connected)
        #expect(bob.currentStatus.connected)
        if case .serviceUnreachable = alice.currentStatus.activity.download?.reason {
        } else {
            Issue.record("\(alice.currentStatus.activity)")
        }
        try service.put("todos", ["id": "t1", "list_id": "list of bob", "title": "Milk"])
        try await service.waitUntilSynced(bob)
        outage.end()
        outage.end()
        try await service.waitUntilSynced(alice)
        #expect(service.connectedUsers == ["alice", "bob"])
    }

    @Test func aClientThatConnectsOfflineNoticesIt() async throws {
        let outage = service.begin(.offline)
        let alice = TodoApp.database()
        try await alice.connect(connector: service.connector(user: "alice"))
        try await outage.waitUntilNoticed()
        #expect(alice.currentStatus.downloadError.map { "\($0)".contains("offline") } == true)
        outage.end()
        try await service.waitUntilSynced(alice)
    }

    @Test func eachAttemptTakesTheDelayOfTheOptions() async throws {
        let outage = service.begin(.offline)
        let alice = TodoApp.database()
        try await alice.connect(connector: service.connector(user: "alice"), options: ConnectOptions(retryDelay: 60))
        try await service.clock.waitForTimer(of: .seconds(60))
        let other = service.begin(.slow(by: .seconds(3)), for: "bob")
        service.clock.advance(by: .seconds(60))
        try await service.clock.waitForTimer(of: .seconds(60))
        service.retry()
        other.end()
        outage.end()
        try await service.waitUntilSynced(alice)
    }

    @Test func aDelayOfNothingIsOneAllTheSame() async throws {
        let outage = service.begin(.offline)
        let alice = TodoApp.database()
        try await alice.connect(connector: service.connector(user: "alice"), options: ConnectOptions(retryDelay: 0))
        try await outage.waitUntilNoticed()
        for _ in 0..<3 {
            try await service.clock.waitForTimer(of: .milliseconds(100))
            service.clock.advance(by: .milliseconds(100))
        }
        outage.end()
        try await service.waitUntilSynced(alice)
    }

    @Test func refusedTokensAreFetchedAgain() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        let refusal = service.begin(.refuseToken)
        try await refusal.waitUntilNoticed()
        #expect(service.connectedUsers == [])
        let error = try #require(alice.currentStatus.downloadError)
        #expect("\(error)".contains("401") && "\(error)".contains("PSYNC_S2101"), "\(error)")
        // A second fault of another kind is noticed, too.
        let outage = service.begin(.offline)
        try await outage.waitUntilNoticed()
        outage.end()
        refusal.end()
        try await service.waitUntilSynced(alice)
    }

    @Test(arguments: [0, 1, 3])
    func aStreamIsCutAfterSomeLines(count: Int) async throws {
        let cut = service.begin(.cut(afterLines: count), for: "alice")
        let alice = TodoApp.database()
        try await alice.connect(connector: service.connector(user: "alice"))
        try await cut.waitUntilNoticed()
        #expect(!alice.currentStatus.connected)
        // The first line has the checkpoint; data and its end follow.
        #expect(alice.currentStatus.hasSynced != true)
        cut.end()
        try await service.waitUntilSynced(alice)
    }

    @Test func aStreamThatIsOpenIsCutAfterFurtherLines() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        let cut = service.begin(.cut(afterLines: 1))
        #expect(service.connectedUsers == ["alice"])
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
        try await cut.waitUntilNoticed()
        #expect(try await alice.titles == [])
        cut.end()
        try await service.waitUntilSynced(alice)
        #expect(try await alice.titles == ["Milk"])
    }

    @Test func aSlowServiceAnswersWhenTheClockMoves() async throws {
        let slowness = service.begin(.slow(by: .seconds(2)))
        let alice = TodoApp.database()
        try await alice.connect(connector: service.connector(user: "alice"))
        try await slowness.waitUntilNoticed()
        #expect(!alice.currentStatus.connected)
        // The answer, and the first line.
        for _ in 0..<2 {
            try await service.clock.waitForTimer(of: .seconds(2))
            service.clock.advance(by: .seconds(2))
        }
        for await status in alice.currentStatus.asFlow() where status.connected { break }
        try await service.clock.waitForTimer(of: .seconds(2))
        #expect(alice.currentStatus.hasSynced != true)
        slowness.end()
        try await service.waitUntilSynced(alice)
    }

    @Test func checkpointsThatAreHeldComeLater() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        let hold = service.begin(.holdCheckpoints)
        try await alice.add("Milk", id: "t1", to: "list of alice")
        _ = try await service.uploads.next()
        try await hold.waitUntilNoticed()
        #expect(service.row("todos", "t1") != nil)
        for await activity in alice.currentStatus.activities() {
            if case .writeCheckpoint = activity.upload?.reason { break }
        }
        // Who connects meanwhile gets the state before.
        let tablet = TodoApp.database()
        try await tablet.connect(connector: service.connector(user: "alice"))
        try await tablet.waitForFirstSync()
        #expect(try await tablet.titles == [])
        hold.end()
        try await service.waitUntilSynced(alice, tablet)
        #expect(try await tablet.titles == ["Milk"])
        #expect(alice.currentStatus.activity.upload == nil)
    }

    @Test func twoHoldsAreOverWhenBothHaveEnded() async throws {
        let alice = try await TodoApp.database(of: "alice", service)
        let (first, second) = (service.begin(.holdCheckpoints), service.begin(.holdCheckpoints))
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
        first.end()
        try await second.waitUntilNoticed()
        #expect(try await alice.titles == [])
        second.end()
        try await service.waitUntilSynced(alice)
        #expect(try await alice.titles == ["Milk"])
    }

    @Test func aFaultThatEndsWhileItIsAwaitedIsNotAwaitedAnyMore() async throws {
        let outage = service.begin(.offline)
        async let noticed: Void = outage.waitUntilNoticed()
        outage.end()
        try await noticed
    }

    @Test func whatAnExperimentThrowsEndsItsFault() async throws {
        struct Failure: Error {}
        let alice = try await TodoApp.database(of: "alice", service)
        await #expect(throws: Failure.self) {
            try await service.during(.offline, for: "alice") { throw Failure() }
        }
        try await service.waitUntilSynced(alice)
    }

    @Test(arguments: [
        (FakeService.Fault.offline, "offline"), (.refuseToken, "refuseToken"),
        (.cut(afterLines: -1), "cut(afterLines: 0)"),
        (.slow(by: .seconds(1)), "slow(by: 1.0 seconds)"), (.holdCheckpoints, "holdCheckpoints"),
    ])
    func faultsHaveNames(fault: FakeService.Fault, name: String) {
        #expect("\(fault)" == name)
    }
}
