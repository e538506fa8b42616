import GRDB
import GRDBSQLite
import PowerSyncSQLite
import Testing

/// The statements that a connection keeps prepared for an app.
@Suite struct RecentStatementsTests {
    @Test func theStatementThatWasNotUsedForLongestMakesRoom() throws {
        try DatabaseQueue().read { db in
            let recent = RecentStatements()
            let often = try recent.statement(sql: "SELECT 'often used'", db)
            for number in 0..<3 * RecentStatements.limit {
                _ = try recent.statement(sql: "SELECT \(number)", db)
                #expect(try recent.statement(sql: "SELECT 'often used'", db) === often)
            }
            #expect(recent.count == RecentStatements.limit)
            let last = try recent.statement(sql: "SELECT \(3 * RecentStatements.limit - 1)", db)
            #expect(try recent.statement(sql: "SELECT \(3 * RecentStatements.limit - 1)", db) === last)
            // It was forgotten, so that it is prepared anew and takes a place again.
            let first = try recent.statement(sql: "SELECT 0", db)
            #expect(try recent.statement(sql: "SELECT 0", db) === first)
            #expect(recent.count == RecentStatements.limit)
        }
    }

    @Test func aStatementThatIsForgottenIsFinalised() throws {
        try DatabaseQueue().read { db in
            let recent = RecentStatements()
            weak var statement: Statement?
            do {
                statement = try recent.statement(sql: "SELECT 1", db)
            }
            #expect(statement != nil)
            recent.forget(sql: "SELECT 1")
            #expect(statement == nil)
            #expect(recent.count == 0)
            for number in 0..<10 { _ = try recent.statement(sql: "SELECT \(number)", db) }
            recent.forgetAll()
            #expect(recent.count == 0)
        }
    }

    @Test func aStatementThatRunsIsNotHandedOutAgain() throws {
        try DatabaseQueue().read { db in
            let recent = RecentStatements()
            let first = try recent.statement(sql: "SELECT 1", db)
            let running = PreparedStatement(borrowing: first.sqliteStatement)
            #expect(try running.step())
            #expect(try recent.statement(sql: "SELECT 1", db) !== first)
            running.reset()
            #expect(try recent.statement(sql: "SELECT 1", db) === first)
        }
    }

    @Test func longTextsAndMistakesAreNotKept() throws {
        try DatabaseQueue().read { db in
            let recent = RecentStatements()
            let comment = String(repeating: "-", count: RecentStatements.longestText)
            _ = try recent.statement(sql: "SELECT 1 \(comment)", db)
            #expect(throws: DatabaseError.self) { try recent.statement(sql: "SELECT a FROM nowhere", db) }
            #expect(recent.count == 0)
        }
    }

    @Test func theLongestTextIsKept() throws {
        try DatabaseQueue().read { db in
            let recent = RecentStatements()
            let start = "SELECT 1 --"
            let sql = start + String(repeating: "-", count: RecentStatements.longestText - start.utf8.count)
            _ = try recent.statement(sql: sql, db)
            #expect(recent.count == 1)
            _ = try recent.statement(sql: sql + "-", db)
            #expect(recent.count == 1)
        }
    }

    @Test func textsThatOnlyLookEqualHaveDifferentStatements() throws {
        try DatabaseQueue().read { db in
            // One letter, and a letter with an accent after it: equal as Swift strings.
            let recent = RecentStatements()
            let composed = try recent.statement(sql: "SELECT 'caf\u{e9}'", db)
            let decomposed = try recent.statement(sql: "SELECT 'cafe\u{301}'", db)
            #expect(composed !== decomposed)
            #expect(recent.count == 2)
        }
    }

    @Test func aConnectionCanBeClosedWhenItsStatementsAreForgotten() throws {
        let queue = try DatabaseQueue()
        let recent = RecentStatements()
        try queue.read { db in _ = try recent.statement(sql: "SELECT 1", db) }
        #expect(throws: DatabaseError.self) { try queue.close() }
        recent.forgetAll()
        try queue.close()
    }
}
