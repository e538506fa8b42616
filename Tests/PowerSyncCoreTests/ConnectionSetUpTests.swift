import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import TestSupport
import Testing

@testable import PowerSyncCore

@Suite struct ConnectionSetUpTests {
    private let folder: TemporaryFolder
    private let pool: DatabasePool

    init() throws {
        folder = try TemporaryFolder()
        pool = try DatabasePool(path: folder.path("test.db"), configuration: Configuration().forPowerSync())
        try pool.write { db in
            try SystemTables.migrate(db)
            try ClientSchema(tables: [.items()]).apply(to: db)
        }
    }

    @Test func writerHasPragmas() throws {
        let values = try pool.writeWithoutTransaction { db in
            try ["journal_mode", "synchronous", "cache_size", "journal_size_limit", "busy_timeout"].map {
                try String.fetchOne(db, sql: "PRAGMA \($0)")
            }
        }
        #expect(values == ["wal", "1", "-51200", "6291456", "30000"])
    }

    /// There may be many of them; those of an app's own pool, too.
    @Test func readersHaveTheCacheOfSQLite() throws {
        func cacheSize(_ db: Database) throws -> Int? { try Int.fetchOne(db, sql: "PRAGMA cache_size") }
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            try SQLFunctions.install(on: db)
            try ConnectionSetUp.boundLog(db)
        }
        let own = try DatabasePool(path: folder.path("own.db"), configuration: configuration)
        let size = try DatabaseQueue().read(cacheSize)
        #expect(try pool.read(cacheSize) == size)
        #expect(try own.read(cacheSize) == size)
        #expect(try own.writeWithoutTransaction(cacheSize) == -51_200)
        try own.close()
    }

    @Test func readersHaveFunctionsAndReadViews() throws {
        try pool.write { try $0.execute(sql: "INSERT INTO items(id, col) VALUES ('a', '1')") }
        let row = try pool.read { db in
            try String.fetchOne(db, sql: "SELECT col || powersync_in_sync_operation() || length(uuid()) FROM items")
        }
        #expect(row == "1036")
        #expect(try pool.read { try KeyValueStore.clientID($0) } == pool.write { try KeyValueStore.clientID($0) })
    }

    @Test func readersFollowSchemaChangesAndNeedNoModules() throws {
        #expect(try pool.read { try Row.fetchAll($0, sql: "SELECT * FROM items").count } == 0)
        try pool.write { db in
            try ClientSchema(tables: [.items([ClientColumn(name: "other", type: .integer)])]).apply(to: db)
            try db.execute(sql: "INSERT INTO items(id, other) VALUES ('a', 7)")
        }
        #expect(try pool.read { try Int.fetchOne($0, sql: "SELECT other FROM items") } == 7)

        var configuration = Configuration()
        configuration.readonly = true
        let plain = try DatabaseQueue(path: folder.path("test.db"), configuration: configuration)
        #expect(try plain.read { try Int.fetchOne($0, sql: "SELECT other FROM items WHERE id = 'a'") } == 7)
    }

    @Test func closingReleasesEverything() throws {
        try pool.write { try $0.execute(sql: "INSERT INTO items(id, col) VALUES ('a', '1')") }
        let handle = try #require(pool.writeWithoutTransaction { $0.sqliteConnection })
        #expect(ConnectionState.find(handle) != nil)
        _ = try pool.read { try KeyValueStore.clientID($0) }
        try pool.close()
        #expect(ConnectionState.find(handle) == nil)
        #if os(Linux)
        let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
        }
        #expect(!files.contains { $0.hasPrefix(folder.url.path) })
        #endif
    }

    /// Its statements are the ones that an ordinary write does not need.
    @Test func aRolledBackSavepointLeavesNoStatement() throws {
        try pool.write { db in
            try db.inSavepoint {
                try db.execute(sql: "INSERT INTO items(id, col) VALUES ('a', '1')")
                return .rollback
            }
            try db.execute(sql: "INSERT INTO items(id, col) VALUES ('b', '1')")
        }
        try pool.close()
    }

    @Test func handlesThatAreUsedAgainStartAnew() throws {
        for _ in 0..<20 {
            let queue = try DatabaseQueue(configuration: Configuration().forPowerSync())
            try queue.write { db in
                #expect(try !ConnectionState.of(db).isPublishing)
                // Left set on purpose: the next connection may get the same handle.
                try ConnectionState.of(db).isPublishing = true
                try SyncActivity.setActive(db, true)
            }
            try queue.close()
        }
    }

    @Test func secondInstallationKeepsState() throws {
        try pool.write { db in
            let state = try ConnectionState.of(db)
            try SQLFunctions.install(on: db)
            #expect(try ConnectionState.of(db) === state)
        }
    }

    @Test func connectionWithoutFunctionsIsReported() throws {
        let queue = try DatabaseQueue()
        #expect(throws: LocalDatabaseError.self) {
            try queue.write { try Publishing.whilePublishing($0) {} }
        }
    }
}
