import GRDB
import PowerSyncSQLite
import Testing

/// Names and texts in SQL.
@Suite struct SQLTextTests {
    static let texts = [
        "", "a", "a b", "\"", "a\"b", "\"\"", "'", "it's", "\"; DROP TABLE t; --", "\"\u{301}", "'\u{301}",
    ]

    @Test(arguments: texts)
    func aLiteralIsTheText(_ text: String) throws {
        let read = try DatabaseQueue().read { db in
            try String.fetchOne(db, sql: "SELECT \(SQLText.literal(text))")
        }
        #expect(read.map { Array($0.utf8) } == Array(text.utf8))
    }

    @Test(arguments: texts)
    func anIdentifierIsTheName(_ name: String) throws {
        try DatabaseQueue().write { db in
            try db.execute(sql: "CREATE TABLE \(SQLText.identifier(name)) (\(SQLText.identifier(name)))")
            let names = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master")
            #expect(names.map { Array($0.utf8) } == [Array(name.utf8)])
        }
    }
}
