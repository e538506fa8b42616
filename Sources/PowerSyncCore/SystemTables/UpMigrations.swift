import GRDB

/// The way from each internal schema version to the next (docs/database.md "Migrations").
///
/// | Version | Since core release | What it brought |
/// | --- | --- | --- |
/// | 1 | before 0.3.0 | the tables `ps_oplog`, `ps_buckets`, `ps_untyped`, `ps_crud` |
/// | 2 | before 0.3.0 | transaction ids of the upload queue |
/// | 3 | before 0.3.0 | `ps_kv`, the client id |
/// | 4 | before 0.3.0 | checksums of buckets |
/// | 5 | 0.3.0 | a compact `ps_oplog` without superseded operations, `ps_updated_rows` |
/// | 6 | 0.3.6 | repair of dangling rows |
/// | 7 | 0.3.10 | `ps_sync_state` |
/// | 8 | 0.3.12 | a primary key for `ps_sync_state` |
/// | 9 | 0.3.13 | counters for the download progress |
/// | 10 | 0.4.1 | triggers that write to the virtual table `powersync_crud` |
/// | 11 | 0.4.5 | stream subscriptions |
/// | 12 | 0.4.11 | the size of downloads |
/// | 13 | 0.5.0 | times in microseconds |
/// | 14 | 0.5.0 | checkpoint requests; the write gate moves from the bucket `$local` to `ps_kv` |
///
/// A step is never changed once it was released: it names the tables as they were at its version, and shares no text with
/// ``SystemTables/layout``.
///
/// Columns are added, but no table is renamed and no column dropped; what changes its shape is copied instead. `ALTER TABLE
/// … RENAME` and `DROP COLUMN` parse all views and triggers of the file, so a view of the application whose table is
/// gone would keep its file from being upgraded; and renaming rewrites triggers that mention the table.
enum UpMigrations {
    /// Takes a file from one version to a later one.
    ///
    /// Each step records itself in `ps_migration`.
    ///
    /// - Parameters:
    ///   - db: The writer, inside a transaction.
    ///   - version: The version before the first step, 0 for a file without tables.
    ///   - target: The version after the last step, at most ``SystemTables/currentVersion``.
    /// - Throws: GRDB's `DatabaseError`. The transaction has to be rolled back then.
    static func run(_ db: Database, from version: Int, to target: Int) throws {
        for step in max(version, 0) + 1...target {
            try apply(db, step, isNewFile: version < 1)
            try SystemTables.recordVersion(db, step)
        }
    }

    private static func apply(_ db: Database, _ step: Int, isNewFile: Bool) throws {
        switch step {
        case 1: try createBaseTables(db)
        case 2: try addTransactionIDs(db)
        case 3: try addKeyValueStore(db)
        case 4: try addBucketChecksums(db)
        case 5: try compactOplog(db)
        case 6: if !isNewFile { try recordDanglingRows(db) }
        case 7: try addSyncState(db)
        case 8: try addKeyOfSyncState(db)
        case 9: try addProgressCounters(db)
        // The triggers are replaced when the client schema is applied. The version exists for its way back only.
        case 10: break
        case 11: try addStreamSubscriptions(db)
        case 12: try addDownloadedSize(db)
        case 13: try storeTimesInMicroseconds(db)
        case 14: try moveWriteGate(db)
        default: preconditionFailure("no migration leads to version \(step)")
        }
    }
}
