import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Codes and texts of errors, as SQL callers see them (docs/database.md "Errors of SQL functions").
@Suite struct ErrorFormTests {
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let code: Int32
        /// The whole message; `…` stands for any text.
        let message: String
        var preparation = ""

        init(_ sql: String, _ code: Int32, _ message: String, after preparation: String = "") {
            testDescription = sql
            self.code = code
            self.message = message
            self.preparation = preparation
        }

        func matches(_ text: String) -> Bool {
            let parts = message.split(separator: "…", omittingEmptySubsequences: false)
            guard let first = parts.first, let last = parts.last else { return false }
            return text.hasPrefix(first) && text.hasSuffix(last)
        }
    }

    static let cases = [
        // Bad arguments.
        Case(
            "SELECT powersync_diff('[]', '{}')",
            3091,
            "powersync_diff: invalid argument: expected two JSON objects. cause: …"
        ),
        Case(
            "SELECT powersync_diff(NULL, '{}')",
            3091,
            "powersync_diff: invalid argument: expected two JSON objects. cause: …"
        ),
        Case(
            "SELECT powersync_json_merge('[1]')",
            3091,
            "powersync_json_merge: invalid argument: Expected json object. cause: …"
        ),
        Case(
            "SELECT powersync_remove_duplicate_key_encoding(1)",
            3091,
            "powersync_remove_duplicate_key_encoding: invalid argument: …. cause: …"
        ),
        Case("SELECT powersync_replace_schema('{')", 3091, "powersync_replace_schema: invalid argument: …. cause: …"),
        Case("SELECT powersync_replace_schema(NULL)", 3091, "powersync_replace_schema: invalid argument: …. cause: …"),
        Case(
            "SELECT powersync_replace_schema('{}')",
            3091,
            "powersync_replace_schema: invalid argument: …'tables'…. cause: …"
        ),
        // State.
        Case(
            "SELECT powersync_client_id()",
            4,
            "powersync_client_id: No client_id found in ps_kv",
            after: "DELETE FROM ps_kv"
        ),
        // A NUL in generated SQL.
        Case(
            #"SELECT powersync_replace_schema('{"tables":[{"name":"a\u0000b","columns":[]}]}')"#,
            24,
            "powersync_replace_schema: …NUL…"
        ),
        // Inner statements.
        Case(
            #"SELECT powersync_replace_schema('{"tables":[{"name":"t","columns":[]}]}')"#,
            1,
            #"powersync_replace_schema: statement DROP VIEW IF EXISTS "t": internal SQLite call returned ERROR: "#
                + "use DROP TABLE to delete table t",
            after: "CREATE TABLE t(x)"
        ),
        Case(
            "SELECT powersync_clear(0)",
            1811,
            "powersync_clear: statement DELETE FROM…: internal SQLite call returned CONSTRAINT_TRIGGER: keep",
            after: """
                INSERT INTO items(id) VALUES ('a');
                CREATE TRIGGER keep BEFORE DELETE ON ps_data__items BEGIN SELECT RAISE(ABORT, 'keep'); END;
                """
        ),
        // Virtual tables have no prefix.
        Case(
            "INSERT INTO powersync_crud(op, id, type) VALUES ('PUT', NULL, 't')",
            3091,
            "invalid argument: id is required. cause: …"
        ),
        Case(
            "INSERT INTO items(id) VALUES ('a')",
            1811,
            "statement INSERT INTO ps_crud…: internal SQLite call returned CONSTRAINT_TRIGGER: full",
            after: "CREATE TRIGGER block BEFORE INSERT ON ps_crud BEGIN SELECT RAISE(ABORT, 'full'); END"
        ),
        // Triggers of views.
        Case("INSERT INTO items(col) VALUES ('a')", 1811, "id is required"),
        Case("INSERT INTO items(id) VALUES (1)", 1811, "id should be text"),
        Case("UPDATE items SET id = 'b'", 1811, "Cannot update id", after: "INSERT INTO items(id) VALUES ('a')"),
    ]

    @Test(arguments: cases)
    func errorHasItsCodeAndText(_ test: Case) throws {
        let database = try LocalTestDatabase()
        if !test.preparation.isEmpty { try database.write(test.preparation) }
        let objects = try database.objects()
        let error = try #require(throws: DatabaseError.self) { try database.write(test.testDescription) }
        #expect(error.extendedResultCode.rawValue == test.code, "\(error)")
        #expect(test.matches(error.message ?? ""), "\(error)")
        #expect(try database.objects() == objects)
    }

    @Test(
        arguments: [
            "powersync_init()", "powersync_replace_schema('{\"tables\":[]}')", "powersync_clear(0)",
            "powersync_trigger_resync(1)", "powersync_test_migration(14)",
        ]
    )
    func functionsThatDoSomethingReturnAnEmptyText(_ call: String) throws {
        let database = try LocalTestDatabase()
        let result = try database.queue.write { db in
            try DatabaseValue.fetchOne(db, sql: "SELECT \(call)")
        }
        #expect(result == "".databaseValue)
    }

    @Test(
        arguments: [
            "powersync_init()", "powersync_replace_schema('{\"tables\":[]}')", "powersync_clear(0)",
            "powersync_clear(2)",
            "powersync_trigger_resync(1)",
        ]
    )
    func outsideOfATransaction(_ call: String) throws {
        let database = try LocalTestDatabase()
        let error = try #require(throws: DatabaseError.self) { try database.run("SELECT \(call)") }
        let name = call.prefix { $0 != "(" }
        #expect(error.extendedResultCode.rawValue == 21)
        #expect(error.message == "\(name): This function may only be called in transactions.")
    }

    @Test(
        arguments: [
            (1, "ERROR"), (5, "BUSY"), (261, "BUSY"), (19, "CONSTRAINT"), (1299, "CONSTRAINT_NOTNULL"),
            (2067, "CONSTRAINT_UNIQUE"), (3091, "CONSTRAINT_DATATYPE"), (254, "error 254"),
        ] as [(Int32, String)]
    )
    func codesHaveNames(code: Int32, name: String) {
        #expect(SQLiteResultName.of(code) == name)
    }
}
