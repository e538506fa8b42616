/// A query of a plan: which rows of a source table are rows of which bucket (docs/sync-config.md "The plan").
package struct DataQuery: Sendable, Hashable, Codable {
    /// The tables that are read.
    package var table: TablePattern
    /// The functions whose rows a source row is joined with.
    package var functions: [TableFunction]
    /// What must be true for a row to be synced; in an order that depends on their structure only.
    package var filters: [PlanExpression]
    /// The values that choose the bucket, in the order of the bucket name.
    package var partitionKeys: [PlanExpression]
    /// The columns of the output row, in order.
    package var columns: [OutputColumn]
    /// The name of the table on clients, or `nil` for the name of the source table (wildcards).
    package var outputName: String?

    /// The position of an evaluator in a plan.
    package typealias ID = PlanID<DataQuery>
}

/// One entry of a column list.
package enum OutputColumn: Sendable, Hashable {
    /// `*`: all columns of the row.
    case star
    /// `*` of a legacy data query: without columns that begin with `_`, and without those that are in the row already.
    case legacyStar
    /// An expression with its name.
    case expression(PlanExpression, name: String)
}

/// The stored form: `"*"`, `"legacy *"`, or `{"expression": …, "name": "…"}`.
extension OutputColumn: Codable {
    private enum CodingKeys: String, CodingKey {
        case expression, name
    }

    private static let stars: [(text: String, column: OutputColumn)] = [("*", .star), ("legacy *", .legacyStar)]

    package init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self),
            let star = Self.stars.first(where: { $0.text == text })
        {
            self = star.column
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
        case .star, .legacyStar:
            var container = encoder.singleValueContainer()
            try container.encode(self == .star ? "*" : "legacy *")
        case .expression(let expression, let name):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(expression, forKey: .expression)
            try container.encode(name, forKey: .name)
        }
    }
}
