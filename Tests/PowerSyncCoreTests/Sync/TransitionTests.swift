import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// The table in docs/client-sync.md "Iterations", row by row.
@Suite struct TransitionTests {
    /// The states of the table, and how to get there.
    enum StartingPoint: CaseIterable {
        case idle, before, tracking, heldBack

        func scenario() throws -> SyncScenario {
            let scenario = try SyncScenario(delivery: .batched)
            guard self != .idle else { return scenario }
            try scenario.start()
            guard self != .before else { return scenario }
            if self == .heldBack { try scenario.database.write("INSERT INTO items (id) VALUES ('local')") }
            try scenario.receive(.checkpoint(1, [.bucket("a", count: 2)]), .ops("a", .put(1, "x")))
            if self == .heldBack { try scenario.receive(.done) }
            return scenario
        }

        static let active: [StartingPoint] = [.before, .tracking, .heldBack]
    }

    /// An event other than start and stop.
    struct Event: CustomTestStringConvertible {
        var testDescription: String
        var event: SyncEvent
    }

    private static let events = [
        Event(testDescription: "opened", event: .streamOpened),
        Event(testDescription: "ended", event: .streamEnded),
        Event(testDescription: "token", event: .tokenRefreshed),
        Event(testDescription: "uploaded", event: .uploadCompleted),
        Event(testDescription: "subscriptions", event: .subscriptionsChanged),
        Event(testDescription: "checkpoint", event: .line(.checkpoint(1, []))),
        Event(testDescription: "data", event: .line(.ops("a"))),
        Event(testDescription: "keepalive", event: .line(.tokenExpires(in: 4000))),
        Event(testDescription: "keepalive answered", event: .keepaliveAnswered),
        Event(testDescription: "unknown", event: .line(.unknown(kind: "future"))),
    ]

    @Test(arguments: StartingPoint.allCases)
    func anyStart(_ point: StartingPoint) throws {
        let scenario = try point.scenario()
        let actions = try scenario.send(.start(SyncStart()))
        #expect(actions.kinds == ["status", "establish"])
        #expect(actions.statuses[0].isConnecting && !actions.statuses[0].isConnected)
        #expect(actions.statuses[0].progress == nil)
        #expect(scenario.engine.machine.trackedCheckpoint == nil)
        #expect(scenario.engine.isActive)
    }

    @Test
    func idleStopNothing() throws {
        #expect(try StartingPoint.idle.scenario().send(.stop).isEmpty)
    }

    @Test(arguments: StartingPoint.active)
    func activeStop(_ point: StartingPoint) throws {
        try expectEnd(.stop, point, ["status", "close(false)"], connected: false)
    }

    @Test(arguments: events)
    func idleAnyOtherAnError(_ event: Event) throws {
        let error = #expect(throws: SyncEngineError.self) { try StartingPoint.idle.scenario().send(event.event) }
        #expect(error?.code == .state)
        #expect(error?.message == "No iteration is active")
    }

    @Test(arguments: StartingPoint.active)
    func activeStreamEnded(_ point: StartingPoint) throws {
        try expectEnd(.streamEnded, point, ["status", "close(false)"], connected: false)
    }

    @Test(arguments: StartingPoint.active)
    func activeTokenRefreshed(_ point: StartingPoint) throws {
        try expectEnd(.tokenRefreshed, point, ["log debug", "close(true)"], connected: true)
    }

    @Test(arguments: StartingPoint.active, [false, true])
    func activeSubscriptionsChanged(_ point: StartingPoint, differs: Bool) throws {
        let scenario = try point.scenario()
        let key = StreamKey(name: "s")
        if differs {
            try scenario.write { try StreamSubscriptions.subscribe($0, key, now: scenario.now) }
        }
        let actions = try scenario.send(.subscriptionsChanged, live: [key])
        #expect(actions.kinds == (differs ? ["close(true)"] : []))
        #expect(scenario.engine.isActive != differs)
    }

    @Test(arguments: [StartingPoint.before, .tracking])
    func beforeAndTrackingCompletedUploadNothing(_ point: StartingPoint) throws {
        let scenario = try point.scenario()
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
    }

    @Test
    func heldBackCompletedUploadOlderThanTheTarget() throws {
        let scenario = try StartingPoint.heldBack.scenario()
        try scenario.write { try LocalWriteGate.setTarget($0, WriteCheckpoint(6)) }
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
        #expect(!scenario.engine.hasPendingCheckpoint)
        #expect(scenario.engine.machine.trackedCheckpoint != nil)
    }

    @Test
    func heldBackCompletedUploadSomethingWasWrittenSinceKept() throws {
        let scenario = try StartingPoint.heldBack.scenario()
        #expect(try scenario.send(.uploadCompleted).kinds.isEmpty)
        #expect(scenario.engine.hasPendingCheckpoint)
    }

    @Test(arguments: [true, false])
    func heldBackCompletedUploadNoTargetAppliedOrKept(applies: Bool) throws {
        let scenario = try StartingPoint.heldBack.scenario()
        try scenario.write { db in
            try LocalWriteGate.setTarget(db, WriteCheckpoint(0))
            if applies { try db.execute(sql: "DELETE FROM ps_crud") }
        }
        let actions = try scenario.send(.uploadCompleted)
        #expect(actions.kinds == (applies ? ["log debug", "did complete", "status"] : ["log debug"]))
        #expect(scenario.engine.hasPendingCheckpoint != applies)
        #expect(scenario.engine.isActive)
    }

    @Test(arguments: StartingPoint.active)
    func activeCheckpoint(_ point: StartingPoint) throws {
        let scenario = try point.scenario()
        #expect(try scenario.receive(.checkpoint(2, [.bucket("b", count: 7)])).kinds == ["status"])
        #expect(scenario.status.progress?.overall.total == 7)
        #expect(!scenario.engine.hasPendingCheckpoint)
    }

    @Test(arguments: [StartingPoint.tracking, .heldBack])
    func trackingCheckpointDiff(_ point: StartingPoint) throws {
        let scenario = try point.scenario()
        #expect(try scenario.receive(.diff(2, [.bucket("b", count: 7)])).kinds == ["status"])
        #expect(scenario.status.progress?.overall.total == 9)
        #expect(!scenario.engine.hasPendingCheckpoint)
    }

    @Test(arguments: [SyncLine.done, .done(3)])
    func trackingCompletionsWithWrongChecksums(_ line: SyncLine) throws {
        let scenario = try StartingPoint.tracking.scenario()
        try scenario.receive(.diff(2, [.bucket("a", checksum: 1)]))
        let actions = try scenario.receive(line)
        #expect(actions.kinds == ["log warning", "status", "close(false)"])
        #expect(!scenario.engine.isActive)
    }

    @Test(arguments: [(SyncLine.done, ["log info"]), (.done(3), [])])
    func trackingCompletionsWhileTheGateIsClosed(_ line: SyncLine, _ expected: [String]) throws {
        let scenario = try StartingPoint.tracking.scenario()
        try scenario.database.write("INSERT INTO items (id) VALUES ('local')")
        #expect(try scenario.receive(line).kinds == expected)
        #expect(scenario.engine.hasPendingCheckpoint == !expected.isEmpty)
    }

    @Test(
        arguments: [
            (SyncLine.done, ["log debug", "did complete", "status"]), (.done(3), ["status"]),
        ]
    )
    func trackingCompletionsThatAreApplied(_ line: SyncLine, _ expected: [String]) throws {
        let scenario = try StartingPoint.tracking.scenario()
        #expect(try scenario.receive(line).kinds == expected)
        #expect(scenario.engine.isActive)
        #expect(try scenario.itemIDs == ["x"])
    }

    @Test(arguments: StartingPoint.active)
    func activeDataProgressIfTheBucketIsTracked(_ point: StartingPoint) throws {
        let scenario = try point.scenario()
        let actions = try scenario.receive(.ops("a", .move(2)))
        #expect(actions.kinds == (point == .before ? [] : ["status"]))
        #expect(scenario.engine.hasPendingCheckpoint == (point == .heldBack))
    }

    @Test(arguments: StartingPoint.active, [0, -1] as [Int32])
    func activeKeepaliveExpired(_ point: StartingPoint, _ seconds: Int32) throws {
        try expectEnd(
            .line(.tokenExpires(in: seconds)),
            point,
            ["fetch expired", "status", "close(false)"],
            connected: false
        )
    }

    @Test(
        arguments: StartingPoint.active,
        [
            (1, ["prefetch"]), (30, ["prefetch"]), (31, []),
        ] as [(Int32, [String])]
    )
    func activeKeepaliveExpiresSoonOrNot(_ point: StartingPoint, _ keepalive: (seconds: Int32, kinds: [String])) throws
    {
        let scenario = try point.scenario()
        #expect(try scenario.receive(.tokenExpires(in: keepalive.seconds)).kinds == keepalive.kinds)
        #expect(scenario.engine.isActive)
    }

    @Test(arguments: StartingPoint.active)
    func activeKeepaliveAnswered(_ point: StartingPoint) throws {
        let scenario = try point.scenario()
        #expect(try scenario.send(.keepaliveAnswered).kinds.isEmpty)
        #expect(scenario.engine.isActive)
        #expect(scenario.engine.hasPendingCheckpoint == (point == .heldBack))
    }

    @Test(arguments: StartingPoint.active)
    func activeUnknownLine(_ point: StartingPoint) throws {
        let actions = try point.scenario().receive(.unknown(kind: "future"))
        #expect(actions.kinds == ["log debug"])
        #expect(actions.messages(.debug)[0].contains("future"))
    }

    @Test(
        arguments: [SyncLine.tokenExpires(in: 4000), .ops("a", .put(1, "x"))]
    )
    func firstLineShowsThatTheStreamIsOpenEvenIfNobodySaidSo(_ line: SyncLine) throws {
        let scenario = try SyncScenario()
        try scenario.send(.start(SyncStart()))
        try scenario.receive(line)
        #expect(scenario.status.isConnected)
    }

    @Test
    func iterationIsKnownToTheConnectionWhichThenRefusesToClear() throws {
        let scenario = try StartingPoint.tracking.scenario()
        #expect(try scenario.write { try SyncActivity.isActive($0) })
        scenario.failIteration()
        try scenario.send(.stop)
        #expect(try scenario.write { try SyncActivity.isActive($0) } == false)
    }

    private func expectEnd(
        _ event: SyncEvent,
        _ point: StartingPoint,
        _ kinds: [String],
        connected: Bool,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let scenario = try point.scenario()
        // Events after the end of the iteration are not handled.
        let actions = try scenario.send(event, .streamOpened)
        #expect(actions.kinds == kinds, sourceLocation: location)
        #expect(!scenario.engine.isActive, sourceLocation: location)
        #expect(scenario.status.isConnected == connected, sourceLocation: location)
        if !connected { #expect(scenario.status.progress == nil, sourceLocation: location) }
    }
}
