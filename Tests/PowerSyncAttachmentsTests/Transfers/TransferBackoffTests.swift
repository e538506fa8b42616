import Testing

@testable import PowerSyncAttachments
@testable import PowerSyncClient

@Suite
struct TransferBackoffTests {
    @Test
    func `Waits double up to the sync interval`() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        let waits = (1...7).map { _ in backoff.failed("a", .upload, now: .zero, random: 0.5) }
        #expect(
            waits == [.seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30), .seconds(30)]
        )
    }

    @Test(arguments: [(0.0, Duration.milliseconds(800)), (1.0, .milliseconds(1200))])
    func `Waits vary by a fifth`(random: Double, expected: Duration) {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        let wait = backoff.failed("a", .upload, now: .zero, random: random)
        #expect(abs((wait - expected) / .microseconds(1)) < 1)
    }

    @Test
    func `A wait is never longer than the sync interval`() {
        var backoff = TransferBackoff(syncInterval: .seconds(1))
        #expect(backoff.failed("a", .upload, now: .zero, random: 1) == .seconds(1))
    }

    @Test
    func `Without a timer waits are limited to 30 seconds, after any number of failures`() {
        var backoff = TransferBackoff(syncInterval: nil)
        for _ in 0..<200 { _ = backoff.failed("a", .download, now: .zero, random: 0.5) }
        #expect(backoff.failed("a", .download, now: .zero, random: 0.5) == .seconds(30))
    }

    @Test
    func `Attachments and directions are counted apart`() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        _ = backoff.failed("a", .upload, now: .seconds(10), random: 0.5)
        #expect(backoff.end(of: "a", .upload) == .seconds(11))
        #expect(backoff.end(of: "a", .delete) == nil)
        #expect(backoff.end(of: "b", .upload) == nil)
    }

    @Test
    func `Success and reset forget failures`() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        _ = backoff.failed("a", .upload, now: .zero, random: 0.5)
        backoff.succeeded("a", .upload)
        #expect(backoff.failed("a", .upload, now: .zero, random: 0.5) == .seconds(1))
        backoff.reset()
        #expect(backoff.end(of: "a", .upload) == nil)
    }

    @Test
    func `What was given up waits for the sync interval and keeps its count`() {
        var backoff = TransferBackoff(syncInterval: .seconds(30))
        backoff.givenUp("a", .download, now: .seconds(5))
        #expect(backoff.end(of: "a", .download) == .seconds(35))
        #expect(backoff.failed("a", .download, now: .seconds(35), random: 0.5) == .seconds(2))
    }
}
