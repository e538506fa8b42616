package import PowerSyncProtocol

/// How the buckets of one connection are found (docs/sync-config.md "Requests to buckets").
///
/// Request values are evaluated when the querier is made; ``buckets(limits:lookUp:)`` runs once for a checkpoint.
package struct BucketQuerier: Sendable {
    /// The streams that the client is subscribed to, in the order of the plan, with errors of subscriptions that cannot
    /// be evaluated.
    ///
    /// Goes into the checkpoint line; reasons of buckets refer to it by position.
    package let streams: [StreamDescription]
    /// What finds the buckets, in the order in which reasons are reported.
    let queriers: [PreparedQuerier]
    /// What all bucket names start with.
    let bucketPrefix: String

    /// Whether buckets depend on parameter indexes.
    ///
    /// If not, one call of ``buckets(limits:lookUp:)`` is enough for the life of the connection, and `lookUp` is not
    /// called.
    package var hasDynamicBuckets: Bool { queriers.contains(where: \.isDynamic) }

    /// All buckets at one checkpoint.
    ///
    /// - Parameters:
    ///   - limits: Limits of the connection.
    ///   - lookUp: Reads the parameter index at that checkpoint: for each lookup the rows of all its entries; lookups
    ///     without rows may be missing in the result. The lookups that it is called with are the ones whose changes
    ///     make a new evaluation necessary.
    /// - Returns: Buckets in the order of the plan, each once.
    /// - Throws: ``BucketLimitError``, or what `lookUp` throws.
    package func buckets(
        limits: BucketLimits = BucketLimits(),
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> [ResolvedBucket] {
        var buckets = BucketCollection()
        var lookups = LookupCache(limit: limits.maximumParameterResults)
        for querier in queriers {
            let keys: ValueSet
            do {
                keys = try await querier.keys(lookups: &lookups, lookUp: lookUp)
            } catch let error as TooManyCombinations {
                throw BucketLimitError(
                    limit: .buckets(count: max(error.count, buckets.buckets.count), limit: limits.maximumBuckets),
                    breakdown: [BucketLimitError.Usage(name: querier.stream, count: error.count)]
                )
            }
            for element in keys.elements {
                try buckets.add(
                    BucketName(prefix: bucketPrefix, definition: querier.definition, key: element.values),
                    from: querier
                )
            }
        }
        guard buckets.buckets.count <= limits.maximumBuckets else {
            throw BucketLimitError(
                limit: .buckets(count: buckets.buckets.count, limit: limits.maximumBuckets),
                breakdown: .largest(buckets.buckets.map(\.stream))
            )
        }
        return buckets.buckets
    }
}

/// Buckets by name, while they are collected.
private struct BucketCollection {
    private(set) var buckets: [ResolvedBucket] = []
    private var positions: [BucketName: Int] = [:]
    /// What is left of the limits for names and reasons.
    private var nameBytes = BucketLimits.maximumNameBytes
    private var reasons = BucketLimits.maximumReasons

    /// Adds a bucket, or a reason to a bucket that is there.
    ///
    /// - Throws: ``BucketLimitError`` when the line that announces the buckets would be too long.
    mutating func add(_ name: BucketName, from querier: PreparedQuerier) throws(BucketLimitError) {
        guard let position = positions[name] else {
            nameBytes -= name.rawValue.utf8.count
            guard nameBytes >= 0 else { throw BucketLimitError(limit: .nameBytes, breakdown: usage) }
            positions[name] = buckets.count
            buckets.append(
                ResolvedBucket(
                    name: name,
                    priority: querier.priority,
                    reasons: [querier.reason],
                    stream: querier.stream
                )
            )
            return
        }
        if querier.priority.isHigher(than: buckets[position].priority) {
            buckets[position].priority = querier.priority
        }
        // Those of one subscription follow each other.
        if buckets[position].reasons.last != querier.reason {
            reasons -= 1
            guard reasons >= 0 else { throw BucketLimitError(limit: .reasons, breakdown: usage) }
            buckets[position].reasons.append(querier.reason)
        }
    }

    private var usage: [BucketLimitError.Usage] { .largest(buckets.map(\.stream)) }
}

extension [BucketLimitError.Usage] {
    /// How often each name occurs, largest first, at most 100.
    static func largest(_ names: [String]) -> [BucketLimitError.Usage] {
        let counts = Dictionary(names.map { ($0, 1) }, uniquingKeysWith: +)
        return largest(counts)
    }

    /// The counts, largest first, at most 100.
    static func largest(_ counts: [String: Int]) -> [BucketLimitError.Usage] {
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        return sorted.prefix(100).map { BucketLimitError.Usage(name: $0.key, count: $0.value) }
    }
}
