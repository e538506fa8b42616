import Testing

@testable import PowerSyncClient

@Suite struct BufferingWatchStateMachineTests {
    typealias Machine = BufferingWatch.StateMachine

    enum Event: Sendable {
        case opened
        /// Keepalives, and for how long they were waited for; time passes only here.
        case received([Int32], after: Int)
        case firstLineIsLate, fellSilent, ended
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let events: [Event]
        var actions: [Machine.Action] = []
    }

    private static let rhythm: [Event] = [.received([3600], after: 0), .received([3580], after: 20)]
    private static let burst: [Event] = [.received([3600], after: 0), .received([3580, 3561], after: 39)]

    static let cases = [
        Case(testDescription: "keepalives in time", events: [.opened] + rhythm + [.firstLineIsLate]),
        Case(
            testDescription: "no first line",
            events: [.opened, .firstLineIsLate],
            actions: [.warn(.noFirstLine)]
        ),
        Case(
            testDescription: "half a line is enough",
            events: [.opened, .received([], after: 3), .firstLineIsLate]
        ),
        Case(
            testDescription: "a suspicion outlives the stream",
            events: [.opened, .firstLineIsLate, .fellSilent, .opened, .firstLineIsLate],
            actions: [.warn(.noFirstLine), .show, .show]
        ),
        Case(
            testDescription: "a suspicion ends with keepalives in time",
            events: [.opened, .firstLineIsLate] + rhythm + [.ended, .opened],
            actions: [.warn(.noFirstLine), .clear]
        ),
        Case(
            testDescription: "numbers that stand still can be in time",
            events: [.opened, .firstLineIsLate, .received([60], after: 0), .received([60], after: 20)],
            actions: [.warn(.noFirstLine), .clear]
        ),
        Case(
            testDescription: "a suspicion does not end with one keepalive",
            events: [.opened, .firstLineIsLate, .received([3570], after: 30), .ended, .opened],
            actions: [.warn(.noFirstLine), .show]
        ),
        Case(
            testDescription: "one stream that falls silent may be a broken connection",
            events: [.opened, .received([3600], after: 0), .fellSilent, .opened]
        ),
        Case(
            testDescription: "two that fall silent are not",
            events: [.opened, .received([], after: 0), .fellSilent, .opened, .received([], after: 0), .fellSilent],
            actions: [.warn(.silence)]
        ),
        Case(
            testDescription: "a stream in rhythm between them",
            events: [.opened, .fellSilent, .opened] + rhythm + [.fellSilent]
        ),
        Case(testDescription: "a service that does not answer", events: [.fellSilent, .fellSilent, .fellSilent]),
        Case(testDescription: "one burst, of a device that slept", events: [.opened] + burst),
        Case(
            testDescription: "two bursts",
            events: [.opened] + burst + [.received([3541, 3522, 3503], after: 39)],
            actions: [.warn(.bursts)]
        ),
        Case(
            testDescription: "the lines of a burst in several pieces",
            events: [
                .opened, .received([3600], after: 25), .received([3580], after: 0), .received([3560], after: 39),
                .received([3541], after: 1),
            ],
            actions: [.warn(.bursts)]
        ),
        Case(
            testDescription: "two bursts and a keepalive in time between them",
            events: [.opened] + burst + [.received([3541], after: 20), .received([3521, 3502], after: 39)]
        ),
        Case(
            testDescription: "one burst of many keepalives",
            events: [.opened, .received([3600, 3580, 3560, 3540, 3520], after: 39)]
        ),
        Case(
            testDescription: "bursts on two streams",
            events: [.opened] + burst + [.ended, .opened] + burst
        ),
        Case(
            testDescription: "numbers that stand still, in bursts",
            events: [.opened, .received([9, 9, 9], after: 30), .received([9, 9, 9], after: 30)]
        ),
        Case(
            testDescription: "a backlog that was not waited for",
            events: [.opened, .received([3600, 3580], after: 0), .received([3560, 3540, 3520], after: 1)]
        ),
        Case(
            testDescription: "every 30 seconds: a burst each minute, and nothing in time",
            events: [
                .opened, .received([3600], after: 0), .received([3580], after: 30), .received([3560, 3540], after: 30),
                .received([3520], after: 30), .received([3500, 3480], after: 30),
            ],
            actions: [.warn(.bursts)]
        ),
        Case(
            testDescription: "bursts after exactly 10 seconds, of keepalives that were sent 10 seconds apart",
            events: [.opened, .received([3600, 3590], after: 10), .received([3575, 3565], after: 10)],
            actions: [.warn(.bursts)]
        ),
        Case(
            testDescription: "what comes 5 seconds after a silence belongs to its burst",
            events: [
                .opened, .received([3600], after: 25), .received([3580], after: 5), .received([3560], after: 39),
                .received([3540], after: 5),
            ],
            actions: [.warn(.bursts)]
        ),
        Case(
            testDescription: "what comes later after a silence does not",
            events: [
                .opened, .received([3600], after: 25), .received([3580], after: 6), .received([3560], after: 39),
                .received([3540], after: 6),
            ]
        ),
        Case(
            testDescription: "nor does what came before the silence, late as it was",
            events: [
                .opened, .received([3600], after: 0), .received([3580], after: 39), .received([3541], after: 20),
                .received([3521], after: 39), .received([3482], after: 20),
            ]
        ),
        Case(
            testDescription: "keepalives every 10 seconds are in time",
            events: [.opened, .firstLineIsLate, .received([3600], after: 0), .received([3590], after: 10)],
            actions: [.warn(.noFirstLine), .clear]
        ),
        Case(
            testDescription: "3 seconds too early are in time",
            events: [.opened, .firstLineIsLate, .received([3600], after: 0), .received([3577], after: 20)],
            actions: [.warn(.noFirstLine), .clear]
        ),
        Case(
            testDescription: "4 seconds too early are not",
            events: [.opened, .firstLineIsLate, .received([3600], after: 0), .received([3576], after: 20)],
            actions: [.warn(.noFirstLine)]
        ),
        Case(
            testDescription: "3 seconds too late are in time",
            events: [.opened, .firstLineIsLate, .received([3600], after: 0), .received([3583], after: 20)],
            actions: [.warn(.noFirstLine), .clear]
        ),
        Case(
            testDescription: "4 seconds too late are not",
            events: [.opened, .firstLineIsLate, .received([3600], after: 0), .received([3584], after: 20)],
            actions: [.warn(.noFirstLine)]
        ),
        Case(
            testDescription: "numbers that stand still at one moment say nothing",
            events: [.opened, .firstLineIsLate, .received([60, 60], after: 0)],
            actions: [.warn(.noFirstLine)]
        ),
        Case(
            testDescription: "nothing after a stream",
            events: [.opened, .ended, .firstLineIsLate, .fellSilent, .opened, .ended, .fellSilent]
        ),
        Case(
            testDescription: "nothing before a stream",
            events: [.received([3600], after: 30), .firstLineIsLate, .ended]
        ),
    ]

    @Test(arguments: cases) func whatArrivesLeadsToActions(_ example: Case) {
        var machine = Machine()
        var now = Duration.zero
        let actions = example.events.compactMap { event -> Machine.Action? in
            switch event {
            case .opened: return machine.streamOpened()
            case .received(let keepalives, let seconds):
                now += .seconds(seconds)
                return machine.received(keepalives: keepalives, at: now, after: .seconds(seconds))
            case .firstLineIsLate: return machine.firstLineIsLate()
            case .fellSilent: return machine.streamFellSilent()
            case .ended:
                machine.streamEnded()
                return nil
            }
        }
        #expect(actions == example.actions)
    }
}
