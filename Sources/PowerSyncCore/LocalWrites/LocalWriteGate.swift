package import GRDB
package import PowerSyncProtocol

/// Keeps downloaded checkpoints from being published while local writes are under way
/// (docs/client-sync.md "Local write gate").
///
/// A local write sets the *target* to ``pendingTarget``. Once the queue was uploaded, the target becomes the write
/// checkpoint that the service returned, and the gate opens when a checkpoint reports at least that number. Priority 0
/// passes always; that is the engine's decision.
package enum LocalWriteGate {
    /// The target while no write checkpoint covers the local writes: 2^63 − 1.
    package static let pendingTarget = WriteCheckpoint(.max)

    /// What must be seen before checkpoints are published; `nil` when there is nothing to wait for.
    package static func target(_ db: Database) throws -> WriteCheckpoint? {
        try KeyValueStore.integer(db, .targetWriteCheckpoint).map { WriteCheckpoint($0) }
    }

    /// Sets the target.
    ///
    /// Zero removes it.
    ///
    /// - Throws: ``LocalDatabaseError`` when `target` is negative.
    package static func setTarget(_ db: Database, _ target: WriteCheckpoint) throws {
        guard target.rawValue >= 0 else {
            throw LocalDatabaseError.invalidArgument("write checkpoint \(targetKey) is negative")
        }
        if target.rawValue == 0 {
            try KeyValueStore.remove(db, .targetWriteCheckpoint)
        } else {
            try KeyValueStore.set(db, .targetWriteCheckpoint, to: target.rawValue)
        }
    }

    /// The write checkpoint of the last validated complete checkpoint since the last local write.
    package static func lastSeen(_ db: Database) throws -> WriteCheckpoint? {
        try KeyValueStore.integer(db, .lastSeenWriteCheckpoint).map { WriteCheckpoint($0) }
    }

    /// Stores the write checkpoint of a complete checkpoint that was just validated.
    ///
    /// Older values are overwritten.
    package static func setLastSeen(_ db: Database, _ checkpoint: WriteCheckpoint) throws {
        try KeyValueStore.set(db, .lastSeenWriteCheckpoint, to: checkpoint.rawValue)
    }

    /// The write checkpoint of the last published complete checkpoint since the last local write.
    package static func lastApplied(_ db: Database) throws -> WriteCheckpoint? {
        try KeyValueStore.integer(db, .lastAppliedWriteCheckpoint).map { WriteCheckpoint($0) }
    }

    /// Stores the write checkpoint of a complete checkpoint that was just published.
    ///
    /// Older values are overwritten.
    package static func setLastApplied(_ db: Database, _ checkpoint: WriteCheckpoint) throws {
        try KeyValueStore.set(db, .lastAppliedWriteCheckpoint, to: checkpoint.rawValue)
    }

    /// The write checkpoint that a checkpoint has to report before it is published.
    ///
    /// - Returns: `nil` when the gate waits for nothing, or when the target is not known yet.
    package static func awaited(_ db: Database) throws -> WriteCheckpoint? {
        guard let target = try target(db), target != pendingTarget else { return nil }
        return target > (try lastSeen(db) ?? WriteCheckpoint(0)) ? target : nil
    }

    /// Whether checkpoints other than those of priority 0 may be published.
    ///
    /// The target must have been seen, and the upload queue must be empty (insert-only writes set no target).
    package static func isOpen(_ db: Database) throws -> Bool {
        try db.firstInteger(openness) == 1
    }

    private static let openness = """
        SELECT NOT EXISTS (SELECT 1 FROM ps_crud) AND coalesce((
            SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = '\(targetKey)'
        ) <= coalesce((
            SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = '\(lastSeenKey)'
        ), 0), TRUE)
        """

    /// Whether nothing is left to do for the upload: the queue is empty, and a write checkpoint is known that covers what was in it.
    package static func isUploaded(_ db: Database) throws -> Bool {
        guard try UploadQueue.firstID(db) == nil else { return false }
        return try sequenceAwaitingCheckpoint(db) == nil
    }

    /// What to hand to ``acknowledge(_:ifSequenceIs:_:)`` after asking the service for a write checkpoint.
    ///
    /// - Returns: `nil` when no write checkpoint is needed (nothing was written, or the target is known already) or none is
    ///   possible yet (the queue is not empty).
    package static func sequenceAwaitingCheckpoint(_ db: Database) throws -> Int64? {
        guard try target(db) == pendingTarget, try UploadQueue.firstID(db) == nil else { return nil }
        return try UploadQueue.sequence(db)
    }

    /// Makes the service's write checkpoint the target, unless something was written since.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - checkpoint: What the service returned.
    ///   - sequence: The queue's sequence from before the service was asked.
    /// - Returns: Whether the target was set. If not, ask again after the next round of uploads.
    /// - Throws: `DatabaseError` of SQLite.
    package static func acknowledge(
        _ db: Database,
        _ checkpoint: WriteCheckpoint,
        ifSequenceIs sequence: Int64
    ) throws -> Bool {
        guard
            try target(db) == pendingTarget,
            try UploadQueue.firstID(db) == nil,
            try UploadQueue.sequence(db) == sequence
        else { return false }
        try setTarget(db, checkpoint)
        try KeyValueStore.set(db, .serviceWriteCheckpoint, to: checkpoint.rawValue)
        return true
    }

    /// The write checkpoint that is awaited, if the service has returned it: an app may have given its own, of which the service
    /// knows nothing.
    package static func awaitedOfService(_ db: Database) throws -> WriteCheckpoint? {
        guard let awaited = try awaited(db), try UploadQueue.firstID(db) == nil,
            try KeyValueStore.integer(db, .serviceWriteCheckpoint) == awaited.rawValue
        else { return nil }
        return awaited
    }

    /// Waits for a write checkpoint of the application's own service, if writes are waited for and everything has left the queue.
    ///
    /// - Parameters:
    ///   - db: The writer, inside the transaction in which writes have left the queue.
    ///   - checkpoint: What the application has given.
    /// - Throws: ``LocalDatabaseError`` when the write checkpoint is negative.
    static func awaitOwn(_ db: Database, _ checkpoint: WriteCheckpoint) throws {
        guard try target(db) != nil else { return }
        try KeyValueStore.set(db, .ownWriteCheckpoint, to: checkpoint.rawValue)
        if try UploadQueue.firstID(db) == nil { try setTarget(db, checkpoint) }
    }

    /// Waits once more for the last write checkpoint that the application gave: nothing was uploaded since, so it stands for everything.
    ///
    /// Writes that were rejected, or are parked, need none of their own.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - sequence: The queue's sequence from before the service was asked.
    /// - Returns: What is waited for; `nil` when there is none, or something was written since.
    /// - Throws: `DatabaseError` of SQLite.
    package static func awaitLastOwn(_ db: Database, ifSequenceIs sequence: Int64) throws -> WriteCheckpoint? {
        guard try sequenceAwaitingCheckpoint(db) == sequence,
            let own = try KeyValueStore.integer(db, .ownWriteCheckpoint), own > 0
        else { return nil }
        try setTarget(db, WriteCheckpoint(own))
        return WriteCheckpoint(own)
    }

    /// Waits for another write checkpoint than the one that does not come, if the service has begun to count anew.
    ///
    /// A service whose storage was lost, or has lost its last moments, does not know the number that it returned.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - checkpoint: What is waited for.
    ///   - later: What the service has returned since. A larger one says nothing: the first one will come.
    /// - Returns: Whether the other one is waited for now.
    /// - Throws: `DatabaseError` of SQLite.
    package static func replace(
        _ db: Database,
        _ checkpoint: WriteCheckpoint,
        by later: WriteCheckpoint
    ) throws -> Bool {
        guard later <= checkpoint, try awaitedOfService(db) == checkpoint else { return false }
        try setTarget(db, later)
        try KeyValueStore.set(db, .serviceWriteCheckpoint, to: later.rawValue)
        // What was seen was counted in the old way.
        try KeyValueStore.remove(db, .lastSeenWriteCheckpoint)
        return true
    }

    /// Closes the gate until the service acknowledges writes that were just made or uploaded.
    ///
    /// Forgets which write checkpoints were seen: one from before the write cannot acknowledge it.
    package static func close(_ db: Database) throws {
        try db.cachedStatement(sql: setPendingTarget).execute()
        try db.cachedStatement(sql: forgetSeen).execute()
    }

    // For ``close(_:)``, and for ``LocalWriteRecorder``, which has statements of its own.

    /// Whether the gate is as ``close(_:)`` leaves it.
    static let isClosed = """
        SELECT EXISTS (SELECT 1 FROM ps_kv WHERE key = '\(targetKey)' AND value IS \(pendingTarget.rawValue))
        AND NOT EXISTS (SELECT 1 FROM ps_kv WHERE key = '\(lastSeenKey)')
        AND NOT EXISTS (SELECT 1 FROM ps_kv WHERE key = '\(lastAppliedKey)')
        """
    /// Makes ``pendingTarget`` the target.
    static let setPendingTarget = """
        INSERT INTO ps_kv(key, value) VALUES ('\(targetKey)', \(pendingTarget.rawValue))
        ON CONFLICT(key) DO UPDATE SET value = excluded.value
        """
    /// Forgets which write checkpoints were seen and published.
    static let forgetSeen = "DELETE FROM ps_kv WHERE key IN ('\(lastSeenKey)', '\(lastAppliedKey)')"

    private static let targetKey = KeyValueStore.Key.targetWriteCheckpoint.rawValue
    private static let lastSeenKey = KeyValueStore.Key.lastSeenWriteCheckpoint.rawValue
    private static let lastAppliedKey = KeyValueStore.Key.lastAppliedWriteCheckpoint.rawValue
}

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
