import GRDB
import GRDBSQLite
import PowerSyncSQLite
import Testing

/// Statements that one connection keeps.
@Suite struct KeptStatementTests {
    @Test func aStatementIsPreparedWhenItIsUsed() throws {
        let connection = try PlainConnection()
        let statement = KeptStatement(connection.handle, "SELECT ?1 + 1")
        #expect(connection.statementCount == 0)
        #expect(try statement.run { $0.bind(Int64(41), at: 1) } == 42)
        #expect(try statement.firstRow({ $0.bind(0.5, at: 1) }, { $0.double(at: 0) }) == 1.5)
        #expect(connection.statementCount == 1)
    }

    @Test func valuesOfTheLastRunAreForgotten() throws {
        let connection = try PlainConnection()
        let statement = KeptStatement(connection.handle, "SELECT ?1")
        #expect(try statement.run { $0.bind(Int64(7), at: 1) } == 7)
        #expect(try statement.firstRow({ _ in }, { $0.isNull(at: 0) }) == true)
    }

    @Test func aRunWithoutARowHasNoValue() throws {
        let connection = try PlainConnection()
        let statement = KeptStatement(connection.handle, "SELECT 1 WHERE 0")
        #expect(try statement.run() == 0)
        #expect(try statement.firstRow({ _ in }, { $0.integer(at: 0) }) == nil)
    }

    @Test func aRunEndsItsTransaction() throws {
        let connection = try PlainConnection()
        try connection.run("CREATE TABLE t (a)")
        try connection.run("INSERT INTO t VALUES (1), (2)")
        let statement = KeptStatement(connection.handle, "SELECT a FROM t")
        #expect(try statement.run() == 1)
        // SQLite refuses this while a statement reads the table.
        try connection.run("DROP TABLE t")
    }

    @Test func aStatementCanBeRunAgainAfterAnError() throws {
        let connection = try PlainConnection()
        try connection.run("CREATE TABLE t (a UNIQUE)")
        let statement = KeptStatement(connection.handle, "INSERT INTO t VALUES (?1)")
        try statement.run { $0.bind("x", at: 1) }
        let error = try #require(throws: DatabaseError.self) { try statement.run { $0.bind("x", at: 1) } }
        #expect(error.extendedResultCode == .SQLITE_CONSTRAINT_UNIQUE)
        #expect(error.sql == "INSERT INTO t VALUES (?1)")
        try statement.run { $0.bind("y", at: 1) }
    }

    @Test func aStatementThatCouldNotBePreparedIsTriedAgain() throws {
        let connection = try PlainConnection()
        let statement = KeptStatement(connection.handle, "SELECT count(*) + 5 FROM t")
        #expect(throws: DatabaseError.self) { try statement.run() }
        try connection.run("CREATE TABLE t (a)")
        #expect(try statement.run() == 5)
        #expect(throws: DatabaseError.self) { try KeptStatement(connection.handle, "").run() }
    }

    @Test func aStatementMayBeRunWhileItRuns() throws {
        let connection = try PlainConnection()
        let statement = KeptStatement(connection.handle, "SELECT ?1 + 1")
        let values = try statement.firstRow(
            { $0.bind(Int64(1), at: 1) },
            { row in [try? statement.run { $0.bind(Int64(2), at: 1) }, row.integer(at: 0)] }
        )
        #expect(values == [3, 2])
        #expect(connection.statementCount == 1)
        #expect(try statement.run { $0.bind(Int64(3), at: 1) } == 4)
    }

    @Test func aConnectionIsClosedWhenItsStatementsAre() throws {
        let connection = try PlainConnection()
        let statements = (0..<3).map { KeptStatement(connection.handle, "SELECT \($0)") }
        for (number, statement) in statements.enumerated() {
            #expect(try statement.run() == Int64(number))
        }
        #expect(connection.close() == SQLITE_BUSY)
        for statement in statements { statement.close() }
        // A closed statement is prepared anew, if the connection goes on.
        #expect(try statements[2].run() == 2)
        #expect(connection.close() == SQLITE_BUSY)
        statements[2].close()
        #expect(connection.close() == SQLITE_OK)
        // What was never closed or used does not matter.
        statements[0].close()
    }
}
