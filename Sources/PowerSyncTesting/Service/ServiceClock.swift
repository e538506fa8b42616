/// The clock of clients of a ``FakeService``: it stands still, but for waits that only gather things.
///
/// Waits of up to 20 ms, such as that for more subscriptions, end at once. All others are delays after failures and timeouts.
struct ServiceClock: Clock {
    /// The longest wait that ends at once.
    static let gathering = Duration.milliseconds(20)

    let base: TestClock

    var now: TestClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: TestClock.Instant, tolerance: Duration?) async throws {
        guard now.duration(to: deadline) <= Self.gathering else {
            return try await base.sleep(until: deadline, tolerance: tolerance)
        }
        try Task.checkCancellation()
        await Task.yield()
    }
}
