import GRDB
import GRDBSQLite
import PowerSyncCoreTestSupport
import PowerSyncSQLite
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

    private func withStatements(_ body: (AppStatements, Database) throws -> Void) throws {
        try database.queue.writeWithoutTransaction { db in
            try body(try #require(AppStatements.of(db)), db)
        }
    }

    private func preparedTexts(_ db: Database) -> [String] {
        var texts: [String] = []
        var statement = sqlite3_next_stmt(db.sqliteConnection, nil)
        while let current = statement {
            texts.append(String(cString: sqlite3_sql(current)))
            statement = sqlite3_next_stmt(db.sqliteConnection, current)
        }
        return texts
    }

    @Test func aStatementIsPreparedOnce() throws {
        try withStatements { statements, db in
            let first = try statements.statement(db, sql: Self.sql)
            let second = try statements.statement(db, sql: Self.sql)
            #expect(first === second)
        }
    }

    /// Without one, SQLite deletes all rows at once and tells of none.
    @Test func aStatementThatDeletesIsPreparedAnewForAnObserver() throws {
        let observer = ChangeCounter(tables: ["own"])
        try withStatements { statements, db in
            let before = try statements.statement(db, sql: Self.sql)
            db.add(transactionObserver: observer)
            let after = try statements.statement(db, sql: Self.sql)
            #expect(after !== before)
            try after.execute()
        }
        #expect(observer.changes == 2)
    }

    @Test func numberOfKeptStatementsIsBounded() throws {
        try withStatements { statements, db in
            let before = preparedTexts(db).count
            for number in 0..<10 * AppStatements.limit {
                _ = try statements.statement(db, sql: "SELECT \(number)")
                let often = try statements.statement(db, sql: "SELECT 'often used'")
                let again = try statements.statement(db, sql: "SELECT 'often used'")
                #expect(often === again)
            }
            #expect(preparedTexts(db).count <= before + AppStatements.limit)
        }
    }

    @Test func aStatementThatFailedIsPreparedAnew() throws {
        try database.run("CREATE UNIQUE INDEX only ON own (a)")
        try withStatements { statements, db in
            let sql = "INSERT INTO own VALUES (1)"
            let first = try statements.statement(db, sql: sql)
            #expect(throws: DatabaseError.self) { try first.execute() }
            let second = try statements.statement(db, sql: sql)
            #expect(second !== first)
        }
    }

    @Test func aStatementThatRunsIsNotHandedOutAgain() throws {
        try withStatements { statements, db in
            let first = try statements.statement(db, sql: "SELECT 1")
            let running = PreparedStatement(borrowing: first.sqliteStatement)
            #expect(try running.step())
            let other = try statements.statement(db, sql: "SELECT 1")
            #expect(other !== first)
            running.reset()
            let again = try statements.statement(db, sql: "SELECT 1")
            #expect(again === first)
        }
    }

    @Test func theLongestTextIsKept() throws {
        try withStatements { statements, db in
            let start = "SELECT 1 --"
            let sql = start + String(repeating: "-", count: AppStatements.longestText - start.utf8.count)
            for (sql, isKept) in [(sql, true), (sql + "-", false)] {
                let first = try statements.statement(db, sql: sql)
                let second = try statements.statement(db, sql: sql)
                #expect((first === second) == isKept)
            }
        }
    }

    @Test func textsThatOnlyLookEqualHaveDifferentStatements() throws {
        try withStatements { statements, db in
            // One letter, and a letter with an accent after it: equal as Swift strings.
            for sql in ["SELECT 'caf\u{e9}'", "SELECT 'cafe\u{301}'"] {
                for _ in 0..<2 {
                    let statement = try statements.statement(db, sql: sql)
                    #expect(String(cString: sqlite3_sql(statement.sqliteStatement)).utf8.elementsEqual(sql.utf8))
                }
            }
        }
    }

    @Test func aConnectionWithKeptStatementsCanBeClosed() throws {
        try withStatements { statements, db in
            _ = try statements.statement(db, sql: Self.sql)
        }
        try database.queue.close()
    }
}
