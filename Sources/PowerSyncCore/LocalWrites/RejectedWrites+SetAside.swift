package import GRDB
package import PowerSyncProtocol

extension RejectedWrites {
    /// Which writes of the queue are rejected.
    package enum Rejection: Sendable {
        /// The transaction at the head of the queue, for this reason.
        case head(reason: String)
        /// These ones, each for a reason; those that have left the queue are ignored.
        case writes(reasons: [Int64: String])
    }

    /// What happens to rejected writes.
    package enum Treatment: Sendable {
        /// They are taken out of the queue.
        case skip
        /// They are taken out of the queue with all later writes of the same rows, those to come included.
        case park
    }

    /// What was taken out of the queue.
    package struct SetAside: Sendable {
        /// The rejected writes, oldest first.
        package var rejected: [QueuedWrite]
        /// How many later writes of the same rows went with them.
        package var waiting = 0
    }

    /// Takes rejected writes out of the queue, wherever they are in it, and keeps them.
    ///
    /// The write gate stays closed until the service acknowledges what was uploaded before.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - rejection: Which writes are rejected.
    ///   - treatment: What happens to them.
    ///   - writeCheckpoint: A write checkpoint that the application's own service made. It counts only when writes were taken out and the
    ///     queue is empty afterwards.
    ///   - now: The time to record.
    /// - Returns: What was taken out; nothing when the writes have left the queue already.
    /// - Throws: `DatabaseError` of SQLite, or ``LocalDatabaseError`` when the write checkpoint is negative.
    package static func setAside(
        _ db: Database,
        _ rejection: Rejection,
        _ treatment: Treatment,
        writeCheckpoint: WriteCheckpoint? = nil,
        at now: SyncInstant
    ) throws -> SetAside {
        let writes =
            switch rejection {
            case .head: try UploadQueue.nextTransaction(db, after: nil)
            case .writes(let reasons): try UploadQueue.entries(db, Array(reasons.keys))
            }
        guard !writes.isEmpty else { return SetAside(rejected: []) }
        for write in writes {
            switch rejection {
            case .head(let reason): try record(db, write.id, reason: reason, at: now)
            case .writes(let reasons): try record(db, write.id, reason: reasons[write.id] ?? "", at: now)
            }
        }
        var setAside = SetAside(rejected: writes)
        switch treatment {
        case .park:
            setAside.waiting = try ParkedWrites.park(db, writes)
        case .skip:
            try db.execute(
                sql: "DELETE FROM ps_crud WHERE id IN (SELECT value FROM json_each(?))",
                arguments: [jsonArray(writes.map(\.id))]
            )
        }
        if let writeCheckpoint { try LocalWriteGate.awaitOwn(db, writeCheckpoint) }
        return setAside
    }

    /// Puts all parked writes back, as ``restore(_:_:)`` does.
    package static func restoreParked(_ db: Database) throws {
        try restore(db, ParkedWrites.ids(db))
    }
}
