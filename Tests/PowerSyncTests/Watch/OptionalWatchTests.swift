import PowerSync
import TestSupport
import Testing

/// Watches of one row.
@Suite(.timeLimit(.minutes(1))) struct OptionalWatchTests {
    private struct User: Codable, Equatable {
        var id: String
        var name: String
    }

    private static let sql = "SELECT id, name FROM users WHERE id = ?"

    @Test func aRowComesChangesAndGoes() async throws {
        try await withMemoryDatabase(testSchema) { database in
            var names = try database.watchOptional(sql: Self.sql, parameters: ["1"]) { try $0.getString(name: "name") }
                .makeAsyncIterator()
            #expect(try await names.next() == .some(nil))
            try await database.insertUser("Ada", id: "1")
            while let name = try await names.next(), name != "Ada" {}
            try await database.execute("UPDATE users SET name = 'Abe' WHERE id = '1'")
            while let name = try await names.next(), name != "Abe" {}
            try await database.execute("DELETE FROM users")
            while let name = try await names.next(), name != nil {}
        }
    }

    @Test func aTypedRowIsTheFirstOfTheResult() async throws {
        try await withMemoryDatabase(testSchema) { database in
            try await database.insertUser("Bob", id: "2")
            try await database.insertUser("Ada", id: "1")
            let users = try database.watchOptional(sql: "SELECT id, name FROM users ORDER BY name", as: User.self)
            for try await user in users {
                #expect(user == User(id: "1", name: "Ada"))
                break
            }
        }
    }

    @Test func aRowThatIsNotOfTheTypeEndsTheStream() async throws {
        struct Age: Decodable, Sendable { var age: Int }
        try await withMemoryDatabase(testSchema) { database in
            try await database.insertUser("Ada", id: "1")
            var ages = try database.watchOptional(sql: "SELECT name AS age FROM users", as: Age.self)
                .makeAsyncIterator()
            await #expect(throws: TypedRowError.self) { try await ages.next() }
        }
    }
}
