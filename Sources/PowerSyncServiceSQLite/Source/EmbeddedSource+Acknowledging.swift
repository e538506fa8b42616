import GRDB
import NIOConcurrencyHelpers
import PowerSyncSQLite
package import PowerSyncServiceCore

/// Which entries of the log are still needed.
extension EmbeddedSource {
    /// What `_ps_streams` says about a stream.
    struct Acknowledgement {
        /// The position.
        var sequence: Int64
        /// When it was written, in seconds since 1970.
        var at: Int64
    }

    /// Log entries that are kept before an acknowledged position is written: every write is synced to the disk.
    static let acknowledgementStep: Int64 = 1000
    /// Seconds after which a stream is heard of again, also when nothing happens.
    static let acknowledgementInterval: Int64 = 3600
    /// Seconds after which a stream that is not heard of is forgotten: its storage is gone.
    ///
    /// If it is not, the storage copies the tables again.
    static let patience: Int64 = 3 * 24 * 3600
    /// Log entries deleted in one transaction, so that the application never waits for long.
    static let deletionBatch = 2000

    package func wantsAcknowledgement(of lsn: LSN, by handle: String) -> Bool {
        guard let position = EmbeddedPosition(lsn) else { return false }
        let now = now()
        return acknowledged.withLockedValue { acknowledged in
            guard let last = acknowledged[handle] else { return true }
            return position.sequence - last.sequence >= Self.acknowledgementStep
                || abs(now - last.at) >= Self.acknowledgementInterval
        }
    }

    package func acknowledge(_ position: DurablePosition, of handle: String) async throws {
        guard let acknowledged = EmbeddedPosition(position.position.lsn) else { return }
        let now = now()
        try await pool.uncancelledWrite { db in
            guard try SourceHistory.current(db) == position.position.history else { return }
            try db.execute(
                sql: "UPDATE _ps_streams SET acknowledged = max(acknowledged, ?), seen = ? WHERE name = ?",
                arguments: [acknowledged.sequence, now, handle]
            )
            try db.execute(sql: "DELETE FROM _ps_streams WHERE seen < ?", arguments: [now - Self.patience])
        }
        self.acknowledged.withLockedValue { $0[handle] = Acknowledgement(sequence: acknowledged.sequence, at: now) }
        try await deleteUnneededEntries()
    }

    package func dropStream(_ handle: String) async throws {
        try await pool.uncancelledWrite { db in
            try db.execute(sql: "DELETE FROM _ps_streams WHERE name = ?", arguments: [handle])
        }
        acknowledged.withLockedValue { _ = $0.removeValue(forKey: handle) }
    }

    package func uninstall() async throws {
        let now = now()
        try await pool.uncancelledWrite { db in
            let streams = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM _ps_streams WHERE seen >= ?",
                arguments: [now - Self.patience]
            )
            if streams == 0 { try ChangeCapture.uninstall(db) }
        }
    }

    /// Deletes the entries that all streams have acknowledged, a few at a time.
    ///
    /// The last acknowledged entry stays, and so does the newest: they are what positions are compared with.
    private func deleteUnneededEntries() async throws {
        while try await pool.uncancelledWrite({ db in
            try db.execute(
                sql: """
                    DELETE FROM _ps_log WHERE seq IN (
                        SELECT seq FROM _ps_log
                        WHERE seq < (SELECT min(acknowledged) FROM _ps_streams) AND seq < (SELECT max(seq) FROM _ps_log)
                        ORDER BY seq LIMIT ?)
                    """,
                arguments: [Self.deletionBatch]
            )
            return db.changesCount
        }) == Self.deletionBatch {
            try Task.checkCancellation()
        }
    }

    // MARK: Histories

    /// A position that was read in this process.
    struct KnownPosition: Sendable {
        var position: EmbeddedPosition
        var history: SourceHistory

        /// Whether the file can have had the position, or is known to have another history.
        ///
        /// The log may have been acknowledged and shortened since the position was read: an entry that is older than all that
        /// are kept proves nothing.
        func isPlausible(_ db: Database) throws -> Bool {
            try SourceHistory.current(db) != history || !position.isContradicted(by: db)
        }
    }

    /// Whether a log that claims the history of a position cannot have had it.
    static func contradicts(_ position: SourcePosition, _ db: Database) throws -> Bool {
        guard try SourceHistory.current(db) == position.history else { return false }
        return try EmbeddedPosition(position.lsn)?.isContradicted(by: db) ?? true
    }

    /// Remembers a position that the log must have until it is acknowledged.
    func learn(_ position: EmbeddedPosition, of history: SourceHistory) {
        known.withLockedValue { known in
            if let old = known, old.history == history, old.position.sequence >= position.sequence { return }
            known = KnownPosition(position: position, history: history)
        }
    }

    /// Gives the file another history: it is not the one that positions were read from.
    func beginHistory(after lost: SourceHistory) async throws {
        try await pool.uncancelledWrite { db in try SourceHistory.replace(lost, db) }
        known.withLockedValue { known in
            if known?.history == lost { known = nil }
        }
    }
}
