public import Foundation

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
/// Databases of one file in a process share its connections, its schema and its sync; most apps create one and share it. When a later
/// one has another schema, its first use replaces the schema for all of them, as
/// ``PowerSyncDatabaseProtocol/updateSchema(schema:)`` does, and throws while the file is connected. One with other initial statements
/// throws at each use. A warning in the log tells of both. A closed database leaves the others as they are, and the last one closes the
/// file.
///
/// - Parameters:
///   - schema: The tables of the app.
///   - dbFilename: `:memory:` for a private database in memory, an absolute path, or a name inside the user's directory
///     for application data. Missing directories are created.
///   - logger: Receives messages.
///   - initialStatements: What runs first on every connection, for example `PRAGMA foreign_keys = ON`. For the key of an encrypted
///     file there is a function with `key`; `PRAGMA key` can stand here, too.
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

/// Creates a local database in an encrypted file.
///
/// ```swift
/// let database = PowerSyncDatabase(
///     schema: schema,
///     dbFilename: "app.db",
///     key: { try .bytes(keychain.databaseKey()) }
/// )
/// ```
///
/// It is as any other database, and needs a SQLite library with a cipher, such as SQLCipher (*Encryption*). When it cannot be opened, each
/// operation throws ``PowerSyncError/operationFailed(message:underlyingError:)``, with a ``DatabaseKeyError`` below for a
/// library without a cipher and for a file with another key or none, or the error of the closure. A database in
/// memory has no key.
///
/// - Parameters:
///   - schema: The tables of the app.
///   - dbFilename: As in the function without `key`.
///   - logger: Receives messages.
///   - initialStatements: What runs first on every connection, after the key.
///   - key: Gives the key, on a thread that may wait. Called when the file is opened, and again when that has failed; while it is open
///     in this process, a further database of the file uses the same connections, and its closure is not called.
/// - Returns: The database, not opened yet.
public func PowerSyncDatabase(
    schema: Schema,
    dbFilename: String = DEFAULT_DB_FILENAME,
    logger: (any LoggerProtocol) = DefaultLogger(),
    initialStatements: [String] = [],
    key: @escaping @Sendable () throws -> DatabaseKey
) -> any PowerSyncDatabaseProtocol {
    SyncedDatabase(
        schema: schema,
        dbFilename: dbFilename,
        logger: logger,
        initialStatements: initialStatements,
        key: key,
        environment: .live
    )
}

/// Creates a local database that begins with what was synced before, when it has no file yet.
///
/// ```swift
/// let database = PowerSyncDatabase(schema: schema, dbFilename: "app.db", seedFile: seed, seedUser: user.id)
/// ```
///
/// The seed is a file that `powersync seed` has made of one user's rows (*Seeding*). The first use copies it, then the database can be read
/// without a network, and a connection downloads only what the service has had since. Each copy has a client id and an upload queue of its
/// own. When the database has a file already, the seed is not looked at.
///
/// The first connection compares the `sub` of its token with the user of the seed: rows of another user are removed before the stream is
/// opened. While writes of the app wait for their upload, nothing is removed, and the connection fails with the code
/// ``PowerSyncErrorCode/otherAccount``.
///
/// When there is no seed, or a file that is none, each operation throws ``PowerSyncError`` with the code
/// ``PowerSyncErrorCode/cannotOpen``.
///
/// - Parameters:
///   - schema: The tables of the app.
///   - dbFilename: As in the function without `seedFile`; not `:memory:`.
///   - logger: Receives messages.
///   - initialStatements: What runs first on every connection.
///   - seedFile: Where the seed is, for example in the bundle of the app. It is only read, and has no key.
///   - seedUser: The `sub` of the tokens of the user who is signed in, if the app knows it: a seed of another user is left alone then, and the
///     database begins empty. Without it, rows of the seed can be read before the first connection, whosever they are.
///   - key: Gives the key, with which the copy is encrypted before it becomes the database; `nil` for none.
/// - Returns: The database, not opened yet.
public func PowerSyncDatabase(
    schema: Schema,
    dbFilename: String = DEFAULT_DB_FILENAME,
    logger: (any LoggerProtocol) = DefaultLogger(),
    initialStatements: [String] = [],
    seedFile: URL,
    seedUser: String? = nil,
    key: (@Sendable () throws -> DatabaseKey)? = nil
) -> any PowerSyncDatabaseProtocol {
    SyncedDatabase(
        schema: schema,
        dbFilename: dbFilename,
        logger: logger,
        initialStatements: initialStatements,
        key: key,
        seedFile: seedFile.path,
        seedUser: seedUser,
        environment: .live
    )
}

/// Creates a database in memory, for previews and tests.
///
/// ```swift
/// #Preview {
///     TodoList(
///         database: PowerSyncDatabase(inMemory: schema) { rows in
///             try rows.insert(Todo(id: "t1", title: "Milk"), into: "todos")
///         }
///     )
/// }
/// ```
///
/// It has one connection: a query waits while a transaction runs, and sees what that has committed, as in a file. Otherwise it is like
/// any other database, and it can be connected.
///
/// - Parameters:
///   - schema: The tables of the app.
///   - logger: Receives messages.
///   - rows: Writes the rows that the database begins with, when it is used first. They count as rows of the service: they are not
///     uploaded. When it throws, each operation of the database throws that error.
/// - Returns: The database. Two of one schema have nothing in common.
public func PowerSyncDatabase(
    inMemory schema: Schema,
    logger: (any LoggerProtocol) = DefaultLogger(),
    rows: (@Sendable (_ transaction: any Transaction) throws -> Void)? = nil
) -> any PowerSyncDatabaseProtocol {
    SyncedDatabase(schema: schema, dbFilename: ":memory:", logger: logger, environment: .live, initialRows: rows)
}
