package import PowerSyncAuth
import PowerSyncProtocol
package import PowerSyncSyncConfig

/// Where the write checkpoints of a client come from.
package enum WriteCheckpointOrigin: Sendable {
    /// The service counts them, under a key of the user and the client.
    case service(key: String)
    /// Rows of the source tell them: the numbers that the lookups give.
    case source([ParameterLookup])

    /// Where those of a client come from that is served with a plan.
    package init(_ plan: SyncPlan, _ token: VerifiedToken, clientID: String?) {
        self =
            plan.hasEvents
            ? .source(plan.writeCheckpointLookups(userID: token.userID, clientID: clientID))
            : .service(key: token.writeCheckpointKey(clientID: clientID))
    }
}

extension BucketStorage {
    /// The largest number that rows of the source have told, up to a checkpoint.
    ///
    /// - Returns: `nil` when there is none.
    func writeCheckpoint(
        _ lookups: [ParameterLookup],
        at checkpoint: StorageCheckpoint
    ) async throws -> WriteCheckpoint? {
        guard !lookups.isEmpty else { return nil }
        // A lookup has one row at most.
        let rows = try await parameterRows(lookups, at: checkpoint, limit: lookups.count)
        let numbers = rows.values.joined().compactMap { row -> Int64? in
            if case .integer(let number)? = row.values.first { number } else { nil }
        }
        return numbers.max().map { WriteCheckpoint($0) }
    }
}
