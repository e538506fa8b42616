import PowerSyncClient
import PowerSyncSQLite

/// When attachments whose transfers failed are tried again (docs/attachments.md "Retries").
///
/// After n failures in a row of one attachment and direction the wait is 1 s · 2^(n-1) ±20 %, at most the sync interval. Counts
/// are kept in memory only. Times are durations since a common start.
struct TransferBackoff {
    private static let shortest = Duration.seconds(1)
    private static let limitWithoutInterval = Duration.seconds(30)

    private let limit: Duration
    /// By attachment, for each direction.
    private var waits: [AttachmentTransferProgress.Direction: [ExactText: (failures: Int, end: Duration)]] = [:]

    /// Creates a back-off without failures.
    ///
    /// - Parameter syncInterval: The longest wait; `nil` without a timer, which means 30 s.
    init(syncInterval: Duration?) {
        limit = syncInterval ?? TransferBackoff.limitWithoutInterval
    }

    /// When an attachment may be tried; `nil` for at once.
    func end(of id: String, _ direction: AttachmentTransferProgress.Direction) -> Duration? {
        waits[direction]?[ExactText(id)]?.end
    }

    /// An attempt failed and is to be repeated.
    ///
    /// - Parameters:
    ///   - id: The attachment.
    ///   - direction: What was tried.
    ///   - now: The time.
    ///   - random: From 0 to 1.
    /// - Returns: How long to wait.
    mutating func failed(
        _ id: String,
        _ direction: AttachmentTransferProgress.Direction,
        now: Duration,
        random: Double
    ) -> Duration {
        let failures = failures(of: id, direction) + 1
        // 2^20 s are longer than any limit that makes sense, and far from an overflow.
        let base = min(TransferBackoff.shortest * (1 << min(failures - 1, 20)), limit)
        let wait = min(base * (0.8 + 0.4 * random), limit)
        waits[direction, default: [:]][ExactText(id)] = (failures, now + wait)
        return wait
    }

    /// The error handler gave an attachment up.
    ///
    /// The next watch element may queue it again; it then waits at least the sync interval.
    mutating func givenUp(_ id: String, _ direction: AttachmentTransferProgress.Direction, now: Duration) {
        waits[direction, default: [:]][ExactText(id)] = (failures(of: id, direction) + 1, now + limit)
    }

    /// How many attempts have failed in a row.
    private func failures(of id: String, _ direction: AttachmentTransferProgress.Direction) -> Int {
        waits[direction]?[ExactText(id)]?.failures ?? 0
    }

    /// An attempt was successful.
    mutating func succeeded(_ id: String, _ direction: AttachmentTransferProgress.Direction) {
        waits[direction]?[ExactText(id)] = nil
    }

    /// Ends all waits: there is reason to hope.
    mutating func reset() {
        waits.removeAll()
    }
}
