import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite
struct TransferBackoffTests {
    @Test
    func waitsDoubleUpToTheSyncInterval() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        let waits = (1...7).map { _ in backoff.failed("a", .upload, now: .zero, random: 0.5) }
        #expect(
            waits == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30), .seconds(30)]
        )
    }

    @Test(arguments: [(0.0, Duration.milliseconds(800)), (1.0, .milliseconds(1200))])
    func waitsVaryByAFifth(random: Double, expected: Duration) {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        let wait = backoff.failed("a", .upload, now: .zero, random: random)
        #expect(abs((wait - expected) / .microseconds(1)) < 1)
    }

    @Test
    func waitIsNeverLongerThanTheSyncInterval() {
        var backoff = TransferBackoff(syncInterval: .seconds(1))
        #expect(backoff.failed("a", .upload, now: .zero, random: 1) == .seconds(1))
    }

    @Test
    func withoutATimerWaitsAreLimitedTo30SecondsAfterAnyNumberOfFailures() {
        var backoff = TransferBackoff(syncInterval: nil)
        for _ in 0..<200 { _ = backoff.failed("a", .download, now: .zero, random: 0.5) }
        #expect(backoff.failed("a", .download, now: .zero, random: 0.5) == .seconds(30))
    }

    @Test
    func attachmentsAndDirectionsAreCountedApart() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        _ = backoff.failed("a", .upload, now: .seconds(10), random: 0.5)
        #expect(backoff.end(of: "a", .upload) == .seconds(11))
        #expect(backoff.end(of: "a", .delete) == nil)
        #expect(backoff.end(of: "b", .upload) == nil)
    }

    @Test
    func successAndResetForgetFailures() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        _ = backoff.failed("a", .upload, now: .zero, random: 0.5)
        backoff.succeeded("a", .upload)
        #expect(backoff.failed("a", .upload, now: .zero, random: 0.5) == .seconds(1))
        backoff.reset()
        #expect(backoff.end(of: "a", .upload) == nil)
    }

    @Test
    func whatWasGivenUpWaitsForTheSyncIntervalAndKeepsItsCount() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        backoff.givenUp("a", .download, now: .seconds(5))
        #expect(backoff.end(of: "a", .download) == .seconds(35))
        #expect(backoff.failed("a", .download, now: .seconds(35), random: 0.5) == .seconds(2))
    }
}
