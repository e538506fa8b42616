package import GRDB

/// The user who has written what waits in the upload queue: the one who was connected when the queue was empty last.
///
/// ```
///                another user is connected, the queue is empty
///            ┌───────────────────────────────────────────────┐
///  nobody ──▶ user A ───────────────────────────────────────▶ user B
///    ▲  the first user is connected                            │
///    └──────────────────────── cleared ────────────────────────┘
/// ```
package enum QueueOwner {
    /// Whether the queue is a user's already, so that ``claim(for:_:)`` would change nothing.
    ///
    /// - Parameters:
    ///   - db: Any connection.
    ///   - user: A text that is the same for the same user of this file.
    /// - Returns: Whether it is.
    /// - Throws: `DatabaseError` of SQLite.
    package static func isOwned(_ db: Database, by user: String) throws -> Bool {
        try KeyValueStore.text(db, .queueOwner) == user
    }

    /// Makes a user the owner of the queue, unless writes of another user wait in it.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - user: A text that is the same for the same user of this file.
    /// - Returns: About how many writes wait in another user's queue; 0 when the queue is this user's now.
    /// - Throws: `DatabaseError` of SQLite.
    package static func claim(_ db: Database, for user: String) throws -> Int {
        guard let owner = try KeyValueStore.text(db, .queueOwner), owner != user else {
            try KeyValueStore.set(db, .queueOwner, to: user)
            return 0
        }
        let waiting = try UploadQueue.span(db)
        if waiting == 0 {
            try KeyValueStore.set(db, .queueOwner, to: user)
            // The number is of the other one's uploads.
            try KeyValueStore.remove(db, .ownWriteCheckpoint)
        }
        return waiting
    }
}
