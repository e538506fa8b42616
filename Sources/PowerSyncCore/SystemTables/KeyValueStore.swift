package import GRDB

/// The counters and values of `ps_kv` (docs/database.md "Keys of ps_kv").
///
/// Keys of other implementations are left alone. Keys of our own start with `swift_`.
package enum KeyValueStore {
    /// A key of `ps_kv`.
    package struct Key: RawRepresentable, Hashable, Sendable {
        /// The text in the table.
        package let rawValue: String

        /// Creates a key from its text.
        package init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// UUID text: names this database towards the service; survives clearing.
        package static let clientID = Key(rawValue: "client_id")
        /// A hash of the user whose local writes wait in the upload queue.
        package static let queueOwner = Key(rawValue: "swift_queue_owner")
        /// A hash of the user to whom the file belongs, if the app says so.
        package static let account = Key(rawValue: "swift_account")
        /// What the file has begun with, until its user has connected; see ``Seed``.
        package static let seed = Key(rawValue: "swift_seed")
        /// Write gate: checkpoints are published once a write checkpoint of at least this number was seen.
        package static let targetWriteCheckpoint = Key(rawValue: "target_checkpoint_request_id")
        /// The `write_checkpoint` of the last validated complete checkpoint since the last local write.
        package static let lastSeenWriteCheckpoint = Key(rawValue: "last_seen_checkpoint_request_id")
        /// The `write_checkpoint` of the last published complete checkpoint since the last local write.
        package static let lastAppliedWriteCheckpoint = Key(rawValue: "last_applied_checkpoint_request_id")
        /// The newest number that this client asked the service to acknowledge.
        package static let lastRequestedCheckpoint = Key(rawValue: "last_requested_checkpoint_request_id")
        /// The target, if the service has returned it: apps may give their own.
        package static let serviceWriteCheckpoint = Key(rawValue: "swift_service_write_checkpoint")
        /// The last write checkpoint that the app gave of its own, unless it has uploaded without one since.
        package static let ownWriteCheckpoint = Key(rawValue: "swift_own_write_checkpoint")
        /// The highest op id that was published, when no row of `ps_buckets` says so any more; until the next complete checkpoint.
        package static let publishedOp = Key(rawValue: "swift_published_op")
        /// Set to `1` once oplog keys of old JavaScript clients were repaired; survives clearing.
        package static let didRepairOplogKeys = Key(rawValue: "powersync_js_migrated_subkeys")
    }

    /// The id that names this database towards the service.
    ///
    /// - Throws: ``LocalDatabaseError`` with code `missingClientID` when the row is missing, as in a database that was
    ///   prepared for copying.
    package static func clientID(_ db: Database) throws -> String {
        guard let id = try text(db, .clientID) else { throw LocalDatabaseError.missingClientID }
        return id
    }

    /// The value of a counter, `nil` when it is missing.
    ///
    /// Text is read as a number: other writers may have stored text.
    package static func integer(_ db: Database, _ key: Key) throws -> Int64? {
        let statement = try db.cachedStatement(sql: "SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = ?")
        return try Int64.fetchOne(statement, arguments: [key.rawValue])
    }

    /// The text of a value, `nil` when it is missing.
    package static func text(_ db: Database, _ key: Key) throws -> String? {
        let statement = try db.cachedStatement(sql: "SELECT CAST(value AS TEXT) FROM ps_kv WHERE key = ?")
        return try String.fetchOne(statement, arguments: [key.rawValue])
    }

    /// Stores a value, replacing an older one.
    package static func set(_ db: Database, _ key: Key, to value: some DatabaseValueConvertible) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO ps_kv(key, value) VALUES (?, ?)
                ON CONFLICT(key) DO UPDATE SET value = excluded.value
                """
        )
        try statement.execute(arguments: [key.rawValue, value])
    }

    /// Removes everything but what says how this file came to be.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - keepingAccount: Whether it says whose data is in the file, too.
    /// - Throws: `DatabaseError` of SQLite.
    static func clear(_ db: Database, keepingAccount: Bool) throws {
        var kept: [Key] = [.clientID, .didRepairOplogKeys]
        if keepingAccount { kept += [.account, .seed] }
        let parameters = kept.map { _ in "?" }.joined(separator: ", ")
        try db.cachedStatement(sql: "DELETE FROM ps_kv WHERE key NOT IN (\(parameters))")
            .execute(arguments: StatementArguments(kept.map(\.rawValue)))
    }

    /// Removes a key, if present.
    package static func remove(_ db: Database, _ key: Key) throws {
        try db.cachedStatement(sql: "DELETE FROM ps_kv WHERE key = ?").execute(arguments: [key.rawValue])
    }
}
