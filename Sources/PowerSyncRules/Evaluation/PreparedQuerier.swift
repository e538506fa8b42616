import PowerSyncProtocol

/// A querier of the plan with the values of one subscription filled in: the part that does not change while a client is
/// connected.
struct PreparedQuerier: Sendable {
    /// Where a key takes its values from.
    indirect enum Value: Sendable {
        case constant(SQLiteValue)
        case lookup(LookupOutput)
        case intersection([Value])
    }

    /// A lookup with its inputs.
    struct PreparedLookup: Sendable {
        /// The scope of the parameter index.
        var scope: Int
        /// The number of values that a row of the index has.
        var outputCount: Int
        /// What the index reads, for logs.
        var table: String
        /// One value for each key.
        var inputs: [Value]
    }

    /// The name of the stream.
    var stream: String
    /// The priority of the buckets.
    var priority: Priority
    /// The subscription.
    var reason: BucketReason
    /// The name of the bucket definition.
    var definition: String
    /// Lookups by stage.
    var stages: [[PreparedLookup]]
    /// One value for each partition key.
    var instantiation: [Value]

    /// Whether the buckets depend on parameter indexes.
    var isDynamic: Bool { !stages.isEmpty }

    /// Evaluates what depends on the request only.
    ///
    /// - Returns: `nil` when this querier can never give a bucket: a request filter does not hold, or a value of the
    ///   request is missing.
    init?(
        _ querier: Querier,
        of plan: SyncPlan,
        stream: SyncPlan.Stream,
        priority: Priority,
        reason: BucketReason,
        request: RequestValues
    ) throws(EvaluationError) {
        let input = EvaluationInput.request(request)
        for filter in querier.requestFilters where try !filter.isTrue(in: input) { return nil }
        guard let instantiation = try Self.values(querier.instantiation, in: input) else { return nil }
        var stages: [[PreparedLookup]] = []
        for stage in querier.stages {
            var lookups: [PreparedLookup] = []
            for lookup in stage {
                guard let inputs = try Self.values(lookup.inputs, in: input) else { return nil }
                let index = plan.parameterIndexes[lookup.index]
                lookups.append(
                    PreparedLookup(
                        scope: lookup.index,
                        outputCount: index.outputs.count,
                        table: index.table.description,
                        inputs: inputs
                    )
                )
            }
            stages.append(lookups)
        }
        self.stream = stream.name
        self.priority = priority
        self.reason = reason
        self.definition = plan.buckets[querier.bucket].name
        self.stages = stages
        self.instantiation = instantiation
    }

    private static func values(
        _ values: [ParameterValue],
        in input: EvaluationInput
    ) throws(EvaluationError) -> [Value]? {
        var prepared: [Value] = []
        for value in values {
            switch value {
            case .request(let expression):
                guard let constant = try expression.evaluate(in: input).normalizedKey else { return nil }
                prepared.append(.constant(constant))
            case .lookup(let output):
                prepared.append(.lookup(output))
            case .intersection(let parts):
                guard let parts = try Self.values(parts, in: input) else { return nil }
                prepared.append(.intersection(parts))
            }
        }
        return prepared
    }
}

extension PreparedQuerier.Value {
    /// The lookups whose outputs the value uses directly.
    var usedLookups: [LookupOutput] {
        switch self {
        case .constant: []
        case .lookup(let output): [output]
        case .intersection(let parts): parts.flatMap(\.usedLookups)
        }
    }
}
