import PowerSyncClient
import PowerSyncSQLite

/// When attachments whose transfers failed are tried again (docs/attachments.md "Retries").
///
/// After n failures in a row of one attachment and direction the wait is 1 s · 2^(n-1) ±20 %, at most the sync interval. Counts
/// are kept in memory only. Times are durations since a common start.
struct TransferBackoff {
    /// What failures are counted for.
    private struct Key: Hashable {
        let id: ExactText
        let direction: AttachmentTransferProgress.Direction

        init(_ id: String, _ direction: AttachmentTransferProgress.Direction) {
            self.id = ExactText(id)
            self.direction = direction
        }
    }

    private static let shortest = Duration.seconds(1)
    private static let limitWithoutInterval = Duration.seconds(30)

    private let limit: Duration
    private var waits: [Key: (failures: Int, end: Duration)] = [:]

    /// Creates a back-off without failures.
    ///
    /// - Parameter syncInterval: The longest wait; `nil` without a timer, which means 30 s.
    init(syncInterval: Duration?) {
        limit = syncInterval ?? TransferBackoff.limitWithoutInterval
    }

    /// When an attachment may be tried; `nil` for at once.
    func end(of id: String, _ direction: AttachmentTransferProgress.Direction) -> Duration? {
        waits[Key(id, direction)]?.end
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
        let key = Key(id, direction)
        let failures = (waits[key]?.failures ?? 0) + 1
        // 2^20 s are longer than any limit that makes sense, and far from an overflow.
        let base = min(TransferBackoff.shortest * (1 << min(failures - 1, 20)), limit)
        let wait = min(base * (0.8 + 0.4 * random), limit)
        waits[key] = (failures, now + wait)
        return wait
    }

    /// The error handler gave an attachment up.
    ///
    /// The next watch element may queue it again; it then waits at least the sync interval.
    mutating func givenUp(_ id: String, _ direction: AttachmentTransferProgress.Direction, now: Duration) {
        let key = Key(id, direction)
        waits[key] = ((waits[key]?.failures ?? 0) + 1, now + limit)
    }

    /// An attempt was successful.
    mutating func succeeded(_ id: String, _ direction: AttachmentTransferProgress.Direction) {
        waits[Key(id, direction)] = nil
    }

    /// Ends all waits: there is reason to hope.
    mutating func reset() {
        waits.removeAll()
    }
}
