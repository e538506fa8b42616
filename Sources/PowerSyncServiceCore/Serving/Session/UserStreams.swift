import NIOConcurrencyHelpers

/// The registry of the open streams of the process: it limits the streams of each user, and lists all streams for
/// operators.
package final class UserStreams: Sendable {
    /// The lease of an open stream: the stream counts until it is released.
    ///
    /// The last reference to a lease releases it, too. Opening a stream may lose a race, against a time-out or the
    /// client's departure; its result is then dropped by the task group, and no code is left that could release it.
    package final class Lease: Sendable {
        /// Counts what the stream sends.
        package let statistics: ClientStreamStatistics
        private let streams: UserStreams
        private let id: UInt64

        fileprivate init(_ streams: UserStreams, _ id: UInt64, _ statistics: ClientStreamStatistics) {
            self.streams = streams
            self.id = id
            self.statistics = statistics
        }

        deinit { release() }

        /// Removes the stream from the registry; does nothing the second time.
        package func release() { streams.leave(id) }
    }

    /// The lease of a stream that is not open yet: its request is still coming in.
    ///
    /// It counts as a stream of its user until a stream takes it over or it is released, which its last reference does,
    /// too; see ``Lease``.
    package final class Reservation: Sendable {
        private let streams: UserStreams
        private let userID: String
        private let isOpen = NIOLockedValueBox(true)

        fileprivate init(_ streams: UserStreams, _ userID: String) {
            self.streams = streams
            self.userID = userID
        }

        deinit { release() }

        /// Ends the reservation; does nothing when a stream has taken it over, and the second time.
        package func release() {
            if take() { streams.release(userID) }
        }

        /// Takes the reservation over.
        ///
        /// - Returns: Whether it was neither taken over nor released before.
        fileprivate func take() -> Bool {
            isOpen.withLockedValue { isOpen in
                defer { isOpen = false }
                return isOpen
            }
        }
    }

    /// The error of a user who has as many streams as the limit allows.
    package struct Overflow: Error, Equatable {
        /// The limit.
        package let limit: Int
    }

    /// The totals of all streams since the process began, including ended ones.
    package struct Totals: Sendable, Equatable {
        /// Operations.
        package var operations = 0
        /// Bytes of lines, before compression.
        package var bytes = 0
    }

    fileprivate struct Entry {
        var client: StreamClient
        var openedAt: Double
        var statistics: ClientStreamStatistics
    }

    fileprivate struct State {
        var lastID: UInt64 = 0
        /// The streams of each user, by the bytes of the user's id: `String` is equal for ids that differ in their
        /// composition.
        var counts: [[UInt8]: Int] = [:]
        var entries: [UInt64: Entry] = [:]
        /// The totals of ended streams.
        var ended = Totals()
        /// The clients of ended streams.
        var recent = RecentClients()
    }

    private let limit: Int
    private let now: @Sendable () -> Double
    private let clock: any Clock<Duration>
    private let state = NIOLockedValueBox(State())

    /// Creates a registry.
    ///
    /// - Parameters:
    ///   - limit: The most streams of a user at the same time.
    ///   - now: The seconds since 1970.
    ///   - clock: Measures the duration of streams.
    package init(
        limit: Int,
        now: @escaping @Sendable () -> Double = { Timing().seconds },
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.limit = limit
        self.now = now
        self.clock = clock
    }

    /// The number of users that have streams or reservations.
    package var userCount: Int { state.withLockedValue(\.counts.count) }

    /// The number of open streams.
    package var streamCount: Int { state.withLockedValue(\.entries.count) }

    /// The number of streams that have ended.
    package var endedCount: Int { state.withLockedValue { Int($0.lastID) - $0.entries.count } }

    /// The totals of open and ended streams.
    ///
    /// - Complexity: O(n) for n open streams.
    package var totals: Totals {
        let (entries, ended) = state.withLockedValue { ($0.entries, $0.ended) }
        return entries.values.reduce(into: ended) { totals, entry in
            let sent = entry.statistics.state
            totals.operations += sent.operations
            totals.bytes += sent.bytes
        }
    }

    /// Lists all open streams in the order in which they were opened, with the totals of open and ended streams.
    ///
    /// - Complexity: O(n log n) for n streams.
    package func report() -> (streams: [ClientStreamReport], totals: Totals) {
        let (entries, ended) = state.withLockedValue { ($0.entries, $0.ended) }
        var totals = ended
        var reports: [ClientStreamReport] = []
        reports.reserveCapacity(entries.count)
        for (id, entry) in entries {
            let state = entry.statistics.state
            totals.operations += state.operations
            totals.bytes += state.bytes
            reports.append(
                ClientStreamReport(
                    id: id,
                    client: entry.client,
                    openedAt: entry.openedAt,
                    operations: state.operations,
                    bytes: state.bytes,
                    progress: state.progress,
                    activity: state.activity,
                    activeSince: state.activeSince
                )
            )
        }
        reports.sort { $0.id < $1.id }
        return (reports, totals)
    }

    /// Reserves a stream that a user is about to open.
    ///
    /// - Throws: ``Overflow`` when the user has as many streams as the limit allows.
    package func reserve(_ userID: String) throws(Overflow) -> Reservation {
        guard state.withLockedValue({ $0.take(userID, limit) }) else { throw Overflow(limit: limit) }
        return Reservation(self, userID)
    }

    /// Registers a stream.
    ///
    /// - Parameters:
    ///   - client: The client that opens the stream.
    ///   - reservation: The reservation that the stream takes over.
    /// - Returns: The lease of the stream.
    /// - Throws: ``Overflow`` when the user has as many streams as the limit allows.
    package func enter(_ client: StreamClient, with reservation: Reservation? = nil) throws(Overflow) -> Lease {
        let statistics = ClientStreamStatistics(now: now, clock: clock)
        let openedAt = now()
        let isReserved = reservation?.take() ?? false
        let id = state.withLockedValue { state -> UInt64? in
            guard isReserved || state.take(client.userID, limit) else { return nil }
            state.lastID += 1
            state.entries[state.lastID] = Entry(client: client, openedAt: openedAt, statistics: statistics)
            return state.lastID
        }
        guard let id else { throw Overflow(limit: limit) }
        return Lease(self, id, statistics)
    }

    /// The clients whose streams have ended in the last hours, those that have left last first.
    ///
    /// - Complexity: O(n log n) for n clients.
    package func recentClients() -> [RecentClients.Client] {
        let now = now()
        return state.withLockedValue { $0.recent.list(at: now) }
    }

    private func leave(_ id: UInt64) {
        let now = now()
        state.withLockedValue { state in
            guard let entry = state.entries.removeValue(forKey: id) else { return }
            let sent = entry.statistics.state
            state.ended.operations += sent.operations
            state.ended.bytes += sent.bytes
            state.recent.ended(
                entry.client,
                openedAt: entry.openedAt,
                operations: sent.operations,
                bytes: sent.bytes,
                at: now
            )
            state.release(entry.client.userID)
        }
    }

    private func release(_ userID: String) {
        state.withLockedValue { $0.release(userID) }
    }
}

extension UserStreams.State {
    /// Counts one more stream of a user, unless the user has as many as the limit allows.
    fileprivate mutating func take(_ userID: String, _ limit: Int) -> Bool {
        let user = Array(userID.utf8)
        let count = counts[user, default: 0]
        guard count < limit else { return false }
        counts[user] = count + 1
        return true
    }

    fileprivate mutating func release(_ userID: String) {
        let user = Array(userID.utf8)
        let left = counts[user, default: 1] - 1
        counts[user] = left > 0 ? left : nil
    }
}
