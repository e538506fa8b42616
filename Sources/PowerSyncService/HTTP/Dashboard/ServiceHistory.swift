import NIOConcurrencyHelpers
import PowerSyncServiceCore
import ServiceLifecycle

/// What the service did in the last six hours, a point every ten seconds: so that the dashboard shows it at once.
final class ServiceHistory: Service {
    /// One moment.
    ///
    /// What only grows is counted since the process began.
    struct Point: Codable, Sendable, Equatable {
        /// When this was, in seconds since 1970.
        var time: Double
        /// How far the active stream was behind its source, in seconds; `nil` when it was not known.
        var lag: Double?
        /// Rows that were replicated.
        var rows: Int
        /// Operations that were sent.
        var sent: Int
        /// Open sync streams.
        var streams: Int
    }

    /// The time between two points.
    static let interval = Duration.seconds(10)
    /// How many points are kept: six hours of them.
    static let maximumPoints = 2160

    private let clock: any Clock<Duration>
    private let look: @Sendable () -> Point
    private let kept = NIOLockedValueBox<[Point]>([])

    /// Creates a history without points.
    ///
    /// - Parameters:
    ///   - clock: Measures the pauses.
    ///   - look: Says what the service does now.
    init(clock: any Clock<Duration>, look: @escaping @Sendable () -> Point) {
        self.clock = clock
        self.look = look
    }

    /// Creates a history of a service.
    convenience init(
        sessions: SyncSession.Environment,
        replication: ReplicationStatistics
    ) {
        self.init(clock: sessions.timing.clock) {
            let counts = replication.counts
            return Point(
                time: sessions.timing.seconds,
                lag: counts.lag,
                rows: counts.rows,
                sent: sessions.userStreams.totals.operations,
                streams: sessions.userStreams.streamCount
            )
        }
    }

    /// The points, the oldest first.
    var points: [Point] { kept.withLockedValue { Array($0.suffix(Self.maximumPoints)) } }

    /// Looks until shutdown or cancellation.
    func run() async throws {
        try await PeriodicJob(every: Self.interval, clock: clock, startingWith: ()) { [self] _ in add(look()) }.run()
    }

    /// Adds a point.
    func add(_ point: Point) {
        kept.withLockedValue { points in
            points.append(point)
            // A tenth at once, so that not every point moves all others.
            if points.count > Self.maximumPoints + Self.maximumPoints / 10 {
                points.removeFirst(points.count - Self.maximumPoints)
            }
        }
    }
}
