import Testing

@testable import PowerSyncServiceCore

/// When keepalives are sent (docs/protocol.md "Keepalives").
///
/// Times are seconds.
@Suite struct KeepaliveScheduleTests {
    struct Case: Sendable {
        var left: Double
        var fraction: Double
        var delay: Duration
    }

    @Test(arguments: [
        Case(left: 3600, fraction: 0, delay: .seconds(18)), Case(left: 3600, fraction: 0.5, delay: .seconds(20)),
        Case(left: 3600, fraction: 1, delay: .seconds(22)),
        // The warning 20 s before the end …
        Case(left: 25, fraction: 0.5, delay: .seconds(5)), Case(left: 41, fraction: 1, delay: .seconds(21)),
        // … and once it has been given, the end.
        Case(left: 20, fraction: 0.5, delay: .seconds(20)), Case(left: 20, fraction: 0, delay: .seconds(18)),
        Case(left: 10, fraction: 1, delay: .seconds(10)), Case(left: 0, fraction: 1, delay: .zero),
        Case(left: -5, fraction: 0, delay: .zero),
    ])
    func keepalivesComeInTime(_ test: Case) {
        let schedule = KeepaliveSchedule(expiresAt: 1000)
        #expect(schedule.delay(at: 1000 - test.left, fraction: test.fraction) == test.delay)
    }

    /// What is left of tokens that are accepted: those of the future have a day and the tolerance, others the tolerance.
    @Test(arguments: [-60, -0.5, 0, 0.5, 86_400, 86_520] as [Double])
    func aTokenThatIsAcceptedEndsInATimeThatCanBeWaitedFor(_ left: Double) {
        let now = 1_767_225_700.0
        #expect(KeepaliveSchedule(expiresAt: now + left).delay(at: now, fraction: 1) >= .zero)
    }

    @Test(arguments: [(3579.2, 3580), (1, 1), (0.1, 1), (0, 0), (-59, 0), (1e12, Int32.max)] as [(Double, Int32)])
    func secondsAreRoundedUp(_ left: Double, _ seconds: Int32) {
        let schedule = KeepaliveSchedule(expiresAt: 1000)
        #expect(schedule.secondsLeft(at: 1000 - left) == seconds)
        #expect(schedule.isExpired(at: 1000 - left) == (seconds == 0))
    }
}
