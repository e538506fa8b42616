/// Limits of one connection at one checkpoint.
package struct BucketLimits: Sendable, Hashable {
    /// The largest number of buckets.
    package var maximumBuckets = 1000
    /// The largest number of rows that all parameter lookups may return together, and of keys in one lookup.
    ///
    /// Rows of one lookup that are equal count once, and so does a lookup that several streams use.
    package var maximumParameterResults = 1000
    /// The most explicit subscriptions of a request that are looked at: 1,000, as many as a connection may have buckets.
    package static let maximumSubscriptions = 1_000
    /// The most bytes that the names of all buckets may have together: 4 MiB.
    package static let maximumNameBytes = 4 << 20
    /// The most subscriptions of all buckets together, but for the first one of each: 250,000.
    package static let maximumReasons = 250_000

    /// Creates limits.
    package init(maximumBuckets: Int = 1000, maximumParameterResults: Int = 1000) {
        self.maximumBuckets = maximumBuckets
        self.maximumParameterResults = maximumParameterResults
    }
}

/// A client would get more than ``BucketLimits`` allow.
///
/// A subscription that is beyond the limits has no buckets, and an error in its stream (``FoundBuckets``). If what clients get
/// without subscribing is beyond them, the request fails. Buckets are never dropped silently.
///
/// On the network this is `PSYNC_S2305` with ``message``.
package struct BucketLimitError: Error, Sendable, Hashable {
    /// Which limit was exceeded.
    package enum Limit: Sendable, Hashable {
        /// More buckets than allowed.
        case buckets(count: Int, limit: Int)
        /// More parameter results than allowed.
        case parameterResults(limit: Int)
        /// More keys in one lookup than allowed.
        case lookups(count: Int, limit: Int)
        /// The names of the buckets are too long together.
        case nameBytes
        /// Too many subscriptions give the same buckets.
        case reasons
        /// More subscriptions than allowed.
        case subscriptions(count: Int)
    }

    /// Which limit was exceeded.
    package let limit: Limit
    /// How much each stream (buckets) or lookup (results) used, largest first, at most 100; all of them are for the log only.
    package let breakdown: [Usage]

    /// The share of one stream or lookup.
    package struct Usage: Sendable, Hashable {
        /// The name of the stream, or of the stream and the table that is looked up.
        package let name: String
        /// How many buckets or rows.
        package let count: Int
    }

    /// The error code, to be compared with `ErrorCode.rawValue`.
    package static let code = "PSYNC_S2305"

    /// Creates an error.
    package init(limit: Limit, breakdown: [Usage] = []) {
        self.limit = limit
        self.breakdown = breakdown
    }

    /// The text for the client.
    package var message: String {
        switch limit {
        case .buckets(let count, let limit):
            "Too many buckets: \(count) (limit of \(limit))"
        case .parameterResults(let limit):
            "Too many parameter query results (limit of \(limit))"
        case .lookups(let count, let limit):
            "Attempted to fetch \(count) lookups at once, a maximum of \(limit) lookups are allowed."
        case .nameBytes:
            "The names of all buckets have more than \(BucketLimits.maximumNameBytes) bytes together"
        case .reasons:
            "Too many subscriptions to the same buckets (limit of \(BucketLimits.maximumReasons) over all buckets)"
        case .subscriptions(let count):
            "Too many subscriptions: \(count) (limit of \(BucketLimits.maximumSubscriptions))"
        }
    }
}

extension BucketLimitError {
    /// The stream, or the stream and the table of its lookup, that needs most, with how much it needs: `, most of them for lists (1,200)`;
    /// empty when that is not known.
    var largestShare: String { breakdown.first.map { ", most of them for \($0.name) (\($0.count))" } ?? "" }

    /// The text for the client beside ``message``: where it comes from, and the way out.
    package var details: String {
        let largest = breakdown.first.map { "Most of them are for \($0.name) (\($0.count)). " } ?? ""
        return largest + remedy
    }

    /// What an operator can do.
    package var remedy: String {
        switch limit {
        case .buckets:
            """
            Give clients fewer, larger buckets: compare a column that many rows have in common with a claim or a parameter, \
            subscribe to less at once, or raise max_buckets_per_connection.
            """
        case .parameterResults, .lookups:
            """
            Restrict the lookup: compare one more of its columns with a claim or a parameter, so that it finds fewer rows for a \
            client, or raise max_parameter_query_results.
            """
        case .nameBytes:
            "Name streams and choose the values that buckets are made by so that they are shorter, or subscribe to less at once."
        case .reasons, .subscriptions:
            "Subscribe to less at once: end subscriptions that the app does not show any more."
        }
    }
}

extension BucketLimitError: CustomStringConvertible {
    package var description: String { "[\(Self.code)] \(message)" }
}
