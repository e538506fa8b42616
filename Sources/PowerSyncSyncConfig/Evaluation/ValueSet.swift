/// The values that a list of keys can take together, each with the lookup rows that it stands for.
///
/// This is a relation: `values` are the columns of interest, `rows` hold the row of each lookup in ``lookups`` that the
/// values come from, directly or through the key of another lookup. Joining two sets requires that they agree on every
/// lookup they share, so that in one combination every lookup stands for exactly one of its rows: the meaning of an SQL
/// join (docs/sync-config.md "Requests to buckets").
struct ValueSet {
    /// One combination.
    struct Element: Hashable {
        /// One value for each key; normalised.
        var values: [SQLValue]
        /// The number of the row of each of the set's lookups, in their order.
        var rows: [Int]
    }

    /// The lookups that the values come from, ascending.
    var lookups: [Int]
    /// The combinations, without repetitions.
    var elements: [Element]

    /// The set with one combination of no values: joining it changes nothing.
    static let unit = ValueSet(lookups: [], elements: [Element(values: [], rows: [])])

    /// The set with a single value that does not come from a lookup.
    static func constant(_ value: SQLValue) -> ValueSet {
        ValueSet(lookups: [], elements: [Element(values: [value], rows: [])])
    }
}

/// More combinations than are reasonable on the way to a result that has a limit.
struct TooManyCombinations: Error {
    /// How many there are at least.
    let count: Int
}

extension ValueSet {
    /// The most combinations that are held at once.
    ///
    /// Results are limited to far fewer; this bounds what is between.
    static let maximumCount = 250_000

    /// All combinations of an element of this set and an element of the other one that agree on shared lookups.
    ///
    /// Values of this set come first.
    ///
    /// - Complexity: O(elements of both sets and of the result).
    func joined(with other: ValueSet) throws(TooManyCombinations) -> ValueSet {
        try joined(with: other, isEquijoin: false)
    }

    /// The values that both sets have, where they agree on shared lookups.
    ///
    /// - Precondition: Both sets have one value in each element.
    func intersection(_ other: ValueSet) throws(TooManyCombinations) -> ValueSet {
        try joined(with: other, isEquijoin: true)
    }

    /// The set without the rows of lookups that nothing else refers to, and without repetitions.
    func projected(to needed: Set<Int>) -> ValueSet {
        let kept = lookups.indices.filter { needed.contains(lookups[$0]) }
        guard kept.count < lookups.count else { return self }
        var seen: Set<Element> = []
        let elements = elements.compactMap { element -> Element? in
            let projected = Element(values: element.values, rows: kept.map { element.rows[$0] })
            return seen.insert(projected).inserted ? projected : nil
        }
        return ValueSet(lookups: kept.map { lookups[$0] }, elements: elements)
    }

    private func joined(with other: ValueSet, isEquijoin: Bool) throws(TooManyCombinations) -> ValueSet {
        let shared = Set(lookups).intersection(other.lookups)
        let own = lookups.indices.filter { shared.contains(lookups[$0]) }
        let theirs = other.lookups.indices.filter { shared.contains(other.lookups[$0]) }
        let partners = Dictionary(grouping: other.elements) { element in
            Element(values: isEquijoin ? element.values : [], rows: theirs.map { element.rows[$0] })
        }
        let allLookups = Set(lookups).union(other.lookups).sorted()
        // Where each lookup's row comes from: this element, or the partner.
        let sources = allLookups.map { lookup in
            (own: lookups.firstIndex(of: lookup), theirs: other.lookups.firstIndex(of: lookup))
        }
        var elements: [Element] = []
        for element in self.elements {
            let match = Element(values: isEquijoin ? element.values : [], rows: own.map { element.rows[$0] })
            for partner in partners[match] ?? [] {
                guard elements.count < Self.maximumCount else { throw TooManyCombinations(count: elements.count) }
                let rows = sources.compactMap { source in
                    source.own.map { element.rows[$0] } ?? source.theirs.map { partner.rows[$0] }
                }
                elements.append(
                    Element(values: isEquijoin ? element.values : element.values + partner.values, rows: rows)
                )
            }
        }
        return ValueSet(lookups: allLookups, elements: elements)
    }

    /// The join of several sets, keeping only what the result needs.
    ///
    /// - Parameters:
    ///   - sets: The sets, whose values follow one another in the result.
    ///   - keepsRows: Whether the rows of the result matter. If not, lookups are dropped as soon as no other set
    ///     refers to them, which keeps independent sets small.
    /// - Returns: The combinations.
    /// - Throws: ``TooManyCombinations`` when there are more than ``maximumCount``.
    static func join(_ sets: [ValueSet], keepsRows: Bool) throws(TooManyCombinations) -> ValueSet {
        var result = ValueSet.unit
        for (position, set) in sets.enumerated() {
            guard !keepsRows else {
                result = try result.joined(with: set)
                continue
            }
            let later = Set(sets[(position + 1)...].flatMap(\.lookups))
            let reduced = set.projected(to: later.union(result.lookups))
            result = try result.joined(with: reduced).projected(to: later)
        }
        return result
    }
}
