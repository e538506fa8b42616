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

    @Test(arguments: [
        ("INSERT INTO t VALUES (1)", "t"), (" insert or ignore into main.\"a\"\"b\" (x) values (1)", "a\"b"),
        ("REPLACE INTO [t x] DEFAULT VALUES", "t x"), ("UPDATE `t` SET a = 1", "t"),
        ("update or fail 't' set a = 1", "t"),
        ("DELETE FROM t", "t"), ("/* a */ DELETE -- b\n FROM t;", "t"), (";;DELETE FROM t", "t"),
        ("WITH a AS (SELECT 1), b(x) AS (DELETE FROM no) INSERT INTO t SELECT 1", "t"),
        ("WITH a AS (SELECT 1) SELECT 2", nil),
        ("WITH a AS (SELECT 1", nil), ("WITH", nil), ("SELECT 1", nil), ("PRAGMA a", nil), ("CREATE TABLE t (a)", nil),
        ("", nil),
        ("EXPLAIN DELETE FROM t", nil), ("VALUES (1)", nil), ("INSERT", nil), ("DELETE FROM", nil),
    ])
    func changedTable(_ sql: String, _ table: String?) {
        #expect(SQLText.changedTable(sql) == table)
    }

    @Test(
        arguments: [
            ("SELECT 1", ["SELECT 1"]), ("SELECT 1;", ["SELECT 1"]),
            (" ; -- a\n;SELECT ';' /* ; */ ; ;", ["SELECT ';'"]), ("", []),
            ("SELECT 1; SELECT \"a;b\"; SELECT [;]", ["SELECT 1", "SELECT \"a;b\"", "SELECT [;]"]),
            (
                "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 2; END; SELECT 3",
                [
                    "CREATE TEMP TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE 1 WHEN 1 THEN 2 END; SELECT 2; END",
                    "SELECT 3",
                ]
            ),
            ("CREATE TABLE trigger (a); END; SELECT 1", ["CREATE TABLE trigger (a)", "END", "SELECT 1"]),
            ("CREATE INDEX trigger ON t (a); SELECT 1", ["CREATE INDEX trigger ON t (a)", "SELECT 1"]),
            ("SELECT 'open; SELECT 2", ["SELECT 'open; SELECT 2"]), ("SELECT 1 /* open; SELECT 2", ["SELECT 1"]),
        ] as [(String, [String])]
    )
    func statementsOfAText(_ sql: String, _ statements: [String]) {
        #expect(SQLText.statements(sql).map(String.init) == statements)
    }

    @Test(
        arguments: [
            (
                "CREATE UNIQUE INDEX i ON t (a, \"b,\" DESC, lower(c, 'x)') COLLATE nocase ASC)",
                ["a", "\"b,\"", "lower(c, 'x)') COLLATE nocase"], nil
            ),
            ("CREATE UNIQUE INDEX \"on (\" on [t (](/* ( */ a -- )\n) WHERE b > 1 -- end", ["a"], "b > 1"),
            (
                "CREATE UNIQUE INDEX i ON t (a) WHERE t.b > 1.5 AND main . \"t\" . c = '.'", ["a"],
                "b > 1.5 AND c = '.'"
            ),
        ] as [(String, [String], String?)]
    )
    func partsOfAnIndex(_ sql: String, _ terms: [String], _ condition: String?) {
        #expect(SQLText.indexParts(sql) == SQLText.IndexParts(terms: terms, condition: condition))
    }

    @Test(arguments: [
        "", "SELECT 1", "CREATE UNIQUE INDEX i ON t", "CREATE UNIQUE INDEX i ON t (a", "CREATE INDEX i ON t (a,,b)",
    ])
    func noIndex(_ sql: String) {
        #expect(SQLText.indexParts(sql) == nil)
    }

    /// As SQLite does it.
    @Test func onlyTheCaseOfASCIILettersIsIgnored() {
        let text = ExactText(ignoringCaseOf: "@AZ[`az{ÄZ\u{212a}").text
        #expect(Array(text.utf8) == Array("@az[`az{Äz\u{212a}".utf8))
    }
}
