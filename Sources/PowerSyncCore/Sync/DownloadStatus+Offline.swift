package import GRDB
import PowerSyncProtocol

extension DownloadStatus {
    /// What the database says about earlier syncs, while no iteration is running.
    package static func offline(_ db: Database) throws -> DownloadStatus {
        DownloadStatus(
            priorities: try SyncState.fetchAll(db),
            streams: try StreamSubscriptions.fetchAll(db).map(\.status)
        )
    }

    /// This status as the database says it, with what an earlier one knows of its streams from a checkpoint, and of the rows that
    /// were set aside.
    package func keepingDetails(of earlier: DownloadStatus) -> DownloadStatus {
        var status = self
        status.setAside = earlier.setAside
        let known = (earlier.streams ?? []).filter { $0.priority != nil || $0.unknown != nil || $0.isLeftOut }
        guard !known.isEmpty, let streams else { return status }
        let details = Dictionary(known.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
        status.streams = streams.map { $0.keepingDetails(of: details[$0.key]) }
        return status
    }

    /// Shows a subscription as the database has it, with what is known of it from a checkpoint.
    ///
    /// - Parameter stream: The subscription. A new one becomes the last one, as its row is.
    /// - Returns: Whether that changes anything.
    package mutating func show(_ stream: StreamStatus) -> Bool {
        guard let index = streams?.lastIndex(where: { $0.key == stream.key }) else {
            streams?.append(stream)
            return streams != nil
        }
        var shown = stream.keepingDetails(of: streams?[index])
        shown.progress = streams?[index].progress
        defer { streams?[index] = shown }
        return streams?[index] != shown
    }
}

extension StreamStatus {
    /// This status as the database says it, with what an earlier one knows from a checkpoint.
    fileprivate func keepingDetails(of known: StreamStatus?) -> StreamStatus {
        guard let known else { return self }
        var stream = self
        stream.priority = known.priority
        // A stream that was listed since is one that the service has.
        stream.unknown = stream.isActive ? nil : known.unknown
        stream.isLeftOut = stream.hasExplicitSubscription && known.isLeftOut
        return stream
    }
}

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
        try db.cachedStatement(sql: "DELETE FROM ps_sync_state WHERE priority < ?")
            .execute(arguments: [priority.rawValue])
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO ps_sync_state (priority, last_synced_at) VALUES (?, ?)")
            .execute(arguments: [priority.rawValue, now.rawValue])
    }
}

extension [PriorityStatus] {
    /// Does in memory what ``SyncState/record(_:at:_:)`` does on disk.
    mutating func record(_ priority: Priority, at now: SyncInstant) {
        removeAll { priority.includes($0.priority) }
        insert(PriorityStatus(priority: priority, lastSyncedAt: now), at: 0)
    }
}
