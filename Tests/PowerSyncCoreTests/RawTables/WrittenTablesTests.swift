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
            written: ["t", "u", "log", "sqlite_sequence"]
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
            let written = try WrittenTables(of: example.sql, db)
            #expect(written == expected)
            var schema = KnownSchema()
            try written.announce(db, schema: &schema)
        }
    }

    @Test("A statement that is not seen to write may do anything")
    func statementsThatWriteNowhereMayDoAnything() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.queue.write { db in
            let ofReading = try WrittenTables(of: "SELECT ?1", db)
            #expect(ofReading == .anything)
            let ofNothing = try WrittenTables(of: WrittenTables.Program(), ignoring: [], db)
            #expect(ofNothing == .anything)
        }
    }

    /// What later versions of SQLite may make of `EXPLAIN`.
    @Test("A program that is not understood may do anything")
    func unknownProgramsMayDoAnything() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.run("CREATE TABLE t (id TEXT PRIMARY KEY)")
        let page = try #require(try database.integer("SELECT rootpage FROM sqlite_master WHERE name = 't'"))
        try database.queue.write { db in
            var program = WrittenTables.Program()
            program.add("OpenWrite", 0, page, 0, "1")
            program.add("Insert", 0, 1, 2)
            let ofProgram = try WrittenTables(of: program, ignoring: [], db)
            #expect(ofProgram == .tables([ExactText("t")]))
            var unknownInstruction = program
            unknownInstruction.add("OpenWriteAhead", 0, page, 0)
            let ofInstruction = try WrittenTables(of: unknownInstruction, ignoring: [], db)
            #expect(ofInstruction == .anything)
            var otherSQL = program
            otherSQL.add("SqlExec")
            let ofSQL = try WrittenTables(of: otherSQL, ignoring: [], db)
            #expect(ofSQL == .anything)
            var unknownPage = program
            unknownPage.add("OpenWrite", 0, 1_000_000, 0)
            let ofPage = try WrittenTables(of: unknownPage, ignoring: [], db)
            #expect(ofPage == .anything)
            var unknownTable = program
            unknownTable.add("VUpdate", 0, 0, 0, "t")
            let ofTable = try WrittenTables(of: unknownTable, ignoring: ["t"], db)
            #expect(ofTable == .anything)
        }
    }
}
