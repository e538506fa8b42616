import PowerSyncSyncConfig

/// Finds the parameters that the queries of a stream read from its subscriptions, and what they are compared with.
struct StreamParameters {
    private let plan: SyncPlan
    private let source: [DeclaredTable]
    private var found: [String: ClientModel.Stream.Parameter] = [:]
    /// Parameters that are compared with values of more than one type.
    private var contradictory: Set<String> = []
    /// Whether the parameters are read as a whole, too.
    private(set) var readsAll = false

    init(_ plan: SyncPlan, source: [DeclaredTable]) {
        self.plan = plan
        self.source = source
    }

    /// The parameters in the order of their names.
    var parameters: [ClientModel.Stream.Parameter] {
        found.values.sorted { $0.name < $1.name }
    }

    /// Adds what a way to buckets reads.
    mutating func add(_ querier: Querier) {
        for filter in querier.requestFilters { add(filter) }
        let bucket = plan.buckets[querier.bucket]
        for (position, value) in querier.instantiation.enumerated() {
            let keys = bucket.evaluators.map { plan.evaluators[$0] }.map { evaluator in
                type(of: evaluator.partitionKeys[position], in: evaluator.table)
            }
            add(value, comparedWith: common(keys), querier)
        }
        for lookup in querier.stages.joined() {
            switch lookup {
            case .index(let id, let inputs):
                let index = plan.parameterIndexes[id]
                for (key, input) in zip(index.keys, inputs) {
                    add(input, comparedWith: type(of: key, in: index.table), querier)
                }
            case .function(let lookup):
                // What its elements are compared with is found where they are used.
                if lookup.function.argument.parameterName == nil { add(lookup.function.argument) }
                for expression in lookup.filters + lookup.outputs { add(expression) }
            }
        }
    }

    private mutating func add(_ value: ParameterValue, comparedWith type: DeclaredType?, _ querier: Querier) {
        switch value {
        case .request(let expression):
            if let name = expression.parameterName {
                note(name, type)
            } else {
                add(expression)
            }
        case .lookup(let output):
            guard case .function(let lookup) = querier.stages[output.stage][output.position],
                let name = lookup.function.argument.parameterName
            else { return }
            let isElement = lookup.outputs[output.output] == .output(0, .value)
            note(name, isElement ? type : nil, isArray: isElement)
        case .intersection(let parts):
            for part in parts { add(part, comparedWith: type, querier) }
        }
    }

    /// Looks for parameters in an expression of the request.
    private mutating func add(_ expression: PlanExpression, mayBeMissing: Bool = false) {
        if let name = expression.parameterName { return note(name, nil, isOptional: mayBeMissing) }
        switch expression {
        case .request(.subscription): readsAll = true
        case .call(let function, let operands):
            if [.equal, .unequal].contains(function), operands.count == 2 {
                let shapes = operands.map { $0.shape { _ in .unknown } }
                for (operand, other) in [(operands[0], shapes[1]), (operands[1], shapes[0])] {
                    if let name = operand.parameterName { note(name, other.type) } else { add(operand) }
                }
                return
            }
            if let type = function.castType, let name = operands.first?.parameterName { return note(name, type) }
            let isDefault = [.isNull, .ifnull, .coalesce].contains(function)
            for operand in operands { add(operand, mayBeMissing: isDefault) }
        default:
            for operand in expression.operands { add(operand) }
        }
    }

    private mutating func note(_ name: String, _ type: DeclaredType?, isArray: Bool = false, isOptional: Bool = false) {
        let type: DeclaredType? = type == .bytes ? nil : type
        var parameter = found[name] ?? ClientModel.Stream.Parameter(name: name, type: type, isArray: isArray)
        if parameter.type == nil, !contradictory.contains(name) { parameter.type = type }
        if let type, let known = parameter.type, known != type || parameter.isArray != isArray {
            parameter.type = nil
            contradictory.insert(name)
        }
        parameter.isArray = parameter.isArray || isArray
        parameter.isOptional = parameter.isOptional || isOptional
        found[name] = parameter
    }

    private func type(of expression: PlanExpression, in pattern: TablePattern) -> DeclaredType? {
        let tables = source.filter { pattern.matches($0.name, defaultSchema: plan.defaultSchema) }
        return common(
            tables.map { table in
                expression.shape { name in
                    // The name is all that is needed: whether a key may be NULL does not matter.
                    ValueShape(
                        type: table.column(name).map { DeclaredType(declaration: $0.type) },
                        isOptional: true
                    )
                }.type
            }
        )
    }

    private func common(_ types: [DeclaredType?]) -> DeclaredType? {
        guard let first = types.first, types.allSatisfy({ $0 == first }) else { return nil }
        return first
    }
}

extension PlanExpression {
    /// The name of the parameter, when the expression is one of the subscription: `subscription.parameter('list')`.
    fileprivate var parameterName: String? {
        guard case .call(let function, let operands) = self, operands.count == 2,
            [.memberValue, .splitMemberValue, .memberValue1].contains(function),
            operands[0] == .request(.subscription), case .literal(.text(let name)) = operands[1],
            // Paths reach into the parameters; what they need is not known.
            !name.hasPrefix("$")
        else { return nil }
        return name
    }
}

extension PlanFunction {
    fileprivate var castType: DeclaredType? {
        switch self {
        case .castText: .text
        case .castInteger: .integer
        case .castReal: .real
        default: nil
        }
    }
}
