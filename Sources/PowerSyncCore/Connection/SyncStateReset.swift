package import GRDB

/// The flag "what the database knew of earlier syncs was removed" of a connection.
///
/// ``LocalData`` sets it for every caller: the SDK, or the app through the SQL functions `powersync_clear` and
/// `powersync_trigger_resync`. A status that was read before is out of date once the transaction is committed.
package enum SyncStateReset {
    /// Whether the flag was set since the last call, which also removes it.
    ///
    /// Ask after each commit; after a rollback, ask and ignore the answer.
    package static func take(_ db: Database) -> Bool {
        guard let handle = unsafe db.sqliteConnection, let state = unsafe ConnectionState.find(handle) else {
            return false
        }
        defer { state.didResetSyncState = false }
        return state.didResetSyncState
    }

    /// The open transaction removes what the database knows.
    static func note(_ db: Database) throws {
        try ConnectionState.of(db).didResetSyncState = true
    }
}
