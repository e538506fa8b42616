/// The recipe that turns one subscription into bucket names (docs/sync-config.md "The plan").
package struct Querier: Sendable, Hashable, Codable {
    /// What must be true of the request.
    package var requestFilters: [PlanExpression]
    /// Lookups by stage.
    ///
    /// A lookup uses results of earlier stages only.
    package var stages: [[Lookup]]
    /// The bucket definition, by position in the plan.
    package var bucket: Int
    /// One value for each partition key of the bucket, in the same order.
    package var instantiation: [ParameterValue]
}

/// The use of a parameter index by a querier.
package struct Lookup: Sendable, Hashable, Codable {
    /// The index, by position in the plan.
    package var index: Int
    /// One value for each key of the index, in the same order.
    package var inputs: [ParameterValue]
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
    /// Which output of the index.
    package var output: Int
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
