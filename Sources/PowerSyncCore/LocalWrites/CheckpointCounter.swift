package import GRDB
package import PowerSyncProtocol

/// The numbers that this client gives to checkpoint requests (docs/client-sync.md "Checkpoint requests").
///
/// The counter is `last_requested_checkpoint_request_id` of `ps_kv`. It has no meaning before it was agreed on with the
/// service, once for each stream.
package enum CheckpointCounter {
    /// What to offer to the service: the newest number that was given, or that local writes wait for; at least 1.
    package static func initial(_ db: Database) throws -> WriteCheckpoint {
        let target = try LocalWriteGate.target(db).flatMap { $0 == LocalWriteGate.pendingTarget ? nil : $0.rawValue }
        return WriteCheckpoint(max(try current(db)?.rawValue ?? 0, target ?? 0, 1))
    }

    /// Stores what the service answered, which may be more or less than what was offered.
    package static func set(_ db: Database, _ id: WriteCheckpoint) throws {
        try KeyValueStore.set(db, .lastRequestedCheckpoint, to: id.rawValue)
    }

    /// The newest number that was given; `nil` when there is none.
    package static func current(_ db: Database) throws -> WriteCheckpoint? {
        try KeyValueStore.integer(db, .lastRequestedCheckpoint).map { WriteCheckpoint($0) }
    }

    /// Gives the next number.
    ///
    /// - Throws: ``LocalDatabaseError`` when there is no greater number; GRDB's `DatabaseError`.
    package static func next(_ db: Database) throws -> WriteCheckpoint {
        let (next, overflow) = (try current(db)?.rawValue ?? 0).addingReportingOverflow(1)
        // The greatest number says that a write waits for its number.
        guard !overflow, next < LocalWriteGate.pendingTarget.rawValue else {
            throw LocalDatabaseError(.corruptLocalData, "ps_kv has no room for another checkpoint request")
        }
        try set(db, WriteCheckpoint(next))
        return WriteCheckpoint(next)
    }
}
