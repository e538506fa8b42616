/// Turns rows of a source table into rows of buckets (docs/sync-config.md "The plan").
package struct RowEvaluator: Sendable, Hashable, Codable {
    /// The tables that are read.
    package var table: TablePattern
    /// What must be true for a row to be synced; in an order that depends on their structure only.
    package var filters: [PlanExpression]
    /// The values that choose the bucket, in the order of the bucket name.
    package var partitionKeys: [PlanExpression]
    /// The columns of the output row, in order.
    package var columns: [OutputColumn]
    /// The name of the table on clients, or `nil` for the name of the source table (wildcards).
    package var outputName: String?
}

/// One entry of a column list.
package enum OutputColumn: Sendable, Hashable {
    /// `*`: all columns of the row.
    case star
    /// An expression with its name.
    case expression(PlanExpression, name: String)
}

/// The stored form: `"*"`, or `{"expression": …, "name": "…"}`.
extension OutputColumn: Codable {
    private enum CodingKeys: String, CodingKey {
        case expression, name
    }

    package init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self), text == "*" {
            self = .star
            return
        }
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self = .expression(
            try container.decode(PlanExpression.self, forKey: .expression),
            name: try container.decode(String.self, forKey: .name)
        )
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .star:
            var container = encoder.singleValueContainer()
            try container.encode("*")
        case .expression(let expression, let name):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(expression, forKey: .expression)
            try container.encode(name, forKey: .name)
        }
    }
}
