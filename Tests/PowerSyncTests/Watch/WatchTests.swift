import Foundation
import PowerSync
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct WatchTests {
    private func names(
        _ database: any PowerSyncDatabaseProtocol,
        throttle: TimeInterval = 0.005
    ) throws -> AsyncThrowingStream<[String], any Error> {
        try database.watch(
            options: WatchOptions(sql: "SELECT name FROM users ORDER BY name", throttle: throttle) {
                try $0.getString(name: "name")
            }
        )
    }

    enum Kind: CaseIterable { case memory, file }

    private func withDatabase(
        _ kind: Kind,
        _ body: (any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws {
        switch kind {
        case .memory: try await withMemoryDatabase(testSchema, body)
        case .file: try await withFileDatabase(testSchema, body)
        }
    }

    @Test(arguments: Kind.allCases, [0, 0.005])
    func firstResultComesAtOnceAndEachWriteShowsUp(_ kind: Kind, _ throttle: TimeInterval) async throws {
        try await withDatabase(kind) { database in
            var results = try names(database, throttle: throttle).makeAsyncIterator()
            #expect(try await results.next() == [])
            try await database.insertUser("Ada", id: "1")
            while let names = try await results.next(), names != ["Ada"] {}
            try await database.insertUser("Bob", id: "2")
            try await database.insertUser("Cyd", id: "3")
            while let names = try await results.next(), names != ["Ada", "Bob", "Cyd"] {}
            try await database.execute("UPDATE users SET name = 'Abe' WHERE id = '1'")
            while let names = try await results.next(), names != ["Abe", "Bob", "Cyd"] {}
            try await database.execute("DELETE FROM users")
            while let names = try await results.next(), names != [] {}
        }
    }

    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var sql: String { testDescription }
    }

    static let shapes = [
        "SELECT count(*) FROM users",
        "SELECT count(*) FROM tasks t JOIN users u ON u.id = t.user_id",
        "SELECT (SELECT count(*) FROM users WHERE name LIKE 'A%')",
        "WITH a AS (SELECT * FROM users) SELECT count(*) FROM a",
        "SELECT count(*) FROM ps_crud WHERE data LIKE '%Ada%'",
        "SELECT count(*) FROM ps_data__users",
    ].map(Shape.init)

    @Test(arguments: shapes)
    func everyShapeOfQueryFollowsItsTables(_ shape: Shape) async throws {
        try await withFileDatabase { database in
            try await database.execute("INSERT INTO tasks (id, user_id) VALUES ('t', 'u')")
            var counts = try database.watch(shape.sql) { try $0.getInt(index: 0) }.makeAsyncIterator()
            #expect(try await counts.next() == [0])
            try await database.insertUser("Ada", id: "u")
            while let count = try await counts.next(), count != [1] {}
        }
    }

    @Test(arguments: shapes)
    func writeOfAnotherInstanceWakesEveryShapeOfQuery(_ shape: Shape) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appendingPathComponent("a.db").path
            let first = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            let second = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            try await first.execute("INSERT INTO tasks (id, user_id) VALUES ('t', 'u')")
            var counts = try first.watch(shape.sql) { try $0.getInt(index: 0) }.makeAsyncIterator()
            #expect(try await counts.next() == [0])
            try await second.insertUser("Ada", id: "u")
            while let count = try await counts.next(), count != [1] {}
            try await first.close()
            try await second.close()
        }
    }

    @Test
    func statementsThatWereCommittedBeforeTheCallbackThrewAreNoticed() async throws {
        struct Refusal: Error {}
        try await withFileDatabase { database in
            var results = try names(database).makeAsyncIterator()
            #expect(try await results.next() == [])
            await #expect(throws: Refusal.self) {
                try await database.writeLock { context in
                    try context.execute(sql: "INSERT INTO users (id, name) VALUES ('1', 'Ada')", parameters: [])
                    throw Refusal()
                }
            }
            while let names = try await results.next(), names != ["Ada"] {}
        }
    }

    @Test
    func rowsChangedByAStatementThatReturnsRowsAreNoticed() async throws {
        try await withFileDatabase { database in
            try await database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text)")
            var counts = try database.watch("SELECT count(*) FROM notes") { try $0.getInt(index: 0) }
                .makeAsyncIterator()
            #expect(try await counts.next() == [0])
            let id = try await database.writeLock { context in
                try context.get(sql: "INSERT INTO notes (text) VALUES ('a'), ('b') RETURNING id", parameters: []) {
                    try $0.getInt(index: 0)
                }
            }
            #expect(id == 1)
            while let count = try await counts.next(), count != [2] {}
        }
    }

    @Test
    func missingTableEndsTheStreamAndTheTextShowsEXPLAIN() async throws {
        try await withFileDatabase { database in
            var results = try database.watch("SELECT name FROM usersfail") { _ in 0 }.makeAsyncIterator()
            let error = await #expect(throws: PowerSyncError.self) { try await results.next() }
            #expect(
                error?.localizedDescription == "SQLite failure (code 1): SQL logic error, no such table: usersfail "
                    + "for SQL: EXPLAIN SELECT name FROM usersfail"
            )
        }
    }

    @Test
    func errorOfTheMapperEndsTheStreamUnchanged() async throws {
        try await withFileDatabase { database in
            let thrown = NSError(domain: "app", code: 7, userInfo: [NSLocalizedDescriptionKey: "cannot map"])
            try await database.insertUser("Ada")
            var results = try database.watch("SELECT * FROM users") { _ -> Int in throw thrown }.makeAsyncIterator()
            let error = await #expect(throws: NSError.self) { try await results.next() }
            #expect(error == thrown)
        }
    }

    @Test
    func slowConsumerSkipsResultsAndGetsTheLastOne() async throws {
        try await withFileDatabase { database in
            var results = try names(database, throttle: 0).makeAsyncIterator()
            #expect(try await results.next() == [])
            for index in 0..<100 { try await database.insertUser("user \(index)") }
            // By the time all writes are done at most one result is kept; what follows is the re-query after it.
            var seen = 0
            while let names = try await results.next() {
                seen += 1
                if names.count == 100 { break }
            }
            #expect(seen <= 3)
        }
    }

    @Test(arguments: [0.005, 3600])
    func closingTheDatabaseFinishesTheStreamWhateverTheThrottle(_ throttle: TimeInterval) async throws {
        let database = PowerSyncDatabase(schema: testSchema, dbFilename: ":memory:", logger: DefaultLogger(writers: []))
        var results = try names(database, throttle: throttle).makeAsyncIterator()
        #expect(try await results.next() == [])
        try await database.close()
        while let names = try await results.next() { #expect(names == []) }
        var late = try names(database).makeAsyncIterator()
        #expect(try await late.next() == nil)
    }

    @Test
    func watchDoesNotKeepTheDatabaseAlive() async throws {
        var database: (any PowerSyncDatabaseProtocol)? = PowerSyncDatabase(
            schema: testSchema,
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [])
        )
        var results = try database.map { try names($0) }?.makeAsyncIterator()
        #expect(try await results?.next() == [])
        database = nil
        while let names = try await results?.next() { #expect(names == []) }
    }

    @Test func cancellingTheConsumerFinishesTheStream() async throws {
        try await withFileDatabase { database in
            let hasStarted = Counter()
            let consumer = Task {
                for try await _ in try names(database) { hasStarted.increment() }
            }
            await hasStarted.wait(for: 1)
            consumer.cancel()
            try await consumer.value
        }
    }

    @Test
    func watchFollowsItsViewToAnotherTable() async throws {
        try await withFileDatabase { database in
            var results = try names(database).makeAsyncIterator()
            #expect(try await results.next() == [])
            let local = Table(name: "users", columns: [.text("name"), .text("email")], localOnly: true)
            try await database.updateSchema(schema: Schema(local))
            try await database.insertUser("Ada")
            while let names = try await results.next(), names != ["Ada"] {}
            try await database.insertUser("Bob")
            while let names = try await results.next(), names != ["Ada", "Bob"] {}
        }
    }

    @Test
    func watchShowsItsDatabaseBeingCleared() async throws {
        try await withFileDatabase { database in
            try await database.insertUser("Ada")
            var results = try names(database).makeAsyncIterator()
            #expect(try await results.next() == ["Ada"])
            try await database.disconnectAndClear()
            while let names = try await results.next(), names != [] {}
        }
    }

    @Test
    func resultOfAWatchMayBeAnything() async throws {
        final class Box {
            let value: Int
            init(value: Int) { self.value = value }
        }
        try await withFileDatabase { database in
            var results = try database.watch("SELECT 1") { Box(value: try $0.getInt(index: 0)) }.makeAsyncIterator()
            #expect(try await results.next()?.first?.value == 1)
        }
    }
}
