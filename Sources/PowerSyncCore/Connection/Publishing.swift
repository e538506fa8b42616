package import GRDB

/// The flag "synced rows are being published" of a connection (docs/client-sync.md "Publishing rows").
///
/// While it is set, `powersync_in_sync_operation()` is 1 and nothing is added to the upload queue, so that triggers of
/// raw tables and of users do not turn downloaded rows into local writes. Clearing and repairing rows set it as well.
package enum Publishing {
    /// Runs a closure with the flag set, and clears it on every path out.
    ///
    /// - Throws: What `body` throws, and ``LocalDatabaseError`` when called inside itself or on a connection without our
    ///   functions.
    package static func whilePublishing<Result>(_ db: Database, _ body: () throws -> Result) throws -> Result {
        let state = try ConnectionState.of(db)
        guard !state.isPublishing else {
            throw LocalDatabaseError.invalidState("Synced rows are already being published on this connection.")
        }
        state.isPublishing = true
        defer { state.isPublishing = false }
        return try body()
    }
}
