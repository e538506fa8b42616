import Foundation
import GRDB
import GRDBSQLite
import PowerSyncCore
import TestSupport
import Testing

@testable import PowerSyncClient

/// The statements that connections keep prepared for the app.
@Suite(.timeLimit(.minutes(1))) struct KeptStatementsTests {
    /// The texts of all statements that are prepared on a connection, with the values that are bound to them or without.
    private static func statements(_ context: any ConnectionContext, withValues: Bool = false) throws -> [String] {
        let connection = try LocalConnection.database(of: context).sqliteConnection
        var texts: [String] = []
        var statement = sqlite3_next_stmt(connection, nil)
        while let current = statement {
            let expanded = withValues ? sqlite3_expanded_sql(current) : nil
            texts.append(String(cString: expanded.map { UnsafePointer($0) } ?? sqlite3_sql(current)))
            sqlite3_free(expanded)
            statement = sqlite3_next_stmt(connection, current)
        }
        return texts
    }

    /// What each test does on both kinds of connections.
    enum Access: CaseIterable {
        case writing, reading

        func run<T: Sendable>(
            _ database: any PowerSyncDatabaseProtocol,
            _ body: @Sendable @escaping (any ConnectionContext) throws -> T
        ) async throws -> T {
            switch self {
            case .writing: try await database.writeLock(callback: body)
            case .reading: try await database.readLock(callback: body)
            }
        }
    }

    @Test(arguments: Access.allCases)
    func thousandsOfTextsLeaveFewStatementsAndThoseThatAreUsedStay(_ access: Access) async throws {
        try await withFileDatabase { database in
            let (before, after) = try await access.run(database) { context in
                let before = try Self.statements(context).count
                for number in 0..<3_000 {
                    let sql = "SELECT \(number)"
                    #expect(try context.get(sql: sql, parameters: []) { try $0.getInt(index: 0) } == number)
                    _ = try context.getAll(sql: "SELECT 'often used'", parameters: []) { _ in }
                }
                return (before, try Self.statements(context))
            }
            #expect(after.count <= before + AppStatements.limit)
            #expect(after.contains("SELECT 'often used'"))
            #expect(after.contains("SELECT 2999"))
            #expect(!after.contains("SELECT 0"))
        }
    }

    /// They may be pictures, and a statement may be kept for days.
    @Test(arguments: Access.allCases) func valuesAreNotKept(_ access: Access) async throws {
        try await withFileDatabase { database in
            let kept = try await access.run(database) { context in
                let sql = "SELECT ? UNION ALL SELECT 'row'"
                _ = try context.getAll(sql: sql, parameters: ["needle"]) { _ in }
                _ = try context.get(sql: sql, parameters: ["needle"]) { _ in }
                _ = try? context.getAll(sql: sql, parameters: ["needle"]) { _ in throw CancellationError() }
                if access == .writing {
                    let insert = "INSERT INTO users (id, name) VALUES (?1, ?1)"
                    try context.execute(sql: insert, parameters: ["needle"])
                }
                return try Self.statements(context, withValues: true)
            }
            #expect(kept.contains { $0.contains("'row'") })
            #expect(!kept.contains { $0.contains("needle") })
        }
    }

    @Test func aLongTextIsNotKept() async throws {
        try await withFileDatabase { database in
            let sql = "SELECT count(*) FROM users WHERE name IN (" + String(repeating: "?1,", count: 9_000) + "?1)"
            let texts = try await database.readLock { context in
                #expect(try context.get(sql: sql, parameters: [nil]) { try $0.getInt(index: 0) } == 0)
                return try Self.statements(context)
            }
            #expect(!texts.contains(sql))
        }
    }

    @Test(arguments: Access.allCases)
    func statementWhoseRowsAreBeingMappedLivesOnWhileOthersTakeItsPlace(_ access: Access) async throws {
        try await withFileDatabase { database in
            let outer = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT i FROM n"
            let rows = try await access.run(database) { context in
                try context.getAll(sql: outer, parameters: []) { cursor in
                    let row = try cursor.getInt(index: 0)
                    for number in 0...AppStatements.limit {
                        _ = try context.get(sql: "SELECT \(row * 1_000 + number)", parameters: []) {
                            try $0.getInt(index: 0)
                        }
                    }
                    return row
                }
            }
            #expect(rows == [1, 2, 3, 4, 5])
        }
    }

    @Test func aStatementThatRunsIsNotSteppedByItsOwnMapper() async throws {
        try await withFileDatabase { database in
            let sql = "SELECT column1 FROM (VALUES (1), (2), (3))"
            let rows = try await database.readLock { context in
                try context.getAll(sql: sql, parameters: []) { outer in
                    let all = try context.getAll(sql: sql, parameters: []) { try $0.getInt(index: 0) }
                    return [try outer.getInt(index: 0)] + all
                }
            }
            #expect(rows == [[1, 1, 2, 3], [2, 1, 2, 3], [3, 1, 2, 3]])
        }
    }

    /// Statements see the columns that another program has added, from the first row on.
    @Test(arguments: Access.allCases)
    func columnsOfAnotherProgramAreSeen(_ access: Access) async throws {
        try await withTemporaryDirectory { directory in
            let path = directory.appending(path: "test.db").path
            let database = PowerSyncDatabase(schema: testSchema, dbFilename: path, logger: DefaultLogger(writers: []))
            try await database.execute("CREATE TABLE notes (a)")
            try await database.execute("INSERT INTO notes VALUES (1)")
            let look = { @Sendable (context: any ConnectionContext) in
                try context.get(sql: "SELECT * FROM notes", parameters: []) { $0.columnNames.keys.sorted() }
            }
            #expect(try await access.run(database, look) == ["a"])
            let other = try DatabaseQueue(path: path)
            try await other.writeWithoutTransaction { try $0.execute(sql: "ALTER TABLE notes ADD COLUMN b") }
            try other.close()
            #expect(try await access.run(database, look) == ["a", "b"])
            #expect(try await access.run(database, look) == ["a", "b"])
            try await database.close()
        }
    }

    @Test func aNewSchemaChangesWhatAStatementReads() async throws {
        try await withFileDatabase { database in
            try await database.insertUser("Ada")
            let columns = { try await database.get("SELECT * FROM users") { $0.columnNames.count } }
            #expect(try await columns() == 5)
            let users = PowerSyncClient.Table(name: "users", columns: [.text("name")])
            try await database.updateSchema(schema: Schema(users))
            #expect(try await columns() == 2)
        }
    }

    @Test func aStatementThatFailedCanBeRunAgain() async throws {
        try await withFileDatabase { database in
            try await database.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY)")
            try await database.writeLock { context in
                for _ in 0..<3 {
                    let sql = "INSERT INTO notes VALUES (?)"
                    _ = try? context.execute(sql: sql, parameters: [1])
                    #expect(throws: PowerSyncError.self) { try context.execute(sql: sql, parameters: [1]) }
                }
                let changes = try context.execute(sql: "INSERT INTO notes VALUES (?)", parameters: [2])
                #expect(changes == 1)
            }
        }
    }

    /// Such statements hold our virtual tables, which are disconnected while the connection closes.
    @Test func statementsThatWriteToViewsAreFinalisedAtTheEnd() async throws {
        let schema = PowerSyncClient.Schema(
            PowerSyncClient.Table(name: "users", columns: [.text("name")]),
            PowerSyncClient.Table(name: "logs", columns: [.text("line")], insertOnly: true)
        )
        try await withFileDatabase(schema) { database in
            for view in ["users", "logs"] {
                try await database.execute("INSERT INTO \(view) (id) VALUES (uuid())")
            }
        }
    }

    @Test func textsThatOnlyLookEqualAreDistinguished() async throws {
        try await withFileDatabase { database in
            // One letter, and a letter with an accent after it: equal as Swift strings.
            try await database.execute("CREATE TABLE \"caf\u{e9}\" (a)")
            try await database.execute("CREATE TABLE \"cafe\u{301}\" (a)")
            try await database.execute("INSERT INTO \"cafe\u{301}\" VALUES (1)")
            for _ in 0..<2 {
                #expect(try await database.count("\"caf\u{e9}\"") == 0)
                #expect(try await database.count("\"cafe\u{301}\"") == 1)
            }
        }
    }
}
