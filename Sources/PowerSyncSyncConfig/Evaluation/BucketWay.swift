package import PowerSyncProtocol

/// Where a row is in a parameter index, as a lookup found it.
package struct ParameterPlace: Sendable, Hashable {
    /// The lookup.
    package var lookup: ParameterLookup
    /// The position of the row among all rows that the lookup returns.
    package var position: Int
}

/// A way to a bucket: the subscription of a stream, and the rows of parameter indexes that it passes.
package struct BucketWay: Sendable, Hashable {
    /// The name of the stream.
    package var stream: String
    /// The subscription.
    package var reason: BucketReason
    /// The rows, in the order of the lookups.
    package var places: [ParameterPlace]
}

extension BucketQuerier {
    /// All ways to each bucket, to explain why a user gets it.
    ///
    /// Unlike ``buckets(limits:lookUp:)`` this keeps every combination of rows; a querier with too many has no ways.
    ///
    /// - Parameter lookUp: Reads the parameter indexes.
    /// - Returns: The ways to each bucket, in the order of the plan.
    /// - Throws: What `lookUp` throws.
    package func ways(
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> [BucketName: [BucketWay]] {
        var ways: [BucketName: [BucketWay]] = [:]
        var lookups = LookupCache(limit: .max)
        for querier in queriers {
            do {
                for (key, places) in try await querier.tracedKeys(lookups: &lookups, lookUp: lookUp) {
                    let name = BucketName(prefix: bucketPrefix, definition: querier.definition, key: key)
                    let way = BucketWay(stream: querier.stream, reason: querier.reason, places: places)
                    ways[name, default: []].append(way)
                }
            } catch is TooManyCombinations {
                continue
            }
        }
        return ways
    }
}
