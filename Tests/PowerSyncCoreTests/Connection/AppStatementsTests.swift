import GRDB
import PowerSyncCoreTestSupport
import Testing

@testable import PowerSyncCore

/// The statements of the app that a connection keeps.
@Suite struct AppStatementsTests {
    private static let sql = "DELETE FROM own"

    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase()
        try database.run("CREATE TABLE own (a); INSERT INTO own VALUES (1), (2)")
    }

    @Test func aStatementIsPreparedOnce() throws {
        try database.queue.writeWithoutTransaction { db in
            let statements = try #require(AppStatements.of(db))
            let first = try statements.statement(sql: Self.sql, db)
            let second = try statements.statement(sql: Self.sql, db)
            #expect(first === second)
            statements.forget(sql: Self.sql)
            let third = try statements.statement(sql: Self.sql, db)
            #expect(third !== first)
        }
    }

    /// Without one, SQLite deletes all rows at once and tells of none.
    @Test func aStatementThatDeletesIsPreparedAnewForAnObserver() throws {
        let observer = ChangeCounter(tables: ["own"])
        try database.queue.writeWithoutTransaction { db in
            let statements = try #require(AppStatements.of(db))
            let before = try statements.statement(sql: Self.sql, db)
            db.add(transactionObserver: observer)
            let after = try statements.statement(sql: Self.sql, db)
            #expect(after !== before)
            try after.execute()
        }
        #expect(observer.changes == 2)
    }

    @Test func nothingIsKeptInAFileWithoutOurTables() throws {
        let queue = try DatabaseQueue(configuration: Configuration().forPowerSync())
        try queue.writeWithoutTransaction { db in
            let statements = try #require(AppStatements.of(db))
            let first = try statements.statement(sql: "SELECT 1", db)
            let second = try statements.statement(sql: "SELECT 1", db)
            #expect(first !== second)
        }
    }
}
