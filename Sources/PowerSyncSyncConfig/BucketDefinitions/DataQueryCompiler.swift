/// Compiles a data query of a legacy bucket definition to evaluators whose keys are the parameters.
struct DataQueryCompiler {
    private let options: BindingOptions
    private let sources: SQLSources
    private var binder: QueryBinder
    /// All findings.
    private(set) var problems: [SQLProblem] = []

    /// Creates a compiler for one query.
    init(options: BindingOptions, sources: SQLSources) {
        var options = options
        options.dialect = .dataQuery
        self.options = options
        self.sources = sources
        binder = QueryBinder(options: options, sources: sources)
    }

    /// Compiles a query.
    ///
    /// - Parameters:
    ///   - text: The query.
    ///   - parameters: The parameters of the definition in the order of bucket names; `nil` when they have errors.
    /// - Returns: One evaluator for each `OR` branch.
    mutating func compile(_ text: SQLSources.Text, parameters: [String]?) -> [DataQuery] {
        let syntax = SQLParser.parse(text, as: .dataQuery)
        problems = syntax.problems
        guard let select = syntax.select else { return [] }
        problems += select.legacyProblems
        if let source = select.sources.first, case .function = source.kind {
            problems.append(.legacy(.sqlUnsupportedClause, "A data query reads a table.", at: source.range))
        }
        let query = binder.bind(select, isComplete: syntax.problems.isEmpty)
        problems += binder.rootProblems.filter { $0.code != .fromUnused }
        guard let query else { return [] }
        if !hasErrors { checkID(query, select) }
        var variants: [Variant] = []
        do throws(SQLProblem) {
            variants = try NormalForm.variants(of: query.condition, problems: &problems)
        } catch {
            problems.append(error)
        }
        problems = problems.asLegacy
        guard !hasErrors, let parameters else { return [] }
        var evaluators: [DataQuery] = []
        var uses: [Set<String>] = []
        for variant in variants {
            guard let parts = parts(of: variant) else { return [] }
            uses.append(Set(parts.keys.map(\.name)))
            if let evaluator = evaluator(query, parts, parameters) { evaluators.append(evaluator) }
        }
        check(uses, parameters, at: select.range)
        return hasErrors ? [] : evaluators
    }

    private var hasErrors: Bool { problems.contains { $0.severity == .error } }

    private mutating func checkID(_ query: CanonicalQuery, _ select: SQLSelect) {
        guard let finding = RowIDCheck(query, from: select, in: sources).finding(schema: options.schema) else { return }
        var problem = SQLProblem.legacy(.legacyNoID, finding.message, finding.hint, at: select.columnRange)
        // A list is the config's own. What a table has may change, and the established service takes it.
        if !finding.isList { problem.severity = .warning }
        problems.append(problem)
    }

    private mutating func check(_ uses: [Set<String>], _ parameters: [String], at range: Range<Int>) {
        if let first = uses.first, uses.contains(where: { $0 != first }) {
            problems.append(
                .legacy(
                    .legacyUnsupportedFilter,
                    "Both sides of OR must use the same parameters.",
                    "Write several data queries.",
                    at: range
                )
            )
        } else if let first = uses.first, first != Set(parameters) {
            let missing = Set(parameters).subtracting(first).sorted().map { "bucket.\($0)" }
            let unknown = first.subtracting(parameters).sorted().map { "bucket.\($0)" }
            let what =
                missing.isEmpty
                ? "No parameter query returns \(unknown.joined(separator: ", "))."
                : "The query must compare something with \(missing.joined(separator: ", "))."
            problems.append(
                .legacy(
                    .legacyParametersNotCovered,
                    what,
                    "A data query uses all parameters of its definition, and no others.",
                    at: range
                )
            )
        }
    }
}

// MARK: - Branches

extension DataQueryCompiler {
    /// What one `OR` branch says.
    private struct Parts {
        var filters: [PlanExpression] = []
        /// The values that parameters must have, with repetitions.
        var keys: [(name: String, expression: PlanExpression)] = []
    }

    private mutating func parts(of variant: Variant) -> Parts? {
        var parts = Parts()
        var arrays = 0
        for term in variant {
            switch term {
            case .filter(let filter) where filter.dependency == .request:
                for conjunct in filter.expression.conjuncts {
                    guard let key = Self.key(conjunct) else { return unsupported(filter.range) }
                    parts.keys.append(key)
                }
            case .filter(let filter):
                parts.filters += filter.expression.conjuncts
            case .match(let lhs, let rhs):
                let (row, other) = lhs.dependency == .request ? (rhs, lhs) : (lhs, rhs)
                guard case .bucketParameter(let name) = other.expression, case .row = row.dependency else {
                    return unsupported(other.range)
                }
                if row.usesFunction { arrays += 1 }
                guard arrays <= 1 else {
                    problems.append(
                        .legacy(.legacyTwoArrays, "At most one condition may be “bucket.x IN array”.", at: row.range)
                    )
                    return nil
                }
                parts.keys.append((name, row.expression))
            }
        }
        return parts
    }

    /// A condition on parameters alone: `bucket.x`, or `bucket.x = constant`.
    private static func key(_ expression: PlanExpression) -> (name: String, expression: PlanExpression)? {
        switch expression {
        case .bucketParameter(let name):
            return (name, .literal(1))
        case .call(.equal, let operands):
            for (own, other) in [(operands[0], operands[1]), (operands[1], operands[0])] {
                guard case .bucketParameter(let name) = own else { continue }
                let readsParameter = other.contains { part in
                    if case .bucketParameter = part { true } else { false }
                }
                if !readsParameter { return (name, other) }
            }
            return nil
        default:
            return nil
        }
    }

    private mutating func unsupported(_ range: Range<Int>) -> Parts? {
        problems.append(
            .legacy(
                .legacyUnsupportedFilter,
                "A parameter can be used in “value = bucket.x”, “bucket.x IN array” and “bucket.x” only.",
                at: range
            )
        )
        return nil
    }

    private func evaluator(_ query: CanonicalQuery, _ parts: Parts, _ parameters: [String]) -> DataQuery? {
        guard case .table(let pattern, _) = query[query.output].kind else { return nil }
        let functions = FunctionList(query.resultSets, usedBy: parts.filters + parts.keys.map(\.expression))
        var filters = parts.filters
        var keys: [PlanExpression] = []
        for name in parameters {
            let values = parts.keys.filter { $0.name == name }.map(\.expression)
            guard let key = values.first else { return nil }
            keys.append(functions.numbered(key))
            // A parameter has one value: what it is compared with must be equal.
            filters += values.dropFirst().filter { $0 != key }.map { .call(.equal, [key, $0]) }
        }
        return DataQuery(
            table: pattern,
            functions: functions.functions,
            filters: filters.map(functions.numbered).sortedByStructure,
            partitionKeys: keys,
            columns: query.columns,
            outputName: query.outputName
        )
    }
}
