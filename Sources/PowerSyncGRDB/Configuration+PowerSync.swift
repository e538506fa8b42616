public import GRDB
public import PowerSync
import PowerSyncCore

extension Configuration {
    /// Prepares connections for a PowerSync database.
    ///
    /// Adds PowerSync's SQL functions to every new connection, and tells GRDB that `id` is the primary key of the schema's
    /// views, so that records can be fetched, updated, deleted and associated by key. A schema source that was set before
    /// still answers for other views. Call it before the pool is opened, and after closures that set an encryption key.
    ///
    /// The writing connection gets the bounds that PowerSync's own connections have, so that a first sync does not leave a
    /// write-ahead log of hundreds of megabytes: `PRAGMA journal_size_limit` of 6 MiB, a page cache of 50 MiB, and checkpoints
    /// that truncate the log from 64 MiB on. Each of them stays as it is when an earlier closure, or the build of the SQLite
    /// library, has set another value than SQLite's default; the checkpoints also with a
    /// `PRAGMA wal_autocheckpoint` or a busy callback of the app. Closures that are added later can still change all of it.
    ///
    /// ```swift
    /// var configuration = Configuration()
    /// try configuration.configurePowerSync(schema: schema)
    /// let pool = try DatabasePool(path: path, configuration: configuration)
    /// ```
    ///
    /// - Parameter schema: The tables of the app.
    /// - Throws: Nothing today; other implementations load an extension here.
    public mutating func configurePowerSync(schema: Schema) throws {
        prepareDatabase { db in
            try SQLFunctions.install(on: db)
            try ConnectionSetUp.boundLog(db)
        }
        let views = PowerSyncViews(names: Set(schema.tables.map(\.viewName)))
        schemaSource = schemaSource.map { views.followed(by: $0) } ?? views
    }
}

/// Tells GRDB the primary key of a schema's views.
private struct PowerSyncViews: DatabaseSchemaSource {
    let names: Set<String>

    func columnsForPrimaryKey(_ db: Database, inView view: DatabaseObjectID) throws -> [String]? {
        names.contains(view.name) ? ["id"] : nil
    }

    /// Opens the existential of the other source.
    func followed(by other: some DatabaseSchemaSource) -> any DatabaseSchemaSource {
        then(other)
    }
}
