import GRDB
import PowerSyncSQLite
import Testing

@testable import PowerSyncCore

/// What GRDB's observers are told of rows in raw tables.
@Suite struct WrittenTablesTests {
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        var setUp = ""
        var sql = "INSERT INTO t VALUES (?1) ON CONFLICT (id) DO NOTHING"
        let written: [String]?
    }

    static let cases = [
        Case(testDescription: "one table", written: ["t"]),
        Case(testDescription: "another case of its name", sql: "DELETE FROM T WHERE id = ?", written: ["t"]),
        Case(
            testDescription: "without rowid",
            setUp: "CREATE TABLE w (id TEXT PRIMARY KEY) WITHOUT ROWID",
            sql: "INSERT INTO w VALUES (?)",
            written: ["w"]
        ),
        Case(testDescription: "reading another one", sql: "INSERT INTO t SELECT id FROM u", written: ["t"]),
        Case(testDescription: "truncating", sql: "DELETE FROM t", written: ["t"]),
        Case(
            testDescription: "triggers of triggers",
            setUp: """
                CREATE TRIGGER a AFTER INSERT ON t BEGIN INSERT INTO u VALUES (NEW.id); END;
                CREATE TRIGGER b AFTER INSERT ON u BEGIN DELETE FROM log; END;
                """,
            written: ["t", "u", "log"]
        ),
        Case(
            testDescription: "foreign keys",
            setUp: "PRAGMA foreign_keys = ON; CREATE TABLE c (id, t REFERENCES t (id) ON DELETE SET NULL)",
            sql: "DELETE FROM t WHERE id = ?",
            written: ["t", "c"]
        ),
        Case(
            testDescription: "triggers of the upload queue",
            setUp: """
                SELECT powersync_create_raw_table_crud_trigger('{"name":"t","table_name":"t"}', 'put', 'INSERT');
                SELECT powersync_create_raw_table_crud_trigger(
                    '{"name":"t","table_name":"t","insert_only":true}', 'insert_only', 'INSERT'
                );
                """,
            written: ["t"]
        ),
        Case(
            testDescription: "a full-text index",
            setUp: """
                CREATE VIRTUAL TABLE f USING fts5(id);
                CREATE TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO f VALUES (NEW.id); END;
                """,
            written: nil
        ),
        Case(
            testDescription: "a temporary table",
            setUp: """
                CREATE TEMP TABLE x (id);
                CREATE TEMP TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO x VALUES (NEW.id); END;
                """,
            written: nil
        ),
    ]

    @Test(arguments: cases)
    func tablesAreFoundInTheProgram(_ example: Case) throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.run(
            """
            CREATE TABLE t (id TEXT PRIMARY KEY);
            CREATE TABLE u (id TEXT PRIMARY KEY);
            CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, text);
            """
        )
        try database.run("CREATE TRIGGER seq AFTER DELETE ON log BEGIN INSERT INTO log (text) VALUES ('x'); END")
        try database.run(example.setUp)
        let expected = example.written.map { WrittenTables.tables(Set($0.map { ExactText($0) })) } ?? .anything
        try database.queue.write { db in
            let written = try WrittenTables(db, of: example.sql)
            #expect(written == expected)
            var schema = KnownSchema()
            try written.announce(db, schema: &schema)
        }
    }

    @Test(
        arguments: [
            "SELECT ?1", "COMMIT", "SAVEPOINT s", "PRAGMA user_version = 2", "CREATE TABLE x AS SELECT 1",
            "DROP TABLE t",
            "ALTER TABLE t ADD COLUMN x", "INSERT INTO view_of_t VALUES (?1)",
        ]
    )
    func statementThatIsNotSeenToWriteRowsOfTablesMayDoAnything(_ sql: String) throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.run(
            """
            CREATE TABLE t (id TEXT PRIMARY KEY);
            CREATE VIEW view_of_t AS SELECT id FROM t;
            CREATE TRIGGER silent INSTEAD OF INSERT ON view_of_t BEGIN SELECT 1; END;
            """
        )
        try database.queue.write { db in
            let written = try WrittenTables(db, of: sql)
            #expect(written == .anything)
            #expect(db.isInsideTransaction)
            let tables = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE name IN ('t', 'x')")
            #expect(tables == ["t"])
        }
    }

    @Test func tableOfAStatementIsItsOwn() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.run(
            """
            CREATE TABLE a (id TEXT PRIMARY KEY);
            CREATE TABLE "T t" (id TEXT PRIMARY KEY);
            CREATE TRIGGER copy BEFORE INSERT ON "T t" BEGIN INSERT INTO a VALUES (NEW.id); END;
            CREATE VIEW v AS SELECT id FROM a;
            CREATE TRIGGER through INSTEAD OF INSERT ON v BEGIN INSERT INTO a VALUES (NEW.id); END;
            """
        )
        try database.queue.write { db in
            let ofTable = try WrittenTables.target(db, of: "WITH x AS (SELECT 1) INSERT INTO \"t T\" SELECT * FROM x")
            #expect(ofTable == "T t")
            let ofView = try WrittenTables.target(db, of: "INSERT INTO v VALUES (1)")
            #expect(ofView == nil)
            let written = try WrittenTables(db, of: "INSERT INTO v VALUES (1)")
            #expect(written == .tables([ExactText("a")]))
        }
    }

    /// Whatever is asked about a statement, nothing of it happens, and other observers are told nothing.
    @Test func askingChangesNothing() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.run("CREATE TABLE t (id TEXT PRIMARY KEY); INSERT INTO t VALUES ('1')")
        let observer = ChangeCounter(tables: ["t"])
        try database.queue.write { db in
            db.add(transactionObserver: observer)
            _ = try WrittenTables(db, of: "DELETE FROM t")
            _ = try StatementEffects.triggers(db, of: "DELETE FROM t")
        }
        #expect(observer.changes == 0)
        #expect(try database.integer("SELECT count(*) FROM t") == 1)
    }
}
