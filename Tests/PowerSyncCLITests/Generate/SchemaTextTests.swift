import Foundation
import PowerSyncSyncConfig
import TestSupport
import Testing

@testable import PowerSyncGenerator
import PowerSyncTerminal

/// Files of statements for `--schema`.
@Suite struct SchemaTextTests {
    private static func tables(_ statements: String) throws -> [String: [String]] {
        let schema = try SourceSchema(statements: statements)
        return Dictionary(uniqueKeysWithValues: schema.tables.map { ($0.name.name, $0.columns) })
    }

    @Test(arguments: [
        "CREATE TABLE public.lists (id TEXT PRIMARY KEY, name TEXT)",
        "create table Public.lists(id text primary key, name text default 'public.x');",
        #"CREATE TABLE "public"."lists" (id TEXT PRIMARY KEY, name TEXT);"#,
        """
        -- public.nothing
        CREATE TABLE IF NOT EXISTS public.lists (id TEXT PRIMARY KEY, name TEXT); /* public.x */
        CREATE INDEX by_name ON lists (name);
        """,
    ])
    func publicIsTheSchemaOfTablesThatAreNamedWithoutOne(_ statements: String) throws {
        #expect(try Self.tables(statements) == ["lists": ["id", "name"]])
    }

    @Test func referencesMayNameIt() throws {
        let tables = try Self.tables(
            """
            CREATE TABLE public.lists (id TEXT PRIMARY KEY);
            CREATE TABLE public.todos (id TEXT PRIMARY KEY, list_id TEXT REFERENCES public.lists (id));
            """
        )
        #expect(tables.keys.sorted() == ["lists", "todos"])
    }

    @Test func whatTheShellOfSQLiteDumpsIsTaken() throws {
        let tables = try Self.tables(
            """
            PRAGMA foreign_keys=OFF;
            BEGIN TRANSACTION;
            CREATE TABLE lists (id TEXT PRIMARY KEY, name TEXT, size INT AS (length(name)));
            INSERT INTO lists VALUES('a','x;y');
            CREATE VIRTUAL TABLE found USING fts5(name);
            COMMIT;
            """
        )
        #expect(tables["lists"] == ["id", "name", "size"])
        // Without the columns that only queries have.
        #expect(tables["found"] == ["name"])
    }

    @Test(arguments: [
        "'public.x'", "\"public.x\"", "[public.x]", "`public.x`", "republic.x", "public_.x", "-- public.x",
        "/* public.x */",
    ])
    func textsAndOtherNamesStay(_ text: String) {
        #expect(SchemaText.withoutPublicSchema(text) == text)
    }

    /// Files that make no table, with the beginning of the statement that SQLite does not take, and its line.
    static let refused = [
        ("CREATE EXTENSION IF NOT EXISTS pgcrypto;", "CREATE EXTENSION IF NOT EXISTS pgcrypto;", 1),
        ("-- a dump\n\nSET statement_timeout = 0;\nCREATE INDEX i ON a (id);", "SET statement_timeout = 0;", 3),
        (
            "CREATE FUNCTION f() RETURNS trigger AS $$\n\(String(repeating: "BEGIN RETURN NEW; END;\n", count: 10_000))$$;",
            "CREATE FUNCTION f() RETURNS trigger AS $$", 1
        ),
        ("SELECT '\(String(repeating: "x", count: 100_000))", "SELECT 'xxxxxx", 1),
    ]

    @Test(arguments: refused)
    func whatSQLiteDoesNotTakeIsSaidInOneSentence(text: String, beginning: String, line: Int) throws {
        let folder = try TemporaryFolder()
        try text.write(toFile: folder.path("schema.sql"), atomically: true, encoding: .utf8)
        #expect {
            try SourceSchema(contentsOf: folder.path("schema.sql"))
        } throws: { error in
            let message = try #require((error as? UnreadableFile)?.description)
            #expect(message.contains("line \(line), which begins with “\(beginning)"), "\(message)")
            #expect(message.contains("--source"))
            #expect(message.utf8.count < 500)
            #expect(!message.contains("\n") && !message.contains("while executing"))
            return true
        }
    }

    @Test(arguments: ["postgresql://me:hunter2@h/app", "postgres:/me:hunter2@h/app"])
    func theAddressOfADatabaseIsNotShown(_ address: String) {
        #expect {
            try SourceSchema(contentsOf: address)
        } throws: { error in
            "\(error)".contains("--source") && !"\(error)".contains("hunter2")
        }
    }
}
