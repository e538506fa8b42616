import GRDB
import PowerSyncProtocol

/// The table `ps_sync_state`: when each priority was last published.
enum SyncState {
    /// The entries, ascending by number of the priority.
    static func fetchAll(_ db: Database) throws -> [PriorityStatus] {
        let rows = try Row.fetchCursor(
            db.cachedStatement(sql: "SELECT priority, last_synced_at FROM ps_sync_state ORDER BY priority")
        )
        var entries: [PriorityStatus] = []
        while let row = try rows.next() {
            let priority = try Priority(row.stored(0, "ps_sync_state.priority"))
            let time = try SyncInstant(microseconds: row.stored(1, "ps_sync_state.last_synced_at"))
            entries.append(PriorityStatus(priority: priority, lastSyncedAt: time))
        }
        return entries
    }

    /// Notes that a priority was published; it covers all more urgent ones.
    static func record(_ priority: Priority, at now: SyncInstant, _ db: Database) throws {
        // Mostly there is this entry, and none that it covers.
        let renew = try db.cachedStatement(
            sql: """
                UPDATE ps_sync_state SET last_synced_at = ?2
                WHERE priority = ?1 AND NOT EXISTS (SELECT 1 FROM ps_sync_state WHERE priority < ?1)
                """
        )
        try renew.execute(arguments: [priority.rawValue, now.rawValue])
        guard db.changesCount == 0 else { return }
        try db.cachedStatement(sql: "DELETE FROM ps_sync_state WHERE priority < ?")
            .execute(arguments: [priority.rawValue])
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO ps_sync_state (priority, last_synced_at) VALUES (?, ?)")
            .execute(arguments: [priority.rawValue, now.rawValue])
    }
}
