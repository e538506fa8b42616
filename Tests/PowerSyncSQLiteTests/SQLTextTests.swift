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

    @Test(arguments: [
        ("INSERT INTO t VALUES (1)", true), (" \n;insert into t values (1)", true),
        ("-- a\n/* b */ UPDATE t SET a = 1", true),
        ("WITH a AS (SELECT 1) DELETE FROM t", true), ("replace into t values (1)", true), ("delete from t", true),
        ("SELECT 1", false), ("VACUUM", false), ("PRAGMA user_version = 1", false), ("BEGIN", false), ("", false),
        ("-- INSERT", false), ("/* INSERT", false), ("/* INSERT */", false), ("/*/ INSERT */ DROP TABLE t", false),
        ("INSERTS", false), ("\u{feff}INSERT", true), ("\u{e9}INSERT", false),
        ("\r\n\t\u{c}INSERT INTO t VALUES (1)", true), (";; -- a\n; UPDATE t SET a = 1", true),
    ])
    func theFirstWordSaysWhetherRowsChange(_ sql: String, _ changesRows: Bool) {
        #expect(SQLText.changesRows(sql) == changesRows)
    }

    /// As SQLite does it.
    @Test func onlyTheCaseOfASCIILettersIsIgnored() {
        let text = ExactText(ignoringCaseOf: "@AZ[`az{ÄZ\u{212a}").text
        #expect(Array(text.utf8) == Array("@az[`az{Äz\u{212a}".utf8))
    }
}
