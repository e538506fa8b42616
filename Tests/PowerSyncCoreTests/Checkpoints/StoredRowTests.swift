import GRDB
import NIOConcurrencyHelpers
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Rows of the service, and of other implementations, that are not quite JSON: the table stays readable and writable.
@Suite struct StoredRowTests {
    struct Row: Sendable, CustomTestStringConvertible {
        /// What the service sends.
        let testDescription: String
        /// What is stored.
        let stored: String
        /// How the columns `t` and `r` read.
        let columns: String

        init(_ text: String, _ stored: String, _ columns: String) {
            (testDescription, self.stored, self.columns) = (text, stored, columns)
        }
    }

    static let rows = [
        Row(#"{"t":"a","r":NaN}"#, #"{"t":"a","r":null}"#, "a|"),
        Row(#"{"t":"a","r":Infinity}"#, #"{"t":"a","r":9e999}"#, "a|+"),
        Row(#"{"t":"a","r":-Infinity}"#, #"{"t":"a","r":-9e999}"#, "a|-"),
        Row(#"{"t":"NaN","r":1.5}"#, #"{"t":"NaN","r":1.5}"#, "NaN|1.5"),
        Row(#"{"t":"\"NaN, Infinity","r":NaN}"#, #"{"t":"\"NaN, Infinity","r":null}"#, #""NaN, Infinity|"#),
        Row("{\"t\":\"a\nb\",\"r\":1.5}", #"{"t":"a\u000ab","r":1.5}"#, "a\nb|1.5"),
        Row("", "{}", "|"), Row("<html>", "{}", "|"), Row(#"{"t":"a""#, "{}", "|"), Row("{'t':'a'}", "{}", "|"),
        Row(#"{"t":"a",}"#, "{}", "|"), Row(#"{"t":0x1f}"#, "{}", "|"), Row("/**/{}", "{}", "|"),
        Row(#"{"t":"a"} x"#, "{}", "|"),
    ]

    /// JSON for SQLite, but not for what reads the rows of raw tables.
    static let rowsOfSQLite = [
        Row(#"{"t":"\ud800","r":1.5}"#, "{\"t\":\"\u{fffd}\",\"r\":1.5}", "\u{fffd}|1.5"),
        Row("{\"t\":\"a\",\"r\":\(deep)}", "{}", "|"),
    ]

    /// An array that is nested more deeply than we read.
    private static let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)

    private static let columns = [ClientColumn(name: "t", type: .text), ClientColumn(name: "r", type: .real)]
    private static let query = """
        SELECT t, CASE WHEN r = 9e999 THEN '+' WHEN r = -9e999 THEN '-' ELSE r END FROM items WHERE id = 'x'
        """

    /// A database with an index over the columns, which SQLite cannot make or change over a row that is not JSON.
    private static func database() throws -> LocalTestDatabase {
        var table = ClientTable.items(columns)
        table.indexes = [ClientIndex(name: "both", columns: [.init(name: "t"), .init(name: "r")])]
        return try LocalTestDatabase(table)
    }

    private static func publish(
        _ text: String,
        rawTables: [ClientRawTable] = [],
        _ database: LocalTestDatabase
    ) throws -> UnreadableRows {
        try database.queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO ps_buckets(id, name) VALUES (1, 'b');
                    INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
                    VALUES (1, 1, 'items', 'x', 'items/x', ?, 0), (1, 2, 'items', 'y', 'items/y', '{"t":"y"}', 0)
                    """,
                arguments: [text]
            )
            var schema = KnownSchema()
            try schema.revalidate(db)
            var kept = KeptRows()
            return try RowPublisher.publish(
                db,
                .everything,
                except: &kept,
                rawTables: rawTables,
                schema: &schema
            ).unreadable
        }
    }

    @Test(arguments: rows) func theTableStaysReadable(_ row: Row) throws {
        let database = try Self.database()
        let unreadable = try Self.publish(row.testDescription, database)
        #expect(try database.texts("SELECT data FROM ps_data__items WHERE id = 'x'") == [row.stored])
        #expect(try database.rows(Self.query) == [row.columns])
        #expect(try database.rows("SELECT t FROM items WHERE id = 'y'") == ["y"])
        var reported: Set<String> = []
        #expect(unreadable.report(except: &reported).count == (row.stored == "{}" ? 1 : 0))
        #expect(unreadable.report(except: &reported).isEmpty)
        // Written and deleted like any other.
        try database.write("UPDATE items SET t = 'z'")
        #expect(try database.rows("SELECT t FROM items ORDER BY id") == ["z", "z"])
        try database.write("DELETE FROM items")
        let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
        #expect(writes.count == 4)
        #expect(writes.allSatisfy { $0.damage == nil })
    }

    /// The same rows, published by an implementation that writes them as they are, under triggers of its own.
    @Test(arguments: rows, [false, true]) func filesOfOthersAreRepaired(_ row: Row, hasNoView: Bool) throws {
        let database = try Self.database()
        try database.write("DROP INDEX ps_data__items__both")
        try database.write(
            hasNoView
                ? "DROP VIEW items"
                : "DROP TRIGGER ps_view_insert_items; DROP TRIGGER ps_view_update_items; DROP TRIGGER ps_view_delete_items"
        )
        try database.write("INSERT INTO ps_data__items VALUES ('x', ?)", [row.testDescription])
        var table = ClientTable.items(Self.columns)
        table.indexes = [ClientIndex(name: "both", columns: [.init(name: "t"), .init(name: "r")])]
        try database.apply(table)
        #expect(try database.texts("SELECT data FROM ps_data__items") == [row.stored])
        #expect(try database.rows(Self.query) == [row.columns])
    }

    @Test func repairedRowsAreAnnounced() throws {
        let database = try Self.database()
        try database.write(
            """
            DROP TRIGGER ps_view_insert_items; DROP TRIGGER ps_view_update_items; DROP TRIGGER ps_view_delete_items;
            DROP INDEX ps_data__items__both; INSERT INTO ps_data__items VALUES ('x', '{"t":NaN}');
            """
        )
        let observer = ChangeCounter(tables: ["ps_data__items"])
        database.queue.add(transactionObserver: observer)
        try database.apply(.items(Self.columns))
        #expect(try database.texts("SELECT data FROM ps_data__items") == [#"{"t":null}"#])
        #expect(observer.changes > 0)
    }

    /// Triggers of the app on the table may write to views.
    @Test func repairingQueuesNothing() throws {
        var log = ClientTable.items()
        log.name = "log"
        let database = try LocalTestDatabase(.items(Self.columns), log)
        try database.write(
            """
            DROP TRIGGER ps_view_insert_items; DROP TRIGGER ps_view_update_items; DROP TRIGGER ps_view_delete_items;
            CREATE TRIGGER own AFTER UPDATE ON ps_data__items BEGIN
              INSERT INTO log(id, col) VALUES (NEW.id, 'updated');
            END;
            INSERT INTO ps_data__items VALUES ('x', '{"t":NaN}');
            """
        )
        try database.apply(.items(Self.columns), log)
        #expect(try database.texts("SELECT data FROM ps_data__items") == [#"{"t":null}"#])
        #expect(try database.texts("SELECT col FROM log") == ["updated"])
        #expect(try database.entries().isEmpty)
        #expect(try database.rows("SELECT * FROM ps_updated_rows").isEmpty)
    }

    /// Rows that waited in `ps_untyped` for their table.
    @Test(arguments: rows) func rowsThatWaitedForTheirTableAreRepaired(_ row: Row) throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.write("INSERT INTO ps_untyped(type, id, data) VALUES ('items', 'x', ?)", [row.testDescription])
        try database.apply(.items(Self.columns))
        #expect(try database.texts("SELECT data FROM ps_data__items") == [row.stored])
    }

    /// The view has triggers of ours, but none of them has written these rows.
    @Test func rowsThatWaitedWhileTheTableWasLocalAreRepaired() throws {
        let database = try LocalTestDatabase(.items(Self.columns, isLocalOnly: true))
        try database.write(#"INSERT INTO ps_untyped(type, id, data) VALUES ('items', 'x', '{"t":"a","r":NaN}')"#)
        try database.apply(.items(Self.columns))
        #expect(try database.texts("SELECT data FROM ps_data__items") == [#"{"t":"a","r":null}"#])
        #expect(try database.rows(Self.query) == ["a|"])
    }

    /// A change of the schema would take as long as it takes to read the table.
    @Test func rowsOfOursAreNotLookedAt() throws {
        let database = try LocalTestDatabase()
        let statements = NIOLockedValueBox<[String]>([])
        try database.queue.write { db in
            db.trace { event in statements.withLockedValue { $0.append("\(event)") } }
            try ClientSchema(tables: [.items(Self.columns)]).apply(to: db)
            db.trace()
        }
        let texts = statements.withLockedValue { $0 }
        #expect(texts.contains { $0.hasPrefix("CREATE VIEW") }, "\(texts)")
        #expect(!texts.contains { $0.contains("json_valid") }, "\(texts)")
    }

    @Test func unreadableRowsAreCountedByTheirTypes() {
        var unreadable = UnreadableRows()
        for type in ["b", "a", "b", "c"] {
            Array(type.utf8).withUnsafeBytes { unreadable.add(type: $0) }
        }
        #expect(unreadable.counts == ["a": 1, "b": 2, "c": 1])
        var reported: Set = ["a"]
        let messages = unreadable.report(except: &reported)
        #expect(messages.count == 2)
        #expect(messages.first?.contains("2 rows of 'b' that are not JSON objects.") == true, "\(messages)")
        #expect(messages.last?.contains("1 row of 'c' that is not a JSON object.") == true, "\(messages)")
        #expect(reported == ["a", "b", "c"])
    }

    @Test(arguments: rows + rowsOfSQLite) func rawTablesGetWhatTheRowMeans(_ row: Row) throws {
        let table = ClientRawTable(name: "items", structure: .init(tableName: "raw"))
        let database = try LocalTestDatabase(schema: ClientSchema(rawTables: [table]))
        try database.write("CREATE TABLE raw (id TEXT PRIMARY KEY, t TEXT, r REAL)")
        let unreadable = try Self.publish(row.testDescription, rawTables: [table], database)
        #expect(unreadable.counts == (row.stored == "{}" ? ["items": 1] : [:]))
        #expect(try database.rows(Self.query.replacing("items", with: "raw")) == [row.columns])
        #expect(try database.rows("SELECT t FROM raw WHERE id = 'y'") == ["y"])
    }

    /// What is valid stays as it was sent, also where our scanner is stricter than SQLite.
    @Test(arguments: [
        #"{"t":"\ud800"}"#, deep, "5", #" {"t" : 1e999} "#,
    ])
    func validRowsStayAsTheyAre(text: String) throws {
        let database = try Self.database()
        let unreadable = try Self.publish(text, database)
        #expect(try database.texts("SELECT data FROM ps_data__items WHERE id = 'x'") == [text])
        #expect(unreadable.counts.isEmpty)
    }

    /// Control characters take six times as much when they are escaped: an app may allow less.
    @Test func whatIsTooLongOnceItIsRepairedIsAnError() throws {
        let database = try Self.database()
        database.limitLength(to: 10_000)
        let error = #expect(throws: DatabaseError.self) {
            _ = try Self.publish("{\"t\":\"" + String(repeating: "\n", count: 3_000) + "\"}", database)
        }
        #expect(error?.resultCode == .SQLITE_TOOBIG)
    }
}
