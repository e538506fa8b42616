import Hummingbird
import Logging
import PowerSyncSyncConfig
import PowerSyncTesting
import ServiceTestSupport
import Testing

@testable import PowerSyncService
@testable import PowerSyncServiceCore

/// What health checks are told.
@Suite struct ProbesTests {
    private let clock = TestClock()

    @Test func aProcessIsReadyOnceItHasStarted() {
        let probes = Probes(clock.timing)
        #expect(probes.response(to: .startup).status == .badRequest)
        #expect(probes.response(to: .readiness).status == .badRequest)
        #expect(probes.response(to: .liveness).status == .ok)
        probes.didStart()
        #expect(probes.response(to: .startup).status == .ok)
        #expect(probes.response(to: .readiness).status == .ok)
    }

    @Test func aProcessIsAliveWhileReplicationTouchesTheProbe() {
        let probes = Probes(clock.timing)
        clock.advance(by: .milliseconds(9900))
        #expect(probes.response(to: .liveness).status == .ok)
        clock.advance(by: .milliseconds(100))
        #expect(probes.response(to: .liveness).status == .badRequest)
        probes.touch()
        #expect(probes.response(to: .liveness).status == .ok)
    }

    @Test(arguments: [-3600.0, 3600])
    func stepOfTheWallClock(seconds: Double) {
        let wallClock = WallClock(clock)
        let probes = Probes(wallClock.timing)
        wallClock.step(by: seconds)
        clock.advance(by: .seconds(9))
        #expect(probes.response(to: .liveness).status == .ok)
        clock.advance(by: .seconds(1))
        #expect(probes.response(to: .liveness).status == .badRequest)
        probes.touch()
        wallClock.step(by: -seconds)
        #expect(probes.response(to: .liveness).status == .ok)
    }

    @Test func aProcessThatEndsOrHasAProblemIsNotReady() {
        let probes = Probes(clock.timing)
        probes.didStart()
        #expect(probes.found(.storage))
        #expect(!probes.found(.storage))
        #expect(probes.response(to: .readiness).status == .badRequest)
        #expect(probes.response(to: .startup).status == .ok)
        #expect(probes.solved(.storage))
        #expect(!probes.solved(.storage))
        #expect(probes.response(to: .readiness).status == .ok)
        probes.didStop()
        #expect(probes.response(to: .readiness).status == .badRequest)
    }

    @Test func aTableThatIsLeftOutIsNamedAndKeepsNobodyFromBeingReady() {
        let probes = Probes(clock.timing)
        let signs = SignsOfLife(probes: probes, replicates: true, logger: Logger(label: "test"))
        let stream = ReplicationStreamID(rawValue: 1)
        probes.didStart()
        #expect(probes.leftOut.isEmpty)
        let message = "Role powersync may not read public.c. GRANT SELECT ON public.c TO powersync;"
        let obstacle = TableObstacle(
            table: SourceTableName(schema: "public", name: "c"),
            reason: .notReadable,
            message: message,
            since: 0
        )
        signs.report(.leftOut([obstacle]), of: stream)
        #expect(probes.leftOut == [message])
        #expect(probes.response(to: .readiness).status == .ok)
        signs.report(.written, of: stream)
        #expect(probes.leftOut == [message])
        signs.report(.leftOut([]), of: stream)
        #expect(probes.leftOut.isEmpty)
        signs.report(.leftOut([obstacle]), of: stream)
        // Nobody replicates the stream any more.
        signs.report(.ended, of: stream)
        #expect(probes.leftOut.isEmpty)
    }
}
