import GRDB
package import PowerSyncProtocol

/// Write checkpoints (`service.md` 16, `wire-protocol.md` 12).
extension SQLiteBucketStorage {
    package func createWriteCheckpoint(userKey: String, head: LSN) async throws -> WriteCheckpoint {
        guard feed.current != nil else {
            throw BucketStorageError(.noActiveStream, "No sync config is active yet: nothing has been replicated.")
        }
        return try await pool.write { db in
            let published = try StreamRecord.served(db)?.lastCheckpointLSN
            // What is visible now stays visible while the new number waits. On the right-hand side of SET, columns
            // have their old values.
            try db.execute(
                sql: """
                    INSERT INTO write_checkpoints (user_id, write_checkpoint, lsn) VALUES (:user, 1, :head)
                    ON CONFLICT (user_id) DO UPDATE SET
                        visible_write_checkpoint =
                            CASE WHEN lsn <= :published THEN write_checkpoint ELSE visible_write_checkpoint END,
                        visible_lsn = CASE WHEN lsn <= :published THEN lsn ELSE visible_lsn END,
                        write_checkpoint = write_checkpoint + 1,
                        lsn = :head,
                        checkpoint_requested_at = NULL
                    """,
                arguments: ["user": userKey, "head": head.rawValue, "published": published?.rawValue]
            )
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
