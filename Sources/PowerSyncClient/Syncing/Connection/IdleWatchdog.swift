import NIOConcurrencyHelpers

/// Notices that nothing has come from the service for too long.
///
/// Only waiting for the network counts: while the database is busy, the service may be as silent as it likes. Nor does
/// the time count in which the process was suspended: the service then has the whole limit again to be heard.
final class IdleWatchdog: Sendable {
    /// Twice the interval in which the service sends keepalives: 40 s.
    static let defaultLimit = Duration.seconds(40)

    private let limit: Duration
    private let clock: ElapsedClock
    /// When the task that reads began to wait; `nil` while it does not.
    private let waitingSince = NIOLockedValueBox<Duration?>(nil)

    /// Creates a watchdog.
    init(limit: Duration = IdleWatchdog.defaultLimit, clock: ElapsedClock) {
        self.limit = limit
        self.clock = clock
    }

    /// Watches while something is awaited from the network.
    func watch<Result>(_ body: () async throws -> Result) async throws -> Result {
        let now = clock.now
        waitingSince.withLockedValue { $0 = now }
        defer { waitingSince.withLockedValue { $0 = nil } }
        return try await body()
    }

    /// Returns when something has been awaited for longer than the limit.
    ///
    /// - Throws: `CancellationError`
    func run() async throws {
        var deadline = clock.now + limit
        while true {
            try await clock.sleep(until: deadline)
            let now = clock.now
            if clock.wasSuspended(before: deadline) {
                waitingSince.withLockedValue { $0 = $0.map { _ in now } }
            }
            let next = (waitingSince.withLockedValue { $0 } ?? now) + limit
            if next <= now { return }
            deadline = next
        }
    }
}
