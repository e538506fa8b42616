/// The recipe that turns one subscription into bucket names (docs/sync-config.md "The plan").
package struct Querier: Sendable, Hashable, Codable {
    /// What must be true of the request.
    package var requestFilters: [PlanExpression]
    /// Lookups by stage.
    ///
    /// A lookup uses results of earlier stages only.
    package var stages: [[Lookup]]
    /// The bucket definition.
    package var bucket: BucketDefinition.ID
    /// One value for each partition key of the bucket, in the same order.
    package var instantiation: [ParameterValue]
    /// The priority of its buckets: 0 … 3; `nil` for that of the stream.
    package var priority: Int32?
    /// Whether values may be `NULL`, as in legacy parameter queries; otherwise there is no bucket then.
    package var keepsNull: Bool
}

/// Rows that a querier reads.
package enum Lookup: Sendable, Hashable {
    /// Rows of a parameter index, found by one value for each of its keys, in the same order.
    case index(ParameterIndex.ID, inputs: [ParameterValue])
    /// Rows of a function of the request.
    case function(FunctionLookup)
}

/// The rows of a table-valued function whose argument is part of the request.
package struct FunctionLookup: Sendable, Hashable, Codable {
    /// The function.
    package var function: TableFunction
    /// What must be true of a row.
    package var filters: [PlanExpression]
    /// The values of a row.
    package var outputs: [PlanExpression]
}

/// Where a partition key or the key of a lookup takes its values from.
package indirect enum ParameterValue: Sendable, Hashable {
    /// A value of the request.
    case request(PlanExpression)
    /// The results of a lookup.
    case lookup(LookupOutput)
    /// The values that all of the parts have in common.
    case intersection([ParameterValue])
}

/// One output of one lookup of a querier.
package struct LookupOutput: Sendable, Hashable, Codable {
    /// The stage of the lookup.
    package var stage: Int
    /// The position in the stage.
    package var position: Int
    /// Which output of the lookup.
    package var output: Int
}

/// The stored form: `{"index": 0, "inputs": […]}` or `{"function": …, "filters": …, "outputs": …}`.
extension Lookup: Codable {
    private enum CodingKeys: String, CodingKey {
        case index, inputs
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let index = try container.decodeIfPresent(ParameterIndex.ID.self, forKey: .index) {
            self = .index(index, inputs: try container.decode([ParameterValue].self, forKey: .inputs))
        } else {
            self = .function(try FunctionLookup(from: decoder))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .index(let index, let inputs):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(index, forKey: .index)
            try container.encode(inputs, forKey: .inputs)
        case .function(let lookup):
            try lookup.encode(to: encoder)
        }
    }
}

extension ParameterValue: Codable {
    private enum CodingKeys: String, CodingKey {
        case request, lookup, intersection
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if let expression = try container.decodeIfPresent(PlanExpression.self, forKey: .request) {
            self = .request(expression)
        } else if let output = try container.decodeIfPresent(LookupOutput.self, forKey: .lookup) {
            self = .lookup(output)
        } else {
            self = .intersection(try container.decode([ParameterValue].self, forKey: .intersection))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .request(let expression): try container.encode(expression, forKey: .request)
        case .lookup(let output): try container.encode(output, forKey: .lookup)
        case .intersection(let parts): try container.encode(parts, forKey: .intersection)
        }
    }
}
