/// A parameter query of a legacy bucket definition with what it becomes.
struct ParameterQuery {
    /// The names of its columns, in their order.
    var names: [String]
    /// The values that the columns may have, by name.
    var types: [String: ValueTypes]
    /// One way to buckets for each `OR` branch, with values in the order of `names`.
    var ways: [PlannedWay]
    /// The place of the query.
    var range: Range<Int>

    /// The ways with values in the order of other names.
    func ways(orderedBy order: [String]) -> [PlannedWay] {
        let positions = order.compactMap { names.firstIndex(of: $0) }
        return ways.map { way in
            var way = way
            way.instantiation = positions.map { way.instantiation[$0] }
            return way
        }
    }
}

/// Compiles a parameter query: without `FROM`, from one table, or from `json_each()`.
struct ParameterQueryCompiler {
    private let options: BindingOptions
    private let sources: SQLSources
    private var binder: QueryBinder
    /// All findings.
    private(set) var problems: [SQLProblem] = []

    /// Creates a compiler for one query.
    init(options: BindingOptions, sources: SQLSources) {
        var options = options
        options.dialect = .parameterQuery
        self.options = options
        self.sources = sources
        binder = QueryBinder(options: options, sources: sources)
    }

    /// Compiles a query.
    ///
    /// - Returns: `nil` when there is an error.
    mutating func compile(_ text: SQLSources.Text, hasPriority: Bool) -> ParameterQuery? {
        // Without columns it says which users get the one bucket.
        let syntax = SQLParser.parse(text, as: .parameterQuery)
        problems = syntax.problems
        guard let select = syntax.select else { return nil }
        problems += select.legacyProblems
        for source in select.sources {
            if case .table = source.kind, let alias = source.alias {
                problems.append(
                    .legacy(
                        .legacyAlias,
                        "The table of a parameter query cannot have an alias.",
                        "Leave it out, and write the table's own name before columns.",
                        at: alias.range
                    )
                )
            }
        }
        _ = binder.openScope(for: select)
        var outputs: [(name: String, scalar: Scalar)] = []
        var priority: Int32?
        for column in select.columns {
            guard let output = output(column) else { continue }
            if output.name == "_priority" {
                readPriority(output.scalar, into: &priority, isSet: hasPriority || priority != nil)
            } else if outputs.contains(where: { $0.name == output.name }) {
                problems.append(
                    .legacy(.sqlDuplicateColumn, "Two columns are named “\(output.name)”.", at: column.range)
                )
            } else {
                outputs.append(output)
            }
        }
        let conditions = binder.bindConditions(select.conditions).map { $0.map(binder.resultSets.settled) }
        problems += binder.rootProblems
        var variants: [Variant] = []
        do throws(SQLProblem) {
            variants = try NormalForm.variants(of: .all(of: conditions), problems: &problems)
        } catch {
            problems.append(error)
        }
        problems = problems.asLegacy
        guard !problems.contains(where: { $0.severity == .error }) else { return nil }
        var ways: [PlannedWay] = []
        for variant in variants {
            guard var way = way(variant, outputs: outputs.map(\.scalar)) else { return nil }
            way.priority = priority
            ways.append(way)
        }
        checkBranches(ways, at: select.range)
        guard !problems.contains(where: { $0.severity == .error }) else { return nil }
        let types = Dictionary(outputs.map { ($0.name, binder.types(of: $0.scalar)) }) { first, _ in first }
        return ParameterQuery(names: outputs.map(\.name), types: types, ways: ways, range: select.range)
    }

    private mutating func output(_ column: SQLColumn) -> (name: String, scalar: Scalar)? {
        guard case .expression(let expression, let alias) = column.kind else {
            problems.append(.legacy(.sqlStarNotAllowed, "“*” is not allowed in a parameter query.", at: column.range))
            return nil
        }
        if let alias { binder.noteFolding(of: alias) }
        let (name, isText) = binder.name(of: expression, alias: alias)
        if isText {
            problems.append(
                .legacy(.legacyAliasRequired, "An expression needs a name.", "Write “AS name”.", at: column.range)
            )
            return nil
        }
        guard let scalar = binder.recovering({ binder throws(SQLProblem) in try binder.scalar(expression) }) else {
            return nil
        }
        return (name, binder.resultSets.settled(scalar))
    }

    private mutating func readPriority(_ scalar: Scalar, into priority: inout Int32?, isSet: Bool) {
        guard !isSet else {
            problems.append(.legacy(.legacyPriorityTwice, "The priority is set twice.", at: scalar.range))
            return
        }
        guard case .literal(.integer(let value)) = scalar.expression, (0...3).contains(value) else {
            problems.append(
                .legacy(.streamPriority, "“_priority” is a number from 0 (most urgent) to 3.", at: scalar.range)
            )
            return
        }
        priority = Int32(value)
    }

    /// `OR` branches must be found by the same values of the request.
    private mutating func checkBranches(_ ways: [PlannedWay], at range: Range<Int>) {
        let inputs = ways.map { way in
            Set(way.lookups.flatMap(\.inputs).flatMap(\.requestScalars).map(\.expression))
        }
        guard let first = inputs.first, inputs.contains(where: { $0 != first }) else { return }
        problems.append(
            .legacy(
                .legacyUnsupportedFilter,
                "Both sides of OR must use the same values of the request.",
                "Write several parameter queries.",
                at: range
            )
        )
    }
}

// MARK: - Ways

extension ParameterQueryCompiler {
    /// The way to buckets of one `OR` branch.
    private mutating func way(_ variant: Variant, outputs: [Scalar]) -> PlannedWay? {
        var way = PlannedWay()
        var filters: [PlanExpression] = []
        var keys: [(expression: PlanExpression, value: PlannedWay.Value)] = []
        var arrays = 0
        for term in variant {
            switch term {
            case .filter(let filter):
                switch filter.dependency {
                case nil, .request: way.requestFilters.append(filter)
                case .row: filters += filter.expression.conjuncts
                }
            case .match(let lhs, let rhs):
                guard let (row, other) = sides(lhs, rhs) else { return unsupported(lhs.range) }
                if row.usesFunction || other.usesFunction { arrays += 1 }
                guard let value = value(of: other, in: &way) else { return unsupported(other.range) }
                keys.append((row.expression, value))
            }
        }
        if arrays > 1, let range = variant.first?.range {
            problems.append(
                .legacy(.legacyTwoArrays, "At most one condition may use an array of the request.", at: range)
            )
            return nil
        }
        let source = binder.resultSets.first { set in
            if case .table = set.kind { true } else { set.isSource }
        }
        switch source?.kind {
        case nil:
            guard outputs.allSatisfy({ $0.dependency == nil || $0.dependency == .request }) else { return nil }
            way.instantiation = outputs.map(PlannedWay.Value.request)
        case .table(let pattern, _):
            return tableWay(way, pattern, filters: filters, keys: keys, outputs: outputs)
        case .function(let kind, let argument, _):
            guard keys.isEmpty else { return unsupported(argument.range) }
            return functionWay(way, kind, argument, filters: filters, outputs: outputs)
        }
        return way
    }

    private mutating func unsupported(_ range: Range<Int>) -> PlannedWay? {
        problems.append(
            .legacy(
                .legacyUnsupportedFilter,
                "A condition compares a column with a value of the request, or reads one of the two.",
                at: range
            )
        )
        return nil
    }

    /// The side that reads the row (or the elements of an array of it), and the other one.
    private func sides(_ lhs: Scalar, _ rhs: Scalar) -> (row: Scalar, other: Scalar)? {
        [(lhs, rhs), (rhs, lhs)].first { row, _ in
            guard case .row(let set) = row.dependency, case .table = binder.resultSets[set.rawValue].kind else {
                return false
            }
            return true
        }
    }

    /// A value of the request, or the elements of an array of it.
    private func value(of scalar: Scalar, in way: inout PlannedWay) -> PlannedWay.Value? {
        guard case .row(let set) = scalar.dependency else { return .request(scalar) }
        guard case .function(let kind, let argument, _) = binder.resultSets[set.rawValue].kind else { return nil }
        let lookup = FunctionLookup(
            function: TableFunction(kind: kind, argument: argument.expression),
            filters: [],
            outputs: [.output(0, .value)]
        )
        way.lookups.append(
            PlannedWay.Lookup(kind: .function(lookup, argument: argument), stage: 0, range: argument.range)
        )
        return .lookup(way.lookups.count - 1, output: 0)
    }

    private mutating func tableWay(
        _ way: PlannedWay,
        _ pattern: TablePattern,
        filters: [PlanExpression],
        keys: [(expression: PlanExpression, value: PlannedWay.Value)],
        outputs: [Scalar]
    ) -> PlannedWay? {
        var way = way
        var columns: [PlanExpression] = []
        let lookup = way.lookups.count
        for output in outputs {
            guard case .row = output.dependency else {
                way.instantiation.append(.request(output))
                continue
            }
            guard case .column = output.expression else {
                problems.append(
                    .legacy(
                        .legacyUnsupportedFilter,
                        "A column of a parameter query is a column of the table, or reads the request only.",
                        at: output.range
                    )
                )
                return nil
            }
            let position = columns.firstIndex(of: output.expression) ?? columns.count
            if position == columns.count { columns.append(output.expression) }
            way.instantiation.append(.lookup(lookup, output: position))
        }
        let functions = FunctionList(binder.resultSets, usedBy: filters + keys.map(\.expression))
        var values: [CanonicalText: (expression: PlanExpression, values: [PlannedWay.Value])] = [:]
        for key in keys {
            let expression = functions.numbered(key.expression)
            values[CanonicalText(expression), default: (expression, [])].values.append(key.value)
        }
        let ordered = values.sorted { $0.key < $1.key }.map(\.value)
        let index = ParameterIndex(
            table: pattern,
            functions: functions.functions,
            filters: filters.map(functions.numbered).sortedByStructure,
            keys: ordered.map(\.expression),
            outputs: columns,
            keepsNull: true
        )
        let inputs = ordered.map { $0.values.count == 1 ? $0.values[0] : PlannedWay.Value.intersection($0.values) }
        let stage = way.lookups.isEmpty ? 0 : 1
        let range = binder.resultSets.first?.range ?? 0..<0
        way.lookups.append(PlannedWay.Lookup(kind: .index(index, inputs: inputs), stage: stage, range: range))
        return way
    }

    private func functionWay(
        _ way: PlannedWay,
        _ kind: TableFunction.Kind,
        _ argument: Scalar,
        filters: [PlanExpression],
        outputs: [Scalar]
    ) -> PlannedWay {
        var way = way
        var columns: [PlanExpression] = []
        for output in outputs {
            guard case .row = output.dependency else {
                way.instantiation.append(.request(output))
                continue
            }
            way.instantiation.append(.lookup(0, output: columns.count))
            columns.append(output.expression.renumberingFunctions { _ in 0 })
        }
        let lookup = FunctionLookup(
            function: TableFunction(kind: kind, argument: argument.expression),
            filters: filters.map { $0.renumberingFunctions { _ in 0 } }.sortedByStructure,
            outputs: columns
        )
        way.lookups = [PlannedWay.Lookup(kind: .function(lookup, argument: argument), stage: 0, range: argument.range)]
        return way
    }
}

extension CanonicalQuery.ResultSet {
    /// Whether a function stands in `FROM`, and does not come from `IN`.
    fileprivate var isSource: Bool {
        if case .function(_, let argument, _) = kind { argument.range != range } else { true }
    }
}

extension Term {
    /// The place of the term.
    fileprivate var range: Range<Int> {
        switch self {
        case .filter(let scalar), .match(let scalar, _): scalar.range
        }
    }
}
