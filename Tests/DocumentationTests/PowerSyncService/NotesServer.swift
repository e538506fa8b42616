import Foundation
import GRDB
import Hummingbird
import Logging
import PowerSync
import PowerSyncBackend
import PowerSyncBackendHummingbird
import PowerSyncService

/// A server with notes in a SQLite file, to which the page "Syncing any SQLite file" adds a sync service.
struct NotesServer: Sendable {
    let folder: URL
    let database: DatabasePool
    let signer: SyncTokenSigner
    /// Where clients upload.
    let uploadURL: String
    /// The sync service.
    let syncURL: String

    var path: String { folder.appending(path: "app.db").path(percentEncoded: false) }

    private static let key = Array("a secret for tests, 32 bytes or more".utf8)

    static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "powersync-notes-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Runs a server in a folder of its own.
    static func whileRunning(
        logger: Logger = quietLogger,
        _ body: @escaping @Sendable (NotesServer) async throws -> Void
    ) async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        try await whileRunning(in: folder, logger: logger, body)
    }

    private static var quietLogger: Logger {
        var logger = Logger(label: "notes") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = .critical
        return logger
    }

    /// Runs a server over the files of a folder.
    static func whileRunning<Result: Sendable>(
        in folder: URL,
        logger: Logger = quietLogger,
        _ body: @escaping @Sendable (NotesServer) async throws -> Result
    ) async throws -> Result {
        let path = folder.appending(path: "app.db").path(percentEncoded: false)
        let database = try DatabasePool(path: path)
        try await database.write { db in
            guard try !db.tableExists("notes") else { return }
            try db.execute(
                sql: """
                    CREATE TABLE notes (id TEXT PRIMARY KEY NOT NULL, owner_id TEXT, text TEXT);
                    INSERT INTO notes VALUES ('1', 'anna', 'old')
                    """
            )
        }
        let applier = SQLiteUploadApplier(database) { write, db in
            guard write.entry.table == "notes" else { return .reject("There is no table \(write.entry.table).") }
            var values = write.entry.data ?? [:]
            values["owner_id"] = .string(write.user.id)
            guard try write.belongsToUser(by: "owner_id", values: values, db) else {
                return .reject("The note belongs to somebody else.")
            }
            return .apply(values)
        }
        let signer = SyncTokenSigner(key: try SigningKey.hs256(secret: key, id: "app"), audience: "notes")
        let router = Router()
        BackendRoutes<BasicRequestContext>(applier: applier, signer: signer).add(to: router)
        let sync = try makeSyncService(
            of: path,
            buckets: folder.appending(path: "buckets.db").path(percentEncoded: false),
            key: key,
            logger: logger
        )
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            services: [sync],
            onServerRunning: { channel in port.yield(channel.localAddress?.port ?? 0) },
            logger: logger
        )
        let result = try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await application.run()
                return nil
            }
            group.addTask {
                let syncURL = try await sync.waitUntilReady().url
                for await port in ports {
                    return try await body(
                        NotesServer(
                            folder: folder,
                            database: database,
                            signer: signer,
                            uploadURL: "http://127.0.0.1:\(port)/upload",
                            syncURL: syncURL
                        )
                    )
                }
                return nil
            }
            while let result = try await group.next() {
                guard let result else { continue }
                group.cancelAll()
                while let _ = try? await group.next() {}
                return result
            }
            throw CancellationError()
        }
        try database.close()
        return result
    }

    func client(_ name: String, of user: String, columns: [PowerSync.Column] = [.text("text")]) -> NotesClient {
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "notes", columns: columns)),
            dbFilename: folder.appending(path: "\(name).db").path(percentEncoded: false),
            logger: DefaultLogger(writers: [])
        )
        return NotesClient(database, self, user: user)
    }

    func owners() async throws -> [String] {
        try await database.read { db in try String.fetchAll(db, sql: "SELECT DISTINCT owner_id FROM notes") }
    }
}

/// A client of the server.
struct NotesClient: Sendable {
    let database: any PowerSyncDatabaseProtocol
    private let server: NotesServer
    private let user: String

    init(_ database: any PowerSyncDatabaseProtocol, _ server: NotesServer, user: String) {
        (self.database, self.server, self.user) = (database, server, user)
    }

    func connect() async throws {
        let connector = try HTTPBackendConnector(uploadURL: server.uploadURL) { [server, user] in
            let token = try server.signer.token(userID: user, lifetime: .seconds(600), claims: [:])
            return PowerSyncCredentials(endpoint: server.syncURL, token: token.text)
        }
        try await database.connect(connector: connector, options: nil)
    }

    /// Waits until the notes are these, in the order of their texts.
    func wait(for texts: [String], in column: String = "text") async throws {
        let rows = try database.watch("SELECT \(column) FROM notes ORDER BY \(column)", as: String?.self)
        for try await row in rows where row == texts { return }
    }

    func close() async throws {
        try await database.close()
    }
}
