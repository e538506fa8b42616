import GRDB
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct RawTableTriggerTests {
    private let database: LocalTestDatabase

    init() throws {
        database = try LocalTestDatabase(schema: ClientSchema())
        try database.write("CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT, \"a'b\" INTEGER, draft TEXT)")
    }

    private func table(
        syncedColumns: [String]? = nil,
        _ options: ClientTableOptions = ClientTableOptions()
    ) -> ClientRawTable {
        ClientRawTable(
            name: "people",
            structure: .init(tableName: "users", syncedColumns: syncedColumns, options: options)
        )
    }

    private func create(_ table: ClientRawTable, _ writes: String...) throws {
        for write in writes.isEmpty ? ["INSERT", "UPDATE", "DELETE"] : writes {
            try database.run(
                "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                [table.json.text, "users_\(write)", write]
            )
        }
    }

    private func sql(_ trigger: String) throws -> String? {
        try database.texts("SELECT sql FROM sqlite_master WHERE name = ?", [trigger]).first ?? nil
    }

    /// The statement that refuses what the queue cannot hold.
    private func checks(_ columns: String..., suffix: (String) -> String = { _ in "" }) -> String {
        let checks = columns.map { column in
            let value = #"NEW."COLUMN""#.replacing("COLUMN", with: column)
            let place = "people.\(column.replacing("'", with: "''"))"
            return """
                WHEN typeof(\(value)) = 'blob'\(suffix(column)) THEN RAISE (ABORT, '\(place): JSON cannot hold BLOB values; \
                store them as text (base64, hexadecimal) or as an attachment') \
                WHEN \(value) IN (9e999, -9e999)\(suffix(column)) THEN RAISE (ABORT, '\(place): JSON cannot hold infinite \
                numbers; store NULL or a text instead')
                """
        }
        return "SELECT CASE \(checks.joined(separator: " ")) END;"
    }

    // MARK: - Text

    // Other implementations raise FAIL, which keeps the change that is refused, and compare column by column and not the id.
    // Triggers are made by the app's migrations and compared with nothing, so those of either text may be in a file.

    @Test func canonicalText() throws {
        let options = ClientTableOptions(
            tracksMetadata: true,
            trackPreviousValues: PreviousValues(columns: ["name"], onlyWhenChanged: true)
        )
        try create(table(syncedColumns: ["a'b", "name", "unknown"], options))
        let new =
            #"json_object('name', powersync_strip_subtype(NEW."name"), 'a''b', powersync_strip_subtype(NEW."a'b"))"#
        func object(_ row: String, _ columns: String...) -> String {
            let members = columns.map { column in
                let value = "\(row).\"\(column)\""
                return """
                    '\(column.replacing("'", with: "''"))', powersync_strip_subtype(CASE WHEN typeof(\(value)) = 'blob' THEN \
                    hex(\(value)) WHEN \(value) IN (9e999, -9e999) THEN CAST(\(value) AS TEXT) ELSE \(value) END)
                    """
            }
            return "json_object(\(members.joined(separator: ", ")))"
        }
        #expect(
            try sql("users_INSERT") == """
                CREATE TRIGGER "users_INSERT" AFTER INSERT ON "users" FOR EACH ROW WHEN NOT powersync_in_sync_operation() BEGIN
                \(checks("name", "a'b"))
                INSERT INTO powersync_crud(op,id,type,data) VALUES ('PUT', NEW.id, 'people', json(powersync_diff('{}', \(new))));
                END
                """
        )
        #expect(
            try sql("users_UPDATE") == """
                CREATE TRIGGER "users_UPDATE" AFTER UPDATE ON "users" FOR EACH ROW WHEN NOT powersync_in_sync_operation() AND
                (OLD.id, OLD."name", OLD."a'b") IS NOT (NEW.id, NEW."name", NEW."a'b") BEGIN
                \(checks("name", "a'b") { " AND NEW.\"\($0)\" IS NOT OLD.\"\($0)\"" })
                SELECT CASE WHEN (OLD.id != NEW.id) THEN RAISE (ABORT, 'Cannot update id') END;
                INSERT INTO powersync_crud(op,id,type,data,old_values,options) VALUES ('PATCH', NEW.id, 'people', \
                json(powersync_diff(\(object("OLD", "name", "a'b")), \(object("NEW", "name", "a'b")))), \
                json(powersync_diff(\(object("NEW", "name")), \(object("OLD", "name")))), 12);
                END
                """
        )
        #expect(
            try sql("users_DELETE") == """
                CREATE TRIGGER "users_DELETE" AFTER DELETE ON "users" FOR EACH ROW WHEN NOT powersync_in_sync_operation() BEGIN
                INSERT INTO powersync_crud(op,id,type,old_values) VALUES ('DELETE', OLD.id, 'people', \
                \(object("OLD", "name")));
                END
                """
        )
    }

    @Test func canonicalTextOfInsertOnlyTables() throws {
        try create(table(syncedColumns: ["name"], ClientTableOptions(isInsertOnly: true)))
        #expect(
            try sql("users_INSERT") == """
                CREATE TRIGGER "users_INSERT" AFTER INSERT ON "users" FOR EACH ROW WHEN NOT powersync_in_sync_operation() BEGIN
                \(checks("name"))
                INSERT INTO powersync_crud_(data) VALUES(json_object('op', 'PUT', 'type', 'people', 'id', NEW.id, 'data', \
                json(powersync_diff('{}', json_object('name', powersync_strip_subtype(NEW."name"))))));END
                """
        )
        #expect(
            try sql("users_UPDATE") == """
                CREATE TRIGGER "users_UPDATE" AFTER UPDATE ON "users" FOR EACH ROW WHEN NOT powersync_in_sync_operation() AND
                (OLD.id, OLD."name") IS NOT (NEW.id, NEW."name") BEGIN
                SELECT RAISE(ABORT, 'Unexpected update on insert-only table');
                END
                """
        )
    }

    // MARK: - What is recorded

    @Test func writesAreQueued() throws {
        try create(table())
        try database.write("INSERT INTO users (id, name, draft) VALUES ('1', 'Ada', 'x')")
        try database.write("UPDATE users SET name = NULL, draft = 'y' WHERE id = '1'")
        try database.write("UPDATE users SET name = NULL WHERE id = '1'")
        try database.write("DELETE FROM users")
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"1","type":"people","data":{"draft":"x","name":"Ada"}}"#,
                #"{"op":"PATCH","id":"1","type":"people","data":{"draft":"y","name":null}}"#,
                #"{"op":"PATCH","id":"1","type":"people","data":{}}"#,
                #"{"op":"DELETE","id":"1","type":"people"}"#,
            ]
        )
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == ["people|1"])
    }

    @Test func changesOfOtherColumnsAreNotQueued() throws {
        let previous = PreviousValues(columns: ["name"], onlyWhenChanged: true)
        try create(table(syncedColumns: ["name", "a'b"], ClientTableOptions(trackPreviousValues: previous)))
        try database.write("INSERT INTO users VALUES ('1', 'Ada', 1, 'x')")
        try database.write("UPDATE users SET draft = 'y', name = name")
        try database.write("UPDATE users SET name = 'Bob'")
        try database.write(#"UPDATE users SET "a'b" = 2, draft = 'z'"#)
        try database.write("DELETE FROM users")
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"1","type":"people","data":{"a'b":1,"name":"Ada"}}"#,
                #"{"op":"PATCH","id":"1","type":"people","data":{"name":"Bob"},"old":{"name":"Ada"}}"#,
                #"{"op":"PATCH","id":"1","type":"people","data":{"a'b":2},"old":{}}"#,
                #"{"op":"DELETE","id":"1","type":"people","old":{"name":"Bob"}}"#,
            ]
        )
    }

    @Test func insertOnlyTableQueuesInsertsOnly() throws {
        try create(table(ClientTableOptions(isInsertOnly: true)))
        try database.write("INSERT INTO users (id, name) VALUES ('1', 'Ada')")
        #expect(try database.entries() == [#"{"op":"PUT","type":"people","id":"1","data":{"name":"Ada"}}"#])
        #expect(try database.rows("SELECT * FROM ps_updated_rows").isEmpty)
        for statement in ["UPDATE users SET name = 'Bob'", "DELETE FROM users"] {
            // Outside of a transaction, which an error would roll back.
            expectDatabaseError(1811, "Unexpected update on insert-only table") { try database.run(statement) }
            #expect(try database.rows("SELECT id, name FROM users") == ["1|Ada"])
        }
        try database.queue.write { db in
            try Publishing.whilePublishing(db) {
                try db.execute(sql: "UPDATE users SET name = 'Bob'; DELETE FROM users")
            }
        }
        #expect(try database.entries().count == 1)
    }

    @Test func localOnlyOverrulesInsertOnly() throws {
        try create(table(ClientTableOptions(isLocalOnly: true, isInsertOnly: true)))
        try database.write("INSERT INTO users (id) VALUES ('1'); DELETE FROM users")
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"1","type":"people","data":{}}"#, #"{"op":"DELETE","id":"1","type":"people"}"#,
            ]
        )
    }

    @Test func localOnlyOverrulesInsertOnlyInUpdatesToo() throws {
        try create(table(ClientTableOptions(isLocalOnly: true, isInsertOnly: true)))
        try database.write("INSERT INTO users (id, name) VALUES ('1', 'Ada')")
        // Outside of a transaction, which an error would roll back.
        expectDatabaseError(1811, "people.name: JSON cannot hold BLOB values") {
            try database.run("UPDATE users SET name = x'00'")
        }
        try database.write("UPDATE users SET name = 'Bob'")
        #expect(try database.entries().count == 2)
        #expect(try database.entries().last == #"{"op":"PATCH","id":"1","type":"people","data":{"name":"Bob"}}"#)
    }

    @Test func emptyUpdatesAreIgnoredOnRequest() throws {
        try create(table(ClientTableOptions(ignoresEmptyUpdates: true)))
        try database.write("INSERT INTO users (id, name) VALUES ('1', 'Ada')")
        try database.write("UPDATE users SET name = 'Ada'")
        #expect(try database.entries().count == 1)
    }

    @Test(arguments: [nil, ["name"]] as [[String]?])
    func idCannotBeChanged(syncedColumns: [String]?) throws {
        try create(table(syncedColumns: syncedColumns))
        try database.write("INSERT INTO users (id) VALUES ('1'), ('2')")
        // Outside of a transaction, which an error would roll back.
        expectDatabaseError(1811, "Cannot update id") { try database.run("UPDATE users SET id = id || 'x'") }
        expectDatabaseError(3091, "id is required") { try database.run("UPDATE users SET id = NULL") }
        #expect(try database.rows("SELECT id FROM users ORDER BY id") == ["1", "2"])
        #expect(try database.entries().count == 2)
    }

    @Test func upsertIsAPatchAndReplaceAPut() throws {
        try create(table())
        try database.write("INSERT INTO users (id, name) VALUES ('1', 'Ada')")
        try database.write(
            "INSERT INTO users (id, name) VALUES ('1', 'Bob') ON CONFLICT (id) DO UPDATE SET name = excluded.name"
        )
        try database.write("INSERT OR REPLACE INTO users (id, name) VALUES ('1', 'Cyd')")
        let operations = try database.texts("SELECT data ->> 'op' FROM ps_crud ORDER BY id")
        #expect(operations == ["PUT", "PATCH", "PUT"])
    }

    /// More names and values than a function of SQLite takes, and more conditions than an expression.
    @Test(arguments: [120, 1_500])
    func wideTablesAreRecorded(columnCount: Int) throws {
        let columns = (0..<columnCount).map { "c\($0)" }
        let last = "c\(columnCount - 1)"
        try database.write("CREATE TABLE wide (id TEXT PRIMARY KEY, draft, \(columns.joined(separator: ", ")))")
        let wide = ClientRawTable(name: "wide", structure: .init(tableName: "wide", syncedColumns: columns))
        try create(wide)
        try database.write("INSERT INTO wide (id, c0, \(last)) VALUES ('1', 'a', 'b')")
        try database.write("UPDATE wide SET draft = 'x'")
        try database.write("UPDATE wide SET \(last) = 'c'")
        try database.write("UPDATE wide SET c0 = NULL")
        try database.write("DELETE FROM wide")
        #expect(
            try database.entries() == [
                #"{"op":"PUT","id":"1","type":"wide","data":{"c0":"a","\#(last)":"b"}}"#,
                #"{"op":"PATCH","id":"1","type":"wide","data":{"\#(last)":"c"}}"#,
                #"{"op":"PATCH","id":"1","type":"wide","data":{"c0":null}}"#,
                #"{"op":"DELETE","id":"1","type":"wide"}"#,
            ]
        )
    }

    // MARK: - Mistakes

    struct Mistake: CustomTestStringConvertible {
        let json: String
        var name: String? = "t"
        var write = "INSERT"
        let words: String
        var testDescription: String { words }
    }

    static let mistakes = [
        Mistake(json: "{", words: "invalid raw table"),
        Mistake(json: "[]", words: "raw table is not an object"),
        Mistake(json: #"{"name":"people"}"#, words: "Raw table people has no local name"),
        Mistake(json: #"{"name":"p","table_name":"missing"}"#, words: "Could not find missing in local schema."),
        Mistake(json: #"{"name":"p","table_name":"without_id"}"#, words: "Table without_id has no id column."),
        Mistake(json: #"{"name":"p","table_name":"upper_id"}"#, words: "Table upper_id has no id column."),
        Mistake(
            json: #"{"name":"p","table_name":"users"}"#,
            write: "insert",
            words: "expected INSERT, UPDATE or DELETE"
        ),
        Mistake(json: #"{"name":"p","table_name":"users"}"#, name: nil, words: "expected the name of a trigger"),
        Mistake(
            json: #"{"name":"p","table_name":"users","synced_columns":["x"]}"#,
            write: "UPDATE",
            words: "Table users has none of the synced columns of raw table p."
        ),
    ]

    @Test(arguments: mistakes)
    func mistakesAreNamed(_ mistake: Mistake) throws {
        try database.write("CREATE TABLE without_id (x); CREATE TABLE upper_id (ID TEXT)")
        expectDatabaseError(3091, "powersync_create_raw_table_crud_trigger: ", mistake.words) {
            try database.run(
                "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                [mistake.json, mistake.name, mistake.write]
            )
        }
    }

    @Test func nameOfATriggerMayNotBeTakenNorHaveNUL() throws {
        try create(table(), "INSERT")
        expectDatabaseError(1, "already exists") { try create(table(), "INSERT") }
        expectDatabaseError(24, "NUL") {
            try database.run(
                "SELECT powersync_create_raw_table_crud_trigger(?, 'a' || char(0) || 'b', 'INSERT')",
                [table().json.text]
            )
        }
    }
}
