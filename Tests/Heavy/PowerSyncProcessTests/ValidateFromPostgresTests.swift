import Foundation
import PostgresTestSupport
import TestSupport
import Testing

/// The command `validate` with the tables and the rows of a PostgreSQL database.
@Suite(.timeLimit(.minutes(3))) struct ValidateFromPostgresTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        let config = """
            config: {edition: 3}
            streams:
              lists: {auto_subscribe: true, query: SELECT * FROM lists WHERE owner_id = auth.user_id()}
              tags: {auto_subscribe: true, query: SELECT * FROM public.tags}
              missing: {query: SELECT * FROM nowhere}
            """
        try config.write(toFile: folder.path("sync.yaml"), atomically: true, encoding: .utf8)
    }

    private static let tables = """
        CREATE TABLE lists (id uuid PRIMARY KEY, owner_id text, done bool);
        CREATE TABLE tags (id int PRIMARY KEY, name text);
        INSERT INTO lists SELECT gen_random_uuid(), CASE WHEN n < 4 THEN 'u1' ELSE 'u2' END, true FROM generate_series(1, 10) n;
        INSERT INTO tags VALUES (1, 'a'), (2, 'b');
        """

    private func run(_ source: String, _ arguments: String...) async throws -> CommandRun {
        try await CommandRun(["validate", "sync.yaml", "--source", source] + arguments, in: folder)
    }

    @Test func aUserGetsWhatTheServiceWouldSend() async throws {
        let database = try TestDatabase(Self.tables)
        let output = try await run("\(database.uri)?sslmode=disable", "--as", "u1")
        #expect(output.status == 0, "\(output)")
        #expect(output.text.contains("u1: 2 buckets, 5 rows"), "\(output)")
        #expect(output.text.contains("  lists: 3") && output.text.contains("  tags: 2"), "\(output)")
        // The tables are the schema, too.
        #expect(output.text.contains("[schema.table_missing]"), "\(output)")
    }

    @Test(
        arguments: ["127.0.0.1:1", "no-such-host.invalid"]
    )
    func addressIsTakenAsItIsAndNothingShowsItsPassword(_ host: String) async throws {
        let output = try await run("postgresql://me:a-secret@\(host)/app?connect_timeout=5")
        #expect(output.status == 1)
        #expect(output.errors.contains("the tables of PostgreSQL app at \(host.prefix { $0 != ":" })"), "\(output)")
        #expect(output.errors.contains("PGPASSWORD"))
        for text in ["a-secret", "Error Domain", "NSCocoa"] {
            #expect(!output.text.contains(text) && !output.errors.contains(text), "\(output)")
        }
    }

    @Test(
        arguments: ["postgresql://me:a-sec@ret@h/app", "postgres:/me:a-secret@h/a"]
    )
    func whatIsNoAddressIsRefusedWithoutShowingIt(_ source: String) async throws {
        let output = try await run(source)
        #expect(output.status == 1)
        #expect(output.errors.contains("--source.uri"))
        #expect(!output.errors.contains("a-sec") && !output.errors.contains("ret@"), "\(output)")
        let schema = try await CommandRun(["validate", "sync.yaml", "--schema", source], in: folder)
        #expect(schema.status == 1)
        #expect(schema.errors.contains("--source") && !schema.errors.contains("a-sec"), "\(schema)")
    }

    @Test func escapesOfAConfigAreNotPrinted() async throws {
        let config =
            "config: {edition: 3}\nstreams:\n  a: {query: 'SELECT \"\u{1B}[31mx\" FROM t WHERE \u{1B}]0;t\u{7} = 1'}\n"
        try config.write(toFile: folder.path("hostile.yaml"), atomically: true, encoding: .utf8)
        for arguments in [["validate", "hostile.yaml"], ["validate", "hostile.yaml", "--format", "json"]] {
            let output = try await CommandRun(arguments, in: folder)
            #expect(output.status == 1)
            #expect(!output.text.contains("\u{1B}") && !output.errors.contains("\u{1B}"), "\(arguments)")
        }
        // Errors that end a command, too: here of its arguments, and of a file.
        for arguments in [
            ["validate", "\u{1B}[31mnone.yaml"], ["token", "--user", "u", "--config", "\u{1B}[31mnone.yaml"],
            ["\u{1B}[31m"],
        ] {
            let output = try await CommandRun(arguments, in: folder)
            #expect(output.status != 0)
            #expect(!output.text.contains("\u{1B}") && !output.errors.contains("\u{1B}"), "\(arguments)")
        }
    }
}
