import Dispatch
import Foundation
import GRDB
import PowerSyncCoreTestSupport
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct OpenedPowerSyncDatabaseTests {
    /// Runs a test on a database over connections of an app.
    private func withPool(
        _ body: (PlainPool, any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws {
        try await withTemporaryDirectory { directory in
            let pool = PlainPool(path: directory.appendingPathComponent("app.db").path)
            let database = open(pool, in: directory)
            try await body(pool, database)
            try await database.close()
        }
    }

    @Test func statementsOfTheAppRunOnThePool() async throws {
        try await withPool { pool, database in
            try await database.waitForReady()
            let before = pool.writes.value
            try await database.insertUser("Ada", id: "1")
            // Others of our own accesses may come in between.
            #expect(pool.writes.value > before)
            #expect(try await database.count("users") == 1)
            let name = try await database.readTransaction { transaction in
                try transaction.get(sql: "SELECT name FROM users WHERE id = ?", parameters: ["1"]) { cursor in
                    try cursor.getString(name: "name")
                }
            }
            #expect(name == "Ada")
            struct Failure: Error {}
            await #expect(throws: Failure.self) {
                try await database.writeTransaction { transaction in
                    try transaction.execute(sql: "DELETE FROM users", parameters: [])
                    throw Failure()
                }
            }
            #expect(try await database.count("users") == 1)
        }
    }

    /// A pool need not look whether the task is still wanted when its turn comes.
    @Test func aTaskThatIsCancelledWhileItWaitsForThePoolWritesNothing() async throws {
        try await withPool { pool, database in
            try await database.execute("CREATE TABLE notes (a)")
            let writer = try DatabaseQueue(path: pool.path)
            let commits = PoolCommits(pool)
            let writes: [@Sendable () async throws -> Void] = [
                { try await database.execute("INSERT INTO notes VALUES (1)") },
                { try await commits.write(to: writer) { try $0.execute(sql: "INSERT INTO notes VALUES (2)") } },
            ]
            for write in writes {
                let (isHeld, hold) = AsyncStream.makeStream(of: Void.self)
                let end = DispatchSemaphore(value: 0)
                let holder = Task {
                    try await pool.write { _ in
                        hold.finish()
                        end.wait()
                    }
                }
                for await _ in isHeld {}
                let (isWaiting, wait) = AsyncStream.makeStream(of: Void.self)
                pool.willWait.value = { wait.finish() }
                let task = Task { try await write() }
                for await _ in isWaiting {}
                task.cancel()
                end.signal()
                await #expect(throws: CancellationError.self) { try await task.value }
                pool.willWait.value = nil
                try await holder.value
            }
            #expect(try await database.count("notes") == 0)
            try writer.close()
        }
    }

    @Test func theFirstRowAfterAChangeOfTheSchemaHasTheNewColumns() async throws {
        try await withPool { pool, database in
            try await database.execute("CREATE TABLE notes (a)")
            try await database.execute("INSERT INTO notes VALUES (1)")
            let look = { @Sendable (context: any ConnectionContext) in
                try context.get(sql: "SELECT * FROM notes", parameters: []) { $0.columnNames.keys.sorted() }
            }
            #expect(try await database.writeLock(callback: look) == ["a"])
            #expect(try await database.readLock(callback: look) == ["a"])
            let other = PlainPool(path: pool.path)
            try await other.write { _ = try $0.execute(sql: "ALTER TABLE notes ADD COLUMN b", parameters: []) }
            try await other.close()
            #expect(try await database.writeLock(callback: look) == ["a", "b"])
            #expect(try await database.readLock(callback: look) == ["a", "b"])
        }
    }

    /// The second row cannot be read: `abs` of the smallest integer is an error.
    @Test func onlyTheFirstRowIsRead() async throws {
        try await withPool { _, database in
            let sql = "SELECT abs(column1) FROM (VALUES (1), (-9223372036854775807 - 1))"
            let first = try await database.get(sql) { try $0.getInt(index: 0) }
            let optional = try await database.getOptional(sql) { try $0.getInt(index: 0) }
            #expect(first == 1 && optional == 1)
        }
    }

    @Test func aStatementThatHasNoRowRunsOnce() async throws {
        try await withPool { _, database in
            try await database.execute("CREATE TABLE notes (a)")
            let row = try await database.writeLock { context in
                try context.getOptional(sql: "INSERT INTO notes VALUES (1)", parameters: []) { cursor in
                    try cursor.getInt(index: 0)
                }
            }
            #expect(row == nil)
            #expect(try await database.count("notes") == 1)
        }
    }

    @Test func localWritesAreQueuedAndCompleted() async throws {
        try await withPool { _, database in
            try await database.insertUser("Ada", id: "1")
            try await database.writeTransaction { transaction in
                try transaction.execute(sql: "UPDATE users SET age = 36", parameters: [])
                try transaction.execute(sql: "DELETE FROM users", parameters: [])
            }
            let first = try #require(try await database.getNextCrudTransaction())
            #expect(first.crud.map(\.op) == [.put])
            try await first.complete()
            let second = try #require(try await database.getNextCrudTransaction())
            #expect(second.crud.map(\.op) == [.patch, .delete])
            try await second.complete()
            #expect(try await database.getUploadQueueStats().count == 0)
        }
    }

    @Test func watchesFollowEveryWriter() async throws {
        try await withPool { pool, database in
            var names = try database.watch("SELECT name FROM users ORDER BY id") { try $0.getString(index: 0) }
                .makeAsyncIterator()
            #expect(try await names.next() == [])
            try await database.insertUser("Ada", id: "1")
            while let now = try await names.next(), now != ["Ada"] {}
            // Not through PowerSync at all.
            _ = try await pool.write { lease in
                try lease.execute(sql: "INSERT INTO users (id, name) VALUES ('2', ?)", parameters: [.string("Bea")])
            }
            while let now = try await names.next(), now != ["Ada", "Bea"] {}
            try await database.disconnectAndClear()
            while let now = try await names.next(), now != [] {}
        }
    }

    @Test func rowsOfTheServiceReachThePool() async throws {
        try await withTemporaryDirectory { directory in
            let pool = PlainPool(path: directory.appendingPathComponent("app.db").path)
            let service = ScriptedTransport()
            let database = SyncedDatabase(
                schema: SyncHarness.schema,
                source: .pool(pool),
                identity: directory.path,
                name: "app.db",
                logger: DefaultLogger(writers: []),
                environment: SyncEnvironment(transport: service)
            )
            try await database.connect(connector: ScriptedConnector(), options: nil)
            let stream = try await service.nextStream()
            stream.accept()
            // The app writes meanwhile: nobody finds the database locked.
            async let writes: Void = {
                for number in 0..<50 {
                    _ = try await pool.write { lease in
                        try lease.execute(sql: "CREATE TABLE own\(number) (a)", parameters: [])
                    }
                }
            }()
            for opID in Int64(1)...50 {
                stream.send(.checkpoint(opID, [.bucket("a")]), .put("a", opID...opID), .done)
            }
            try await writes
            while try await database.count("lists") < 50 {
                try await stream.waitUntilRead()
            }
            try await database.close()
        }
    }

    @Test func valuesAndRowsPassThroughALease() async throws {
        try await withPool { pool, database in
            let values: [PowerSyncDataType?] = [
                nil, .bool(true), .int32(-1), .int64(.max), .double(1.5), .string("a\0é"), .data(Data()),
                .data(Data([0])),
            ]
            let row = try await pool.read { lease in
                try lease.withIterator(sql: "SELECT ?, ?, ?, ?, ?, ?, ?, ?", parameters: values) { rows in
                    let row = try rows.next { cursor in
                        "\(cursor.getStringOptional(index: 0) ?? "NULL") \(try cursor.getBoolean(index: 1)) "
                            + "\(try cursor.getInt(index: 2)) \(try cursor.getInt64(index: 3)) "
                            + "\(try cursor.getDouble(index: 4)) \(try cursor.getString(index: 5).utf8.count) "
                            + "\(try cursor.getData(index: 6).count) \(try cursor.getData(index: 7).count)"
                    }
                    #expect(try rows.next { _ in () } == nil)
                    return row
                }
            }
            #expect(row == "NULL true -1 \(Int64.max) 1.5 4 0 1")
            let error = await #expect(throws: PowerSyncError.self) {
                _ = try await pool.read { try $0.execute(sql: "SELECT * FROM missing", parameters: []) }
            }
            #expect(error?.localizedDescription.contains("no such table: missing") == true)
            await #expect(throws: PowerSyncError.self) {
                _ = try await pool.read { try $0.execute(sql: " -- nothing", parameters: []) }
            }
            try await database.waitForReady()
        }
    }

    @Test func iteratorThatLeaksHasNoRows() async throws {
        try await withPool { pool, _ in
            let rows = try await pool.read { lease in
                let leaked = try lease.withIterator(sql: "SELECT 1", parameters: []) { $0 }
                return try leaked.next { _ in 1 }
            }
            #expect(rows == nil)
        }
    }

    @Test func contextEndsWithItsCallback() async throws {
        try await withPool { _, database in
            let leaked = try await database.writeLock { $0 }
            #expect(throws: PowerSyncError.self) { try leaked.execute(sql: "SELECT 1", parameters: []) }
        }
    }

    @Test func openTransactionsAreRolledBack() async throws {
        try await withPool { _, database in
            try await database.writeLock { context in
                try context.execute(sql: "BEGIN", parameters: [])
                try context.execute(sql: "INSERT INTO users (id) VALUES ('1')", parameters: [])
            }
            try await database.insertUser("Ada", id: "2")
            #expect(try await database.count("users") == 1)
        }
    }

    /// A pool that belongs to the same object of an app as its database: closing one of them closes both.
    private final class OwnedPool: SQLiteConnectionPoolProtocol {
        struct Failure: Error {}

        let database = Shared<(any PowerSyncDatabaseProtocol)?>(nil)
        /// Whether it cannot be closed now.
        let fails = Shared(false)
        private let inner: PlainPool

        init(path: String) {
            inner = PlainPool(path: path)
        }

        var tableUpdates: AsyncStream<Set<String>> { inner.tableUpdates }

        func read<T: Sendable>(
            onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
        ) async throws -> T {
            try await inner.read(onConnection: onConnection)
        }

        func write<T: Sendable>(
            onConnection: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
        ) async throws -> T {
            try await inner.write(onConnection: onConnection)
        }

        func withAllConnections<T: Sendable>(
            onConnection:
                @Sendable @escaping (
                    _ writer: any SQLiteConnectionLease, _ readers: [any SQLiteConnectionLease]
                ) throws -> T
        ) async throws -> T {
            try await inner.withAllConnections(onConnection: onConnection)
        }

        func close() async throws {
            try await database.value?.close()
            if fails.value { throw Failure() }
            try await inner.close()
        }
    }

    private func open(
        _ pool: any SQLiteConnectionPoolProtocol,
        in directory: URL
    ) -> any PowerSyncDatabaseProtocol {
        OpenedPowerSyncDatabase(
            schema: testSchema,
            pool: pool,
            identifier: directory.path,
            logger: DefaultLogger(writers: [])
        )
    }

    @Test func aPoolMayCloseItsDatabase() async throws {
        try await withTemporaryDirectory { directory in
            let pool = OwnedPool(path: directory.appendingPathComponent("app.db").path)
            let database = open(pool, in: directory)
            pool.database.value = database
            defer { pool.database.value = nil }
            try await database.insertUser("Ada")
            try await database.close()
            await #expect(throws: PowerSyncError.self) { try await database.insertUser("Bob") }
        }
    }

    @Test func aPoolThatCannotBeClosedKeepsNobodyFromGoingOn() async throws {
        try await withTemporaryDirectory { directory in
            let pool = OwnedPool(path: directory.appendingPathComponent("app.db").path)
            let database = open(pool, in: directory)
            try await database.insertUser("Ada")
            pool.fails.value = true
            await #expect(throws: OwnedPool.Failure.self) { try await database.close() }
            // There is nothing left to close, as far as it is ours.
            try await database.close()
            pool.fails.value = false
            try await pool.close()
        }
    }

    @Test func databaseInMemoryIsRefused() async throws {
        let database = OpenedPowerSyncDatabase(
            schema: testSchema,
            pool: PlainPool(path: ":memory:"),
            identifier: "memory",
            logger: DefaultLogger(writers: [])
        )
        let error = await #expect(throws: PowerSyncError.self) { try await database.waitForReady() }
        #expect(error?.localizedDescription.contains("file") == true)
        try await database.close()
    }
}
