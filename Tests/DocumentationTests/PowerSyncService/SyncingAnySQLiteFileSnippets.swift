import GRDB
import Hummingbird
import Logging
import PowerSyncService

func makeSyncService(of path: String, buckets: String, key: [UInt8], logger: Logger) throws -> SyncService {
    var configuration = ServiceConfiguration(
        source: .embedded(path: path, statements: []),
        storage: .sqlite(path: buckets),
        syncConfig: .content(
            """
            config: {edition: 3}
            streams:
              notes: {auto_subscribe: true, query: SELECT * FROM notes WHERE owner_id = auth.user_id()}
            """
        )
    )
    configuration.port = 0  // Any free one; usually 8080.
    configuration.authentication.keys = [.hs256(secret: key, id: "app")]
    configuration.authentication.audience = ["notes"]
    return try SyncService(configuration: configuration, logger: logger)
}

func removeSyncService(_ db: Database) throws {
    let triggers = try String.fetchAll(
        db,
        sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE '\\_ps\\_%' ESCAPE '\\'"
    )
    for trigger in triggers { try db.execute(sql: "DROP TRIGGER \(trigger.quotedDatabaseIdentifier)") }
    for table in ["_ps_log", "_ps_tables", "_ps_streams", "_ps_history"] { try db.execute(sql: "DROP TABLE \(table)") }
}

/// An application with the service beside its routes.
func makeApplication(router: Router<BasicRequestContext>, sync: SyncService, logger: Logger) -> some ApplicationProtocol
{
    let application = Application(router: router, services: [sync], logger: logger)
    return application
}
