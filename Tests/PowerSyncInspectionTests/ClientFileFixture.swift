import Foundation
import GRDB
import PowerSync
import PowerSyncTesting
import TestSupport

@testable import PowerSyncInspection

/// A database file that the SDK has made: two lists and a todo of a synced user, and a local-only note.
struct ClientFileFixture {
    private static let schema = Schema(
        Table(name: "lists", columns: [.text("name")]),
        Table(name: "todos", columns: [.text("list_id"), .text("title")]),
        Table(name: "notes", columns: [.text("body")], localOnly: true)
    )

    private static let config = """
        config: {edition: 3}
        streams:
          lists:
            auto_subscribe: true
            priority: 1
            query: SELECT * FROM lists WHERE owner_id = auth.user_id()
          todos:
            query: SELECT * FROM todos WHERE list_id = subscription.parameter('list')
        """

    private let folder: TemporaryFolder
    /// The service that the client has synced with.
    let service: FakeService
    /// The file.
    var path: String { folder.path("client ?#%1.db") }

    /// Syncs a client, lets it do more, and closes it.
    ///
    /// - Parameter body: What the client does; it is still connected.
    /// - Throws: What the client or `body` throws.
    init(_ body: (any PowerSyncDatabaseProtocol, FakeService) async throws -> Void = { _, _ in }) async throws {
        folder = try TemporaryFolder()
        service = try FakeService(streams: Self.config)
        try service.put("lists", ["id": "l1", "owner_id": "u1", "name": "Secret groceries"])
        try service.put("lists", ["id": "l2", "owner_id": "u1", "name": "Work"])
        try service.put("todos", ["id": "t1", "list_id": "l1", "title": "Milk"])
        let database = open()
        let stream = database.syncStream(name: "todos", params: ["list": .string("l1")])
        let subscription = try await stream.subscribe(ttl: 60, priority: nil)
        try await database.connect(connector: service.connector(user: "u1"))
        try await service.waitUntilSynced(database)
        try await subscription.waitForFirstSync()
        try await database.execute("INSERT INTO notes(id, body) VALUES ('n1', 'Remember')")
        try await body(database, service)
        try await database.close()
        withExtendedLifetime(subscription) {}
        // Everything is in the file itself afterwards.
        try tamper("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    /// Opens the file as the app does.
    func open() -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(schema: Self.schema, dbFilename: path, logger: DefaultLogger(minSeverity: .fault))
    }

    /// Changes the file as another program may, leaving it in WAL mode and alone.
    func tamper(_ sql: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// Inspects the file.
    func report(showsRows: Bool = false, now: Date = Date()) throws -> DatabaseReport {
        try Inspection.report(of: ClientFile(path: path), showsRows: showsRows, now: now)
    }

    /// What is in the folder of the file, with the bytes.
    var files: [String: Data] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: folder.url.path).reduce(into: [:]) { files, name in
                files[name] = try Data(contentsOf: folder.url.appending(path: name))
            }
        }
    }
}

extension DatabaseReport {
    /// The codes of all findings of a level.
    func codes(_ level: Finding.Level) -> [String] {
        findings.filter { $0.level == level }.map(\.code)
    }

    /// The message of the first finding with a code.
    func message(_ code: String) -> String? {
        findings.first { $0.code == code }?.message
    }
}
