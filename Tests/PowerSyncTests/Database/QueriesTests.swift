import Foundation
import PowerSync
import Testing

@Suite struct QueriesTests {
    // MARK: - Errors

    struct MissingTable: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let run: @Sendable (any PowerSyncDatabaseProtocol, _ sql: String) async throws -> Void
    }

    static let missingTable = [
        MissingTable(testDescription: "execute") { try await $0.execute(sql: $1, parameters: []) },
        MissingTable(testDescription: "get") { _ = try await $0.get(sql: $1, parameters: []) { _ in 0 } },
        MissingTable(testDescription: "getOptional") { _ = try await $0.getOptional($1) { _ in 0 } },
        MissingTable(testDescription: "getAll") { _ = try await $0.getAll($1) { _ in 0 } },
        MissingTable(testDescription: "write transaction") { database, sql in
            try await database.writeTransaction { _ = try $0.execute(sql: sql, parameters: []) }
        },
        MissingTable(testDescription: "read transaction") { database, sql in
            try await database.readTransaction { _ = try $0.get(sql: sql, parameters: []) { _ in 0 } }
        },
    ]

    @Test(arguments: missingTable)
    func missingTableGivesTheExactErrorText(_ operation: MissingTable) async throws {
        try await withMemoryDatabase { database in
            let sql = "SELECT name FROM usersfail"
            let error = await #expect(throws: PowerSyncError.self) { try await operation.run(database, sql) }
            #expect(
                error?.localizedDescription
                    == "SQLite failure (code 1): SQL logic error, no such table: usersfail for SQL: \(sql)"
            )
        }
    }

    @Test func syntaxErrorTellsItsPlace() async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT FROM") }
            #expect(
                error?.localizedDescription
                    == "SQLite failure (code 1): SQL logic error at offset 7, near \"FROM\": syntax error "
                    + "for SQL: SELECT FROM"
            )
        }
    }

    @Test
    func getWithoutARowNamesTheSQL() async throws {
        try await withMemoryDatabase { database in
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.get("SELECT name FROM users") { try $0.getString(index: 0) }
            }
            guard case .operationFailed(let message?, PowerSyncErrorCode.noRow as PowerSyncErrorCode) = error else {
                Issue.record("unexpected error \(String(describing: error))")
                return
            }
            #expect(message.contains("SELECT name FROM users"))
        }
    }

    @Test(arguments: ["", "  ", ";", "\n;\n", "-- only a comment"])
    func textWithoutAStatementThrows(_ sql: String) async throws {
        try await withMemoryDatabase { database in
            await #expect(throws: PowerSyncError.self) { try await database.execute(sql) }
            await #expect(throws: PowerSyncError.self) { try await database.getAll(sql) { _ in 0 } }
        }
    }

    @Test
    func errorOfAMapperComesOutUnchanged() async throws {
        try await withMemoryDatabase { database in
            let thrown = NSError(domain: "app", code: 7, userInfo: [NSLocalizedDescriptionKey: "cannot map"])
            let error = await #expect(throws: NSError.self) {
                _ = try await database.getOptional("SELECT 1") { _ in throw thrown }
            }
            #expect(error == thrown)
            #expect(error?.localizedDescription == "cannot map")
        }
    }

    // MARK: - Reading

    @Test
    func insertedRowCanBeReadInEveryWay() async throws {
        try await withMemoryDatabase { database in
            let sql = "INSERT INTO users (id, name, email) VALUES (?, ?, ?)"
            let changes = try await database.execute(sql: sql, parameters: ["1", "Ada", "ada@example.org"])
            #expect(changes == 1)
            try await database.execute(sql: sql, parameters: ["2", "Bob", nil])

            let ada = try await database.get(sql: "SELECT * FROM users WHERE id = ?", parameters: ["1"]) { cursor in
                "\(try cursor.getString(name: "name")) \(try cursor.getString(name: "email"))"
            }
            #expect(ada == "Ada ada@example.org")
            let missing = try await database.getOptional(sql: "SELECT * FROM users WHERE id = ?", parameters: ["9"]) {
                try $0.getString(name: "name")
            }
            #expect(missing == nil)
            let names = try await database.getAll(sql: "SELECT name FROM users ORDER BY name DESC", parameters: nil) {
                try $0.getString(index: 0)
            }
            #expect(names == ["Bob", "Ada"])
        }
    }

    @Test
    func mapperMayReturnNilForARow() async throws {
        try await withMemoryDatabase { database in
            let all = try await database.getAll("SELECT * FROM (VALUES ('a'), (NULL), ('b'))") {
                $0.getStringOptional(index: 0)
            }
            #expect(all == ["a", nil, "b"])
            let first = try await database.getOptional("SELECT NULL") { $0.getStringOptional(index: 0) }
            #expect(first == .some(nil))
        }
    }

    @Test
    func getAndGetOptionalReadTheFirstRowOnly() async throws {
        try await withMemoryDatabase { database in
            try await database.execute("CREATE TABLE numbers (number INTEGER)")
            try await database.execute("INSERT INTO numbers VALUES (1), (-9223372036854775808)")
            // The second number has no absolute value.
            let sql = "SELECT abs(number) FROM numbers ORDER BY rowid"
            await #expect(throws: PowerSyncError.self) { try await database.getAll(sql) { try $0.getInt(index: 0) } }
            #expect(try await database.get(sql) { try $0.getInt(index: 0) } == 1)
            #expect(try await database.getOptional(sql) { try $0.getInt(index: 0) } == 1)
            try await database.writeLock { context in
                #expect(try context.get(sql: sql, parameters: []) { try $0.getInt(index: 0) } == 1)
                // SQLite refuses this while a statement has more rows to give.
                try context.execute(sql: "VACUUM", parameters: [])
            }
        }
    }

    @Test
    func statementRunsInsideTheMapperOfAnotherOneEvenOfItself() async throws {
        try await withMemoryDatabase { database in
            for name in ["Ada", "Bob", "Cyd"] { try await database.insertUser(name, id: name) }
            let sql = "SELECT name FROM users ORDER BY name"
            let pairs = try await database.readLock { context in
                try context.getAll(sql: sql, parameters: []) { cursor in
                    let inner = try context.getAll(sql: sql, parameters: []) { try $0.getString(index: 0) }
                    return try cursor.getString(index: 0) + String(inner.count)
                }
            }
            #expect(pairs == ["Ada3", "Bob3", "Cyd3"])
        }
    }

    @Test
    func fullTextSearchJoinsAndFunctionsAreThere() async throws {
        try await withFileDatabase { database in
            #expect(
                try await database.get("SELECT sqlite_compileoption_used('ENABLE_FTS5')") { try $0.getInt(index: 0) }
                    == 1
            )
            try await database.insertUser("Ada", id: "u1")
            try await database.execute("INSERT INTO tasks (id, user_id, title) VALUES (uuid(), 'u1', 'Write')")
            let joined = try await database.get(
                "SELECT u.name, t.title FROM tasks t JOIN users u ON u.id = t.user_id"
            ) { try $0.getString(index: 0) + $0.getString(index: 1) }
            #expect(joined == "AdaWrite")
            #expect(try await database.getClientId().count == 36)
            let version = try await database.getPowerSyncVersion().split(separator: ".").compactMap { Int($0) }
            #expect(version.count == 3)
        }
    }
}
