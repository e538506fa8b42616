/// The default of the `dbFilename` parameter: `powersync.db`.
public let DEFAULT_DB_FILENAME = "powersync.db"

/// Creates a local database that can be synced.
///
/// Nothing is opened before the first operation; that one, and each later one, reports why the database cannot be opened.
///
/// ```swift
/// let schema = Schema(Table(name: "lists", columns: [.text("name")]))
/// let database = PowerSyncDatabase(schema: schema)
/// try await database.execute(sql: "INSERT INTO lists (id, name) VALUES (uuid(), ?)", parameters: ["Groceries"])
/// ```
///
/// - Parameters:
///   - schema: The tables of the app.
///   - dbFilename: `:memory:` for a private database in memory, an absolute path, or a name inside the user's directory
///     for application data. Missing directories are created.
///   - logger: Receives messages.
///   - initialStatements: What runs first on every connection, for example `PRAGMA foreign_keys = ON`. The key of an encrypted
///     file (`PRAGMA key`) belongs here, too. It needs a SQLite library with a cipher, such as SQLCipher; with any other the
///     database is not opened, and each operation throws ``PowerSyncError/operationFailed(message:underlyingError:)`` with a
///     ``MissingCipherError``.
/// - Returns: The database, not opened yet.
public func PowerSyncDatabase(
    schema: Schema,
    dbFilename: String = DEFAULT_DB_FILENAME,
    logger: (any LoggerProtocol) = DefaultLogger(),
    initialStatements: [String] = []
) -> any PowerSyncDatabaseProtocol {
    SyncedDatabase(
        schema: schema,
        dbFilename: dbFilename,
        logger: logger,
        initialStatements: initialStatements,
        environment: .live
    )
}
