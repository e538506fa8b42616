import Foundation
import GRDB
package import PowerSyncProtocol
import PowerSyncSQLite
package import PowerSyncServiceCore

/// Write checkpoints (docs/service.md "Write checkpoints of the service").
extension SQLiteBucketStorage {
    package func createWriteCheckpoint(userKey: String, head: SourcePosition) async throws -> WriteCheckpoint {
        // A client may have asked for the largest number there is. It stays; adding to it would make it a `REAL`.
        try await writeCheckpoint(
            userKey: userKey,
            head: head,
            recordedBy: """
                INSERT INTO write_checkpoints (user_key, owner, write_checkpoint, lsn, history_id, used_at)
                VALUES (
                    :user, :owner,
                    min(
                        coalesce((SELECT max(number) FROM forgotten_write_checkpoints WHERE owner IN (:owner, '')), 0),
                        \(Int64.max - 1)
                    ) + 1,
                    :head, :history, :now
                )
                ON CONFLICT (user_key) DO UPDATE SET
                    \(Self.keepVisible),
                    write_checkpoint = min(write_checkpoint, \(Int64.max - 1)) + 1,
                    lsn = :head,
                    history_id = :history,
                    requested_at = NULL,
                    used_at = :now
                """
        )
    }

    package func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: SourcePosition
    ) async throws -> WriteCheckpoint {
        try await writeCheckpoint(
            userKey: userKey,
            head: head,
            recordedBy: """
                INSERT INTO write_checkpoints
                    (user_key, owner, write_checkpoint, lsn, history_id, requested_at, used_at)
                VALUES (:user, :owner, :id, :head, :history, :requested, :now)
                ON CONFLICT (user_key) DO UPDATE SET
                    \(Self.keepVisible),
                    write_checkpoint = :id,
                    lsn = CASE WHEN write_checkpoint = :id THEN lsn ELSE :head END,
                    history_id = CASE WHEN write_checkpoint = :id THEN history_id ELSE :history END,
                    requested_at = :requested,
                    used_at = :now
                WHERE write_checkpoint <= :id
                """,
            ["id": id.rawValue, "requested": now().timeIntervalSince1970]
        )
    }

    package func skipWriteCheckpoints(head: SourcePosition) async throws {
        let step = WriteCheckpointRetention.skippedNumbers
        @Sendable func raised(_ column: String) -> String { "min(\(column), \(Int64.max - step)) + \(step)" }
        try await writeBriefly { db in
            var arguments = try Self.publishedArguments(db)
            arguments["head"] = head.lsn.rawValue
            arguments["history"] = try Self.number(of: head.history, db)
            try db.execute(
                sql: """
                    UPDATE write_checkpoints SET
                        \(Self.keepVisible), write_checkpoint = \(raised("write_checkpoint")), lsn = :head, history_id = :history
                    WHERE requested_at IS NULL
                    """,
                arguments: StatementArguments(arguments)
            )
            try db.execute(sql: "UPDATE forgotten_write_checkpoints SET number = \(raised("number"))")
            // Clients that the storage does not know any more.
            try db.execute(
                sql: "INSERT OR IGNORE INTO forgotten_write_checkpoints (owner, number) VALUES ('', \(step))"
            )
        }
        try await waitForDisk()
    }

    /// What is visible now stays visible while the new number waits.
    ///
    /// On the right-hand side of `SET`, columns have their old values.
    private static let keepVisible = """
        visible_write_checkpoint = CASE WHEN \(isPublished) THEN write_checkpoint ELSE visible_write_checkpoint END,
        visible_lsn = CASE WHEN \(isPublished) THEN lsn ELSE visible_lsn END,
        visible_history_id = CASE WHEN \(isPublished) THEN history_id ELSE visible_history_id END
        """

    /// Whether the checkpoint at `:published` of history `:published_history` covers the position of a record.
    ///
    /// Every checkpoint of a later history does: that copies the source as it is after the uploads.
    static let isPublished = """
        (history_id < :published_history OR history_id = :published_history AND lsn <= :published)
        """

    /// The arguments of ``isPublished``; with NULL, nothing is covered.
    static func publishedArguments(_ db: Database) throws -> [String: (any DatabaseValueConvertible)?] {
        let served = try SQLiteStreamTables(db).served()
        return ["published": served?.lastCheckpointLSN?.rawValue, "published_history": served?.historyID]
    }

    /// Runs a statement that may change the record of a user, and waits for the disk: a client that was shown a number shows nothing
    /// more when it is answered with a smaller one.
    ///
    /// - Returns: The number that is recorded then.
    private func writeCheckpoint(
        userKey: String,
        head: SourcePosition,
        recordedBy sql: String,
        _ arguments: [String: (any DatabaseValueConvertible & Sendable)?] = [:]
    ) async throws -> WriteCheckpoint {
        guard feed.current != nil else {
            throw BucketStorageError.noActiveStream
        }
        let owner = String(decoding: WriteCheckpointRetention.user(ofKey: userKey), as: UTF8.self)
        let now = now().timeIntervalSince1970
        let number = try await writeBriefly { db in
            var arguments = try Self.publishedArguments(db).merging(arguments) { $1 }
            arguments["user"] = userKey
            arguments["owner"] = owner
            arguments["now"] = now
            arguments["head"] = head.lsn.rawValue
            arguments["history"] = try Self.number(of: head.history, db)
            func recorded() throws -> Int64? {
                try Int64.fetchOne(
                    db,
                    sql: "SELECT write_checkpoint FROM write_checkpoints WHERE user_key = ?",
                    arguments: [userKey]
                )
            }
            let isNew = try recorded() == nil
            try db.execute(sql: sql, arguments: StatementArguments(arguments))
            let number = try recorded()
            if isNew { try Self.forgetClients(of: owner, db) }
            return WriteCheckpoint(number ?? 1)
        }
        try await waitForDisk()
        return number
    }

    /// The number of a history that a source had a moment ago.
    ///
    /// A stream may have begun with a later one since: then it has not come again.
    private static func number(of history: SourceHistory, _ db: Database) throws -> Int64 {
        let number = try Int64.fetchOne(
            db,
            sql: """
                SELECT h.id FROM replication_streams AS s JOIN source_histories AS h ON h.id = s.history_id
                WHERE s.state IN ('ACTIVE', 'ERRORED', 'PROCESSING') AND h.history = ?
                ORDER BY h.id DESC LIMIT 1
                """,
            arguments: [history.rawValue]
        )
        return try number ?? SQLiteStreamTables(db).number(of: history)
    }

    package func visibleWriteCheckpoint(
        userKey: String,
        at checkpoint: StorageCheckpoint
    ) async throws -> WriteCheckpoint? {
        let number = try await read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT CASE
                        WHEN w.history_id < s.history_id OR w.history_id = s.history_id AND w.lsn <= :lsn
                            THEN w.write_checkpoint
                        WHEN w.visible_history_id < s.history_id
                            OR w.visible_history_id = s.history_id AND w.visible_lsn <= :lsn
                            THEN w.visible_write_checkpoint
                        END
                    FROM write_checkpoints AS w JOIN replication_streams AS s ON s.id = :stream
                    WHERE w.user_key = :user
                    """,
                arguments: [
                    "user": userKey, "lsn": checkpoint.lsn.rawValue, "stream": checkpoint.streamID.rawValue,
                ]
            )
        }
        return number.map { WriteCheckpoint($0) }
    }

    package func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) async throws -> LSN? {
        let position = try await read { db in
            try String.fetchOne(
                db,
                sql: """
                    SELECT w.lsn FROM write_checkpoints AS w JOIN replication_streams AS s ON s.id = :stream
                    WHERE w.user_key = :user AND w.history_id = s.history_id AND w.lsn > :lsn
                    """,
                arguments: [
                    "user": userKey, "lsn": checkpoint.lsn.rawValue, "stream": checkpoint.streamID.rawValue,
                ]
            )
        }
        return position.map { LSN($0) }
    }

    // MARK: Deleting

    /// Deletes the numbers of those clients of a user that have used them longest ago, if there are too many.
    private static func forgetClients(of owner: String, _ db: Database) throws {
        try deleteWriteCheckpoints(
            where: """
                rowid IN (
                    SELECT rowid FROM write_checkpoints WHERE owner = :owner
                    ORDER BY used_at DESC, rowid DESC LIMIT -1 OFFSET \(WriteCheckpointRetention.clientsOfUser)
                )
                """,
            ["owner": owner],
            db
        )
    }

    /// Deletes numbers, and remembers the largest one of each user that the service has counted: the next client of the user begins
    /// above it, and none that comes back is shown a number that it knows already.
    ///
    /// - Returns: How many were deleted.
    @discardableResult
    static func deleteWriteCheckpoints(
        where condition: String,
        _ arguments: [String: (any DatabaseValueConvertible)?],
        _ db: Database
    ) throws -> Int {
        try db.execute(
            sql: """
                INSERT INTO forgotten_write_checkpoints (owner, number)
                SELECT owner, max(write_checkpoint) FROM write_checkpoints
                WHERE requested_at IS NULL AND \(condition)
                GROUP BY owner
                ON CONFLICT (owner) DO UPDATE SET number = max(number, excluded.number)
                """,
            arguments: StatementArguments(arguments)
        )
        try db.execute(
            sql: "DELETE FROM write_checkpoints WHERE \(condition)",
            arguments: StatementArguments(arguments)
        )
        return db.changesCount
    }
}
