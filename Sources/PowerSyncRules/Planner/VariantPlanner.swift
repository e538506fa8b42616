/// Decides, for one variant, which columns of the output table become partition keys and where their values come from
/// (docs/sync-config.md "Compilation").
///
/// Starting at the output table, each equality with another side becomes a key of the table that is being resolved. When
/// the other side belongs to another table, that table gets a lookup, which is resolved in the same way. Lookups are
/// thus read from the side that is farther from the output table, and end at request values or nowhere. An equality with
/// a table that is itself being resolved (a circle) is left for that table, and becomes an output of the inner lookup.
struct VariantPlanner {
    private let query: CanonicalQuery
    private let terms: Variant
    private var isUsed: [Bool]
    /// The tables that are being resolved.
    private var stack: [Int] = []
    /// The finished lookups, in the order in which they were finished.
    private var lookups: [(set: Int, resolved: Resolved, outputs: [PlanExpression])] = []

    /// What is known about a table.
    private struct Resolved {
        var filters: [PlanExpression] = []
        var keys: [Key] = []

        struct Key {
            var expression: PlanExpression
            var values: [PlannedVariant.Value]
        }
    }

    /// Plans a variant.
    ///
    /// - Throws: `filter.unrelated`.
    static func plan(_ variant: Variant, of query: CanonicalQuery) throws(SQLProblem) -> PlannedVariant {
        var planner = VariantPlanner(
            query: query,
            terms: variant,
            isUsed: Array(repeating: false, count: variant.count)
        )
        return try planner.plan()
    }

    private init(query: CanonicalQuery, terms: Variant, isUsed: [Bool]) {
        self.query = query
        self.terms = terms
        self.isUsed = isUsed
    }

    private mutating func plan() throws(SQLProblem) -> PlannedVariant {
        let output = resolve(query.output)
        addExistenceLookups()
        var requestFilters: [Scalar] = []
        for (index, term) in terms.enumerated() where !isUsed[index] {
            switch term {
            case .filter(let filter) where filter.dependency == nil || filter.dependency == .request:
                requestFilters.append(filter)
            case .filter(let scalar), .match(let scalar, _):
                throw SQLProblem(
                    code: .filterUnrelated,
                    message: "The condition is connected neither to the output table nor to the request.",
                    range: scalar.range
                )
            }
        }
        let (keys, instantiation) = ordered(output.keys)
        return PlannedVariant(
            evaluator: RowEvaluator(
                table: query.resultSets[query.output].pattern,
                filters: output.filters.sortedByStructure,
                partitionKeys: keys,
                columns: query.columns,
                outputName: query.outputName
            ),
            lookups: finishedLookups(),
            instantiation: instantiation,
            requestFilters: requestFilters
        )
    }

    /// Collects the filters and keys of a table, and makes the lookups that its keys need.
    private mutating func resolve(_ set: Int) -> Resolved {
        stack.append(set)
        defer { stack.removeLast() }
        var resolved = Resolved()
        for (index, term) in terms.enumerated() where !isUsed[index] {
            switch term {
            case .filter(let filter):
                guard filter.dependency == .row(set) else { continue }
                isUsed[index] = true
                resolved.filters += filter.expression.conjuncts
            case .match(let lhs, let rhs):
                guard let (own, other) = Self.sides(lhs, rhs, of: set) else { continue }
                if case .row(let otherSet) = other.dependency, stack.contains(otherSet) { continue }
                isUsed[index] = true
                let value = value(of: other)
                if let key = resolved.keys.firstIndex(where: { $0.expression == own.expression }) {
                    if !resolved.keys[key].values.contains(where: { $0.isSame(as: value) }) {
                        resolved.keys[key].values.append(value)
                    }
                } else {
                    resolved.keys.append(Resolved.Key(expression: own.expression, values: [value]))
                }
            }
        }
        return resolved
    }

    private static func sides(_ lhs: Scalar, _ rhs: Scalar, of set: Int) -> (own: Scalar, other: Scalar)? {
        if lhs.dependency == .row(set) { return (lhs, rhs) }
        if rhs.dependency == .row(set) { return (rhs, lhs) }
        return nil
    }

    private mutating func value(of scalar: Scalar) -> PlannedVariant.Value {
        guard case .row(let set) = scalar.dependency else { return .request(scalar) }
        let lookup = lookup(for: set)
        if let output = lookups[lookup].outputs.firstIndex(of: scalar.expression) {
            return .lookup(lookup, output: output)
        }
        lookups[lookup].outputs.append(scalar.expression)
        return .lookup(lookup, output: lookups[lookup].outputs.count - 1)
    }

    /// The lookup of a table that is not being resolved.
    private mutating func lookup(for set: Int) -> Int {
        if let existing = lookups.firstIndex(where: { $0.set == set }) { return existing }
        let resolved = resolve(set)
        lookups.append((set, resolved, []))
        return lookups.count - 1
    }

    /// Makes lookups for conditions on tables that the output table does not depend on.
    ///
    /// Only the existence of a row matters there.
    private mutating func addExistenceLookups() {
        for (index, term) in terms.enumerated() where !isUsed[index] {
            switch term {
            case .filter(let filter):
                if case .row(let set) = filter.dependency { _ = lookup(for: set) }
            case .match(let lhs, let rhs):
                guard lhs.dependency == .request || rhs.dependency == .request else { continue }
                for side in [lhs, rhs] {
                    if case .row(let set) = side.dependency { _ = lookup(for: set) }
                }
            }
        }
    }

    private func finishedLookups() -> [PlannedVariant.Lookup] {
        var finished: [PlannedVariant.Lookup] = []
        for lookup in lookups {
            let (keys, inputs) = ordered(lookup.resolved.keys)
            let index = ParameterIndex(
                table: query.resultSets[lookup.set].pattern,
                filters: lookup.resolved.filters.sortedByStructure,
                keys: keys,
                outputs: lookup.outputs
            )
            let earlier = inputs.flatMap(\.lookups).map { finished[$0].stage }
            finished.append(
                PlannedVariant.Lookup(
                    index: index,
                    inputs: inputs,
                    stage: earlier.max().map { $0 + 1 } ?? 0,
                    range: query.resultSets[lookup.set].range
                )
            )
        }
        return finished
    }

    /// Keys in an order that depends on their structure only, so that equal keys of several tables meet.
    private func ordered(_ keys: [Resolved.Key]) -> (keys: [PlanExpression], values: [PlannedVariant.Value]) {
        let sorted = keys.sorted { $0.expression.precedes($1.expression) }
        let values = sorted.map { $0.values.count == 1 ? $0.values[0] : .intersection($0.values) }
        return (sorted.map(\.expression), values)
    }
}

extension PlanExpression {
    /// Whether the expression comes before another one in the order of keys.
    fileprivate func precedes(_ other: PlanExpression) -> Bool {
        description.utf8.lexicographicallyPrecedes(other.description.utf8)
    }
}

extension [PlanExpression] {
    /// The expressions without repetitions, in an order that depends on their structure only.
    var sortedByStructure: [PlanExpression] {
        var seen: Set<PlanExpression> = []
        return filter { seen.insert($0).inserted }.sorted { $0.precedes($1) }
    }
}

extension PlannedVariant.Value {
    /// The lookups that the value uses directly.
    fileprivate var lookups: [Int] {
        switch self {
        case .request: []
        case .lookup(let lookup, _): [lookup]
        case .intersection(let parts): parts.flatMap(\.lookups)
        }
    }

    /// Whether two values are the same by structure.
    fileprivate func isSame(as other: PlannedVariant.Value) -> Bool {
        switch (self, other) {
        case (.request(let lhs), .request(let rhs)): lhs.expression == rhs.expression
        case (.lookup(let lhs, let lhsOutput), .lookup(let rhs, let rhsOutput)): lhs == rhs && lhsOutput == rhsOutput
        default: false
        }
    }
}
