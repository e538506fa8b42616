import Testing

@testable import PowerSyncServiceCore

/// The pauses between two attempts.
@Suite struct RetryPausesTests {
    /// Attempts: how long each of them lasts in seconds, and what follows.
    @Test(
        arguments: [
            ([(0, 0.5, 1)]),
            ([(0, 0.5, 1), (0, 1, 2), (0, 2, 3), (0, 4, 4), (0, 5, 5), (0, 5, 6)]),
            // Copying a part of a table each time is no success.
            ([(59.9, 0.5, 1), (59.9, 1, 2), (59.9, 2, 3)]),
            ([(0, 0.5, 1), (0, 1, 2), (60, 0.5, 1), (0, 1, 2)]),
            ([(0, 0.5, 1), (0, 1, 2), (0, 2, 3), (0, 4, 4), (604_800, 0.5, 1), (604_800, 0.5, 1)]),
        ] as [[(lasts: Double, pause: Double, attempt: Int)]]
    )
    func pausesGrowUntilAnAttemptHasLastedAMinute(_ attempts: [(lasts: Double, pause: Double, attempt: Int)]) {
        var pauses = RetryPauses()
        for attempt in attempts {
            let pause = pauses.failed(after: .seconds(attempt.lasts))
            #expect(pause == .seconds(attempt.pause), "\(attempt)")
            #expect(pauses.attempt == attempt.attempt, "\(attempt)")
        }
    }
}
