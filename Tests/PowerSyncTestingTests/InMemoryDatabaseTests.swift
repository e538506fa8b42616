import PowerSync
import PowerSyncTesting
import Testing

/// Databases in memory, for previews and tests.
@Suite(.timeLimit(.minutes(1))) struct InMemoryDatabaseTests {
    private struct Failure: Error, Equatable {}

    @Test func aDatabaseBeginsWithItsSeed() async throws {
        let database = PowerSyncDatabase(inMemory: TodoApp.schema, logger: TodoApp.logger) { rows in
            try rows.insert(TodoApp.Todo(id: "t1", listID: "l1", title: "Milk"), into: "todos")
            try rows.execute(sql: "INSERT INTO todos(id, title) VALUES ('t2', 'Tea')", parameters: [])
        }
        #expect(try await database.titles == ["Milk", "Tea"])
        #expect(try await database.getNextCrudTransaction() == nil)
        try await database.execute("UPDATE todos SET done = 1 WHERE id = 't1'")
        #expect(try await database.getNextCrudTransaction()?.crud.map(\.id) == ["t1"])
    }

    @Test func aQueryThatIsWatchedBeginsWithTheSeed() async throws {
        let database = PowerSyncDatabase(inMemory: TodoApp.schema, logger: TodoApp.logger) { rows in
            try rows.execute(sql: "INSERT INTO todos(id, title) VALUES ('t2', 'Tea')", parameters: [])
        }
        var results: [[String]] = []
        for try await titles in try database.watch("SELECT title FROM todos", mapper: { try $0.getString(index: 0) }) {
            results.append(titles)
            if results.count == 1 { try await database.execute("DELETE FROM todos") }
            if titles.isEmpty { break }
        }
        #expect(results == [["Tea"], []])
    }

    @Test func aSeedThatFailsIsTheErrorOfEachOperation() async throws {
        let database = PowerSyncDatabase(inMemory: TodoApp.schema, logger: TodoApp.logger) { rows in
            try rows.execute(sql: "INSERT INTO todos(id, title) VALUES ('t2', 'Tea')", parameters: [])
            throw Failure()
        }
        for _ in 0..<2 {
            await #expect(throws: (any Error).self) { try await database.titles }
        }
    }

    @Test func twoDatabasesHaveNothingInCommon() async throws {
        let first = TodoApp.database()
        let second = TodoApp.database()
        try await first.add("Milk", id: "t1", to: "l1")
        #expect(try await second.titles == [])
    }

    @Test func aSeededDatabaseCanBeConnected() async throws {
        let service = try TodoApp.service(users: "alice")
        try service.put("todos", ["id": "t1", "list_id": "list of alice", "title": "Milk"])
        let database = PowerSyncDatabase(inMemory: TodoApp.schema, logger: TodoApp.logger) { rows in
            try rows.execute(sql: "INSERT INTO todos(id, title) VALUES ('t1', 'old')", parameters: [])
        }
        try await database.connect(connector: service.connector(user: "alice"))
        try await service.waitUntilSynced(database)
        #expect(try await database.titles == ["Milk"])
        #expect(service.uploads.received.isEmpty)
    }

    @Test func queriesAndTransactionsOfManyTasksTakeTurns() async throws {
        let database = TodoApp.database()
        try await withThrowingTaskGroup { tasks in
            for index in 0..<20 {
                tasks.addTask { try await database.add("\(index)", id: "t\(index)", to: "l1") }
                tasks.addTask { _ = try await database.titles }
            }
            try await tasks.waitForAll()
        }
        #expect(try await database.titles.count == 20)
    }
}
