import Testing

@testable import RSocket

/// The timing of both sides as tables: events at milliseconds since the connection was opened.
@Suite struct KeepaliveTests {
    enum Event: Sendable {
        case message(Int)
        case part(Int, counts: Bool)
        case timer(Int, RequesterKeepalive.Action, next: Int)
    }

    static let timelines: [(name: String, events: [Event])] = [
        ("silence from the start", [.timer(20_000, .send, next: 30_000), .timer(30_000, .close, next: 30_000)]),
        (
            "answers in time",
            [
                .timer(20_000, .send, next: 30_000), .message(20_100), .timer(30_000, .wait, next: 40_000),
                .timer(40_000, .send, next: 50_100), .message(40_100), .timer(60_000, .send, next: 70_100),
            ]
        ),
        (
            "data is a sign of life",
            [
                .message(15_000), .timer(20_000, .send, next: 40_000), .message(39_000),
                .timer(40_000, .send, next: 60_000), .timer(60_000, .send, next: 69_000),
                .timer(69_000, .close, next: 69_000),
            ]
        ),
        (
            "parts of a message are signs of life, and do not count each",
            [
                .part(999, counts: false), .part(10_000, counts: true), .part(10_999, counts: false),
                .message(11_500), .part(12_499, counts: false), .part(12_500, counts: true),
                .timer(20_000, .send, next: 40_000), .part(35_000, counts: true),
                .timer(40_000, .send, next: 60_000), .timer(60_000, .send, next: 65_000),
                .timer(65_000, .close, next: 65_000),
            ]
        ),
        (
            "a late timer sends once",
            [.message(50_000), .timer(65_000, .send, next: 80_000), .timer(66_000, .wait, next: 80_000)]
        ),
        (
            "a suspended process asks again, and hears an answer",
            [
                .timer(20_000, .send, next: 30_000), .timer(600_000, .send, next: 610_000), .message(600_100),
                .timer(610_000, .wait, next: 620_000), .timer(620_000, .send, next: 630_100),
            ]
        ),
        (
            "a suspended process asks again, and hears nothing",
            [
                .timer(20_000, .send, next: 30_000), .timer(600_000, .send, next: 610_000),
                .timer(610_000, .close, next: 610_000),
            ]
        ),
        (
            "suspended before the first keepalive, and again while waiting for its answer",
            [
                .timer(500_000, .send, next: 510_000), .timer(900_000, .send, next: 910_000),
                .timer(910_000, .close, next: 910_000),
            ]
        ),
        (
            "what came in meanwhile counts first",
            [.message(600_000), .timer(600_000, .send, next: 620_000), .timer(620_000, .send, next: 630_000)]
        ),
        (
            "a processor that is slow is no excuse",
            [.timer(20_000, .send, next: 30_000), .timer(34_900, .close, next: 30_000)]
        ),
        (
            "five seconds late are a suspension",
            [.timer(20_000, .send, next: 30_000), .timer(35_000, .send, next: 45_000)]
        ),
        ("a millisecond early is early", [.timer(19_999, .wait, next: 20_000), .timer(20_000, .send, next: 30_000)]),
    ]

    @Test(arguments: timelines)
    func theRequesterSendsAndGivesUp(_ name: String, events: [Event]) {
        var keepalive = RequesterKeepalive(interval: .seconds(20), silenceLimit: .seconds(30), startingAt: .zero)
        #expect(keepalive.deadline == .seconds(20))
        for event in events {
            switch event {
            case .message(let time): keepalive.messageReceived(at: .milliseconds(time))
            case .part(let time, let counts):
                let isCounted = keepalive.partReceived(at: .milliseconds(time))
                #expect(isCounted == counts, "\(name) at \(time)")
            case .timer(let time, let expected, let next):
                let action = keepalive.timerFired(at: .milliseconds(time))
                #expect(action == expected, "\(name) at \(time)")
                #expect(keepalive.deadline == .milliseconds(next), "\(name) at \(time)")
            }
        }
    }

    /// With an interval that leaves no time for an answer, there is as much of it as for any silence.
    @Test(arguments: [30, 40])
    func thereIsTimeForAnAnswerAfterASuspension(interval: Int) {
        var keepalive = RequesterKeepalive(interval: .seconds(interval), silenceLimit: .seconds(30), startingAt: .zero)
        let action = keepalive.timerFired(at: .seconds(600))
        #expect(action == .send)
        #expect(keepalive.deadline == .seconds(630))
    }

    @Test func theResponderGivesUpAfterTheLifetime() {
        var keepalive = ResponderKeepalive(lifetime: .seconds(2), startingAt: .seconds(5))
        #expect(keepalive.deadline == .seconds(7))
        #expect(!keepalive.isExpired(at: .milliseconds(6999)))
        keepalive.keepaliveReceived(at: .milliseconds(6900))
        #expect(!keepalive.isExpired(at: .seconds(8)))
        #expect(keepalive.isExpired(at: .milliseconds(8900)))
    }

    @Test func aLifetimeIsNotBelowATenthOfASecond() {
        #expect(ResponderKeepalive(lifetime: .milliseconds(1), startingAt: .zero).deadline == .milliseconds(100))
    }
}
