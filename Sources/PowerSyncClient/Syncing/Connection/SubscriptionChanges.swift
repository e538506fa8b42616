import PowerSyncCore

/// Changes of subscriptions on their way to the engine, several as one: each that changes the request costs a new stream,
/// and apps tend to subscribe to many streams in a row.
///
/// A change waits for three things: until the stream is open, because a stream that is given up while it is being opened has cost
/// time for nothing; for the end of its ``ReopeningPause``; and until no other change follows.
final class SubscriptionChanges: Sendable {
    /// How long there must be no other change before one is passed on: 20 ms.
    static let quietTime = Duration.milliseconds(20)
    /// How long a change waits at most until no other follows: 1 s.
    ///
    /// The stream that is open goes on meanwhile.
    static let longestWait = Duration.seconds(1)

    private let trigger = CoalescingTrigger<Void>()

    /// Creates a value without changes.
    init() {}

    /// The app's stream handles or the subscription table changed.
    func note() {
        trigger.fire()
    }

    /// Passes changes on until the task is cancelled.
    ///
    /// Call it when the stream is open. Changes from before are passed on, too.
    ///
    /// - Parameters:
    ///   - clock: Measures the times.
    ///   - earliest: Until when the stream stays as it is.
    ///   - pass: Called for one or several changes.
    func run(_ clock: ElapsedClock, notBefore earliest: Duration, _ pass: () -> Void) async {
        do {
            while true {
                try await trigger.wait()
                if clock.now < earliest { try await clock.sleep(until: earliest) }
                let end = clock.now + Self.longestWait
                repeat {
                    try await clock.sleep(for: Self.quietTime)
                } while trigger.take() != nil && clock.now < end
                pass()
            }
        } catch {
            // The iteration is over; the next one looks for itself.
        }
    }
}
