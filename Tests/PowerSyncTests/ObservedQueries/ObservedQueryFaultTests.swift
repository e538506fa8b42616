import Foundation
import Observation
import TestSupport
import Testing

@testable import PowerSyncClient

/// Observed queries when something is wrong, and their end.
@MainActor @Suite(.timeLimit(.minutes(1))) struct ObservedQueryFaultTests {
    struct User: Codable, Identifiable, Equatable, Sendable {
        var id: String
        var name: String
        var nick: String?
    }

    @Test func aQueryThatFailsAfterASchemaChangeRecovers() async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada", id: "1")
            let sql = "SELECT id, name, email AS nick FROM users"
            let users = ObservedQuery(database, sql: sql, throttle: 0, as: User.self)
            await until { users.rows.count == 1 }
            let rows = users.rows
            try await database.updateSchema(schema: Schema(Table(name: "users", columns: [.text("name")])))
            await until { users.error != nil }
            #expect(users.error is PowerSyncError)
            #expect(users.rows == rows)
            #expect(users.hasResult)
            try await database.updateSchema(schema: testSchema)
            await until { users.error == nil }
            try await database.insertUser("Bob", id: "2")
            await until { users.rows.count == 2 }
        }
    }

    @Test func aTableThatDoesNotExistYetIsFollowedWhenItComes() async throws {
        try await withFileDatabase { database in
            let count = ObservedQuery(database, sql: "SELECT count(*) FROM notes", throttle: 0, as: Int.self)
            await until { count.error != nil }
            #expect(!count.hasResult)
            try await database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
            try await database.execute("INSERT INTO notes DEFAULT VALUES")
            await until { count.row == 1 }
            #expect(count.error == nil)
            try await database.execute("INSERT INTO notes DEFAULT VALUES")
            await until { count.row == 2 }
        }
    }

    @Test func aDatabaseThatSomebodyElseOpensLaterIsFollowed() async throws {
        try await withTemporaryDirectory { directory in
            let obstacle = directory.appending(path: "a.db")
            try FileManager.default.createDirectory(at: obstacle, withIntermediateDirectories: false)
            let database = PowerSyncDatabase(
                schema: testSchema,
                dbFilename: obstacle.path,
                logger: DefaultLogger(writers: [])
            )
            let follower = QueryFollower(
                database: database,
                options: WatchOptions(sql: "SELECT count(*) FROM users", throttle: 0) { try $0.getInt(index: 0) },
                merge: .byPosition()
            )
            let (failures, results) = (Counter(), Counter())
            let following = Task {
                await follower.run(from: []) { news in
                    switch news {
                    case .failure: failures.increment()
                    case .success: results.increment()
                    }
                }
            }
            // After the second attempt it waits.
            await failures.wait(for: 2)
            try FileManager.default.removeItem(at: obstacle)
            #expect(try await database.count("users") == 0)
            await results.wait(for: 1)
            following.cancel()
            await following.value
            try await database.close()
        }
    }

    @Test func aRowThatDoesNotDecodeKeepsTheOthersAndRecovers() async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada", id: "1")
            let sql = "SELECT id, name FROM users ORDER BY id"
            let users = ObservedQuery(database, sql: sql, throttle: 0, as: User.self)
            await until { users.rows.count == 1 }
            let errors = ChangeCount { _ = users.error }
            try await database.execute("INSERT INTO users (id, name) VALUES ('2', NULL)")
            await until { users.error != nil }
            let error = try #require(users.error as? TypedRowError)
            #expect(error.code == .unexpectedNull)
            #expect(error.row == 2)
            #expect(error.column == "name")
            #expect(error.sql == sql)
            #expect(users.rows.map(\.name) == ["Ada"])
            // Another commit finds the same.
            try await database.execute("INSERT INTO tasks (id) VALUES ('t')")
            try await database.execute("UPDATE users SET name = 'Bob' WHERE id = '2'")
            await until { users.error == nil }
            #expect(users.rows.map(\.name) == ["Ada", "Bob"])
            await until { errors.count >= 2 }
            #expect(errors.count == 2)
        }
    }

    @Test func theErrorOfAForeignDatabaseStaysUntilTheParametersChange() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "", parameters: ["a"], as: String.self)
        #expect(texts.rows == [])
        await database.script.begun.wait(for: 1)
        database.script.send(["x"])
        await until { texts.hasResult }
        database.script.finish(throwing: PowerSyncError.operationFailed(message: "no"))
        await until { texts.error != nil }
        #expect(texts.rows == ["x"])
        texts.follow(parameters: ["b"])
        #expect(texts.error == nil)
        await database.script.begun.wait(for: 1)
        database.script.send(["y"])
        await until { texts.rows == ["y"] }
    }

    @Test func aStreamThatEndsLeavesItsRows() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "", as: String.self)
        #expect(texts.rows == [])
        await database.script.begun.wait(for: 1)
        database.script.send(["x"])
        database.script.finish()
        await until { texts.rows == ["x"] }
        #expect(texts.error == nil)
    }

    @Test func aClosedDatabaseIsToldAndTheRowsStay() async throws {
        let database = PowerSyncDatabase(
            schema: testSchema,
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [])
        )
        try await database.insertUser("Ada", id: "1")
        let users = ObservedQuery(database, sql: "SELECT id, name FROM users", throttle: 0, as: User.self)
        let broken = ObservedQuery(database, sql: "SELECT nothing", throttle: 0, as: Int.self)
        await until { users.rows.count == 1 && broken.error != nil }
        let before = broken.error?.localizedDescription
        try await database.close()
        await until { users.error != nil && broken.error?.localizedDescription != before }
        #expect(users.error?.localizedDescription == "The database is closed")
        #expect(users.rows.count == 1)
        let late = ObservedQuery(database, sql: "SELECT id, name FROM users", throttle: 0, as: User.self)
        await until { late.error != nil }
        #expect(!late.hasResult)
    }

    @Test func aReleasedQueryEnds() async throws {
        let database = ScriptedDatabase()
        var texts: ObservedQuery<String>? = ObservedQuery(database, sql: "", as: String.self)
        #expect(texts?.rows == [])
        await database.script.begun.wait(for: 1)
        database.script.send(["x"])
        if let texts { await until { texts.hasResult } }
        texts = nil
        await database.script.ended.wait(for: 1)
    }

    @Test func aQueryMayBeReleasedInTheMiddleOfAFetch() async throws {
        try await withMemoryDatabase { database in
            let (gate, begun) = (Gate(), Counter())
            let options = WatchOptions(sql: "SELECT 1") { cursor in
                begun.increment()
                gate.wait()
                return try cursor.getInt(index: 0)
            }
            var number: ObservedQuery<Int>? = ObservedQuery(database, options: options)
            #expect(number?.rows == [])
            await begun.wait(for: 1)
            weak let released = number
            number = nil
            #expect(released == nil)
            gate.open()
            let count = try await database.count("users")
            #expect(count == 0)
        }
    }

    @Test func viewsMayComeAndGoAThousandTimes() async throws {
        let scripted = ScriptedDatabase()
        for _ in 0..<1_000 {
            let texts = ObservedQuery<String>(scripted, sql: "", as: String.self)
            #expect(texts.rows == [])
            await scripted.script.begun.wait(for: 1)
        }
        await scripted.script.ended.wait(for: 1_000)
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada", id: "1")
            for index in 0..<1_000 {
                let users = ObservedQuery(database, sql: "SELECT id, name FROM users", throttle: 0, as: User.self)
                #expect(users.rows == [])
                if index % 10 == 0 { await until { users.rows.count == 1 } }
            }
            let users = ObservedQuery(database, sql: "SELECT id, name FROM users", throttle: 0, as: User.self)
            await until { users.rows.count == 1 }
            try await database.insertUser("Bob", id: "2")
            await until { users.rows.count == 2 }
        }
    }

    @Test func parametersOfTheRealDatabaseMayChangeQuickly() async throws {
        try await withMemoryDatabase { database in
            let rows = (0..<50).map { ["\($0)", "user \($0)"] as [(any Sendable)?] }
            try await database.executeBatch(sql: "INSERT INTO users (id, name) VALUES (?, ?)", parameterSets: rows)
            let user = ObservedQuery(
                database,
                sql: "SELECT id, name FROM users WHERE id = ?",
                parameters: ["0"],
                throttle: 0,
                as: User.self
            )
            for index in 0..<500 {
                user.follow(parameters: ["\(index % 50)"])
                #expect(user.row == nil || user.row?.id == "\(index % 50)")
                await Task.yield()
                #expect(user.row == nil || user.row?.id == "\(index % 50)")
            }
            await until { user.row?.name == "user 49" }
        }
    }

    @Test func aParameterThatCannotBeBoundIsAnError() async throws {
        struct Unbindable: Sendable {}
        try await withMemoryDatabase { database in
            let number = ObservedQuery(database, sql: "SELECT ?", parameters: [Unbindable()], throttle: 0, as: Int.self)
            await until { number.error != nil }
            number.follow(parameters: [5])
            await until { number.row == 5 }
            #expect(number.error == nil)
        }
    }

    /// SQLite compares bytes, and the two texts are equal as `String`s.
    @Test func parametersAreComparedAsTheyAreBound() {
        #expect(QueryParameters(["\u{e9}"]) != QueryParameters(["e\u{301}"]))
        #expect(QueryParameters([Double.nan, true, nil]) == QueryParameters([Double.nan, Int64(1), nil]))
        #expect(QueryParameters([1, "1"]) != QueryParameters(["1", 1]))
        #expect(QueryParameters([1]) != QueryParameters([1, 1]))
        let unbindable: [(any Sendable)?] = [ContinuousClock.now]
        #expect(QueryParameters(unbindable) != QueryParameters(unbindable))
    }
}
