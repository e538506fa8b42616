import GRDBSQLite
import PowerSyncCore

/// Adds PowerSync's SQL functions to every SQLite connection that this process opens from now on.
///
/// For apps that open connections of their own to a PowerSync database, and write to its views. Calling it again is
/// harmless. Apple's SQLite does not support this: there, call ``registerPowerSyncFunctions(on:)`` for each connection.
///
/// - Returns: Always `nil`: there is no extension to load.
/// - Throws: ``PowerSyncError/sqliteError(extendedResultCode:offset:message:errorString:sql:)`` when SQLite refuses.
public func resolvePowerSyncLoadableExtensionPath() throws(PowerSyncError) -> String? {
    typealias EntryPoint =
        @convention(c) (
            OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?
        ) -> CInt
    let entryPoint: EntryPoint = { connection, _, _ in
        guard let connection = unsafe connection else { return SQLITE_MISUSE }
        // An error here would make opening any database fail, also of code that knows nothing of PowerSync.
        try? unsafe SQLFunctions.install(on: connection)
        return SQLITE_OK
    }
    // SQLite declares the entry point without its parameters, and calls it with them.
    let code = unsafe sqlite3_auto_extension(unsafeBitCast(entryPoint, to: (@convention(c) () -> Void).self))
    guard code == SQLITE_OK else {
        throw unsafe .sqliteError(
            extendedResultCode: code,
            message: "SQLite refuses automatic extensions; use registerPowerSyncFunctions(on:) for each connection",
            errorString: String(cString: sqlite3_errstr(code))
        )
    }
    return nil
}

/// Adds PowerSync's SQL functions to one SQLite connection.
///
/// Views and triggers of a PowerSync database can then be written to. Functions that administrate the database
/// (`powersync_init`, `powersync_replace_schema`, `powersync_clear`, …) need a connection of PowerSync or GRDB.
///
/// - Parameter connection: The `sqlite3 *`, used by the call alone while it runs.
/// - Throws: ``PowerSyncError/sqliteError(extendedResultCode:offset:message:errorString:sql:)`` when SQLite refuses.
public func registerPowerSyncFunctions(on connection: OpaquePointer) throws {
    try PowerSyncError.wrappingErrors { try unsafe SQLFunctions.install(on: connection) }
}
