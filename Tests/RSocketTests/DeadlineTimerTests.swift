import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing

@testable import RSocket

/// When a handler hears of the deadline of its connection.
@Suite struct DeadlineTimerTests {
    private let eventLoop = EmbeddedEventLoop()
    private let calls = NIOLockedValueBox<[String]>([])
    private var timer = DeadlineTimer()

    private mutating func set(_ seconds: Int?, _ name: String = "") {
        timer.set(seconds.map { .seconds($0) }, on: eventLoop) { [calls] in calls.withLockedValue { $0.append(name) } }
    }

    /// The names of the timers that have called up to a time.
    private func called(after seconds: Int64) -> [String] {
        eventLoop.advanceTime(to: .uptimeNanoseconds(UInt64(seconds) * 1_000_000_000))
        return calls.withLockedValue(\.self)
    }

    @Test mutating func anEarlierDeadlineReplacesALaterOne() {
        set(20, "late")
        set(10, "early")
        #expect(called(after: 30) == ["early"])
    }

    @Test
    mutating func timerThatIsTooEarlyStaysAndTheNextOneIsSetWhenItHasCalled() {
        set(10, "first")
        set(20, "not set")
        #expect(called(after: 15) == ["first"])
        timer.fired()
        set(20, "second")
        #expect(called(after: 30) == ["first", "second"])
    }

    @Test(arguments: [true, false]) mutating func aTimerThatWasCancelledDoesNotStandInTheWayOfALaterOne(byNone: Bool) {
        set(10, "cancelled")
        if byNone { set(nil) } else { timer.cancel() }
        set(20, "set")
        #expect(called(after: 30) == ["set"])
    }
}
