import NIOConcurrencyHelpers

/// The open streams of the process: counts those of each user, so that one of them does not take the places of all, and tells
/// operators who is there.
package final class UserStreams: Sendable {
    /// One stream.
    ///
    /// It counts until it has left. Only when a response is dropped before it was written does nobody say so, and the stream counts until
    /// nobody holds this.
    package final class Place: Sendable {
        /// Counts what the stream sends.
        package let statistics: ClientStreamStatistics
        private let streams: UserStreams
        private let id: UInt64

        fileprivate init(_ streams: UserStreams, _ id: UInt64, _ statistics: ClientStreamStatistics) {
            self.streams = streams
            self.id = id
            self.statistics = statistics
        }

        deinit { leave() }

        /// Gives the place back; does nothing the second time.
        package func leave() { streams.leave(id) }
    }

    /// A place of a user whose stream is not open yet: the request is still coming in.
    ///
    /// It counts until a stream has it, it is released, or nobody holds this.
    package final class Reservation: Sendable {
        private let streams: UserStreams
        private let userID: String
        private let isOpen = NIOLockedValueBox(true)

        fileprivate init(_ streams: UserStreams, _ userID: String) {
            self.streams = streams
            self.userID = userID
        }

        deinit { release() }

        /// Gives the place back; does nothing when a stream has it, and the second time.
        package func release() {
            if take() { streams.release(userID) }
        }

        /// Takes the place.
        ///
        /// - Returns: Whether nobody has taken it before.
        fileprivate func take() -> Bool {
            isOpen.withLockedValue { isOpen in
                defer { isOpen = false }
                return isOpen
            }
        }
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

    fileprivate struct Entry {
        var client: StreamClient
        var openedAt: Double
        var statistics: ClientStreamStatistics
    }

    fileprivate struct State {
        var lastID: UInt64 = 0
        /// By the bytes of the user's id: `String` is the same for ids that differ in how they are composed.
        var counts: [[UInt8]: Int] = [:]
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

    /// How many users have streams, or are about to.
    package var userCount: Int { state.withLockedValue(\.counts.count) }

    /// How many streams are open.
    package var streamCount: Int { state.withLockedValue(\.entries.count) }

    /// How many streams have ended.
    package var endedCount: Int { state.withLockedValue { Int($0.lastID) - $0.entries.count } }

    /// All open streams in the order in which they were opened, and what was sent by them and by those that have ended.
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

    /// Takes a place for a stream that a user is about to open.
    ///
    /// - Throws: ``Overflow`` when there is none.
    package func reserve(_ userID: String) throws(Overflow) -> Reservation {
        guard state.withLockedValue({ $0.take(userID, limit) }) else { throw Overflow(limit: limit) }
        return Reservation(self, userID)
    }

    /// Takes a place for a stream.
    ///
    /// - Parameters:
    ///   - client: Who opens it.
    ///   - reservation: What was reserved for its user.
    /// - Returns: The place.
    /// - Throws: ``Overflow`` when there is none.
    package func enter(_ client: StreamClient, with reservation: Reservation? = nil) throws(Overflow) -> Place {
        let statistics = ClientStreamStatistics(now: now)
        let openedAt = now()
        let isReserved = reservation?.take() ?? false
        let id = state.withLockedValue { state -> UInt64? in
            guard isReserved || state.take(client.userID, limit) else { return nil }
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
            state.release(entry.client.userID)
        }
    }

    private func release(_ userID: String) {
        state.withLockedValue { $0.release(userID) }
    }
}

extension UserStreams.State {
    /// Counts one more of a user, unless there are as many as one may have.
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
