import Foundation
import PowerSyncCore

/// A stream of a database.
struct DatabaseSyncStream: SyncStream {
    let name: String
    let parameters: JsonParam?
    /// The sync of the database.
    let sync: SyncHandle

    func subscribe(ttl: TimeInterval?, priority: BucketPriority?) async throws -> any SyncStreamSubscription {
        if let priority, !(0...3).contains(priority.priorityCode) {
            throw PowerSyncError.noSubscriptionPriority(priority.priorityCode)
        }
        let share = try await sync.subscribe(
            to: try key,
            lifetime: try ttl.map(DatabaseSyncStream.lifetime),
            priority: priority?.priority
        )
        return StreamSubscription(name: name, parameters: parameters, share: share, sync: sync)
    }

    func unsubscribeAll() async throws {
        try await sync.unsubscribeAll(from: try key)
    }

    /// What is stored; a key that would spoil the requests for other streams is not made.
    private var key: StreamKey {
        get throws {
            try Argument.check(self)
            return StreamKey(self)
        }
    }

    /// Whole seconds, rounded up; infinity becomes the longest time to live.
    private static func lifetime(_ ttl: TimeInterval) throws -> Int64 {
        guard ttl >= 0 else {
            throw PowerSyncError.noTimeToLive(ttl)
        }
        return min(Int64(saturating: ttl.rounded(.up)), StreamSubscriptions.maximumTimeToLive)
    }
}

extension DatabaseSyncStream: CustomStringConvertible {
    var description: String { identityText }
}
