import NIOConcurrencyHelpers

/// The open streams of the process: counts those of each user, so that one of them does not take the places of all, and tells
/// operators who is there.
package final class UserStreams: Sendable {
    /// One stream; it counts for as long as somebody holds this.
    package final class Place: Sendable {
        /// Counts what the stream sends.
        package let statistics: StreamStatistics
        private let streams: UserStreams
        private let id: UInt64

        fileprivate init(_ streams: UserStreams, _ id: UInt64, _ statistics: StreamStatistics) {
            self.streams = streams
            self.id = id
            self.statistics = statistics
        }

        deinit { streams.leave(id) }
    }

    /// The user has as many streams as one may have.
    package struct Overflow: Error, Equatable {
        /// How many that are.
        package let limit: Int
    }

    /// What all streams have sent since the process began, those that have ended with them.
    package struct Totals: Sendable, Equatable {
        /// Operations.
        package var operations = 0
        /// Bytes of lines, before compression.
        package var bytes = 0
    }

    private struct Entry {
        var client: StreamClient
        var openedAt: Double
        var statistics: StreamStatistics
    }

    private struct State {
        var lastID: UInt64 = 0
        var counts: [String: Int] = [:]
        var entries: [UInt64: Entry] = [:]
        /// What ended streams have sent.
        var ended = Totals()
    }

    private let limit: Int
    private let now: @Sendable () -> Double
    private let state = NIOLockedValueBox(State())

    /// Creates a count.
    ///
    /// - Parameters:
    ///   - limit: How many streams a user may have at the same time.
    ///   - now: The seconds since 1970.
    package init(limit: Int, now: @escaping @Sendable () -> Double = { Timing().seconds }) {
        self.limit = limit
        self.now = now
    }

    /// How many users have streams.
    package var userCount: Int { state.withLockedValue(\.counts.count) }

    /// How many streams are open.
    package var streamCount: Int { state.withLockedValue(\.entries.count) }

    /// How many streams have ended.
    package var endedCount: Int { state.withLockedValue { Int($0.lastID) - $0.entries.count } }

    /// All open streams in the order in which they were opened, and what was sent by them and by those that have ended.
    ///
    /// - Complexity: O(n log n) for n streams.
    package func report() -> (streams: [StreamReport], totals: Totals) {
        let (entries, ended) = state.withLockedValue { ($0.entries, $0.ended) }
        var totals = ended
        var reports: [StreamReport] = []
        reports.reserveCapacity(entries.count)
        for (id, entry) in entries {
            let state = entry.statistics.state
            totals.operations += state.operations
            totals.bytes += state.bytes
            reports.append(
                StreamReport(
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

    /// Takes a place for a stream.
    ///
    /// - Throws: ``Overflow`` when there is none.
    package func enter(_ client: StreamClient) throws(Overflow) -> Place {
        let statistics = StreamStatistics(now: now)
        let openedAt = now()
        let id = state.withLockedValue { state -> UInt64? in
            guard state.counts[client.userID, default: 0] < limit else { return nil }
            state.counts[client.userID, default: 0] += 1
            state.lastID += 1
            state.entries[state.lastID] = Entry(client: client, openedAt: openedAt, statistics: statistics)
            return state.lastID
        }
        guard let id else { throw Overflow(limit: limit) }
        return Place(self, id, statistics)
    }

    private func leave(_ id: UInt64) {
        state.withLockedValue { state in
            guard let entry = state.entries.removeValue(forKey: id) else { return }
            let sent = entry.statistics.state
            state.ended.operations += sent.operations
            state.ended.bytes += sent.bytes
            let left = state.counts[entry.client.userID, default: 1] - 1
            state.counts[entry.client.userID] = left > 0 ? left : nil
        }
    }
}
