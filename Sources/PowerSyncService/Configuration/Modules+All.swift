package import PowerSyncServiceCore
@_exported public import PowerSyncServiceMySQL
@_exported public import PowerSyncServicePostgres
@_exported public import PowerSyncServiceSQLite

/// The databases of this service: the only place that names them.
extension Modules {
    /// All of them.
    package static let all = Modules(
        sources: [PostgresSourceModule.self, MySQLSourceModule.self, EmbeddedSourceModule.self],
        storages: [SQLiteStorageModule.self, PostgresStorageModule.self],
        unavailableTypes: ["mongodb", "mssql", "convex", "mysql"]
    )
}
