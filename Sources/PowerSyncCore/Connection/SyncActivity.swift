package import GRDB

/// The flag "a sync iteration is running" of the writer connection.
///
/// It makes soft clearing and `powersync_trigger_resync` fail, which would pull buckets away under a running
/// iteration. The sync engine sets it when it starts and clears it when it stops.
package enum SyncActivity {
    /// Whether an iteration is running.
    package static func isActive(_ db: Database) throws -> Bool {
        try ConnectionState.of(db).isSyncing
    }

    /// Says that an iteration starts or ends.
    package static func setActive(_ db: Database, _ isActive: Bool) throws {
        try ConnectionState.of(db).isSyncing = isActive
    }

    /// Throws when an iteration is running.
    static func requireInactive(_ db: Database) throws {
        guard try !isActive(db) else {
            throw LocalDatabaseError.invalidArgument(
                "Cannot clear or trigger resync while a sync iteration is active."
            )
        }
    }
}
