import Foundation
import GRDB
import PowerSyncCore
import PowerSyncTesting
import TestSupport
import Testing

@testable import PowerSyncClient

@Suite(.timeLimit(.minutes(1))) struct TableWatchTests {
    private let clock = TestClock()

    private func makeLocalDatabase() throws -> LocalDatabase {
        LocalDatabase(
            source: .location(.success(.memory), initialStatements: []),
            schema: .success(try ClientSchema(testSchema)),
            logger: DefaultLogger(writers: []),
            clock: clock
        )
    }

    private func insertTask(_ database: LocalDatabase) async throws {
        try await database.write { try $0.execute(sql: "INSERT INTO tasks (id) VALUES (uuid())") }
    }

    private func insertUser(_ database: LocalDatabase) async throws {
        try await database.write { try $0.execute(sql: "INSERT INTO users (id) VALUES (uuid())") }
    }

    /// Changes within the throttle share an element, and the throttle begins with the first one.
    @Test
    func changesWithinTheThrottleShareAnElement() async throws {
        let database = try makeLocalDatabase()
        let watch = TableWatch(
            database,
            views: ["users", "tasks"],
            throttle: .seconds(1),
            triggerImmediately: false
        )
        try await insertUser(database)
        async let first = watch.next()
        try await clock.waitForTimer(of: .seconds(1))
        try await insertTask(database)
        clock.advance(by: .seconds(1))
        #expect(try await first == ["users", "tasks"])
        try await insertTask(database)
        async let second = watch.next()
        try await clock.waitForTimer(of: .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(try await second == ["tasks"])
        try await database.close()
    }

    @Test func changesAddUpWhileNobodyAsks() async throws {
        let database = try makeLocalDatabase()
        let watch = TableWatch(database, views: ["users", "tasks"], throttle: .zero, triggerImmediately: true)
        #expect(try await watch.next() == [])
        for _ in 0..<10 {
            try await insertUser(database)
            try await insertTask(database)
        }
        #expect(try await watch.next() == ["users", "tasks"])
        try await insertUser(database)
        #expect(try await watch.next() == ["users"])
        try await database.close()
    }

    @Test func closingEndsTheThrottle() async throws {
        let database = try makeLocalDatabase()
        let watch = TableWatch(database, views: ["users"], throttle: .seconds(3600), triggerImmediately: false)
        try await insertUser(database)
        async let next = watch.next()
        try await clock.waitForTimer(of: .seconds(3600))
        try await database.close()
        #expect(try await next == nil)
        #expect(try await watch.next() == nil)
    }

    @Test func rowsThatTheEngineAnnouncesCount() async throws {
        let database = try makeLocalDatabase()
        let watch = TableWatch(database, views: ["users", "tasks"], throttle: .zero, triggerImmediately: false)
        try await database.write { db in
            let region = try GRDB.Table("ps_data__users").databaseRegion(db)
            try Announcements.tell(db, ["ps_data__users"], in: region)
        }
        #expect(try await watch.next() == ["users"])
        try await database.close()
    }

    @Test func droppingTheWatchEndsListening() async throws {
        let database = try makeLocalDatabase()
        var watch: TableWatch? = TableWatch(database, views: ["users"], throttle: .zero, triggerImmediately: true)
        #expect(try await watch?.next() == [])
        weak let dropped = watch
        watch = nil
        #expect(dropped == nil)
        try await database.close()
    }
}

@Suite(.timeLimit(.minutes(1))) struct OnChangeTests {
    @Test
    func firstElementIsEmptyUnlessItIsNotWanted() async throws {
        try await withFileDatabase { database in
            var changes = database.onChange(tables: ["users"], throttle: 0).makeAsyncIterator()
            #expect(try await changes.next() == [])
            try await database.insertUser("Ada")
            #expect(try await changes.next() == ["users"])
            var later = database.onChange(tables: ["users", "tasks"], throttle: 0, triggerImmediately: false)
                .makeAsyncIterator()
            try await database.insertUser("Bob")
            #expect(try await later.next() == ["users"])
        }
    }

    @Test
    func viewsOfEveryKindAreKnownByTheirNamesAndOtherTablesDoNotCount() async throws {
        let schema = PowerSyncClient.Schema(
            PowerSyncClient.Table(name: "users", columns: [.text("name")], viewNameOverride: "people"),
            PowerSyncClient.Table(name: "drafts", columns: [.text("name")], localOnly: true),
            PowerSyncClient.Table(name: "tasks", columns: [.text("name")])
        )
        try await withFileDatabase(schema) { database in
            try await database.execute("CREATE TABLE notes (x)")
            var changes = database.onChange(
                tables: ["people", "drafts", "notes", "unknown"],
                throttle: 0,
                triggerImmediately: false
            ).makeAsyncIterator()
            try await database.execute("INSERT INTO tasks (id, name) VALUES ('1', 'x')")
            try await database.execute("INSERT INTO people (id, name) VALUES ('1', 'x')")
            #expect(try await changes.next() == ["people"])
            try await database.execute("INSERT INTO drafts (id, name) VALUES ('1', 'x')")
            #expect(try await changes.next() == ["drafts"])
            try await database.execute("INSERT INTO notes VALUES (1)")
            #expect(try await changes.next() == ["notes"])
        }
    }

    @Test
    func newSchemaAndClearingCountAsChangesOfEverythingAndAViewMayHaveANewTable() async throws {
        try await withFileDatabase { database in
            var changes = database.onChange(tables: ["users", "people"], throttle: 0).makeAsyncIterator()
            #expect(try await changes.next() == [])
            let renamed = PowerSyncClient.Table(
                name: "users",
                columns: [.text("name"), .text("email")],
                viewNameOverride: "people"
            )
            try await database.updateSchema(schema: PowerSyncClient.Schema(renamed))
            #expect(try await changes.next() == ["users", "people"])
            try await database.execute("INSERT INTO people (id, name) VALUES ('1', 'Ada')")
            // The old name is that of the table.
            while let changed = try await changes.next(), !changed.contains("people") {}
            try await database.disconnectAndClear()
            while let changed = try await changes.next(), !changed.contains("people") {}
        }
    }

    @Test func writesOfOtherConnectionsCountAsChangesOfEverything() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let database = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            try await database.waitForReady()
            var changes = database.onChange(tables: ["users", "tasks"], throttle: 0, triggerImmediately: false)
                .makeAsyncIterator()
            let pool = try DatabasePool(path: path)
            try await pool.write { try $0.execute(sql: "INSERT INTO ps_kv (key, value) VALUES ('k', 1)") }
            #expect(try await changes.next() == ["users", "tasks"])
            try pool.close()
            try await database.close()
        }
    }

    @Test func writesOfOtherInstancesCountAsTheirOwn() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let first = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            let second = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            try await first.waitForReady()
            try await second.waitForReady()
            var changes = first.onChange(tables: ["users", "tasks"], throttle: 0, triggerImmediately: false)
                .makeAsyncIterator()
            try await second.insertUser("Ada")
            #expect(try await changes.next() == ["users"])
            try await first.close()
            try await second.close()
        }
    }

    @Test func closingFinishesTheStream() async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        var changes = database.onChange(tables: ["users"]).makeAsyncIterator()
        #expect(try await changes.next() == [])
        try await database.close()
        #expect(try await changes.next() == nil)
        var late = database.onChange(tables: ["users"]).makeAsyncIterator()
        #expect(try await late.next() == nil)
    }

    @Test func cancellingTheConsumerFinishesTheStream() async throws {
        try await withFileDatabase { database in
            let started = Counter()
            let consumer = Task {
                for try await _ in database.onChange(tables: ["users"]) { started.increment() }
            }
            await started.wait(for: 1)
            consumer.cancel()
            try await consumer.value
        }
    }
}
