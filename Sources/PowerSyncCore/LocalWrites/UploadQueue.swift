package import GRDB
package import PowerSyncProtocol

/// The queue of local writes that wait for their upload (docs/database.md "Upload queue").
///
/// Entries are added by triggers through the virtual tables `powersync_crud` and `powersync_crud_`. Everything here
/// reads the queue or removes entries from its head.
package enum UploadQueue {
    /// The number of entries in a batch unless the application says otherwise.
    package static let defaultBatchSize = 100

    /// Some entries from the head of the queue.
    package struct Batch: Sendable {
        /// The entries, never empty.
        ///
        /// Not aligned to transactions.
        package var writes: [QueuedWrite]
        /// Whether more entries follow.
        package var hasMore: Bool
    }

    /// The id of the oldest entry, `nil` when the queue is empty.
    ///
    /// - Complexity: O(1).
    package static func firstID(_ db: Database) throws -> Int64? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT id FROM ps_crud ORDER BY id LIMIT 1"))
    }

    /// The id of the newest entry that was ever added, `nil` when there was none.
    ///
    /// Unlike the entries it survives uploads, so two equal values mean that nothing was written in between.
    package static func sequence(_ db: Database) throws -> Int64? {
        // The table has no types; other writers may have stored text.
        try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT CAST(seq AS INTEGER) FROM main.sqlite_sequence WHERE name = 'ps_crud'")
        )
    }

    /// The id of the next entry to upload, even if it is still to be written.
    ///
    /// Grows by the number of entries that leave the queue.
    package static func position(_ db: Database) throws -> Int64 {
        if let id = try firstID(db) { return id }
        return (try sequence(db) ?? 0).addingSaturating(1)
    }

    /// The query of ``count(_:)``, for watches of it.
    package static let countSQL = "SELECT count(*) FROM ps_crud"

    /// The number of entries.
    package static func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: countSQL)) ?? 0
    }

    /// The number of transactions that the entries are from.
    package static func transactionCount(_ db: Database) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(DISTINCT tx_id) FROM ps_crud")) ?? 0
    }

    /// The span of the ids in the queue: the number of entries, unless some were taken out of the middle.
    ///
    /// - Complexity: O(1), unlike ``count(_:)``.
    package static func span(_ db: Database) throws -> Int {
        let statement = try db.cachedStatement(
            sql: """
                SELECT (SELECT id FROM ps_crud ORDER BY id DESC LIMIT 1) - (SELECT id FROM ps_crud ORDER BY id LIMIT 1) + 1
                """
        )
        return try Int.fetchOne(statement) ?? 0
    }

    /// The approximate size of the queue in bytes: the texts, and 20 bytes for each entry.
    package static func size(_ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(
            sql: "SELECT ifnull(sum(length(CAST(data AS BLOB)) + 20), 0) FROM ps_crud"
        )
        return try Int64.fetchOne(statement) ?? 0
    }

    /// Up to `limit` entries from the head, oldest first; `nil` when the queue is empty.
    package static func batch(_ db: Database, limit: Int = defaultBatchSize) throws -> Batch? {
        guard limit > 0 else {
            throw LocalDatabaseError.invalidArgument("a batch of the upload queue has at least 1 entry, not \(limit)")
        }
        let (fetchLimit, overflow) = limit.addingReportingOverflow(1)
        let statement = try db.cachedStatement(sql: "SELECT id, tx_id, data FROM ps_crud ORDER BY id LIMIT ?")
        var writes = try writes(statement, [overflow ? limit : fetchLimit])
        guard !writes.isEmpty else { return nil }
        let hasMore = writes.count > limit
        if hasMore {
            writes.removeLast()
        }
        return Batch(writes: writes, hasMore: hasMore)
    }

    /// The writes of the first SQL transaction after a position; empty when nothing follows.
    ///
    /// A transaction is a run of consecutive ids with the same transaction id, so that it is two when an entry was taken out
    /// of its middle. An entry without transaction id stands alone.
    ///
    /// - Parameters:
    ///   - db: Any connection.
    ///   - position: The id of the last entry of the transaction before, `nil` for the head of the queue.
    /// - Returns: The writes in their order.
    /// - Throws: `DatabaseError` of SQLite.
    /// - Complexity: O(entries of the transaction). There is no index on the transaction id, so ids are followed one
    ///   by one.
    package static func nextTransaction(_ db: Database, after position: Int64?) throws -> [QueuedWrite] {
        let statement = try db.cachedStatement(
            sql: """
                WITH RECURSIVE entry(id, tx_id, data) AS (
                  SELECT id, tx_id, data FROM (SELECT id, tx_id, data FROM ps_crud WHERE id > ? ORDER BY id LIMIT 1)
                  UNION ALL
                  SELECT next.id, next.tx_id, next.data
                  FROM entry JOIN ps_crud AS next ON next.id = entry.id + 1 AND next.tx_id = entry.tx_id
                  -- In a table of another program an id can be a real that one more does not change.
                  WHERE next.id > entry.id
                )
                SELECT id, tx_id, data FROM entry
                """
        )
        return try writes(statement, [position ?? -1])
    }

    /// The entries with these ids, oldest first; those that have left the queue are missing.
    static func entries(_ db: Database, _ ids: [Int64]) throws -> [QueuedWrite] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT id, tx_id, data FROM ps_crud
                WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id
                """
        )
        return try writes(statement, [RejectedWrites.jsonArray(ids)])
    }

    /// Removes uploaded entries from the head of the queue, and moves the write gate.
    ///
    /// Call it inside a write transaction. When there is nothing to remove, the gate stays: the same entries were completed before.
    ///
    /// - Parameters:
    ///   - db: The writer.
    ///   - id: The last entry to remove. Everything before it goes too.
    ///   - writeCheckpoint: A write checkpoint that the application's own service made, if it does that. It counts
    ///     only when the queue is empty afterwards.
    /// - Throws: ``LocalDatabaseError`` when the write checkpoint is negative.
    package static func complete(_ db: Database, through id: Int64, writeCheckpoint: WriteCheckpoint?) throws {
        try db.cachedStatement(sql: "DELETE FROM ps_crud WHERE id <= ?").execute(arguments: [id])
        guard db.changesCount > 0 else { return }
        // Without a target only insert-only writes were uploaded, which no checkpoint will ever acknowledge.
        guard try LocalWriteGate.target(db) != nil else { return }
        try LocalWriteGate.setTarget(db, LocalWriteGate.pendingTarget)
        if let writeCheckpoint {
            try LocalWriteGate.awaitOwn(db, writeCheckpoint)
        } else {
            try KeyValueStore.remove(db, .ownWriteCheckpoint)
        }
    }

    private static func writes(_ statement: Statement, _ arguments: StatementArguments) throws -> [QueuedWrite] {
        var writes: [QueuedWrite] = []
        let rows = try Row.fetchCursor(statement, arguments: arguments)
        while try rows.next() != nil { writes.append(QueuedWrite(currentRowOf: statement)) }
        return writes
    }
}
