package import GRDB

/// How every connection to a PowerSync database is prepared (docs/database.md "Connections").
package enum ConnectionSetUp {
    /// The page cache of the writer, in KiB.
    static let writerCacheSize = 51_200
    /// The size to which the write-ahead log shrinks after a checkpoint, in bytes.
    static let journalSizeLimit = 6_291_456

    /// Sets what SQLite's own default is, whatever its build says.
    ///
    /// For connections of ours, before anything else; it does not read the file. Connections of the app are for the app to
    /// decide on, except for the trust in the schema, which ``SQLFunctions`` need.
    package static func setDefaults(_ db: Database) throws {
        try db.execute(sql: "PRAGMA foreign_keys = OFF; PRAGMA recursive_triggers = OFF")
    }

    /// Whether views and triggers may call functions.
    package static func isSchemaTrusted(_ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "PRAGMA trusted_schema") ?? true
    }

    /// Adds our functions and pragmas to a configuration, after what it already prepares.
    ///
    /// An encryption key must be set by a closure that was added earlier, since everything here reads the file.
    package static func apply(to configuration: inout Configuration) {
        configuration.busyMode = .timeout(ConnectionState.busyTimeout)
        configuration.prepareDatabase { db in
            try prepare(db)
        }
    }

    /// Bounds the write-ahead log of an app's own connection as that of ours, except for what the app has set.
    ///
    /// Of the size limit, the cache and the interval of checkpoints, values that are not SQLite's defaults are the app's
    /// decision, or that of who built the library. The cache counts because a transaction that does not fit into it writes
    /// pages to the log more than once.
    ///
    /// Reads the file.
    package static func boundLog(_ db: Database) throws {
        guard !db.configuration.readonly else { return }
        if try Int.fetchOne(db, sql: "PRAGMA journal_size_limit") == -1 {
            try db.execute(sql: "PRAGMA journal_size_limit = \(journalSizeLimit)")
        }
        // In KiB, or in pages.
        if let size = try Int.fetchOne(db, sql: "PRAGMA cache_size"), [-2_000, 2_000].contains(size) {
            try db.execute(sql: "PRAGMA cache_size = -\(writerCacheSize)")
        }
        try WriteAheadLog.keepSmall(db)
    }

    /// Prepares one connection.
    ///
    /// Call it in GRDB's `Configuration.prepareDatabase`.
    ///
    /// Functions come first, so that no statement can ever meet a trigger whose functions are missing. The journal
    /// mode is GRDB's business: a `DatabasePool` switches its writer to WAL after this call.
    ///
    /// `temp_store` keeps its default, files. In memory, SQLite sorts without a limit: creating the indexes of
    /// `ps_oplog` after a first sync of a million rows then takes 100 MB more, and writes through views are hardly faster
    /// (`Benchmarks/`, areas `apply` and `local-writes`).
    package static func prepare(_ db: Database) throws {
        try SQLFunctions.install(on: db)
        guard !db.configuration.readonly else { return }
        try db.execute(
            sql: """
                PRAGMA journal_size_limit = \(journalSizeLimit);
                PRAGMA cache_size = -\(writerCacheSize);
                PRAGMA synchronous = NORMAL;
                """
        )
        try WriteAheadLog.keepSmall(db)
    }
}
