/// What parameter lookups returned during one evaluation.
///
/// Each key is read once, and counts once for the limit with the rows that differ.
struct LookupCache {
    /// A row that a lookup found, with its position among all that the index has for the lookup.
    typealias Found = (position: Int, row: ParameterRow)

    private let limit: Int
    private var rows: [ParameterLookup: [Found]] = [:]
    private var resultCount = 0
    private var usage: [String: Int] = [:]

    /// Creates an empty cache.
    ///
    /// - Parameter limit: The most keys in one lookup, and the most rows of all lookups together.
    init(limit: Int) {
        self.limit = limit
    }

    /// The rows of lookups with distinct keys: of equal ones the first.
    ///
    /// - Parameters:
    ///   - keys: The keys.
    ///   - name: The name of the query, for the error.
    ///   - lookUp: Reads the index.
    /// - Returns: The rows of each key, maybe none.
    /// - Throws: ``BucketLimitError``, or what `lookUp` throws.
    mutating func rows(
        for keys: [ParameterLookup],
        name: String,
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> [ParameterLookup: [Found]] {
        guard keys.count <= limit else {
            throw BucketLimitError(
                limit: .lookups(count: keys.count, limit: limit),
                breakdown: [BucketLimitError.Usage(name: name, count: keys.count)]
            )
        }
        let missing = keys.filter { rows[$0] == nil }
        if !missing.isEmpty {
            let found: [ParameterLookup: [ParameterRow]]
            do {
                found = try await lookUp(missing)
            } catch let error as BucketLimitError where error.breakdown.isEmpty {
                // An index stops reading behind the limit, and does not know the query.
                usage[name, default: 0] += limit + 1
                throw BucketLimitError(limit: error.limit, breakdown: .largest(usage))
            }
            for key in missing {
                var seen: Set<ParameterRow> = []
                let distinct = (found[key] ?? []).enumerated().filter { seen.insert($0.element).inserted }
                rows[key] = distinct.map { (position: $0.offset, row: $0.element) }
                resultCount += distinct.count
                usage[name, default: 0] += distinct.count
            }
        }
        guard resultCount <= limit else {
            throw BucketLimitError(limit: .parameterResults(limit: limit), breakdown: .largest(usage))
        }
        return Dictionary(uniqueKeysWithValues: keys.map { ($0, rows[$0] ?? []) })
    }
}
