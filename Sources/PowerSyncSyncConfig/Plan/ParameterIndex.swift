/// Turns rows of a source table into entries of an index that takes the place of a subquery
/// (docs/sync-config.md "The plan").
///
/// The scope of an index, which is part of every ``ParameterLookup``, is its position in the plan.
package struct ParameterIndex: Sendable, Hashable, Codable {
    /// The tables that are read.
    package var table: TablePattern
    /// The functions whose rows a source row is joined with.
    package var functions: [TableFunction]
    /// What must be true for a row to enter the index; in an order that depends on their structure only.
    package var filters: [PlanExpression]
    /// The values that rows are found by.
    package var keys: [PlanExpression]
    /// The values that a lookup returns.
    ///
    /// Empty when only the existence of a row matters.
    package var outputs: [PlanExpression]
    /// Whether outputs may be `NULL`, as in legacy parameter queries; otherwise such a row is left out.
    package var keepsNull: Bool

    /// The position of an index in a plan.
    package typealias ID = PlanID<ParameterIndex>
}
