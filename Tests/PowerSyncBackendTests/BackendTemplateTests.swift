import Foundation
import GRDB
import Hummingbird
import PowerSync
import PowerSyncBackend
import TestSupport
import Testing

/// The back end that `powersync init --backend` writes, and the connector that the client library has.
@Suite(.timeLimit(.minutes(1))) struct BackendTemplateTests {
    /// Serves its routes on a loopback port.
    private static func serve(
        _ backend: AppBackend,
        _ body: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws {
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: backend.router(),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in continuation.yield(channel.localAddress?.port ?? 0) }
        )
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await application.run() }
            group.addTask {
                for await port in ports { return try await body("http://127.0.0.1:\(port)") }
            }
            // The server only ends when it is cancelled.
            try await group.next()
            group.cancelAll()
        }
    }

    @Test func theConnectorUploadsWithATokenOfTheBackEnd() async throws {
        let folder = try TemporaryFolder()
        let rows = try DatabasePool(path: folder.path("source.db"))
        try await rows.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE lists(id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, name TEXT);
                    CREATE TABLE todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER);
                    """
            )
        }
        let key = SigningKey.eddsa(id: "k")
        let backend = try AppBackend(path: folder.path("source.db"), key: key.jwk, audience: "powersync-dev")
        let database = PowerSyncDatabase(
            inMemory: Schema(
                Table(name: "lists", columns: [.text("owner_id"), .text("name")]),
                Table(name: "todos", columns: [.text("list_id"), .text("title"), .integer("done")])
            ),
            logger: DefaultLogger(minSeverity: .fault)
        )
        try await database.writeTransaction { context in
            try context.execute(sql: "INSERT INTO lists(id, name) VALUES ('l1', 'Groceries')", parameters: [])
            try context.execute(
                sql: "INSERT INTO todos(id, list_id, title, done) VALUES ('t1', 'l1', 'Milk', 0)",
                parameters: []
            )
        }
        try await Self.serve(backend) { url in
            let connector = try HTTPBackendConnector(uploadURL: "\(url)/upload") {
                // What `POST token` gives.
                let signer = SyncTokenSigner(key: key, audience: "powersync-dev")
                return PowerSyncCredentials(endpoint: url, token: try signer.token(userID: "anna").text)
            }
            try await connector.uploadData(database: database)
        }
        #expect(try await database.getUploadQueueStats().count == 0)
        let written = try await rows.read { db in
            try String.fetchAll(
                db,
                sql: "SELECT owner_id || ' ' || name || ' ' || title FROM lists JOIN todos ON list_id = lists.id"
            )
        }
        #expect(written == ["anna Groceries Milk"])
        try await database.close()
    }

    @Test func aFileWithoutTablesSaysWhatToDo() throws {
        let folder = try TemporaryFolder()
        #expect {
            try AppBackend(path: folder.path("none.db"), key: SigningKey.eddsa(id: "k").jwk, audience: "a")
        } throws: { "\($0)".contains("Start the sync service once: powersync dev") }
    }
}
