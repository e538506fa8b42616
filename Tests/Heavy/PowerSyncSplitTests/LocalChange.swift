import GRDB
import PowerSyncProtocol

@testable import PowerSyncCore

/// A transaction that is not the engine's.
struct LocalChange: Sendable, CustomStringConvertible {
    let description: String
    /// The stream of a subscription that it changes, and whether the app holds a handle of it from then on; `nil` for none.
    let handle: (key: StreamKey, isHeld: Bool)?
    let run: @Sendable (Database, SyncInstant) throws -> Void

    init(
        _ description: String,
        handle: (key: StreamKey, isHeld: Bool)? = nil,
        _ run: @escaping @Sendable (Database, SyncInstant) throws -> Void
    ) {
        self.description = description
        self.handle = handle
        self.run = run
    }

    /// A statement of the app.
    static func sql(_ sql: String) -> LocalChange {
        LocalChange(sql) { db, _ in try db.cachedStatement(sql: sql).execute() }
    }
}

extension LocalChange {
    /// Whether everything is published again afterwards.
    var publishesAgain: Bool { description.hasPrefix("clear") || description.hasPrefix("resync") }

    /// Time passes, and a transaction of the engine ends.
    static let nothing = LocalChange("nothing") { _, _ in }

    static func clear(_ options: ClearOptions) -> LocalChange {
        LocalChange("clear \(options.contains(.soft) ? "softly" : "everything")") { db, _ in
            try LocalData.clear(db, options)
        }
    }

    static func resync(forgettingProgress: Bool) -> LocalChange {
        LocalChange("resync, forgetting progress: \(forgettingProgress)") { db, _ in
            try LocalData.triggerResync(db, forgettingProgress: forgettingProgress)
        }
    }

    static func upload(onlyFirst: Bool, _ writeCheckpoint: WriteCheckpoint?) -> LocalChange {
        LocalChange("upload \(onlyFirst ? "one" : "all"), write checkpoint \(writeCheckpoint?.description ?? "-")") {
            db,
            _ in
            let last = try onlyFirst ? UploadQueue.firstID(db) : UploadQueue.sequence(db)
            guard let last, try UploadQueue.firstID(db) != nil else { return }
            try UploadQueue.complete(db, through: last, writeCheckpoint: writeCheckpoint)
        }
    }

    static func acknowledge(_ checkpoint: WriteCheckpoint) -> LocalChange {
        LocalChange("the service acknowledges with write checkpoint \(checkpoint)") { db, _ in
            guard let sequence = try LocalWriteGate.sequenceAwaitingCheckpoint(db) else { return }
            _ = try LocalWriteGate.acknowledge(db, checkpoint, ifSequenceIs: sequence)
        }
    }

    static func setAside(_ treatment: RejectedWrites.Treatment) -> LocalChange {
        LocalChange("the first transaction of the queue is rejected: \(treatment)") { db, now in
            _ = try RejectedWrites.setAside(db, .head(reason: "no"), treatment, at: now)
        }
    }

    static let restoreRejectedWrites = LocalChange("restore rejected writes") { db, _ in
        try RejectedWrites.restore(db, RejectedWrites.all(db).map(\.write.id))
    }

    static let forgetRejectedWrites = LocalChange("forget rejected writes") { db, _ in
        try RejectedWrites.remove(db, RejectedWrites.all(db).map(\.write.id))
    }

    /// Subscribes; only what does not expire is held, since a new process renews it.
    static func subscribe(_ key: StreamKey, timeToLive: Int64?, priority: Int32) -> LocalChange {
        LocalChange(
            "subscribe \(key), lifetime \(timeToLive.map(String.init) ?? "-")",
            handle: (key, isHeld: timeToLive == nil)
        ) { db, now in
            try StreamSubscriptions.subscribe(
                db,
                key,
                timeToLive: timeToLive,
                priority: priority == 3 ? nil : Priority(priority),
                now: now
            )
        }
    }

    static func unsubscribe(_ key: StreamKey) -> LocalChange {
        LocalChange("unsubscribe \(key)", handle: (key, isHeld: false)) { db, _ in
            try StreamSubscriptions.unsubscribeAll(db, key)
        }
    }
}
