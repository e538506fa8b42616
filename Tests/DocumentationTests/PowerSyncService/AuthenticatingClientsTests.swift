import Foundation
import GRDB
import Logging
import PowerSync
import PowerSyncBackend
import PowerSyncService
import Testing

/// What the page "Authenticating clients" shows: a service that has the public key of a backend.
@Suite(.timeLimit(.minutes(1))) struct AuthenticatingClientsTests {
    @Test func theServiceTakesWhatTheBackendSigns() async throws {
        let folder = try NotesServer.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "app.db").path(percentEncoded: false)
        let source = try DatabaseQueue(path: path)
        try await source.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, organisation TEXT, text TEXT);
                    INSERT INTO notes VALUES ('1', 'acme', 'ours'), ('2', 'other', 'theirs')
                    """
            )
        }
        try source.close()
        var configuration = ServiceConfiguration(
            source: .embedded(path: path, statements: []),
            storage: .sqlite(path: folder.appending(path: "buckets.db").path(percentEncoded: false)),
            syncConfig: .content(
                """
                config: {edition: 3}
                streams:
                  notes:
                    auto_subscribe: true
                    query: SELECT * FROM notes WHERE organisation = auth.parameter('organisation')
                """
            )
        )
        configuration.host = "127.0.0.1"
        configuration.port = 0
        let key = SigningKey.es256(id: "2026-11")
        let publicKey = try #require(key.publicJWK)
        try accept(publicKey, in: &configuration)
        var logger = Logger(label: "notes") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        try await SyncService.withService(configuration: configuration, logger: logger) { running in
            let database = PowerSyncDatabase(
                schema: Schema(Table(name: "notes", columns: [.text("text")])),
                dbFilename: folder.appending(path: "phone.db").path(percentEncoded: false),
                logger: DefaultLogger(writers: [])
            )
            let (endpoint, secret) = (running.address.url, key.jwk)
            // Nothing is written here, so nothing is uploaded.
            let connector = try HTTPBackendConnector(uploadURL: "http://127.0.0.1:1/upload") {
                PowerSyncCredentials(
                    endpoint: endpoint,
                    token: try syncToken(for: "anna", of: "acme", key: secret)
                )
            }
            try await database.connect(connector: connector, options: nil)
            let rows = try database.watch("SELECT text FROM notes", as: String?.self)
            for try await row in rows where row == ["ours"] { break }
            try await database.close()
        }
    }
}
