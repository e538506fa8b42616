/// Checks that every position in a stored plan refers to something, so that running it cannot trap.
struct PlanValidation {
    /// The plan.
    let plan: SyncPlan

    /// Checks the plan.
    ///
    /// - Throws: ``SyncPlanError/corrupted(_:)``.
    func validate() throws(SyncPlanError) {
        for evaluator in plan.evaluators {
            let columns = evaluator.columns.compactMap { column in
                if case .expression(let expression, _) = column { expression } else { nil }
            }
            try validate(evaluator.filters + evaluator.partitionKeys + columns, functions: evaluator.functions.count)
            try validate(evaluator.functions.map(\.argument), functions: 0)
        }
        for index in plan.parameterIndexes {
            try validate(index.filters + index.keys + index.outputs, functions: index.functions.count)
            try validate(index.functions.map(\.argument), functions: 0)
            guard index.event == nil || index.keys.count == 2 && index.outputs.count == 1 && index.functions.isEmpty
            else {
                throw .corrupted("an event does not name a user, a client and a number")
            }
        }
        let scopes = plan.parameterIndexes.indices.map { plan.scope(of: ParameterIndex.ID(rawValue: $0)) }
        guard Set(scopes).count == scopes.count else { throw .corrupted("two parameter indexes share their entries") }
        for stream in plan.streams {
            for querier in stream.queriers { try validate(querier, of: stream.name) }
        }
    }

    private func validate(_ expressions: [PlanExpression], functions count: Int) throws(SyncPlanError) {
        for expression in expressions {
            let isWrong = expression.contains { part in
                if case .output(let function, _) = part { !(0..<count).contains(function) } else { false }
            }
            guard !isWrong else { throw .corrupted("an expression uses a function that does not exist") }
        }
    }

    private func validate(_ querier: Querier, of stream: String) throws(SyncPlanError) {
        guard plan.buckets.contains(id: querier.bucket) else {
            throw .corrupted("stream “\(stream)” uses a bucket that does not exist")
        }
        for (stage, lookups) in querier.stages.enumerated() {
            for lookup in lookups {
                switch lookup {
                case .index(let index, let inputs):
                    guard plan.parameterIndexes.contains(id: index),
                        plan.parameterIndexes[index.rawValue].keys.count == inputs.count
                    else {
                        throw .corrupted("stream “\(stream)” has a lookup that does not fit its index")
                    }
                    for input in inputs { try validate(input, in: querier.stages[..<stage], of: stream) }
                case .function(let lookup):
                    try validate(lookup.filters + lookup.outputs, functions: 1)
                    try validate([lookup.function.argument], functions: 0)
                }
            }
        }
        for value in querier.instantiation {
            try validate(value, in: querier.stages[...], of: stream)
        }
        for evaluator in plan.buckets[querier.bucket.rawValue].evaluators {
            guard plan.evaluators[evaluator.rawValue].partitionKeys.count == querier.instantiation.count else {
                throw .corrupted("stream “\(stream)” gives another number of values than its bucket has keys")
            }
        }
    }

    private func validate(
        _ value: ParameterValue,
        in stages: ArraySlice<[Lookup]>,
        of stream: String
    ) throws(SyncPlanError) {
        switch value {
        case .request:
            break
        case .lookup(let output):
            guard stages.indices.contains(output.stage), stages[output.stage].indices.contains(output.position),
                outputCount(of: stages[output.stage][output.position]) > output.output, output.output >= 0
            else {
                throw .corrupted("stream “\(stream)” uses a lookup that does not come before its use")
            }
        case .intersection(let parts):
            for part in parts { try validate(part, in: stages, of: stream) }
        }
    }

    private func outputCount(of lookup: Lookup) -> Int {
        switch lookup {
        case .index(let index, _): plan.parameterIndexes[index.rawValue].outputs.count
        case .function(let lookup): lookup.outputs.count
        }
    }
}
