import GRDB
import PowerSyncProtocol

/// A row of `ps_stream_subscriptions` (`sync-client.md` 12.1).
struct StreamSubscription: Sendable, Equatable {
    /// The primary key.
    var id: Int64
    /// Name and parameters.
    var key: StreamKey
    /// Whether the service listed a stream of this name in the last checkpoint.
    var isActive: Bool
    /// Whether that stream is one that clients get without subscribing.
    var isDefault: Bool
    /// Replaces the priority of the stream.
    var priorityOverride: Priority?
    /// The lifetime in seconds after the last renewal; set for explicit subscriptions only.
    var timeToLive: Int64?
    /// When the subscription ends unless it is renewed.
    var expiresAt: SyncInstant?
    /// When all its buckets were last published.
    var lastSyncedAt: SyncInstant?

    /// Whether the application subscribed, which is independent of ``isDefault``.
    var isExplicit: Bool { timeToLive != nil }

    /// The entry of the status, without what only a checkpoint tells.
    var status: StreamStatus {
        StreamStatus(
            key: key,
            isActive: isActive,
            isDefault: isDefault,
            hasExplicitSubscription: isExplicit,
            expiresAt: expiresAt,
            lastSyncedAt: lastSyncedAt
        )
    }
}

extension StreamSubscription: FetchableRecord {
    /// The columns that ``init(row:)`` expects, in this order.
    static let columns = """
        id, stream_name, active, is_default, local_priority, local_params, ttl, expires_at, last_synced_at
        """

    init(row: Row) {
        id = row[0]
        key = StreamKey(name: row[1], parametersText: row[5])
        isActive = row[2]
        isDefault = row[3]
        priorityOverride = (row[4] as Int32?).map { Priority($0) }
        timeToLive = row[6]
        expiresAt = (row[7] as Int64?).map { SyncInstant(microseconds: $0) }
        lastSyncedAt = (row[8] as Int64?).map { SyncInstant(microseconds: $0) }
    }
}
