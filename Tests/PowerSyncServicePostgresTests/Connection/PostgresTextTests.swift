import PostgresTestSupport
import PowerSyncSyncConfig
import ServiceTestSupport
import Testing

@testable import PowerSyncServicePostgres

/// Names and values in the text of statements, with characters that hide a mark before them from Swift.
@Suite(.timeLimit(.minutes(1))) struct PostgresTextTests {
    /// Nothing, a combining accent, a joiner.
    static let suffixes = ["", "\u{301}", "\u{200D}"]

    @Test(arguments: suffixes) func marksAreEscapedWhateverFollowsThem(_ suffix: String) {
        #expect(PostgresText.identifier("a\"\(suffix)b'\\") == "\"a\"\"\(suffix)b'\\\"")
        #expect(PostgresText.literal("a'\(suffix)b\"\\") == "'a''\(suffix)b\"\\'")
        #expect(PostgresText.array(["a\"\(suffix)", "'"]) == "{\"a\\\"\(suffix)\",\"'\"}")
        #expect(PostgresText.array(["\\\(suffix)b"]) == "{\"\\\\\(suffix)b\"}")
        #expect(PostgresIdentifier.quoted("a\"\(suffix)b") == "\"a\"\"\(suffix)b\"")
        let string = PostgresConnectionString(keywords: [(name: "password", value: "a'\(suffix)\\\(suffix)b")])
        #expect(string.keywords?.map(\.value) == ["a'\(suffix)\\\(suffix)b"])
    }

    @Test(arguments: suffixes) func theServerReadsWhatWasWritten(_ suffix: String) async throws {
        let database = try TestDatabase()
        let connection = try await PostgresConnection.open(database.connectionString)
        let texts = ["\"", "\\", "'", ",", "{", "NULL"].map { "a\($0)\(suffix)b" } + ["\"\(suffix)", "\\\(suffix)"]
        let elements = try await connection.query(
            "SELECT unnest($1::text[])",
            [PostgresText.array(texts)],
            activity: "asking"
        )
        #expect(elements == texts.map { [$0] as [String?] })
        for text in texts {
            let rows = try await connection.query(
                """
                SELECT json_object_keys(to_json(x)), \(PostgresText.literal(text))
                FROM (SELECT 1 AS \(PostgresText.identifier(text))) AS x
                """,
                activity: "asking"
            )
            #expect(rows == [[text, text]])
        }
    }

    @Test func patternsOfTablesStandForThemselves() throws {
        let config = try plan("config: {edition: 3}\nstreams: {a: {query: 'SELECT * FROM \"a_\u{301}\\\u{301}\"'}}")
        #expect(PostgresCatalogue.Selection(of: config).names == ["public.a\\_\u{301}\\\\\u{301}"])
    }
}
