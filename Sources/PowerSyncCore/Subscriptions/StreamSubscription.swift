import GRDB
import PowerSyncProtocol

/// A row of `ps_stream_subscriptions`.
struct StreamSubscription: Sendable, Equatable {
    /// The primary key.
    var id: Int64
    /// Name and parameters.
    var key: StreamKey
    /// Whether the service listed a stream of this name in the last checkpoint.
    var isActive: Bool
    /// Whether that stream is one that clients get without subscribing.
    var isDefault: Bool
    /// Replaces the priority of the stream: 0 to 3; what else is stored counts as none.
    var priorityOverride: Priority?
    /// The lifetime in seconds after the last renewal; set for explicit subscriptions only.
    var timeToLive: Int64?
    /// When the subscription ends unless it is renewed.
    var expiresAt: SyncInstant?
    /// When all its buckets were last published.
    var lastSyncedAt: SyncInstant?

    /// Whether the application subscribed, which is independent of ``isDefault``.
    var isExplicit: Bool { timeToLive != nil }

    /// Whether it stands for what clients get without subscribing: a default stream without parameters.
    ///
    /// ``isDefault`` goes by the name of the stream, so rows with parameters have it as well.
    var isOffered: Bool { isDefault && !key.hasParameters }

    /// The entry of the status, without what only a checkpoint tells.
    ///
    /// What has no subscriber is not synced, whenever it was: the service does not send it.
    var status: StreamStatus {
        StreamStatus(
            key: key,
            isActive: isActive,
            isDefault: isDefault,
            hasExplicitSubscription: isExplicit,
            expiresAt: expiresAt,
            lastSyncedAt: isExplicit || isOffered ? lastSyncedAt : nil
        )
    }
}

extension StreamSubscription: FetchableRecord {
    /// The columns that ``init(row:)`` expects, in this order.
    static let columns = """
        id, stream_name, active, is_default, local_priority, local_params, ttl, expires_at, last_synced_at
        """

    init(row: Row) throws {
        id = try row.stored(0, "ps_stream_subscriptions.id")
        key = try StreamKey(
            name: row.stored(1, "ps_stream_subscriptions.stream_name"),
            parametersText: row.stored(5, "ps_stream_subscriptions.local_params")
        )
        isActive = try row.stored(2, "ps_stream_subscriptions.active")
        isDefault = try row.stored(3, "ps_stream_subscriptions.is_default")
        let priority: Int32? = try row.stored(4, "ps_stream_subscriptions.local_priority")
        // Services refuse requests with any other, and so everything.
        priorityOverride = priority.flatMap { (0...3).contains($0) ? Priority($0) : nil }
        timeToLive = try row.stored(6, "ps_stream_subscriptions.ttl")
        let expiresAt: Int64? = try row.stored(7, "ps_stream_subscriptions.expires_at")
        self.expiresAt = expiresAt.map { SyncInstant(microseconds: $0) }
        let lastSyncedAt: Int64? = try row.stored(8, "ps_stream_subscriptions.last_synced_at")
        self.lastSyncedAt = lastSyncedAt.map { SyncInstant(microseconds: $0) }
    }
}
