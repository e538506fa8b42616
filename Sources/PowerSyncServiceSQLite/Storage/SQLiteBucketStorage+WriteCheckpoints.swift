package import PowerSyncServiceCore
import Foundation
import GRDB
package import PowerSyncProtocol

/// Write checkpoints (docs/service.md "Write checkpoints of the service").
extension SQLiteBucketStorage {
    package func createWriteCheckpoint(userKey: String, head: LSN) async throws -> WriteCheckpoint {
        // A client may have asked for the largest number there is. It stays; adding to it would make it a `REAL`.
        try await writeCheckpoint(
            userKey: userKey,
            recordedBy: """
                INSERT INTO write_checkpoints (user_id, write_checkpoint, lsn) VALUES (:user, 1, :head)
                ON CONFLICT (user_id) DO UPDATE SET
                    \(Self.keepVisible),
                    write_checkpoint = min(write_checkpoint, \(Int64.max - 1)) + 1,
                    lsn = :head,
                    checkpoint_requested_at = NULL
                """,
            ["head": head.rawValue]
        )
    }

    package func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: LSN
    ) async throws -> WriteCheckpoint {
        try await writeCheckpoint(
            userKey: userKey,
            recordedBy: """
                INSERT INTO write_checkpoints (user_id, write_checkpoint, lsn, checkpoint_requested_at)
                VALUES (:user, :id, :head, :now)
                ON CONFLICT (user_id) DO UPDATE SET
                    \(Self.keepVisible),
                    write_checkpoint = :id,
                    lsn = CASE WHEN write_checkpoint = :id THEN lsn ELSE :head END,
                    checkpoint_requested_at = :now
                WHERE write_checkpoint <= :id
                """,
            ["id": id.rawValue, "head": head.rawValue, "now": now().ISO8601Format()]
        )
    }

    /// What is visible now stays visible while the new number waits.
    ///
    /// On the right-hand side of `SET`, columns have their old values.
    private static let keepVisible = """
        visible_write_checkpoint =
            CASE WHEN lsn <= :published THEN write_checkpoint ELSE visible_write_checkpoint END,
        visible_lsn = CASE WHEN lsn <= :published THEN lsn ELSE visible_lsn END
        """

    /// Runs a statement that may change the record of a user.
    ///
    /// - Returns: The number that is recorded then.
    private func writeCheckpoint(
        userKey: String,
        recordedBy sql: String,
        _ arguments: [String: (any DatabaseValueConvertible & Sendable)?]
    ) async throws -> WriteCheckpoint {
        guard feed.current != nil else {
            throw BucketStorageError.noActiveStream
        }
        return try await pool.write { db in
            let published = try StreamRecord.served(db)?.lastCheckpointLSN
            var arguments: [String: (any DatabaseValueConvertible)?] = arguments
            arguments["user"] = userKey
            arguments["published"] = published?.rawValue
            try db.execute(sql: sql, arguments: StatementArguments(arguments))
            let number = try Int64.fetchOne(
                db,
                sql: "SELECT write_checkpoint FROM write_checkpoints WHERE user_id = ?",
                arguments: [userKey]
            )
            return WriteCheckpoint(number ?? 1)
        }
    }

    package func visibleWriteCheckpoint(
        userKey: String,
        at checkpoint: StorageCheckpoint
    ) async throws -> WriteCheckpoint? {
        let number = try await pool.read { db in
            try Int64.fetchOne(
                db,
                sql: """
                    SELECT CASE WHEN lsn <= :lsn THEN write_checkpoint
                                WHEN visible_lsn <= :lsn THEN visible_write_checkpoint END
                    FROM write_checkpoints WHERE user_id = :user
                    """,
                arguments: ["user": userKey, "lsn": checkpoint.lsn.rawValue]
            )
        }
        return number.map { WriteCheckpoint($0) }
    }
}
