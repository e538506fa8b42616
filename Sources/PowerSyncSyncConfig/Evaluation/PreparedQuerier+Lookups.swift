extension PreparedQuerier {
    /// A row that a lookup found.
    private struct FoundRow {
        /// Its values.
        var values: ParameterRow
        /// The row of this lookup and of each one that led to it.
        var origins: [Int]
        /// Where the row is in its parameter index; `nil` for a row of a function.
        var place: ParameterPlace?
    }

    /// All rows that a lookup found, with the rows of other lookups that led to them.
    private struct LookupResult {
        /// This lookup and the lookups that its inputs come from, ascending.
        var lookups: [Int]
        /// The rows.
        var rows: [FoundRow]

        /// The values of one output.
        func values(of output: Int, keepsNull: Bool) -> ValueSet {
            let elements = rows.compactMap { entry -> ValueSet.Element? in
                let stored = entry.values.values[output]
                let key: SQLValue? = keepsNull && stored == .null ? .some(stored) : stored.normalizedKey
                guard let value = key else { return Optional.none }
                return ValueSet.Element(values: [value], rows: entry.origins)
            }
            return ValueSet(lookups: lookups, elements: elements)
        }

        /// The rows without values.
        var existence: ValueSet {
            ValueSet(lookups: lookups, elements: rows.map { ValueSet.Element(values: [], rows: $0.origins) })
        }
    }

    /// The partition keys of all buckets.
    ///
    /// - Throws: ``BucketLimitError``, ``TooManyCombinations``, or what `lookUp` throws.
    func keys(
        lookups cache: inout LookupCache,
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> ValueSet {
        try await solve(keepsRows: false, lookups: &cache, lookUp: lookUp).keys
    }

    /// The partition keys of all buckets, each with the rows of parameter indexes that lead to it.
    ///
    /// - Throws: ``BucketLimitError``, ``TooManyCombinations``, or what `lookUp` throws.
    func tracedKeys(
        lookups cache: inout LookupCache,
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> [(key: [SQLValue], places: [ParameterPlace])] {
        let (keys, results) = try await solve(keepsRows: true, lookups: &cache, lookUp: lookUp)
        let all = results.flatMap { $0 }
        return keys.elements.map { element in
            (element.values, zip(keys.lookups, element.rows).compactMap { all[$0].rows[$1].place })
        }
    }

    /// Reads all lookups and combines what they found.
    private func solve(
        keepsRows: Bool,
        lookups cache: inout LookupCache,
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> (keys: ValueSet, results: [[LookupResult]]) {
        var results: [[LookupResult]] = []
        for stage in stages {
            var stageResults: [LookupResult] = []
            for lookup in stage {
                let number = results.reduce(stageResults.count) { $0 + $1.count }
                let result: LookupResult
                switch lookup {
                case .rows(let rows):
                    let found = rows.enumerated().map { FoundRow(values: $0.element, origins: [$0.offset]) }
                    result = LookupResult(lookups: [number], rows: found)
                case .index(let lookup):
                    let inputs = try lookup.inputs.map { try values(of: $0, in: results) }
                    let keys = try ValueSet.join(inputs, keepsRows: true)
                    result = try await run(lookup, number: number, keys: keys, cache: &cache, lookUp: lookUp)
                }
                // A join with nothing is nothing, whatever the other lookups have.
                guard !result.rows.isEmpty else { return (ValueSet(lookups: [], elements: []), []) }
                stageResults.append(result)
            }
            results.append(stageResults)
        }
        var sets = try instantiation.map { try values(of: $0, in: results) }
        sets.append(contentsOf: existenceSets(results))
        return (try ValueSet.join(sets, keepsRows: keepsRows), results)
    }

    /// Runs one lookup for all combinations of its inputs.
    private func run(
        _ lookup: IndexLookup,
        number: Int,
        keys: ValueSet,
        cache: inout LookupCache,
        lookUp: ([ParameterLookup]) async throws -> [ParameterLookup: [ParameterRow]]
    ) async throws -> LookupResult {
        let lookups = keys.elements.map { ParameterLookup(scope: lookup.scope, key: $0.values) }
        var seen: Set<ParameterLookup> = []
        let distinct = lookups.filter { seen.insert($0).inserted }
        var result = LookupResult(lookups: keys.lookups + [number], rows: [])
        guard !distinct.isEmpty else { return result }
        let found = try await cache.rows(for: distinct, name: "\(stream): \(lookup.table)", lookUp: lookUp)
        for (element, key) in zip(keys.elements, lookups) {
            for (position, row) in found[key] ?? [] where row.values.count == lookup.outputCount {
                guard result.rows.count < ValueSet.maximumCount else {
                    throw TooManyCombinations(count: result.rows.count)
                }
                result.rows.append(
                    FoundRow(
                        values: row,
                        origins: element.rows + [result.rows.count],
                        place: ParameterPlace(lookup: key, position: position)
                    )
                )
            }
        }
        return result
    }

    private func values(of value: Value, in results: [[LookupResult]]) throws(TooManyCombinations) -> ValueSet {
        switch value {
        case .constant(let constant):
            return .constant(constant)
        case .lookup(let output):
            return results[output.stage][output.position].values(of: output.output, keepsNull: keepsNull)
        case .intersection(let parts):
            guard let first = parts.first else { return ValueSet(lookups: [], elements: []) }
            var result = try values(of: first, in: results)
            for part in parts.dropFirst() {
                result = try result.intersection(try values(of: part, in: results))
            }
            return result
        }
    }

    /// The lookups whose outputs nothing uses: they must have a row, and take part in the join with it.
    private func existenceSets(_ results: [[LookupResult]]) -> [ValueSet] {
        let inputs = stages.joined().flatMap(\.inputs)
        let used = Set((instantiation + inputs).flatMap(\.usedLookups).map { [$0.stage, $0.position] })
        var sets: [ValueSet] = []
        for (stage, lookups) in results.enumerated() {
            for (position, result) in lookups.enumerated() where !used.contains([stage, position]) {
                sets.append(result.existence)
            }
        }
        return sets
    }
}
