package import GRDB
import PowerSyncSQLite

/// How much ``LocalData/clear(_:_:)`` removes.
package struct ClearOptions: OptionSet, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// Rows of local-only tables go too.
    package static let localTables = ClearOptions(rawValue: 1)
    /// Downloaded operations stay, so that a later connection resumes where this one ended and publishes again what
    /// the user may still see.
    package static let soft = ClearOptions(rawValue: 2)
    /// Writes that the backend has rejected stay.
    package static let keepingRejectedWrites = ClearOptions(rawValue: 4)
    /// Subscriptions of the app stay, as ones that were never synced.
    package static let keepingSubscriptions = ClearOptions(rawValue: 8)
}

/// Removing what was synced and written, and publishing it again (docs/database.md "Clearing").
package enum LocalData {
    /// Removes all rows, the upload queue, and the sync state, for example when a user signs out.
    ///
    /// Tables, views, the client id and the counters of the upload queue stay, and so do rows of raw tables that declare no
    /// `clear` statement. So does the note that the keys of operations were repaired: those that come later are not to be.
    ///
    /// Disconnect first, then call it inside a write transaction. A sync iteration that runs nevertheless ends with its next
    /// event, and the one after it downloads everything again.
    ///
    /// - Throws: ``LocalDatabaseError`` when no transaction is open, or for a soft clear while a sync iteration runs;
    ///   ``RawTableError`` when the `clear` statement of a raw table fails.
    package static func clear(_ db: Database, _ options: ClearOptions) throws {
        guard db.isInsideTransaction else { throw LocalDatabaseError.notInTransaction }
        if options.contains(.soft) {
            try SyncActivity.requireInactive(db)
            try db.execute(sql: "UPDATE ps_buckets SET last_applied_op = 0")
        } else {
            try db.execute(
                sql: """
                    DELETE FROM ps_oplog;
                    DELETE FROM ps_buckets;
                    """
            )
        }
        try ConnectionState.of(db).didChangeBuckets(db)
        try db.execute(
            sql: """
                DELETE FROM ps_crud;
                DELETE FROM ps_untyped;
                DELETE FROM ps_updated_rows;
                DELETE FROM ps_sync_state;
                """
        )
        try clearSubscriptions(db, keepingThoseOfApp: options.contains(.keepingSubscriptions))
        // What stays of a soft clear is the same user's.
        try KeyValueStore.clear(db, keepingAccount: options.contains(.soft))
        try ConnectionState.of(db).recorder.gateMayBeOpen()
        if !options.contains(.keepingRejectedWrites) { try RejectedWrites.clear(db) }
        // Triggers of the app on these tables may write to views: a part of clearing, and no local write, which the next user
        // would upload.
        try Publishing.whilePublishing(db) {
            try clearDataTables(db, options)
            try clearRawTables(db)
        }
        try SyncStateReset.note(db)
    }

    private static func clearSubscriptions(_ db: Database, keepingThoseOfApp: Bool) throws {
        guard keepingThoseOfApp else { return try db.execute(sql: "DELETE FROM ps_stream_subscriptions") }
        try db.execute(
            sql: """
                DELETE FROM ps_stream_subscriptions WHERE ttl IS NULL;
                UPDATE ps_stream_subscriptions SET active = FALSE, is_default = FALSE, last_synced_at = NULL;
                """
        )
    }

    /// Removes what a file has because it is that of one device: all but what was synced.
    ///
    /// - Parameter db: The writer, inside a transaction, while no sync iteration runs.
    /// - Throws: `DatabaseError` of SQLite.
    static func removeDeviceState(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM ps_crud;
                DELETE FROM main.sqlite_sequence WHERE name = 'ps_crud';
                UPDATE ps_tx SET current_tx = NULL, next_tx = 1;
                DELETE FROM ps_buckets WHERE name = '$local';
                DELETE FROM ps_stream_subscriptions WHERE NOT is_default;
                UPDATE ps_stream_subscriptions SET ttl = NULL, expires_at = NULL, local_priority = NULL;
                """
        )
        try db.cachedStatement(sql: "DELETE FROM ps_kv WHERE key <> ?")
            .execute(arguments: [KeyValueStore.Key.didRepairOplogKeys.rawValue])
        try RejectedWrites.clear(db)
        for table in try DataTable.fetchAll(db) where table.isLocalOnly {
            try db.execute(sql: "DELETE FROM \(SQLText.identifier(table.internalName))")
        }
        for table in try StoredDirectTable.fetchAll(db) where table.isLocalOnly {
            try db.execute(sql: "DELETE FROM \(SQLText.identifier(table.name))")
        }
    }

    /// Runs a transaction that clears, once more with foreign keys off if one refuses what it does.
    ///
    /// Rows that stay, those of local-only tables and of tables of the app, may refer to rows that go: what foreign keys do to them, as
    /// CASCADE, happens, and where one would refuse, they refer to nothing afterwards.
    ///
    /// - Parameters:
    ///   - db: The writer, outside of a transaction.
    ///   - transaction: The whole transaction.
    /// - Returns: What `transaction` returns.
    /// - Throws: What `transaction` throws.
    package static func despiteForeignKeys<Result>(_ db: Database, _ transaction: () throws -> Result) throws -> Result
    {
        do {
            return try transaction()
        } catch  where Refusal(error)?.isForeignKey == true {
            try db.execute(sql: "PRAGMA foreign_keys = OFF")
            let result = Swift.Result { try transaction() }
            try db.execute(sql: "PRAGMA foreign_keys = ON")
            return try result.get()
        }
    }

    private static func clearDataTables(_ db: Database, _ options: ClearOptions) throws {
        let (tables, directTables) = (try DataTable.fetchAll(db), try StoredDirectTable.fetchAll(db))
        // Local-only rows that are out of sight, because a synced table of the name is declared, are nobody's to keep.
        let synced = Set(
            tables.filter { !$0.isLocalOnly }.map { ExactText($0.name) }
                + directTables.filter { !$0.isLocalOnly }.map { ExactText($0.name) }
        )
        for table in tables
        where !table.isLocalOnly || options.contains(.localTables) || synced.contains(ExactText(table.name)) {
            let name = SQLText.identifier(table.internalName)
            // SQLite truncates the table if deletions have no observer, which GRDB knows.
            try db.execute(sql: "DELETE FROM \(name)")
        }
        for table in directTables where !table.isLocalOnly || options.contains(.localTables) {
            try db.execute(sql: "DELETE FROM \(SQLText.identifier(table.name))")
        }
    }

    /// Whether a name is that of a table that the app has made itself.
    ///
    /// - Throws: `DatabaseError` of SQLite.
    package static func isAppTable(_ db: Database, _ name: String) throws -> Bool {
        let isTable = try Bool.fetchOne(
            db,
            sql: "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE",
            arguments: [name]
        )
        guard isTable == true, !["ps_", "sqlite_"].contains(where: name.lowercased().hasPrefix) else { return false }
        return try !StoredDirectTable.fetchAll(db).contains { $0.name.lowercased() == name.lowercased() }
    }

    /// Empties tables of the app, whose triggers make no local writes.
    ///
    /// Call it in the transaction of ``clear(_:_:)``.
    ///
    /// - Throws: `DatabaseError` of SQLite.
    package static func empty(_ db: Database, _ tables: [String]) throws {
        try Publishing.whilePublishing(db) {
            for table in tables { try db.execute(sql: "DELETE FROM \(SQLText.identifier(table))") }
        }
    }

    /// Runs the `clear` statements of the schema that was applied last on this connection.
    ///
    /// Raw tables without such a statement keep their rows.
    private static func clearRawTables(_ db: Database) throws {
        let statements = try ConnectionState.of(db).rawTables.compactMap { table in
            table.clear.map { (table: table.name, sql: $0) }
        }
        guard !statements.isEmpty else { return }
        for (table, sql) in statements {
            do {
                try db.execute(sql: sql)
            } catch {
                throw RawTableError(table: table, context: "Clearing raw table \(table)", error)
            }
        }
        // GRDB does not notice what happens to tables without rowid.
        try Announcements.tell(db, nil, in: .fullDatabase)
    }

    /// Makes the next complete checkpoint publish every row again, for example into a table that is new.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - forgettingProgress: Whether the status becomes "never synced".
    /// - Throws: ``LocalDatabaseError`` when no transaction is open, or while a sync iteration runs.
    package static func triggerResync(_ db: Database, forgettingProgress: Bool) throws {
        guard db.isInsideTransaction else { throw LocalDatabaseError.notInTransaction }
        try SyncActivity.requireInactive(db)
        // The rows stay, and a partial checkpoint must not go back behind them.
        let published = try Int64.fetchOne(db, sql: "SELECT max(last_applied_op) FROM ps_buckets") ?? 0
        if try published > KeyValueStore.integer(db, .publishedOp) ?? 0 {
            try KeyValueStore.set(db, .publishedOp, to: published)
        }
        try db.execute(sql: "UPDATE ps_buckets SET last_applied_op = 0")
        try ConnectionState.of(db).didChangeBuckets(db)
        if forgettingProgress {
            try db.execute(
                sql: """
                    DELETE FROM ps_sync_state;
                    UPDATE ps_stream_subscriptions SET last_synced_at = NULL;
                    """
            )
            try SyncStateReset.note(db)
        }
    }
}
