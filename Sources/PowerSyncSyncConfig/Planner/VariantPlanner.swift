/// Decides, for one variant, which columns of the output table become partition keys and where their values come from
/// (docs/sync-config.md "Compilation").
///
/// Starting at the output table, each equality with another side becomes a key of the table that is being resolved. When
/// the other side belongs to another table, that table gets a lookup, which is resolved in the same way. Lookups are
/// thus read from the side that is farther from the output table, and end at request values or nowhere. An equality with
/// a table that is itself being resolved (a circle) is left for that table, and becomes an output of the inner lookup.
///
/// Where that reads a table whole, the lookups are read from the request outwards instead, as far as equalities lead: of
/// expressions that are equal each table is found by one that is known already.
struct VariantPlanner {
    private let query: CanonicalQuery
    private let terms: Variant
    private var isUsed: [Bool]
    /// The tables that are being resolved.
    private var stack: [ResultSetID] = []
    /// The finished lookups, in the order in which they were finished.
    private var lookups: [(set: ResultSetID, resolved: Resolved, outputs: [PlanExpression])] = []

    /// What is known about a table.
    private struct Resolved {
        var filters: [PlanExpression] = []
        var keys: [Key] = []

        struct Key {
            var expression: PlanExpression
            var values: [PlannedWay.Value]
        }

        /// Adds a value that an expression must have.
        mutating func add(_ value: PlannedWay.Value, for expression: PlanExpression) {
            guard let key = keys.firstIndex(where: { $0.expression == expression }) else {
                keys.append(Key(expression: expression, values: [value]))
                return
            }
            if !keys[key].values.contains(where: { $0.isSame(as: value) }) { keys[key].values.append(value) }
        }
    }

    /// Plans a variant.
    ///
    /// - Throws: `filter.unrelated` or `tvf.partitioned`.
    static func plan(_ variant: Variant, of query: CanonicalQuery) throws(SQLProblem) -> PlannedVariant {
        let isUsed = Array(repeating: false, count: variant.count)
        var planner = VariantPlanner(query: query, terms: variant, isUsed: isUsed)
        let output = planner.resolve(query.output)
        planner.addExistenceLookups()
        let planned = try planner.planned(output)
        guard !planned.way.unboundedTables.isEmpty else { return planned }
        planner = VariantPlanner(query: query, terms: variant, isUsed: isUsed)
        let reorderedOutput = planner.resolveFromRequest()
        let reordered = try planner.planned(reorderedOutput)
        return reordered.way.unboundedTables.count < planned.way.unboundedTables.count ? reordered : planned
    }

    private init(query: CanonicalQuery, terms: Variant, isUsed: [Bool]) {
        self.query = query
        self.terms = terms
        self.isUsed = isUsed
    }

    /// What comes out once the output table is resolved.
    private func planned(_ output: Resolved) throws(SQLProblem) -> PlannedVariant {
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
        guard case .table(let pattern, _) = query[query.output].kind else {
            preconditionFailure("the output of a query is a table, not \(query[query.output].kind)")
        }
        let parts = assemble(query.output, output, outputs: [])
        return PlannedVariant(
            evaluator: DataQuery(
                table: pattern,
                functions: parts.functions,
                filters: parts.filters,
                partitionKeys: parts.keys,
                columns: query.columns,
                outputName: query.outputName
            ),
            way: PlannedWay(
                lookups: try finishedLookups(),
                instantiation: parts.values,
                requestFilters: requestFilters
            )
        )
    }

    /// Collects the filters and keys of a table, and makes the lookups that its keys need.
    private mutating func resolve(_ set: ResultSetID) -> Resolved {
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
                resolved.add(value(of: other), for: own.expression)
            }
        }
        return resolved
    }

    private static func sides(_ lhs: Scalar, _ rhs: Scalar, of set: ResultSetID) -> (own: Scalar, other: Scalar)? {
        if lhs.dependency == .row(set) { return (lhs, rhs) }
        if rhs.dependency == .row(set) { return (rhs, lhs) }
        return nil
    }

    private mutating func value(of scalar: Scalar) -> PlannedWay.Value {
        guard case .row(let set) = scalar.dependency else { return .request(scalar) }
        return output(scalar.expression, of: lookup(for: set))
    }

    /// An output of a lookup, which is added if it is new.
    private mutating func output(_ expression: PlanExpression, of lookup: Int) -> PlannedWay.Value {
        if let output = lookups[lookup].outputs.firstIndex(of: expression) { return .lookup(lookup, output: output) }
        lookups[lookup].outputs.append(expression)
        return .lookup(lookup, output: lookups[lookup].outputs.count - 1)
    }

    /// The lookup of a table that is not being resolved.
    private mutating func lookup(for set: ResultSetID) -> Int {
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

    private func finishedLookups() throws(SQLProblem) -> [PlannedWay.Lookup] {
        var finished: [PlannedWay.Lookup] = []
        for lookup in lookups {
            let set = query[lookup.set]
            switch set.kind {
            case .table(let pattern, _):
                let parts = assemble(lookup.set, lookup.resolved, outputs: lookup.outputs)
                let index = ParameterIndex(
                    table: pattern,
                    functions: parts.functions,
                    filters: parts.filters,
                    keys: parts.keys,
                    outputs: parts.outputs,
                    keepsNull: false
                )
                let earlier = parts.values.flatMap(\.lookups).map { finished[$0].stage }
                finished.append(
                    PlannedWay.Lookup(
                        kind: .index(index, inputs: parts.values),
                        stage: earlier.max().map { $0 + 1 } ?? 0,
                        range: set.range
                    )
                )
            case .function(let kind, let argument, _):
                guard lookup.resolved.keys.isEmpty else {
                    throw SQLProblem(
                        code: .functionPartitioned,
                        message: "Rows of a function of the request cannot be found by other values.",
                        hint: "Compare its columns with columns of the table that is synced.",
                        range: set.range
                    )
                }
                let function = FunctionLookup(
                    function: TableFunction(kind: kind, argument: argument.expression),
                    filters: lookup.resolved.filters.map { $0.renumberingFunctions { _ in 0 } }.sortedByStructure,
                    outputs: lookup.outputs.map { $0.renumberingFunctions { _ in 0 } }
                )
                finished.append(
                    PlannedWay.Lookup(kind: .function(function, argument: argument), stage: 0, range: set.range)
                )
            }
        }
        return finished
    }
}

// MARK: - From the request outwards

extension VariantPlanner {
    /// Resolves all tables, beginning with those that the request leads to, and the output table last.
    ///
    /// - Returns: The output table.
    private mutating func resolveFromRequest() -> Resolved {
        var equalities = Equalities(of: terms)
        var filters: [ResultSetID: [PlanExpression]] = [:]
        for (index, term) in terms.enumerated() {
            switch term {
            case .match: isUsed[index] = true
            case .filter(let filter):
                guard case .row(let set) = filter.dependency else { continue }
                isUsed[index] = true
                filters[set, default: []] += filter.expression.conjuncts
            }
        }
        let sets = Set(filters.keys).union(equalities.resultSets).subtracting([query.output])
        let isRequested = sets.filter { query.resultSets.table(of: $0) == nil }
        for set in equalities.order(of: sets, after: isRequested) + [query.output] {
            var resolved = Resolved(filters: filters[set] ?? [])
            for group in equalities.groups.indices {
                let own = equalities.groups[group].expressions(of: set)
                guard let first = own.first else { continue }
                // Functions of the request are found by nothing: what is equal to them is found by them.
                let values = isRequested.contains(set) ? [] : known(equalities.groups[group])
                for value in values { resolved.add(value, for: first) }
                for other in own.dropFirst() {
                    let isEqual = PlanExpression.call(.equal, [first, other])
                    if !resolved.filters.contains(isEqual) { resolved.filters.append(isEqual) }
                }
                if values.isEmpty, set != query.output {
                    equalities.groups[group].sources.append((lookups.count, first))
                }
            }
            guard set != query.output else { return resolved }
            lookups.append((set, resolved, []))
        }
        preconditionFailure("the output table is the last one")
    }

    /// The values that all members of a group are equal to: of the request, and of lookups.
    private mutating func known(_ group: Equalities.Group) -> [PlannedWay.Value] {
        group.requests.map(PlannedWay.Value.request) + group.sources.map { output($0.expression, of: $0.lookup) }
    }
}

// MARK: - Order

extension VariantPlanner {
    /// What is read from a table, with its functions numbered from 0, in an order that depends on the structure only, so
    /// that equal keys of several tables meet.
    private func assemble(_ set: ResultSetID, _ resolved: Resolved, outputs: [PlanExpression]) -> TableParts {
        let functions = FunctionList(
            query.resultSets,
            usedBy: resolved.filters + resolved.keys.map(\.expression) + outputs
        )
        let keys = resolved.keys.map { key in
            let expression = functions.numbered(key.expression)
            return (expression: expression, text: CanonicalText(expression), values: key.values)
        }.sorted { $0.text < $1.text }
        return TableParts(
            functions: functions.functions,
            filters: resolved.filters.map(functions.numbered).sortedByStructure,
            keys: keys.map(\.expression),
            values: keys.map { $0.values.count == 1 ? $0.values[0] : .intersection($0.values) },
            outputs: outputs.map(functions.numbered)
        )
    }

    private struct TableParts {
        var functions: [TableFunction]
        var filters: [PlanExpression]
        var keys: [PlanExpression]
        var values: [PlannedWay.Value]
        var outputs: [PlanExpression]
    }
}

extension PlannedWay.Value {
    /// The lookups that the value uses directly.
    fileprivate var lookups: [Int] {
        switch self {
        case .request: []
        case .lookup(let lookup, _): [lookup]
        case .intersection(let parts): parts.flatMap(\.lookups)
        }
    }

    /// Whether two values are the same by structure.
    fileprivate func isSame(as other: PlannedWay.Value) -> Bool {
        switch (self, other) {
        case (.request(let lhs), .request(let rhs)): lhs.expression == rhs.expression
        case (.lookup(let lhs, let lhsOutput), .lookup(let rhs, let rhsOutput)): lhs == rhs && lhsOutput == rhsOutput
        default: false
        }
    }
}
