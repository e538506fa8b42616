import NIOConcurrencyHelpers

/// Counts the streams of each user, so that one of them does not take the places of all.
package final class UserStreams: Sendable {
    /// One stream; it counts for as long as somebody holds this.
    package final class Place: Sendable {
        private let streams: UserStreams
        private let userID: String

        fileprivate init(_ streams: UserStreams, _ userID: String) {
            self.streams = streams
            self.userID = userID
        }

        deinit { streams.leave(userID) }
    }

    /// The user has as many streams as one may have.
    package struct Overflow: Error, Equatable {
        /// How many that are.
        package let limit: Int
    }

    private let limit: Int
    private let counts = NIOLockedValueBox<[String: Int]>([:])

    /// Creates a count.
    ///
    /// - Parameter limit: How many streams a user may have at the same time.
    package init(limit: Int) {
        self.limit = limit
    }

    /// How many users have streams.
    package var userCount: Int { counts.withLockedValue(\.count) }

    /// Takes a place for a stream.
    ///
    /// - Throws: ``Overflow`` when there is none.
    package func enter(_ userID: String) throws(Overflow) -> Place {
        let isAdmitted = counts.withLockedValue { counts in
            guard counts[userID, default: 0] < limit else { return false }
            counts[userID, default: 0] += 1
            return true
        }
        guard isAdmitted else { throw Overflow(limit: limit) }
        return Place(self, userID)
    }

    private func leave(_ userID: String) {
        counts.withLockedValue { counts in
            let left = counts[userID, default: 1] - 1
            counts[userID] = left > 0 ? left : nil
        }
    }
}
