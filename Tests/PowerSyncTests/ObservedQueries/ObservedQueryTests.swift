import Foundation
import Observation
import PowerSync
import PowerSyncCoreTestSupport
import PowerSyncTesting
import Testing

@MainActor @Suite(.timeLimit(.minutes(1))) struct ObservedQueryTests {
    struct User: Codable, Identifiable, Equatable, Sendable {
        var id: String
        var name: String
    }

    final class Person: Decodable, Identifiable, Equatable, Sendable {
        let id: String
        let name: String

        static func == (lhs: Person, rhs: Person) -> Bool { lhs.id == rhs.id && lhs.name == rhs.name }
    }

    private static let sql = "SELECT id, name FROM users ORDER BY name"

    private func query(_ database: any PowerSyncDatabaseProtocol) -> ObservedQuery<User> {
        ObservedQuery(database, sql: Self.sql, throttle: 0, as: User.self)
    }

    @Test func rowsFollowWhatIsWritten() async throws {
        try await withMemoryDatabase { database in
            let users = query(database)
            #expect(users.rows == [])
            #expect(!users.hasResult)
            #expect(users.error == nil)
            await until { users.hasResult }
            #expect(users.rows == [])
            try await database.insertUser("Bob", id: "2")
            await until { users.rows == [User(id: "2", name: "Bob")] }
            try await database.insertUser("Ada", id: "1")
            await until { users.rows.map(\.name) == ["Ada", "Bob"] }
            #expect(users.row == User(id: "1", name: "Ada"))
            try await database.execute("DELETE FROM users WHERE id = '1'")
            await until { users.rows.map(\.name) == ["Bob"] }
        }
    }

    @Test func aCountAndOneRowAreQueriesToo() async throws {
        try await withMemoryDatabase { database in
            let count = ObservedQuery(database, sql: "SELECT count(*) FROM users", throttle: 0, as: Int.self)
            let ada = ObservedQuery(
                database,
                sql: "SELECT id, name FROM users WHERE id = ?",
                parameters: ["1"],
                throttle: 0,
                as: User.self
            )
            let names = ObservedQuery(
                database,
                options: WatchOptions(sql: Self.sql, throttle: 0) { try $0.getString(name: "name") }
            )
            await until { count.row == 0 && ada.hasResult && names.hasResult }
            #expect(ada.row == nil)
            try await database.insertUser("Ada", id: "1")
            await until { count.row == 1 && ada.row?.name == "Ada" && names.rows == ["Ada"] }
        }
    }

    @Test func nothingRunsBeforeTheFirstLook() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "", as: String.self)
        texts.follow(parameters: ["p"])
        await Task.yield()
        #expect(database.script.seen == [])
        #expect(!texts.hasResult)
        await database.script.begun.wait(for: 1)
        #expect(database.script.seen == ["p"])
    }

    @Test func equalResultsAreNotNews() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "", as: String.self)
        let rows = ChangeCount { _ = texts.rows }
        let others = ChangeCount { _ = (texts.error, texts.hasResult) }
        await database.script.begun.wait(for: 1)
        for result in [["a"], ["a"], ["a"], ["b"]] { database.script.send(result) }
        await until { texts.rows == ["b"] }
        #expect(rows.count <= 2)
        #expect(others.count == 1)
        for result in [["b"], ["b"], ["c"]] { database.script.send(result) }
        await until { texts.rows == ["c"] }
        #expect(others.count == 1)
    }

    @Test func rowsThatStayEqualStayTheSameObjects() async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada", id: "1")
            try await database.insertUser("Bob", id: "2")
            let people = ObservedQuery(database, sql: Self.sql, throttle: 0, as: Person.self)
            await until { people.rows.count == 2 }
            let (ada, bob) = (people.rows[0], people.rows[1])
            try await database.insertUser("Aaron", id: "0")
            try await database.execute("UPDATE users SET name = 'Abe' WHERE id = '1'")
            await until { people.rows.map(\.name) == ["Aaron", "Abe", "Bob"] }
            #expect(people.rows[2] === bob)
            #expect(people.rows[1] !== ada)
        }
    }

    @Test func otherParametersGiveOtherRows() async throws {
        try await withMemoryDatabase { database in
            try await database.insertUser("Ada", id: "1")
            try await database.insertUser("Bob", id: "2")
            let user = ObservedQuery(
                database,
                sql: "SELECT id, name FROM users WHERE id = ?",
                parameters: ["1"],
                throttle: 0,
                as: User.self
            )
            await until { user.row?.name == "Ada" }
            user.follow(parameters: ["2"])
            #expect(user.rows == [])
            #expect(!user.hasResult)
            await until { user.row?.name == "Bob" }
            user.follow(parameters: ["1"], until: .kept)
            #expect(user.row?.name == "Bob")
            #expect(!user.hasResult)
            await until { user.row?.name == "Ada" }
            #expect(user.hasResult)
            user.follow(sql: "SELECT id, upper(name) AS name FROM users WHERE id = ?")
            await until { user.row?.name == "ADA" }
        }
    }

    @Test func equalParametersChangeNothing() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "q", parameters: ["a", 1, nil, true], as: String.self)
        #expect(texts.rows == [])
        await database.script.begun.wait(for: 1)
        database.script.send(["x"])
        await until { texts.hasResult }
        let changes = ChangeCount { _ = (texts.rows, texts.hasResult) }
        texts.follow(sql: "q", parameters: ["a", Int64(1), String?.none, true], in: database)
        #expect(texts.rows == ["x"])
        #expect(changes.count == 0)
        #expect(database.script.seen == ["a"])
    }

    @Test func ofManyParametersInARowOnlyTheLastAreRead() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "", parameters: ["0"], as: String.self)
        #expect(texts.rows == [])
        for index in 1...1_000 { texts.follow(parameters: ["\(index)"]) }
        await database.script.begun.wait(for: 1)
        database.script.send(["last"])
        await until { texts.rows == ["last"] }
        #expect(database.script.seen == ["1000"])
    }

    @Test func aResultOfFormerParametersIsNeverShown() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "", parameters: ["a"], as: String.self)
        #expect(texts.rows == [])
        await database.script.begun.wait(for: 1)
        database.script.send(["of a"], to: 0)
        texts.follow(parameters: ["b"])
        var seen: [[String]] = []
        let changes = ChangeCount { seen.append(texts.rows) }
        await database.script.ended.wait(for: 1)
        await database.script.begun.wait(for: 1)
        database.script.send(["of b"], to: 1)
        await until { texts.hasResult }
        #expect(texts.rows == ["of b"])
        #expect(!seen.contains(["of a"]))
        withExtendedLifetime(changes) {}
    }

    @Test func anObserverMayChangeWhatIsFollowed() async throws {
        let database = ScriptedDatabase()
        let texts = ObservedQuery<String>(database, sql: "", parameters: ["a"], as: String.self)
        withObservationTracking({ _ = texts.rows }) {
            // Called in the middle of showing the result.
            MainActor.assumeIsolated { texts.follow(parameters: ["b"]) }
        }
        await database.script.begun.wait(for: 1)
        database.script.send(["of a"], to: 0)
        await database.script.begun.wait(for: 1)
        #expect(texts.rows == [])
        #expect(!texts.hasResult)
        database.script.send(["of b"], to: 1)
        await until { texts.hasResult }
        #expect(texts.rows == ["of b"])
    }

    @Test func itTellsWhetherWhatItNeedsHasBeenSynced() async throws {
        let service = ScriptedTransport()
        let database = service.makeDatabase(schema: testSchema, logger: DefaultLogger(writers: []))
        let all = query(database)
        let urgent = ObservedQuery(database, sql: Self.sql, as: User.self, synced: .priority(BucketPriority(1)))
        let stream = ObservedQuery(
            database,
            sql: Self.sql,
            as: User.self,
            synced: .stream(database.syncStream(name: "lists", params: nil))
        )
        #expect(!all.hasSynced && !urgent.hasSynced && !stream.hasSynced)
        let changes = ChangeCount { _ = all.hasSynced }
        try await database.connect(connector: StaticConnector(), options: nil)
        let lines = try await service.nextStream()
        lines.accept()
        lines.send(.checkpoint(0, [.bucket("a", priority: 1), .bucket("b")]), .done(1))
        await until { urgent.hasSynced }
        #expect(!all.hasSynced)
        lines.send(.done)
        await until { all.hasSynced }
        #expect(!stream.hasSynced)
        await until { changes.count == 1 }
        try await database.close()
        #expect(all.hasSynced)
    }

    private struct StaticConnector: PowerSyncBackendConnectorProtocol {
        func fetchCredentials() async throws -> PowerSyncCredentials? {
            PowerSyncCredentials(endpoint: "https://example.org", token: "token")
        }
        func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
    }

    @Test func aQueryMayGetItsDatabaseLater() async throws {
        try await withMemoryDatabase { first in
            try await withMemoryDatabase { second in
                try await first.insertUser("Ada", id: "1")
                let users = ObservedQuery<User>(nil, sql: Self.sql, as: User.self)
                #expect(users.error != nil)
                #expect(!users.hasResult && !users.hasSynced)
                users.follow(in: first)
                #expect(users.error == nil)
                await until { users.rows.map(\.name) == ["Ada"] }
                users.follow(in: first)
                #expect(users.hasResult)
                users.follow(in: second)
                #expect(users.rows == [])
                await until { users.hasResult }
                #expect(users.rows == [])
            }
        }
    }

    @Test func theStatusIsThatOfTheDatabaseOrOfNone() async throws {
        try await withMemoryDatabase { database in
            #expect(ObservableSyncStatus.of(database) === database.currentStatus.observable)
            #expect(ObservableSyncStatus.of(nil) === ObservableSyncStatus.of(nil))
            #expect(ObservableSyncStatus.of(nil).hasSynced == nil)
        }
    }
}
