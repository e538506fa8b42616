import PowerSyncCoreTestSupport
import PowerSyncProtocol

@testable import PowerSyncCore

extension SyncScenario {
    /// Subscribes as an app does, while the engine does not hear of it.
    func subscribe(_ key: StreamKey, timeToLive: Int64? = nil, priority: Int32? = nil) throws {
        try write { db in
            try StreamSubscriptions.subscribe(
                db,
                key,
                timeToLive: timeToLive,
                priority: priority.map { Priority($0) },
                now: now
            )
        }
    }
}
