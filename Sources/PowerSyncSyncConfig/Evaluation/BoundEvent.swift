package import PowerSyncProtocol

/// What a row of the source tells of the uploads of a client: those up to a number are in the source.
package struct ReleasedWriteCheckpoint: Sendable, Hashable {
    /// Where the number is looked up: the user and the client.
    package var lookup: ParameterLookup
    /// The number, at least 1.
    package var number: WriteCheckpoint

    /// Creates the content of an event.
    package init(lookup: ParameterLookup, number: WriteCheckpoint) {
        self.lookup = lookup
        self.number = number
    }
}

/// A payload of an event that is bound to the rows of one layout.
final class BoundEvent: Sendable {
    /// What it tells.
    let event: ParameterIndex.Event
    /// What its lookups begin with.
    private let scope: ParameterIndex.ID
    private let filters: [PlanExpression]
    private let user: PlanExpression
    private let client: PlanExpression
    private let number: PlanExpression

    /// Binds a payload.
    init(_ index: ParameterIndex, id: ParameterIndex.ID, binding: RowBinding) {
        event = index.event ?? .writeCheckpoints
        scope = index.scope ?? id
        filters = index.filters.bound(to: binding)
        let keys = index.keys.bound(to: binding)
        (user, client) = (keys[0], keys[1])
        number = index.outputs.bound(to: binding)[0]
    }

    /// What a row tells; `nil` when a condition does not hold.
    ///
    /// - Throws: ``EvaluationError``, `noEventValue` for the first column that has no usable value.
    func release(in input: EvaluationInput) throws(EvaluationError) -> ReleasedWriteCheckpoint? {
        guard try filters.hold(in: input) else { return nil }
        let user = try Self.name(user.evaluate(in: input), of: "user_id")
        let client = try Self.name(client.evaluate(in: input), of: "client_id")
        guard case .integer(let number) = try number.evaluate(in: input), number > 0 else {
            throw .noEventValue(column: "checkpoint")
        }
        let lookup = ParameterLookup(scope: scope, key: [.text(user), .text(client)])
        return ReleasedWriteCheckpoint(lookup: lookup, number: WriteCheckpoint(number))
    }

    /// The text of a user or a client: tokens and clients have texts, tables may have integers.
    private static func name(_ value: SQLValue, of column: String) throws(EvaluationError) -> String {
        switch value {
        case .text(let text): text
        case .integer(let number): String(number)
        case .null, .real, .blob: throw .noEventValue(column: column)
        }
    }
}

extension SyncPlan {
    /// Whether rows of the source tell when uploads are through, in place of the service's own write checkpoints.
    package var hasEvents: Bool { parameterIndexes.contains { $0.event != nil } }

    /// The names of the events, as the config has them, each once.
    package var eventNames: [String] {
        ParameterIndex.Event.allCases.filter { event in parameterIndexes.contains { $0.event == event } }.map(
            \.rawValue
        )
    }

    /// Where the write checkpoints of a client are looked up that rows of the source tell.
    ///
    /// - Parameters:
    ///   - userID: The `sub` claim of the client's token, as text.
    ///   - clientID: The id that the client sends, if any: without one there are none.
    /// - Returns: One lookup for each payload of an event, each with one row of one integer at most.
    package func writeCheckpointLookups(userID: String, clientID: String?) -> [ParameterLookup] {
        guard let clientID else { return [] }
        return parameterIndexes.indices.filter { parameterIndexes[$0].event != nil }.map { position in
            let scope = scope(of: ParameterIndex.ID(rawValue: position))
            return ParameterLookup(scope: scope, key: [.text(userID), .text(clientID)])
        }
    }
}
