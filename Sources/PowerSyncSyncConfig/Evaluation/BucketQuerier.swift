package import PowerSyncProtocol

/// How the buckets of one connection are found (docs/sync-config.md "Requests to buckets").
///
/// Request values are evaluated when the querier is made; ``buckets(limits:lookUp:)`` runs once for a checkpoint.
package struct BucketQuerier: Sendable {
    /// The streams that the client is subscribed to, in the order of the plan, with errors of subscriptions that cannot
    /// be evaluated, or are too many.
    ///
    /// Goes into the checkpoint line; reasons of buckets refer to it by position.
    package let streams: [StreamDescription]
    /// What finds the buckets, in the order in which reasons are reported.
    let queriers: [PreparedQuerier]
    /// The subscriptions that are too many, whatever they would give.
    let refusals: [RefusedSubscription]
    /// What all bucket names start with.
    let bucketPrefix: String

    /// Whether buckets depend on parameter indexes.
    ///
    /// If not, one call of ``buckets(limits:lookUp:)`` is enough for the life of the connection, and `lookUp` is not
    /// called.
    package var hasDynamicBuckets: Bool { queriers.contains(where: \.isDynamic) }

    /// All buckets at one checkpoint.
    ///
    /// If there are too many, what clients get without subscribing comes first, then the subscriptions in the order of the request, each
    /// if there is room for it. The others have no buckets, and an error.
    ///
    /// - Parameters:
    ///   - limits: Limits of the connection.
    ///   - lookUp: Reads the parameter index at that checkpoint: for each lookup the rows of all its entries; lookups
    ///     without rows may be missing in the result. The lookups that it is called with are the ones whose changes
    ///     make a new evaluation necessary.
    /// - Returns: The buckets, and the subscriptions without.
    /// - Throws: ``BucketLimitError`` when there is no room for what clients get without subscribing, or what `lookUp` throws.
    package func buckets(
        limits: BucketLimits = BucketLimits(),
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> FoundBuckets {
        var buckets = BucketCollection(limit: limits.maximumBuckets)
        do {
            var lookups = LookupCache(limit: limits.maximumParameterResults)
            for querier in queriers {
                try buckets.add(try await keys(of: querier, limits, &lookups, lookUp), bucketPrefix, from: querier)
            }
            try buckets.check()
            return FoundBuckets(buckets: buckets.buckets, streams: streams, refusals: refusals)
        } catch let error as BucketLimitError {
            guard queriers.contains(where: { $0.subscription != nil }) else { throw error }
            return try await bucketsWithRoom(limits: limits, lookUp: lookUp)
        }
    }

    /// The buckets that there is room for.
    private func bucketsWithRoom(
        limits: BucketLimits,
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> FoundBuckets {
        var (keys, refused): ([Int: ValueSet], [RefusedSubscription]) = ([:], [])
        // What is there already, which an attempt leaves as it is if it fails.
        var taken = BucketCollection(limit: limits.maximumBuckets)
        var lookups = LookupCache(limit: limits.maximumParameterResults)
        let places = Dictionary(grouping: queriers.indices) { queriers[$0].subscription ?? -1 }
        for (subscription, places) in places.sorted(by: { $0.key < $1.key }) {
            var (attempt, cache, found) = (taken, lookups, [Int: ValueSet]())
            do {
                for place in places {
                    let querier = queriers[place]
                    let values = try await self.keys(of: querier, limits, &cache, lookUp)
                    try attempt.add(values, bucketPrefix, from: querier)
                    found[place] = values
                }
                try attempt.check()
                (taken, lookups) = (attempt, cache)
                keys.merge(found) { $1 }
            } catch let error as BucketLimitError where subscription >= 0 {
                let stream = queriers[places[0]].stream
                refused.append(RefusedSubscription(index: subscription, stream: stream, error: error))
            }
        }
        var result = FoundBuckets(streams: streams, refusals: refused + refusals)
        result.streams.add(refused)
        var buckets = BucketCollection(limit: limits.maximumBuckets)
        for (place, querier) in queriers.enumerated() {
            if let keys = keys[place] { try buckets.add(keys, bucketPrefix, from: querier) }
        }
        result.buckets = buckets.buckets
        return result
    }

    private func keys(
        of querier: PreparedQuerier,
        _ limits: BucketLimits,
        _ lookups: inout LookupCache,
        _ lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> ValueSet {
        do {
            return try await querier.keys(lookups: &lookups, lookUp: lookUp)
        } catch let error as TooManyCombinations {
            throw BucketLimitError(
                limit: .buckets(count: error.count, limit: limits.maximumBuckets),
                breakdown: [BucketLimitError.Usage(name: querier.stream, count: error.count)]
            )
        }
    }
}

/// Buckets by name, while they are collected.
private struct BucketCollection {
    private(set) var buckets: [ResolvedBucket] = []
    private var positions: [BucketName: Int] = [:]
    /// What is left of the limits for names and reasons.
    private var nameBytes = BucketLimits.maximumNameBytes
    private var reasons = BucketLimits.maximumReasons
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// Adds the buckets that a querier gives.
    mutating func add(_ keys: ValueSet, _ prefix: String, from querier: PreparedQuerier) throws(BucketLimitError) {
        for element in keys.elements {
            try add(BucketName(prefix: prefix, definition: querier.definition, key: element.values), from: querier)
        }
    }

    /// Checks how many there are.
    func check() throws(BucketLimitError) {
        guard buckets.count <= limit else {
            throw BucketLimitError(limit: .buckets(count: buckets.count, limit: limit), breakdown: usage)
        }
    }

    /// Adds a bucket, or a reason to a bucket that is there.
    ///
    /// - Throws: ``BucketLimitError`` when the line that announces the buckets would be too long.
    private mutating func add(_ name: BucketName, from querier: PreparedQuerier) throws(BucketLimitError) {
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
