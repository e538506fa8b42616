import Foundation
import GRDB
import PowerSync
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct OpeningTests {
    @Test
    func openingIsLoggedForDebuggingAndTheMinimumSeverityCounts() async throws {
        let writer = CollectingLogWriter()
        try await withMemoryDatabase(logger: DefaultLogger(writers: [writer])) { try await $0.waitForReady() }
        #expect(writer.messages(.debug).contains { $0.contains("Opened connection. SQLite version 3.") })

        let quiet = CollectingLogWriter()
        let invalid = Schema(Table(name: "users", columns: [.text("id")]))
        try await withMemoryDatabase(invalid, logger: DefaultLogger(minSeverity: .error, writers: [quiet])) { _ in }
        #expect(quiet.entries.isEmpty)
    }

    @Test
    func secondInstanceIsWarnedAboutUntilTheFirstIsGone() async throws {
        let writer = CollectingLogWriter()
        let logger = DefaultLogger(minSeverity: .warning, writers: [writer])
        let isWarned = {
            writer.messages(.warning).contains {
                $0.contains("Multiple PowerSync instances for the same database have been detected.")
            }
        }
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            var first: (any PowerSyncDatabaseProtocol)? = PowerSyncDatabase(
                schema: testSchema,
                dbFilename: path,
                logger: logger
            )
            #expect(!isWarned())
            let alias = directory.appendingPathComponent("./x/../a.db").path
            let second = PowerSyncDatabase(schema: testSchema, dbFilename: alias, logger: logger)
            #expect(isWarned())
            _ = first
            first = nil
            try await second.close()

            let others = CollectingLogWriter()
            let third = PowerSyncDatabase(
                schema: testSchema,
                dbFilename: path,
                logger: DefaultLogger(minSeverity: .warning, writers: [others])
            )
            try await third.waitForReady()
            #expect(others.entries.isEmpty)
            try await third.close()
        }
    }

    @Test
    func databasesInMemoryAreStrangers() async throws {
        let writer = CollectingLogWriter()
        let logger = DefaultLogger(minSeverity: .warning, writers: [writer])
        try await withMemoryDatabase(logger: logger) { first in
            try await withMemoryDatabase(logger: logger) { second in
                try await first.insertUser("Ada")
                #expect(try await second.count("users") == 0)
            }
        }
        #expect(writer.entries.isEmpty)
    }

    @Test
    func absolutePathGetsItsDirectoriesAndKeepsItsData() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("deep/er/a.db").path
            let first = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            try await first.insertUser("Ada")
            try await first.close()
            let second = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            #expect(try await second.count("users") == 1)
            try await second.close(deleteDatabase: true)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test
    func fileDatabaseIsInWALModeWithTheLimitsOfTheSDK() async throws {
        try await withFileDatabase { database async throws in
            let pragma = { (name: String) in
                try await database.writeLock { context in
                    try context.get(sql: "PRAGMA \(name)", parameters: []) { try $0.getString(index: 0) }
                }
            }
            #expect(try await pragma("journal_mode") == "wal")
            #expect(try await pragma("busy_timeout") == "30000")
            #expect(try await pragma("journal_size_limit") == "6291456")
            #expect(try await pragma("cache_size") == "-51200")
            #expect(try await pragma("user_version") == "1")
            #expect(try await pragma("foreign_keys") == "0")
        }
    }

    @Test
    func initialStatementsRunFirstOnEveryConnectionAnErrorFailsEachOperation() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let database = PowerSyncDatabase(
                schema: testSchema,
                dbFilename: path,
                logger: DefaultLogger(writers: []),
                initialStatements: ["PRAGMA temp_store = MEMORY", "PRAGMA temp.cache_spill = 77"]
            )
            #expect(try await database.get("PRAGMA temp_store") { try $0.getInt(index: 0) } == 2)
            let onWriter = try await database.writeLock { context in
                try context.get(sql: "PRAGMA temp_store", parameters: []) { try $0.getInt(index: 0) }
            }
            #expect(onWriter == 2)
            try await database.close()

            let broken = PowerSyncDatabase(
                schema: testSchema,
                dbFilename: path,
                logger: DefaultLogger(writers: []),
                initialStatements: ["SELECT * FROM missing"]
            )
            for _ in 0..<2 {
                let error = await #expect(throws: PowerSyncError.self) { try await broken.waitForReady() }
                #expect(error?.localizedDescription.contains("no such table: missing") == true)
            }
            try await broken.close()
        }
    }

    /// A database file with a connection that is about to write.
    private func makeLockedFile(_ path: String) async throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: path, configuration: configuration)
        try await other.writeWithoutTransaction { db in
            try db.execute(sql: "CREATE TABLE t (id); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
        }
        return other
    }

    @Test
    func waitingForAnotherConnectionsLockIsCancellable() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let other = try await makeLockedFile(path)
            let database = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            let task = Task { try await database.waitForReady() }
            task.cancel()
            // Otherwise it is the error of a database that stays locked.
            await #expect(throws: CancellationError.self) { try await task.value }
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            try await database.waitForReady()
            try await database.close()
        }
    }

    @Test
    func concurrentFirstOperationsOpenTheDatabaseOnce() async throws {
        let writer = CollectingLogWriter()
        try await withFileDatabase(logger: DefaultLogger(writers: [writer])) { database in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<20 {
                    group.addTask { try await database.insertUser("user \(index)") }
                }
                try await group.waitForAll()
            }
            #expect(try await database.count("users") == 20)
        }
        #expect(writer.messages(.debug).filter { $0.contains("Opened connection") }.count == 1)
    }

    @Test
    func wideTablesWorkAndValidationTells() async throws {
        let table = Table(name: "wide", columns: (0..<70).map { .text("c\($0)") })
        #expect(throws: TableError.self) { try table.validate() }
        let writer = CollectingLogWriter()
        try await withMemoryDatabase(Schema(table), logger: DefaultLogger(minSeverity: .warning, writers: [writer])) {
            try await $0.execute("INSERT INTO wide (id, c69) VALUES ('1', 'last')")
            #expect(try await $0.get("SELECT c69 FROM wide") { try $0.getString(index: 0) } == "last")
        }
        #expect(writer.messages(.warning).count == 1)
    }

    @Test
    func indexOverAnUnknownColumnIsReportedByEveryOperation() async throws {
        let schema = Schema(
            Table(name: "users", columns: [.text("name")], indexes: [.ascending(name: "i", column: "missing")])
        )
        try await withMemoryDatabase(schema) { database in
            let error = await #expect(throws: PowerSyncError.self) { try await database.waitForReady() }
            #expect(error?.localizedDescription.contains("missing") == true)
        }
    }
}
