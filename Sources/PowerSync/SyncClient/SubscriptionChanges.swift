import NIOConcurrencyHelpers
import PowerSyncCore

/// Changes of subscriptions on their way to the engine, several as one: each that changes the request costs a new stream,
/// and apps tend to subscribe to many streams in a row.
final class SubscriptionChanges: Sendable {
    /// How long there must be no other change before one is passed on: 20 ms.
    static let quietTime = Duration.milliseconds(20)
    /// How long a change waits for others at most: 1 s.
    ///
    /// The stream that is open goes on meanwhile.
    static let longestWait = Duration.seconds(1)

    /// The streams for which the app holds handles.
    private let live = NIOLockedValueBox<[StreamKey]>([])
    private let trigger = CoalescingTrigger<Reason>()

    private enum Reason: Comparable {
        case change
    }

    /// Creates a value without changes.
    init() {}

    /// The app's stream handles or the subscription table changed.
    ///
    /// - Parameter live: The streams for which the app holds handles.
    func note(live: [StreamKey]) {
        self.live.withLockedValue { $0 = live }
        trigger.fire(.change)
    }

    /// Passes changes on until the task is cancelled.
    ///
    /// - Parameters:
    ///   - clock: Measures the times.
    ///   - pass: Gets the streams for which the app holds handles.
    func run(_ clock: ElapsedClock, _ pass: ([StreamKey]) -> Void) async {
        do {
            while true {
                _ = try await trigger.wait()
                let end = clock.now + Self.longestWait
                repeat {
                    try await clock.sleep(for: Self.quietTime)
                } while trigger.take() != nil && clock.now < end
                pass(live.withLockedValue(\.self))
            }
        } catch {
            // The iteration is over; the next one looks for itself.
        }
    }
}
