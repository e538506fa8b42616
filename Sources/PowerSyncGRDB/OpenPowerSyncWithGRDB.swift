public import GRDB
public import PowerSync

/// Creates a PowerSync database over a GRDB pool of the app.
///
/// The pool is used for everything: the app goes on with records, the query interface and `ValueObservation`, and sees what
/// is synced; what it writes to the views of the schema is uploaded. Nothing happens before the first operation, which
/// creates the internal tables and applies the schema.
///
/// ```swift
/// var configuration = Configuration()
/// try configuration.configurePowerSync(schema: schema)
/// let pool = try DatabasePool(path: path, configuration: configuration)
///
/// let powerSync = openPowerSyncWithGRDB(pool: pool, schema: schema, identifier: "app.db")
/// try await powerSync.connect(connector: connector, options: nil)
///
/// try await pool.write { db in try List(id: UUID().uuidString, name: "Groceries").insert(db) }
/// ```
///
/// Closing the database closes the pool. `close(deleteDatabase: true)` deletes nothing, since the file is the app's.
///
/// - Parameters:
///   - pool: The pool, opened with `Configuration.configurePowerSync(schema:)`.
///   - schema: The tables of the app.
///   - identifier: How messages name the database. Databases of one file know each other by the path of the pool.
///   - logger: Receives messages.
/// - Returns: The database, not prepared yet.
public func openPowerSyncWithGRDB(
    pool: DatabasePool,
    schema: Schema,
    identifier: String,
    logger: (any LoggerProtocol) = DefaultLogger()
) -> any PowerSyncDatabaseProtocol {
    SyncedDatabase(schema: schema, writer: pool, identifier: identifier, logger: logger)
}
