import GRDB
import GRDBSQLite
import PowerSyncSQLite
import Testing

/// Preparing, running and repeating statements.
@Suite struct PreparedStatementTests {
    @Test func aStatementCanBeRunAgainAfterAnError() throws {
        try DatabaseQueue().write { db in
            try db.execute(sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)")
            let insert = try PreparedStatement(db, sql: "INSERT INTO t VALUES (?1, ?2)")
            insert.bind(Int64(1), at: 1)
            try insert.run()
            for _ in 0..<3 {
                insert.bind(Int64(1), at: 1)
                insert.bind("not this one", at: 2)
                #expect(throws: DatabaseError.self) { try insert.run() }
            }
            // The name of the failed runs is forgotten.
            insert.bind(Int64(2), at: 1)
            try insert.run()
            #expect(try Int.fetchAll(db, sql: "SELECT id FROM t WHERE name IS NULL ORDER BY id") == [1, 2])
        }
    }

    @Test func anErrorHasCodeMessageAndSQLButNoValues() throws {
        let sql = "INSERT INTO t VALUES (?1)"
        func check(_ statement: PreparedStatement) throws {
            statement.bind("secret", at: 1)
            try statement.run()
            statement.bind("secret", at: 1)
            let error = try #require(throws: DatabaseError.self) { try statement.run() }
            #expect(error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE)
            #expect(error.message == "UNIQUE constraint failed: t.name")
            #expect(error.sql == sql)
            #expect(!"\(error)".contains("secret"))
        }
        try DatabaseQueue().write { db in
            try db.execute(sql: "CREATE TABLE t (name TEXT UNIQUE)")
            try check(PreparedStatement(db, sql: sql))
        }
        // Such a connection does not return extended codes by itself.
        let connection = try PlainConnection()
        try connection.run("CREATE TABLE t (name TEXT UNIQUE)")
        try check(try #require(try PreparedStatement(preparing: sql, on: connection.handle)))
    }

    /// What SQLite refuses before it looks leaves the connection with an earlier error.
    @Test func aMisuseIsNotTakenForTheLastErrorOfTheConnection() throws {
        let connection = try PlainConnection()
        #expect(throws: DatabaseError.self) { try connection.run("SELECT a FROM nowhere") }
        let error = DatabaseError(SQLITE_MISUSE, reportedBy: connection.handle, sql: "SELECT 1")
        #expect(error.resultCode == .SQLITE_MISUSE)
        #expect(error.message?.contains("misuse") == true, "\(error)")
        #expect(error.sql == "SELECT 1")
    }

    @Test func aTextThatIsNoSQLIsAnError() throws {
        let connection = try PlainConnection()
        let error = try #require(throws: DatabaseError.self) {
            try PreparedStatement(preparing: "SELECT a FROM nowhere", on: connection.handle)
        }
        #expect(error.resultCode == .SQLITE_ERROR)
        #expect(error.message == "no such table: nowhere")
        #expect(error.sql == "SELECT a FROM nowhere")
    }

    @Test(arguments: ["", " ; ", "-- a comment"])
    func aTextMayHaveNoStatement(_ sql: String) throws {
        let connection = try PlainConnection()
        #expect(try PreparedStatement(preparing: sql, on: connection.handle) == nil)
    }

    @Test(arguments: [true, false])
    func valuesAreForgottenAtTheEndOfAnExecutionHoweverThatComes(isReset: Bool) throws {
        let connection = try PlainConnection()
        let statement = try #require(try PreparedStatement(preparing: "SELECT ?1", on: connection.handle))
        statement.bind(Int64(7), at: 1)
        #expect(try statement.step())
        #expect(statement.integer(at: 0) == 7)
        if isReset {
            statement.reset()
        } else {
            #expect(try !statement.step())
        }
        #expect(try statement.step())
        #expect(statement.isNull(at: 0))
    }

    @Test func aStatementOfTheCacheIsSharedAndComesWithoutValues() throws {
        try DatabaseQueue().read { db in
            let first = try PreparedStatement(db, sql: "SELECT ?1")
            first.bind(Int64(7), at: 1)
            let second = try PreparedStatement(db, sql: "SELECT ?1")
            #expect(first.handle == second.handle)
            #expect(try second.step())
            #expect(second.isNull(at: 0))
        }
    }

    @Test func textsThatOnlyLookEqualAreDistinguished() throws {
        try DatabaseQueue().write { db in
            // One letter, and a letter with an accent after it: equal as Swift strings.
            for name in ["caf\u{e9}", "cafe\u{301}"] {
                try db.execute(sql: "CREATE TABLE \(SQLText.identifier(name)) (bytes INTEGER)")
                let insert = try PreparedStatement(db, sql: "INSERT INTO \(SQLText.identifier(name)) VALUES (?1)")
                insert.bind(Int64(name.utf8.count), at: 1)
                try insert.run()
            }
            for name in ["caf\u{e9}", "cafe\u{301}"] {
                let select = try PreparedStatement(db, sql: "SELECT bytes FROM \(SQLText.identifier(name))")
                #expect(try select.step())
                #expect(select.integer(at: 0) == Int64(name.utf8.count))
                select.reset()
            }
        }
    }

    @Test func theLastCopyFinalisesAStatementOfItsOwn() throws {
        let connection = try PlainConnection()
        do {
            let statement = try #require(try PreparedStatement(preparing: "SELECT 1", on: connection.handle))
            let copy = statement
            let borrowed = PreparedStatement(borrowing: copy.handle)
            #expect(try borrowed.step())
            #expect(connection.statementCount == 1)
            #expect(connection.close() == SQLITE_BUSY)
            withExtendedLifetime(copy) {}
        }
        #expect(connection.statementCount == 0)
        #expect(connection.close() == SQLITE_OK)
    }

    @Test func aStatementThatRunsOnceRunsToItsEnd() throws {
        let connection = try PlainConnection()
        let firstText = { sql in try PreparedStatement.firstText(sql, on: connection.handle) }
        #expect(try firstText("CREATE TABLE t (id INTEGER PRIMARY KEY, a)") == nil)
        #expect(try firstText("INSERT INTO t (a) VALUES ('x'), (NULL) RETURNING a") == "x")
        #expect(try firstText("INSERT INTO t (a) VALUES ('y')") == nil)
        #expect(try firstText("SELECT group_concat(ifnull(a, '-')) FROM t") == "x,-,y")
        #expect(try firstText("SELECT NULL") == nil)
        #expect(throws: DatabaseError.self) { try firstText("INSERT INTO t VALUES (9, 'z'), (1, '') RETURNING a") }
        #expect(connection.statementCount == 0)
    }

    @Test func whatIsPreparedIsTheFirstStatementOfAText() throws {
        let connection = try PlainConnection()
        let statement = try #require(try PreparedStatement(preparing: "SELECT 1 AS a; SELECT 2", on: connection.handle))
        #expect(statement.name(of: 0) == "a")
        #expect(statement.name(of: 1) == nil)
        #expect(try statement.step())
        #expect(statement.integer(at: 0) == 1)
    }
}
