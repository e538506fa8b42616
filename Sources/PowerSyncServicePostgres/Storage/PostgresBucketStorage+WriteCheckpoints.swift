import Foundation
package import PowerSyncProtocol
package import PowerSyncServiceCore

/// Write checkpoints (docs/service.md "Write checkpoints of the service").
///
/// Several processes may record some of one user at the same time, and have read the position of the source in another order.
/// So that no number is visible before those below it, positions of one history never go back.
extension PostgresBucketStorage {
    /// In one statement: each write checkpoint asks for it.
    package func publishedPosition() async throws -> SourcePosition? {
        try await ask("reading the published position") { db in
            try db.first(
                """
                SELECT s.last_checkpoint_lsn, h.history FROM (\(Self.served(db))) AS s
                    JOIN \(db.schema).source_histories AS h ON h.id = s.history_id
                WHERE s.last_checkpoint_lsn IS NOT NULL
                """
            ) { try SourcePosition(LSN($0.text(0)), of: SourceHistory(rawValue: $0.text(1))) }
        }
    }

    /// The stream that clients are served from.
    private static func served(_ db: PostgresStatements) -> String {
        """
        SELECT last_checkpoint_lsn, history_id FROM \(db.schema).replication_streams
        WHERE state IN ('ACTIVE', 'ERRORED') ORDER BY id DESC LIMIT 1
        """
    }

    package func createWriteCheckpoint(userKey: String, head: SourcePosition) async throws -> WriteCheckpoint {
        // A client may have asked for the largest number there is: it stays.
        try await writeCheckpoint(userKey: userKey, head: head) { db in
            """
            INSERT INTO \(db.schema).write_checkpoints AS w
                (user_key, digest, owner, write_checkpoint, lsn, history_id, used_at)
            SELECT $1, sha256($1), sha256($4), least(coalesce(f.number, 0), \(Int64.max - 1)) + 1, $2, head.id,
                \(Self.time("$5"))
            FROM head CROSS JOIN served CROSS JOIN (
                SELECT max(number) AS number FROM \(db.schema).forgotten_write_checkpoints WHERE owner IN (sha256($4), '')
            ) AS f
            ON CONFLICT (digest) DO UPDATE SET
                \(Self.keepVisible),
                write_checkpoint = least(w.write_checkpoint, \(Int64.max - 1)) + 1,
                lsn = \(Self.laterPosition),
                history_id = greatest(w.history_id, excluded.history_id),
                requested_at = NULL,
                used_at = excluded.used_at
            RETURNING write_checkpoint, xmax = 0 AS is_new
            """
        }
    }

    package func recordCheckpointRequest(
        _ id: WriteCheckpoint,
        userKey: String,
        head: SourcePosition
    ) async throws -> WriteCheckpoint {
        try await writeCheckpoint(userKey: userKey, head: head, [.integer(id.rawValue)]) { db in
            """
            INSERT INTO \(db.schema).write_checkpoints AS w
                (user_key, digest, owner, write_checkpoint, lsn, history_id, requested_at, used_at)
            SELECT $1, sha256($1), sha256($4), $6, $2, head.id, \(Self.time("$5")), \(Self.time("$5")) FROM head, served
            ON CONFLICT (digest) DO UPDATE SET
                \(Self.keepVisible),
                write_checkpoint = $6,
                lsn = CASE WHEN w.write_checkpoint = $6 THEN w.lsn ELSE \(Self.laterPosition) END,
                history_id = CASE WHEN w.write_checkpoint = $6 THEN w.history_id
                    ELSE greatest(w.history_id, excluded.history_id) END,
                requested_at = excluded.requested_at,
                used_at = excluded.used_at
            WHERE w.write_checkpoint <= $6
            RETURNING write_checkpoint, xmax = 0 AS is_new
            """
        }
    }

    package func skipWriteCheckpoints(head: SourcePosition) async throws {
        let step = WriteCheckpointRetention.skippedNumbers
        @Sendable func raised(_ column: String) -> String { "least(\(column), \(Int64.max - step)) + \(step)" }
        try await write("skipping write checkpoints") { [self] db in
            let history = try PostgresStreamTables(db, in: schema).number(of: head.history)
            try db.run(
                """
                WITH served AS (\(Self.served(db)))
                UPDATE \(db.schema).write_checkpoints AS w SET
                    \(Self.keepVisible), write_checkpoint = \(raised("w.write_checkpoint")), lsn = $1, history_id = $2
                WHERE requested_at IS NULL
                """,
                [.text(head.lsn.rawValue), .integer(history)]
            )
            let forgotten = "\(db.schema).forgotten_write_checkpoints"
            try db.run("UPDATE \(forgotten) SET number = \(raised("number"))")
            // Clients that the storage does not know any more.
            try db.run("INSERT INTO \(forgotten) (owner, number) VALUES ('', \(step)) ON CONFLICT DO NOTHING")
        }
    }

    /// What is visible now stays visible while the new number waits.
    private static let keepVisible = """
        visible_write_checkpoint =
            CASE WHEN \(isVisible) THEN w.write_checkpoint ELSE w.visible_write_checkpoint END,
        visible_lsn = CASE WHEN \(isVisible) THEN w.lsn ELSE w.visible_lsn END,
        visible_history_id = CASE WHEN \(isVisible) THEN w.history_id ELSE w.visible_history_id END
        """

    /// Whether what is recorded is visible now.
    private static let isVisible = isPublished(
        "(SELECT last_checkpoint_lsn FROM served)",
        "(SELECT history_id FROM served)"
    )

    /// The position of a new number: neither in an earlier history than that of the number before, nor before that in the same one.
    private static let laterPosition = """
        CASE WHEN w.history_id > excluded.history_id THEN w.lsn
            WHEN w.history_id = excluded.history_id THEN greatest(w.lsn, excluded.lsn) ELSE excluded.lsn END
        """

    /// Whether a checkpoint covers the position of a record; with NULL, nothing is covered.
    ///
    /// Every checkpoint of a later history does: that copies the source as it is after the uploads.
    private static func isPublished(_ lsn: String, _ history: String) -> String {
        "coalesce(w.history_id < \(history) OR w.history_id = \(history) AND w.lsn <= \(lsn), false)"
    }

    /// A time that is given in seconds since 1970.
    private static func time(_ parameter: String) -> String { "to_timestamp(\(parameter)::text::double precision)" }

    private func seconds(_ time: Date) -> PostgresArgument { .text("\(time.timeIntervalSince1970)") }

    /// The number of a history that the source had a moment ago: that of a stream, or of the history that was seen last.
    private static func number(ofHistory history: String, _ db: PostgresStatements) -> String {
        """
        SELECT id FROM (
            SELECT h.id, 1 AS rank FROM \(db.schema).replication_streams AS s JOIN \(db.schema).source_histories AS h ON h.id = s.history_id
            WHERE s.state IN ('ACTIVE', 'ERRORED', 'PROCESSING') AND h.history = \(history)
            UNION ALL
            SELECT id, 2 FROM (SELECT * FROM \(db.schema).source_histories ORDER BY id DESC LIMIT 1) AS newest
            WHERE history = \(history)
        ) AS found
        ORDER BY rank, id DESC LIMIT 1
        """
    }

    /// Runs a statement that may change the record of a user.
    ///
    /// Its arguments are the key of the client, position and history of the source, the user, the time, and those that are given.
    /// `head` has the number of that history, `served` what is published; without one of them, it does nothing. What it records is
    /// told to all processes: the user's streams may be anywhere.
    ///
    /// No checkpoint is published between the moment at which it looks for what is, and its end: a number that has just become
    /// visible could vanish otherwise, when the statement has waited for another one of the user.
    ///
    /// A stream may have begun with a later history than the one that the source had a moment ago: then that has not come again.
    ///
    /// - Returns: The number that is recorded then.
    private func writeCheckpoint(
        userKey: String,
        head: SourcePosition,
        _ arguments: [PostgresArgument] = [],
        recordedBy sql: @escaping @Sendable (PostgresStatements) -> String
    ) async throws -> WriteCheckpoint {
        let client = PostgresArgument.bytes(Array(userKey.utf8))
        let user = PostgresArgument.bytes(WriteCheckpointRetention.user(ofKey: userKey))
        let notification = StorageNotification.writeCheckpoint(
            process: processID,
            position: head.lsn,
            userKey: userKey
        )
        let values =
            [client, .text(head.lsn.rawValue), .text(head.history.rawValue), user, seconds(now())] + arguments
            + [.text(schema.channel), .text(notification.text)]
        let record: @Sendable (PostgresStatements) throws -> Int64? = { [schema] db in
            // A transaction by itself: where it should not run, nothing is served.
            let statement = """
                WITH served AS (SELECT * FROM (\(Self.served(db))) AS s WHERE \(db.isInPlace)),
                    head AS (\(Self.number(ofHistory: "$3", db))), recorded AS (\(sql(db)))
                SELECT write_checkpoint, is_new, pg_notify($\(values.count - 1), $\(values.count)) FROM recorded
                """
            var recorded: (number: Int64, isNew: Bool)?
            let recording = PostgresStatements.Statement(sql: statement, arguments: values) {
                recorded = try ($0.integer(0), $0.boolean(1))
            }
            try db.run(together: [schema.keepingPublished, recording])
            if recorded?.isNew == true { try Self.forgetClients(of: user, db) }
            return recorded?.number
        }
        let number = try await inSession { try await ask("recording a write checkpoint", record) }
        if let number { return WriteCheckpoint(number) }
        return try await write("recording a write checkpoint") { [self] db in
            guard try PostgresStreamTables(db, in: schema).served() != nil else {
                throw BucketStorageError.noActiveStream
            }
            let history = PostgresArgument.text(head.history.rawValue)
            if try db.first(Self.number(ofHistory: "$1", db), [history], { _ in true }) == nil {
                _ = try PostgresStreamTables(db, in: schema).number(of: head.history)
            }
            if let number = try record(db) { return WriteCheckpoint(number) }
            // A larger one is there.
            let larger = try db.first(
                "SELECT write_checkpoint FROM \(db.schema).write_checkpoints WHERE digest = sha256($1)",
                [client]
            ) { try $0.integer(0) }
            return WriteCheckpoint(larger ?? 1)
        }
    }

    package func visibleWriteCheckpoint(
        userKey: String,
        at checkpoint: StorageCheckpoint
    ) async throws -> WriteCheckpoint? {
        let number = try await ask("reading a write checkpoint") { db in
            try db.first(
                """
                SELECT CASE
                    WHEN w.history_id < s.history_id OR w.history_id = s.history_id AND w.lsn <= $3
                        THEN w.write_checkpoint
                    WHEN w.visible_history_id < s.history_id
                        OR w.visible_history_id = s.history_id AND w.visible_lsn <= $3
                        THEN w.visible_write_checkpoint
                    END
                FROM \(db.schema).write_checkpoints AS w JOIN \(db.schema).replication_streams AS s ON s.id = $2
                WHERE w.digest = sha256($1)
                """,
                [
                    .bytes(Array(userKey.utf8)), .integer(checkpoint.streamID.rawValue),
                    .text(checkpoint.lsn.rawValue),
                ]
            ) { try $0.optionalInteger(0) }
        }
        return number.flatMap(\.self).map { WriteCheckpoint($0) }
    }

    package func nextWriteCheckpoint(userKey: String, after checkpoint: StorageCheckpoint) async throws -> LSN? {
        try await ask("reading a write checkpoint") { db in
            try db.first(
                """
                SELECT w.lsn FROM \(db.schema).write_checkpoints AS w JOIN \(db.schema).replication_streams AS s ON s.id = $2
                WHERE w.digest = sha256($1) AND w.history_id = s.history_id AND w.lsn > $3
                """,
                [
                    .bytes(Array(userKey.utf8)), .integer(checkpoint.streamID.rawValue),
                    .text(checkpoint.lsn.rawValue),
                ]
            ) { try LSN($0.text(0)) }
        }
    }

    // MARK: Deleting

    /// Deletes the numbers of those clients of a user that have used them longest ago, if there are too many.
    private static func forgetClients(of user: PostgresArgument, _ db: PostgresStatements) throws {
        try db.run(
            """
            WITH deleted AS (
                DELETE FROM \(db.schema).write_checkpoints WHERE digest IN (
                    SELECT digest FROM \(db.schema).write_checkpoints WHERE owner = sha256($1)
                    ORDER BY used_at DESC, digest OFFSET \(WriteCheckpointRetention.clientsOfUser)
                ) AND \(db.isInPlace)
                RETURNING owner, write_checkpoint, requested_at
            )
            \(rememberingForgotten(db))
            """,
            [user]
        )
    }

    /// Remembers the largest number of each user that the service has counted, among those that are `deleted`: the next client of
    /// the user begins above it, and none that comes back is shown a number that it knows already.
    private static func rememberingForgotten(_ db: PostgresStatements) -> String {
        """
        INSERT INTO \(db.schema).forgotten_write_checkpoints AS f (owner, number)
        SELECT owner, max(write_checkpoint) FROM deleted WHERE requested_at IS NULL GROUP BY owner
        ON CONFLICT (owner) DO UPDATE SET number = greatest(f.number, excluded.number)
        """
    }

    /// Deletes numbers that clients have chosen and not asked for since long, and those of clients that are gone
    /// (``WriteCheckpointRetention``).
    ///
    /// A client that comes back learns from the answer to its next request that its number was not recorded. Those that still
    /// wait for replication stay, or a client that waits with them would do so for ever.
    func deleteOldRequests() async throws -> Int {
        func before(_ retention: TimeInterval) -> PostgresArgument { seconds(now().addingTimeInterval(-retention)) }
        let arguments = [before(WriteCheckpointRetention.ofRequests), before(WriteCheckpointRetention.ofClients)]
        return try await write("deleting write checkpoints") { [schema] db in
            guard let served = try PostgresStreamTables(db, in: schema).served() else { return 0 }
            return try db.one(
                """
                WITH deleted AS (
                    DELETE FROM \(db.schema).write_checkpoints AS w
                    WHERE (requested_at < \(Self.time("$1")) OR used_at < \(Self.time("$2")))
                        AND \(Self.isPublished("$3", "$4"))
                    RETURNING owner, write_checkpoint, requested_at
                ), remembered AS (\(Self.rememberingForgotten(db)))
                SELECT count(*) FROM deleted
                """,
                arguments + [.text(served.lastCheckpointLSN?.rawValue), .integer(served.historyID)]
            ) { try Int($0.integer(0)) }
        }
    }
}
