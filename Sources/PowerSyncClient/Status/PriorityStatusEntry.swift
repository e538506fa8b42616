public import Foundation

/// When data of a priority, and of all more urgent ones, was last synced.
public struct PriorityStatusEntry: Sendable, Decodable {
    /// The priority, or ``BucketPriority/fullSyncPriority`` for a complete sync.
    public let priority: BucketPriority
    /// When the last sync of this priority was applied.
    public let lastSyncedAt: Date?
    /// Whether there was one; `nil` while the database has not been opened.
    public let hasSynced: Bool?

    /// Creates an entry.
    init(priority: BucketPriority, lastSyncedAt: Date?, hasSynced: Bool?) {
        self.priority = priority
        self.lastSyncedAt = lastSyncedAt
        self.hasSynced = hasSynced
    }

    private enum CodingKeys: String, CodingKey {
        case priority
        case lastSyncedAt = "last_synced_at"
        case hasSynced = "has_synced"
    }

    /// Decodes `{"priority":1,"last_synced_at":1700000000000000,"has_synced":true}`; the time is in microseconds since
    /// 1970.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        priority = try container.decode(BucketPriority.self, forKey: .priority)
        let microseconds = try container.decodeIfPresent(Int64.self, forKey: .lastSyncedAt)
        lastSyncedAt = microseconds.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
        hasSynced = try container.decodeIfPresent(Bool.self, forKey: .hasSynced)
    }
}

extension PriorityStatusEntry: CustomStringConvertible {
    /// The priority and when it was synced, in a line.
    public var description: String {
        let synced = lastSyncedAt.map { "synced at \($0)" } ?? (hasSynced == nil ? "not known" : "never synced")
        return "\(priority): \(synced)"
    }
}
