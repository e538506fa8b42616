import Foundation
import GRDB
import NIOConcurrencyHelpers
import PowerSync
import PowerSyncGRDB
import Testing

@Suite(.timeLimit(.minutes(1))) struct PoolLifecycleTests {
    @Test func publicFunctionOpensAPool() async throws {
        let harness = try PoolHarness()
        let path = harness.folder.appending(path: "other.db").path
        var configuration = Configuration()
        try configuration.configurePowerSync(schema: PoolHarness.schema)
        let pool = try DatabasePool(path: path, configuration: configuration)
        let log = Log()
        let database = openPowerSyncWithGRDB(
            pool: pool,
            schema: PoolHarness.schema,
            identifier: path,
            logger: DefaultLogger(writers: [log])
        )
        try await database.waitForReady()
        #expect(log.messages.contains { $0.contains("Opened connection. SQLite version") })
        #expect(!log.messages.contains { $0.contains("configurePowerSync") })
        try await database.close(deleteDatabase: true)
        // The file is the app's.
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func closingClosesThePool() async throws {
        let harness = try PoolHarness()
        try await harness.database.waitForReady()
        try await harness.database.close()
        await #expect(throws: DatabaseError.self) { try await harness.pool.read { _ in } }
        try await harness.database.close()
    }

    @Test func closingAgainWaitsForTheFirstCall() async throws {
        let harness = try PoolHarness()
        let database = harness.database
        try await database.waitForReady()
        var changes = database.onChange(tables: ["lists"]).makeAsyncIterator()
        #expect(try await changes.next() == [])
        // With the first change the stream has read what it needs to know of the schema: it reads no more.
        try await database.execute("INSERT INTO lists (id, name) VALUES ('1', 'A')")
        #expect(try await changes.next() == ["lists"])
        let (hasStarted, start) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let isFinished = NIOLockedValueBox(false)
        let writing = Task {
            try await database.writeLock { _ in
                start.finish()
                gate.wait()
                isFinished.withLockedValue { $0 = true }
            }
        }
        for await _ in hasStarted {}
        let first = Task { try await database.close() }
        // Closing has begun when streams end.
        while try await changes.next() != nil {}
        for _ in 0..<1_000 { await Task.yield() }
        let second = Task {
            try await database.close()
            return isFinished.withLockedValue { $0 }
        }
        for _ in 0..<1_000 { await Task.yield() }
        gate.signal()
        #expect(try await second.value)
        try await first.value
        try await writing.value
    }

    @Test func droppingTheDatabaseLeavesThePoolOpen() async throws {
        let harness = try PoolHarness()
        let pool = harness.pool
        try await {
            let database = openPowerSyncWithGRDB(pool: pool, schema: PoolHarness.schema, identifier: "dropped")
            try await database.execute("INSERT INTO lists (id, name) VALUES ('1', 'A')")
        }()
        #expect(try await pool.read { try List.fetchCount($0) } == 1)
        try await harness.database.execute("INSERT INTO lists (id, name) VALUES ('2', 'B')")
    }

    @Test(arguments: [false, true])
    func droppedDatabaseLeavesNothingThatRecordsInThePool(_ dropsDatabaseFirst: Bool) async throws {
        let harness = try PoolHarness()
        let pool = harness.pool
        var database: (any PowerSyncDatabaseProtocol)? = openPowerSyncWithGRDB(
            pool: pool,
            schema: PoolHarness.schema,
            identifier: "dropped with a diff"
        )
        var diff: TableDiff? = try await database?.trackTableDiff(of: "lists")
        #expect(diff != nil)
        if dropsDatabaseFirst { database = nil }
        diff = nil
        database = nil
        let left = try await pool.writeWithoutTransaction { db in
            try String.fetchAll(db, sql: "SELECT name FROM sqlite_temp_master WHERE name GLOB 'ps_diff_*'")
        }
        #expect(left.isEmpty)
        _ = (database, diff)
    }

    @Test func poolWithoutSetUpWorksAndIsWarnedAbout() async throws {
        let log = Log()
        let harness = try PoolHarness(logger: DefaultLogger(writers: [log])) { _ in }
        try await harness.database.execute("INSERT INTO lists (id, name) VALUES ('1', 'A')")
        #expect(try await harness.pool.read { try List.fetchAll($0) } == [List(id: "1", name: "A")])
        #expect(log.messages.contains { $0.contains("configurePowerSync") })
    }

    @Test func schemaCanBeReplaced() async throws {
        let harness = try PoolHarness()
        try await harness.pool.write { try $0.execute(sql: "CREATE TABLE own (a)") }
        try await harness.database.execute("INSERT INTO lists (id, name) VALUES ('1', 'A')")
        var values = ValueObservation.tracking { db in
            try db.viewExists("lists") ? String.fetchOne(db, sql: "SELECT name FROM lists") : "no view"
        }.values(in: harness.pool).makeAsyncIterator()
        while let value = try await values.next(), value != "A" {}
        try await harness.database.updateSchema(
            schema: Schema(PowerSync.Table(name: "lists", columns: [.text("name")], viewNameOverride: "groups"))
        )
        while let value = try await values.next(), value != "no view" {}
        #expect(try await harness.pool.read { try String.fetchOne($0, sql: "SELECT name FROM groups") } == "A")
        #expect(try await harness.pool.read { try $0.tableExists("own") })
    }

    @Test func failedOpeningCanBeRepeated() async throws {
        let harness = try PoolHarness()
        // A table with the name of a view stands in the way.
        try await harness.pool.write { try $0.execute(sql: "CREATE TABLE lists (a)") }
        await #expect(throws: PowerSyncError.self) { try await harness.database.waitForReady() }
        try await harness.pool.write { try $0.execute(sql: "DROP TABLE lists") }
        try await harness.database.execute("INSERT INTO lists (id, name) VALUES ('1', 'A')")
        #expect(try await harness.database.getUploadQueueStats().count == 1)
    }
}

/// Keeps messages.
private final class Log: LogWriterProtocol {
    private let state = NIOLockedValueBox<[String]>([])

    var messages: [String] { state.withLockedValue { $0 } }

    func log(severity: LogSeverity, message: String, tag: String?) {
        state.withLockedValue { $0.append(message) }
    }
}
