import PowerSyncProtocol

/// A querier of the plan with the values of one subscription filled in: the part that does not change while a client is
/// connected.
struct PreparedQuerier: Sendable {
    /// Where a key takes its values from.
    indirect enum Value: Sendable {
        case constant(SQLValue)
        case lookup(LookupOutput)
        case intersection([Value])
    }

    /// Rows that the querier reads.
    enum PreparedLookup: Sendable {
        /// Rows of a parameter index.
        case index(IndexLookup)
        /// Rows that depend on the request only.
        case rows([ParameterRow])
    }

    /// A lookup in a parameter index with its inputs.
    struct IndexLookup: Sendable {
        /// The scope of the parameter index.
        var scope: ParameterIndex.ID
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

    /// Whether values may be `NULL`.
    var keepsNull: Bool

    /// The place of its subscription in the request; `nil` for what clients get without subscribing.
    var subscription: Int? {
        if case .subscription(let index) = reason { index } else { nil }
    }

    /// Whether the buckets depend on parameter indexes.
    var isDynamic: Bool {
        stages.joined().contains { lookup in
            if case .index = lookup { true } else { false }
        }
    }

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
        evaluation: inout RequestEvaluation
    ) throws(EvaluationError) {
        guard try evaluation.hold(querier.requestFilters) else { return nil }
        let keepsNull = querier.keepsNull
        guard let instantiation = try Self.values(querier.instantiation, keepsNull: keepsNull, &evaluation) else {
            return nil
        }
        var stages: [[PreparedLookup]] = []
        for stage in querier.stages {
            var lookups: [PreparedLookup] = []
            for lookup in stage {
                guard let lookup = try Self.prepare(lookup, of: plan, keepsNull: keepsNull, &evaluation) else {
                    return nil
                }
                lookups.append(lookup)
            }
            stages.append(lookups)
        }
        self.stream = stream.name
        self.priority = priority
        self.reason = reason
        self.definition = plan.buckets[querier.bucket.rawValue].name
        self.stages = stages
        self.instantiation = instantiation
        self.keepsNull = keepsNull
    }

    /// A lookup with what is known about the request, or `nil` when it never has a row.
    private static func prepare(
        _ lookup: Lookup,
        of plan: SyncPlan,
        keepsNull: Bool,
        _ evaluation: inout RequestEvaluation
    ) throws(EvaluationError) -> PreparedLookup? {
        switch lookup {
        case .index(let id, let inputs):
            // A key that is NULL finds nothing, whatever becomes of values that are NULL.
            guard let inputs = try values(inputs, keepsNull: false, &evaluation) else { return nil }
            let index = plan.parameterIndexes[id.rawValue]
            return .index(
                IndexLookup(
                    scope: plan.scope(of: id),
                    outputCount: index.outputs.count,
                    table: index.table.description,
                    inputs: inputs
                )
            )
        case .function(let lookup):
            let rows = try evaluation.rows(of: lookup, keepsNull: keepsNull)
            return rows.isEmpty ? nil : .rows(rows)
        }
    }

    private static func values(
        _ values: [ParameterValue],
        keepsNull: Bool,
        _ evaluation: inout RequestEvaluation
    ) throws(EvaluationError) -> [Value]? {
        var prepared: [Value] = []
        for value in values {
            switch value {
            case .request(let expression):
                guard let key = try evaluation.key(expression, keepsNull: keepsNull) else { return nil }
                prepared.append(.constant(key))
            case .lookup(let output):
                prepared.append(.lookup(output))
            case .intersection(let parts):
                guard let parts = try Self.values(parts, keepsNull: keepsNull, &evaluation) else { return nil }
                prepared.append(.intersection(parts))
            }
        }
        return prepared
    }
}

extension PreparedQuerier.PreparedLookup {
    /// Where the keys come from.
    var inputs: [PreparedQuerier.Value] {
        if case .index(let lookup) = self { lookup.inputs } else { [] }
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
