import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct SQLFunctionsTests {
    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase()
    }

    @Test(arguments: [
        ("powersync_object()", "expected names and values"), ("powersync_row('t')", "expected names and values"),
        (#"powersync_object('["a"]x', 1)"#, "expected a JSON array of names"),
        (#"powersync_object('["a"', 1)"#, "expected a JSON array of names"),
        (#"powersync_object('["a"]', 1, 2, 3)"#, "expected a value for each name, or two"),
        (#"powersync_row('t', '["a","b"]', 1)"#, "expected a value for each name, or two"),
    ])
    func functionsOfTriggersSayWhatTheyMiss(call: String, words: String) {
        expectDatabaseError(3091, words) { _ = try database.texts("SELECT \(call)") }
    }

    /// Views and triggers call functions of ours.
    @Test func theSchemaIsTrustedWhateverTheBuildSays() throws {
        var configuration = Configuration()
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA trusted_schema = OFF") }
        let database = try LocalTestDatabase(configuration: configuration)
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        #expect(try database.rows("SELECT * FROM items") == ["a|1"])
        #expect(try database.entries().count == 1)
    }

    @Test(arguments: ["uuid()", "gen_random_uuid()"])
    func uuidsAreRandomVersion4(function: String) throws {
        let ids = try database.texts(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT \(function) FROM n"
        ).compactMap { $0 }
        #expect(Set(ids).count == 100)
        let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
        #expect(ids.allSatisfy { $0.wholeMatch(of: form) != nil })
    }

    @Test func versionHasAFormThatApplicationsParse() throws {
        let version = try #require(try database.texts("SELECT powersync_rs_version()").first ?? nil)
        #expect(version.wholeMatch(of: /\d+\.\d+\.\d+\/[0-9a-f]{8}/) != nil)
    }

    @Test func clientIDIsReadOrReported() throws {
        let id = try database.queue.read { try KeyValueStore.clientID($0) }
        #expect(try database.texts("SELECT powersync_client_id()") == [id])
        try database.write("DELETE FROM ps_kv WHERE key = 'client_id'")
        expectDatabaseError(4, "No client_id found in ps_kv") {
            _ = try database.texts("SELECT powersync_client_id()")
        }
    }

    @Test func lastSyncedAtIsTextInUTC() throws {
        #expect(try database.texts("SELECT powersync_last_synced_at()") == [nil])
        try database.write("INSERT INTO ps_sync_state VALUES (1, 5), (2147483647, 1741186689123456)")
        #expect(try database.texts("SELECT powersync_last_synced_at()") == ["2025-03-05 14:58:09"])
    }

    @Test func dropViewWorksWhileViewsAreListed() throws {
        try database.write(
            """
            CREATE VIEW "a ""b" AS SELECT 1;
            SELECT powersync_drop_view(name) FROM sqlite_master WHERE type = 'view';
            SELECT powersync_drop_view('missing');
            """
        )
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE type = 'view'").isEmpty)
    }

    @Test(arguments: [
        (#"foo/bar/"baz""#, "foo/bar/baz"), (#"foo/bar/"nested/subkey""#, "foo/bar/nested/subkey"),
        (#"foo/bar/"a\"b""#, #"foo/bar/a"b"#), (#"foo/bar/"a\\""#, #"foo/bar/a\"#),
        (#"foo/bar/"é\u0041""#, "foo/bar/éA"),
        ("object_type/object_id/null", nil), ("", nil), ("\"", nil), (#"foo/bar""#, nil), (#"foo/"a\q""#, nil),
    ])
    func encodedSubkeysAreDecoded(key: String, expected: String?) throws {
        #expect(try database.texts("SELECT powersync_remove_duplicate_key_encoding(?)", [key]) == [expected])
    }

    @Test func keysAreText() {
        expectDatabaseError(3091, "powersync_remove_duplicate_key_encoding") {
            _ = try database.texts("SELECT powersync_remove_duplicate_key_encoding(NULL)")
        }
    }
}
