import Foundation
import GRDBSQLite
import Testing

@testable import PowerSyncClient

/// Connections that the app opens with SQLite's C API.
@Suite(.timeLimit(.minutes(1))) struct SQLFunctionRegistrationTests {
    /// A connection that is closed with the test.
    private final class PlainConnection {
        let handle: OpaquePointer

        init(_ path: String) throws {
            var handle: OpaquePointer?
            try #require(sqlite3_open(path, &handle) == SQLITE_OK)
            self.handle = try #require(handle)
        }

        deinit {
            sqlite3_close(handle)
        }

        func run(_ sql: String) throws {
            var message: UnsafeMutablePointer<CChar>?
            guard sqlite3_exec(handle, sql, nil, nil, &message) == SQLITE_OK else {
                defer { sqlite3_free(message) }
                throw Failure(
                    code: sqlite3_extended_errcode(handle),
                    message: message.map { String(cString: $0) } ?? ""
                )
            }
        }

        func text(_ sql: String) throws -> String? {
            try LeasedStatement.use(handle, sql: sql, parameters: []) { rows in
                try rows.next { $0.getStringOptional(index: 0) } ?? nil
            }
        }
    }

    private struct Failure: Error {
        let code: Int32
        let message: String
    }

    @Test func connectionsOpenedLaterHaveTheFunctions() async throws {
        defer { sqlite3_reset_auto_extension() }
        let before = try PlainConnection(":memory:")
        #expect(try resolvePowerSyncLoadableExtensionPath() == nil)
        #expect(try resolvePowerSyncLoadableExtensionPath() == nil)
        let after = try PlainConnection(":memory:")
        #expect(try after.text("SELECT powersync_rs_version()")?.isEmpty == false)
        #expect(throws: PowerSyncError.self) { try before.text("SELECT powersync_rs_version()") }
        // Connections of ours find the functions there already.
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada")
            #expect(try await database.getUploadQueueStats().count == 1)
            try await database.disconnectAndClear()
        }
    }

    @Test func plainConnectionWritesThroughViews() async throws {
        try await withFileDatabase { database in
            try await database.insertUser("Ada", id: "1")
            let path = try await database.get("PRAGMA database_list") { try $0.getString(index: 2) }
            let connection = try PlainConnection(path)
            #expect(throws: Failure.self) { try connection.run("DELETE FROM users") }
            try registerPowerSyncFunctions(on: connection.handle)
            try registerPowerSyncFunctions(on: connection.handle)
            try connection.run("BEGIN; INSERT INTO users (id, name) VALUES ('2', 'Bea'); DELETE FROM users; COMMIT")
            let transactions = try await database.getAll("SELECT tx_id FROM ps_crud ORDER BY id") { cursor in
                try cursor.getInt(index: 0)
            }
            #expect(transactions == [1, 2, 2, 2])
            #expect(try connection.text("SELECT powersync_client_id()") == (try await database.getClientId()))
            #expect(try connection.text("SELECT powersync_last_synced_at()") == nil)
            try connection.run("SELECT powersync_drop_view('tasks')")
            #expect(throws: PowerSyncError.self) { try connection.text("SELECT count(*) FROM tasks") }
        }
    }

    @Test func administrationNeedsAConnectionOfOurs() throws {
        let connection = try PlainConnection(":memory:")
        try registerPowerSyncFunctions(on: connection.handle)
        let failure = #expect(throws: Failure.self) { try connection.run("BEGIN; SELECT powersync_init()") }
        #expect(failure?.code == SQLITE_MISUSE)
        #expect(failure?.message.contains("PowerSync or GRDB") == true)
    }

    @Test func plainConnectionReportsChangedTables() throws {
        let connection = try PlainConnection(":memory:")
        try registerPowerSyncFunctions(on: connection.handle)
        try connection.run("CREATE TABLE a (x); CREATE TABLE b (x); SELECT powersync_update_hooks('install')")
        try connection.run("BEGIN; INSERT INTO b VALUES (1); INSERT INTO a VALUES (1); INSERT INTO a VALUES (2)")
        #expect(try connection.text("SELECT powersync_update_hooks('get')") == "[]")
        try connection.run("COMMIT")
        #expect(try connection.text("SELECT powersync_update_hooks('get')") == #"["a","b"]"#)
        try connection.run("BEGIN; INSERT INTO b VALUES (1); ROLLBACK")
        #expect(try connection.text("SELECT powersync_update_hooks('get')") == "[]")
        #expect(throws: PowerSyncError.self) { try connection.text("SELECT powersync_update_hooks('remove')") }
    }

    @Test func hooksOfOthersAreNotShared() throws {
        let connection = try PlainConnection(":memory:")
        try registerPowerSyncFunctions(on: connection.handle)
        sqlite3_commit_hook(connection.handle, { _ in 0 }, UnsafeMutableRawPointer(connection.handle))
        let failure = #expect(throws: Failure.self) { try connection.run("SELECT powersync_update_hooks('install')") }
        #expect(failure?.message.contains("hook") == true)
    }
}
