import GRDB
import PowerSyncProtocol

@testable import PowerSyncCore

// What has to be right in whatever transactions events are handled, beside the rows that a completion publishes.
extension RandomTranscript {
    /// Checks which buckets are stored and counted; called before the transcript takes note of the event.
    func checkBuckets(after event: SyncEvent) throws {
        if wasCleared, client.engine.isActive, !event.replacesIteration {
            throw Fault(description: "The iteration goes on although everything was cleared")
        }
        guard case .line(let received) = event else { return }
        switch received.line {
        case .checkpoint(let checkpoint):
            let known = tracked.map { Set($0.buckets.map(\.name.rawValue)) } ?? startedWith.buckets
            let dropped = known.subtracting(checkpoint.buckets.map(\.name.rawValue))
            let left = try bucketNames().intersection(dropped)
            if !left.isEmpty { throw Fault(description: "Buckets are left that the checkpoint lacks: \(left)") }
        case .checkpointDiff: break
        default: return
        }
        if let counts = client.engine.status.progress?.overall, counts.downloaded > max(counts.total, 0) {
            throw Fault(description: "More operations count as downloaded than there are: \(counts)")
        }
    }

    /// Checks that streams with a handle live as long as they can when an event has renewed them.
    func checkLifetimes(after event: SyncEvent, now: SyncInstant) throws {
        switch event {
        case .start, .subscriptionsChanged, .keepaliveAnswered: break
        case .line(let received):
            guard case .keepalive = received.line else { return }
        default: return
        }
        for key in client.live {
            let isOutdated = try client.look { db in
                try Bool.fetchOne(
                    db.cachedStatement(
                        sql: """
                            SELECT expires_at <> ? + ttl * 1000000 FROM ps_stream_subscriptions
                            WHERE stream_name = ? AND local_params = ? AND ttl IS NOT NULL
                            """
                    ),
                    arguments: [now.rawValue, key.name, key.parametersText]
                )
            }
            if isOutdated == true { throw Fault(description: "The stream \(key) is not renewed") }
        }
    }

    /// Checks that the client stores what the service has, once it has downloaded everything.
    func checkOperations() throws {
        let stored = try client.look { db in
            try String.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT b.name || ' ' || o.op_id || ' ' || ifnull(o.key, '-')
                        FROM ps_oplog AS o JOIN ps_buckets AS b ON b.id = o.bucket
                        """
                )
            ).sorted()
        }
        let expected = service.storedOperations
        if stored != expected { throw Fault(description: "The operations are \(stored) instead of \(expected)") }
    }
}
