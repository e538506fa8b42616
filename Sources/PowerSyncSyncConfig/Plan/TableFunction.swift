/// A function that turns a value into rows (docs/sync-config.md "The plan").
package struct TableFunction: Sendable, Hashable, Codable {
    /// Which function it is.
    package enum Kind: String, Sendable, Hashable, Codable {
        /// The elements of a JSON array, or the members of an object.
        case jsonEach = "json_each"
        /// The elements of a JSON array, and of nothing else: `IN` of bucket definitions.
        case arrayElements = "array_elements"

        /// Finds a function that queries can call by its folded name.
        static func named(_ name: String) -> Kind? { name == Kind.jsonEach.rawValue ? .jsonEach : nil }
    }

    /// The columns of the rows.
    package enum Column: String, Sendable, Hashable, Codable {
        /// The number of an element, or the name of a member.
        case key
        /// The element or the value of the member.
        case value
    }

    /// Which function it is.
    package var kind: Kind
    /// What it is applied to.
    package var argument: PlanExpression
}
