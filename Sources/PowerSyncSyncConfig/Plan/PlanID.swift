/// The position of an element in a plan: an evaluator is not a bucket definition, so neither are their positions.
package struct PlanID<Element>: RawRepresentable, Sendable, Hashable, Comparable {
    /// The position.
    package let rawValue: Int

    /// Creates an id from a position.
    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    package static func < (lhs: PlanID, rhs: PlanID) -> Bool { lhs.rawValue < rhs.rawValue }
}

extension PlanID: Codable {
    package init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int.self)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

extension PlanID: ExpressibleByIntegerLiteral {
    package init(integerLiteral value: Int) { self.init(rawValue: value) }
}

extension PlanID: CustomStringConvertible {
    package var description: String { String(rawValue) }
}

extension Array {
    /// The element at a position of the plan.
    package subscript(id: PlanID<Element>) -> Element { self[id.rawValue] }

    /// Whether the plan has an element at a position.
    func contains(id: PlanID<Element>) -> Bool { indices.contains(id.rawValue) }
}
