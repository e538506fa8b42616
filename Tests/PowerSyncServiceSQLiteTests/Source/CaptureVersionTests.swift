import GRDB
import TestSupport
import Testing

@testable import PowerSyncServiceCore
@testable import PowerSyncServiceSQLite

/// The version of the tables that the embedded source adds to a file.
@Suite(.timeLimit(.minutes(1))) struct CaptureVersionTests {
    private let queue: DatabaseQueue

    init() throws {
        queue = try DatabaseQueue()
        try queue.write { db in try db.execute(sql: "CREATE TABLE items (id TEXT PRIMARY KEY)") }
    }

    private func history() throws -> SourceHistory { try queue.read { db in try .current(db) } }

    private func entries() throws -> Int? {
        try queue.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM _ps_log") }
    }

    private func install(version: Int = ChangeCapture.version) throws -> ChangeCapture.State {
        try queue.write { db in
            try ChangeCapture.install(db, version: version)
            return try ChangeCapture.synchronise(db)
        }
    }

    private func insert(_ id: String) throws {
        try queue.write { db in try db.execute(sql: "INSERT INTO items VALUES (?)", arguments: [id]) }
    }

    @Test func tablesOfThisVersionStay() throws {
        let state = try install()
        let history = try history()
        try insert("a")
        #expect(try install() == state)
        #expect(try self.history() == history)
        #expect(try entries() == 1)
        #expect(try queue.read { db in try Int.fetchOne(db, sql: "SELECT version FROM _ps_history") } == 1)
    }

    /// As earlier builds have made them: without a version, the oldest ones without tokens and histories.
    @Test(arguments: [
        "CREATE TABLE _ps_history_without (id TEXT NOT NULL); INSERT INTO _ps_history_without SELECT id FROM _ps_history; "
            + "DROP TABLE _ps_history; ALTER TABLE _ps_history_without RENAME TO _ps_history",
        "DROP TABLE _ps_history; DROP TABLE _ps_streams; ALTER TABLE _ps_log DROP COLUMN token",
    ])
    func tablesOfAnEarlierBuildAreMadeAnew(change: String) throws {
        _ = try install()
        let history = try history()
        try insert("a")
        try queue.write { db in try db.execute(sql: change) }
        #expect(try install().tables.map(\.name) == ["items"])
        #expect(try self.history() != history, "everything is copied again")
        #expect(try entries() == 0)
        try insert("b")
        #expect(try entries() == 1, "one trigger notes what is written")
    }

    @Test func tablesOfANewerServiceAreRefusedAndStay() throws {
        _ = try install(version: 2)
        let history = try history()
        try insert("a")
        let error = #expect(throws: ReplicationSourceError.self) { try install() }
        #expect(error?.code == .configuration)
        #expect(
            error?.message.contains(
                "_ps_log) of the embedded source has version 2, this service can use versions up to 1."
            ) == true
        )
        #expect(try self.history() == history)
        #expect(try entries() == 1)
    }
}
