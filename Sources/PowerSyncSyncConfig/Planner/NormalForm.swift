/// Brings a condition into disjunctive normal form and simplifies it (docs/sync-config.md "Compilation").
enum NormalForm {
    /// The largest number of conjunctions that an `AND` may multiply to.
    static let maximumConjunctions = 100

    /// A part of a condition without boolean structure.
    private struct Leaf {
        var content: Content
        var isNegated: Bool

        enum Content {
            case filter(Scalar)
            case equal(Scalar, Scalar, range: Range<Int>)
        }
    }

    /// The variants of a query.
    ///
    /// - Parameters:
    ///   - condition: The condition; none is one variant without terms. Its dependencies are settled.
    ///   - problems: Gets all terms that mix dependencies.
    /// - Returns: The conjunctions; without the terms that were reported.
    /// - Throws: `filter.too_complex`.
    static func variants(
        of condition: Condition?,
        problems: inout [SQLProblem]
    ) throws(SQLProblem) -> [Variant] {
        guard let condition else { return [[]] }
        guard let conjunctions = conjunctions(of: condition, isNegated: false) else {
            throw SQLProblem(
                code: .filterTooComplex,
                message: "The condition has more than \(maximumConjunctions) combinations of OR branches.",
                hint: "Split the query, combine fewer ORs with AND, or write “a IN ARRAY[…]” for “a = … OR a = …”.",
                range: condition.range
            )
        }
        var variants: [Variant] = []
        for conjunction in conjunctions {
            var terms: [Term] = []
            for leaf in conjunction {
                do throws(SQLProblem) {
                    let term = try term(leaf)
                    if let problem = term.constantProblem { problems.append(problem) }
                    terms.append(term)
                } catch {
                    problems.append(error)
                }
            }
            variants.append(merging(filtersOf: terms))
        }
        return merging(variants)
    }

    /// The disjunction of conjunctions, or `nil` when there would be too many.
    private static func conjunctions(of condition: Condition, isNegated: Bool) -> [[Leaf]]? {
        switch condition {
        case .not(let operand):
            return conjunctions(of: operand, isNegated: !isNegated)
        case .filter(let scalar):
            return [[Leaf(content: .filter(scalar), isNegated: isNegated)]]
        case .equal(let lhs, let rhs, let range):
            return [[Leaf(content: .equal(lhs, rhs, range: range), isNegated: isNegated)]]
        case .and(let terms):
            return isNegated
                ? union(of: terms, isNegated: isNegated) : product(of: terms, isNegated: isNegated)
        case .or(let terms):
            return isNegated
                ? product(of: terms, isNegated: isNegated) : union(of: terms, isNegated: isNegated)
        }
    }

    private static func union(of terms: [Condition], isNegated: Bool) -> [[Leaf]]? {
        var result: [[Leaf]] = []
        for term in terms {
            guard let branches = conjunctions(of: term, isNegated: isNegated) else { return nil }
            result += branches
        }
        return result
    }

    private static func product(of terms: [Condition], isNegated: Bool) -> [[Leaf]]? {
        var result: [[Leaf]] = [[]]
        for term in terms {
            guard let branches = conjunctions(of: term, isNegated: isNegated),
                result.count * branches.count <= maximumConjunctions
            else { return nil }
            result = result.flatMap { conjunction in branches.map { conjunction + $0 } }
        }
        return result
    }

    private static func term(_ leaf: Leaf) throws(SQLProblem) -> Term {
        let scalar: Scalar
        switch leaf.content {
        case .filter(let filter):
            scalar = leaf.isNegated ? filter.negated : filter
        case .equal(let lhs, let rhs, let range):
            let equal = Scalar.combining([lhs, rhs], range: range) { .call(.equal, $0) }
            if !leaf.isNegated, !equal.hasSingleDependency, lhs.hasSingleDependency, rhs.hasSingleDependency {
                return .match(lhs, rhs)
            }
            scalar = leaf.isNegated ? equal.negated : equal
        }
        guard scalar.hasSingleDependency else {
            throw SQLProblem(
                code: .filterMixedDependencies,
                message: "A condition reads one table or the request.",
                hint: "Only “=” may compare two of them, with one on each side, and not under NOT.",
                range: scalar.uses[1].range
            )
        }
        return .filter(scalar)
    }

    /// Merges the filters of a conjunction that read the same, in the place of the first.
    private static func merging(filtersOf terms: [Term]) -> Variant {
        var groups = FilterGroups()
        var others: [(position: Int, term: Term)] = []
        for (position, term) in terms.enumerated() {
            switch term {
            case .filter(let filter): groups.add(filter, at: position)
            case .match: others.append((position, term))
            }
        }
        let merged = groups.merged { .conjunction(of: $0) }.map {
            (position: $0.position, term: Term.filter($0.filter))
        }
        return (merged + others).sorted { $0.position < $1.position }.map(\.term)
    }

    /// Merges conjunctions that are a single filter on the same thing: fewer buckets.
    private static func merging(_ variants: [Variant]) -> [Variant] {
        var groups = FilterGroups()
        var others: [(position: Int, variant: Variant)] = []
        for (position, variant) in variants.enumerated() {
            // A function multiplies rows: without rows of it, not even the other branch would hold.
            if variant.count == 1, case .filter(let filter) = variant[0], !filter.usesFunction {
                groups.add(filter, at: position)
            } else {
                others.append((position, variant))
            }
        }
        let merged = groups.merged { .disjunction(of: $0) }.map {
            (position: $0.position, variant: [Term.filter($0.filter)])
        }
        return (merged + others).sorted { $0.position < $1.position }.map(\.variant)
    }
}

extension Term {
    /// What is wrong with a condition that reads nothing and is not true.
    fileprivate var constantProblem: SQLProblem? {
        guard case .filter(let filter) = self, filter.dependency == nil,
            let value = try? filter.expression.evaluate(in: EvaluationInput()), !value.isTrue
        else { return nil }
        return value == .null
            ? SQLProblem(
                code: .filterNull,
                message: "The condition is NULL, which is not true, whatever the rows and the request are.",
                hint: "Leave it out, or write “IS NULL”.",
                range: filter.range
            )
            : SQLProblem(code: .filterNever, message: "The condition is never true.", range: filter.range)
    }
}

/// Filters by what they read.
private struct FilterGroups {
    private var groups: [Dependency?: (position: Int, filters: [Scalar])] = [:]

    /// Adds a filter to its group, which has the position of its first filter.
    mutating func add(_ filter: Scalar, at position: Int) {
        groups[filter.dependency, default: (position, [])].filters.append(filter)
    }

    /// One filter for each group.
    func merged(
        as expression: ([PlanExpression]) -> PlanExpression
    ) -> [(position: Int, filter: Scalar)] {
        groups.values.map { group in
            let filter = Scalar.combining(group.filters, range: group.filters[0].range, as: expression)
            return (group.position, filter)
        }
    }
}
