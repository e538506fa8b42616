/// Turns rows of a source table into entries of an index that takes the place of a subquery
/// (docs/sync-config.md "The plan").
///
/// The scope of an index is part of every ``ParameterLookup``.
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
    /// The scope, if it is not the position in the plan: entries of an index that an earlier config had, too, keep theirs
    /// (``PlanContinuation``).
    package var scope: ParameterIndex.ID?
    /// What a row tells the service, if the index is a payload of an event and no lookup of a query: ``keys`` are the user and the
    /// client then, and the one output is the number.
    package var event: Event?

    /// An event that rows of the source tell the service (docs/sync-config.md "Events").
    package enum Event: String, Sendable, Hashable, Codable, CaseIterable {
        /// The uploads of a client up to a number, which the back end has chosen, are in the source.
        case writeCheckpoints = "write_checkpoints"
        /// The same for numbers that the client has chosen.
        case checkpointRequests = "checkpoint_requests"
    }

    /// The position of an index in a plan.
    package typealias ID = PlanID<ParameterIndex>
}

extension SyncPlan {
    /// What lookups in an index begin with.
    func scope(of index: ParameterIndex.ID) -> ParameterIndex.ID { parameterIndexes[index].scope ?? index }

    /// What the texts of lookups in the indexes begin with, before the values.
    package var lookupScopes: [String] {
        parameterIndexes.indices.map { String(scope(of: ParameterIndex.ID(rawValue: $0)).rawValue) }
    }
}
