import Foundation
import GRDB
import PowerSyncUpload
import TestSupport

@testable import PowerSyncBackend

/// A backend's database in a temporary folder, in which a trigger counts what is written to `lists`.
struct UploadScenario {
    static let schema = """
        CREATE TABLE lists (id TEXT PRIMARY KEY, owner_id TEXT, name TEXT);
        CREATE TABLE log (number INTEGER PRIMARY KEY, what TEXT);
        CREATE TRIGGER lists_inserted AFTER INSERT ON lists BEGIN
          INSERT INTO log(what) VALUES ('+' || NEW.id);
        END;
        CREATE TRIGGER lists_updated AFTER UPDATE ON lists BEGIN
          INSERT INTO log(what) VALUES ('=' || NEW.id);
        END;
        CREATE TRIGGER lists_deleted AFTER DELETE ON lists BEGIN
          INSERT INTO log(what) VALUES ('-' || OLD.id);
        END;
        """

    let folder: TemporaryFolder
    let database: DatabasePool
    let applier: SQLiteUploadApplier

    init(
        schema: String = UploadScenario.schema,
        encoding: String = "UTF-8",
        options: UploadApplierOptions = UploadApplierOptions(),
        authorize: @escaping SQLiteUploadApplier.Authorization = { _, _ in .apply }
    ) throws {
        folder = try TemporaryFolder()
        var configuration = Self.configuration
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA encoding = '\(encoding)'") }
        database = try DatabasePool(path: folder.path("backend.db"), configuration: configuration)
        try database.write { db in try db.execute(sql: schema) }
        applier = SQLiteUploadApplier(database, options: options, authorize: authorize)
    }

    /// Another process waits for the first one.
    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.busyMode = .timeout(20)
        return configuration
    }

    /// A write of a list, in a transaction of its own unless it says otherwise.
    static func put(
        _ number: Int64,
        _ id: String,
        transaction: Int64? = nil,
        name: String = "n",
        table: String = "lists"
    ) -> UploadEntry {
        UploadEntry(
            operationID: number,
            op: .put,
            table: table,
            id: id,
            transactionID: transaction,
            data: ["name": .string(name)]
        )
    }

    /// Applies writes of the client `c1` of the user `u1`.
    @discardableResult
    func apply(
        _ entries: [UploadEntry],
        client: String? = "c1",
        user: String = "u1"
    ) async throws -> UploadResponse {
        try await applier.apply(UploadRequest(clientID: client, entries: entries), for: BackendUser(id: user))
    }

    /// What was written to `lists`, in order: `+` for an inserted row, `=` for an updated one, `-` for a deleted one.
    func log() async throws -> [String] {
        try await database.read { db in try String.fetchAll(db, sql: "SELECT what FROM log ORDER BY number") }
    }

    /// How many writes are remembered.
    func rememberedWrites() async throws -> Int {
        try await database.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM _ps_upload_writes") ?? 0 }
    }
}
