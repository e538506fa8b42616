/// Creates a database over SQLite connections that the app has opened.
///
/// Statements of the app run on the pool's connections. Syncing, the upload queue and watch queries use connections of
/// their own to the same file, and write only while they hold the pool's writer. Nothing happens before the first
/// operation, which adds PowerSync's SQL functions to the connections of the pool, creates the internal tables and
/// applies the schema.
///
/// ```swift
/// let database = OpenedPowerSyncDatabase(schema: schema, pool: MyPool(path: path), identifier: path)
/// ```
///
/// The pool needs a file, which is opened a second time: a database in memory cannot be, and an encrypted one needs the function with `key`. Apps on
/// GRDB use `openPowerSyncWithGRDB` of the module `PowerSyncGRDB`, which has no such limits.
///
/// - Parameters:
///   - schema: The tables of the app.
///   - pool: The connections. Closed with the database.
///   - identifier: The path of the file, or another text that is equal for all databases of one file in this process.
///   - logger: Receives messages.
/// - Returns: The database, not prepared yet.
public func OpenedPowerSyncDatabase(
    schema: Schema,
    pool: any SQLiteConnectionPoolProtocol,
    identifier: String,
    logger: (any LoggerProtocol) = DefaultLogger()
) -> any PowerSyncDatabaseProtocol {
    SyncedDatabase(
        schema: schema,
        source: .pool(pool),
        identity: DatabaseLocation.identity(of: identifier),
        name: identifier,
        logger: logger,
        environment: .live
    )
}

/// Creates a database over SQLite connections that the app has opened to an encrypted file.
///
/// - Parameters:
///   - schema: The tables of the app.
///   - pool: The connections, which have the key already. Closed with the database.
///   - identifier: The path of the file, or another text that is equal for all databases of one file in this process.
///   - logger: Receives messages.
///   - key: Gives the key for the connections of PowerSync to the same file, when they are opened. PowerSync, too, needs a SQLite library
///     with a cipher (*Encryption*).
/// - Returns: The database, not prepared yet.
public func OpenedPowerSyncDatabase(
    schema: Schema,
    pool: any SQLiteConnectionPoolProtocol,
    identifier: String,
    logger: (any LoggerProtocol) = DefaultLogger(),
    key: @escaping @Sendable () throws -> DatabaseKey
) -> any PowerSyncDatabaseProtocol {
    SyncedDatabase(
        schema: schema,
        source: .pool(pool, key: key),
        identity: DatabaseLocation.identity(of: identifier),
        name: identifier,
        logger: logger,
        environment: .live
    )
}
