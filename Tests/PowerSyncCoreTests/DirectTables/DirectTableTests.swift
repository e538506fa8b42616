import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Tables with columns of their own: what is in the file, what is synced into them and what is recorded (docs/database.md "Direct tables").
@Suite struct DirectTableTests {
    // MARK: - In the file

    @Test func canonicalText() throws {
        let table = ClientTable(
            name: "todos",
            columns: [
                ClientColumn(name: "title", type: .text, constraints: ["NOT NULL", "DEFAULT ('')"]),
                ClientColumn(name: "a \"b'", type: .integer), ClientColumn(name: "km", type: .real),
                ClientColumn(name: "key", type: .text, constraints: ["GENERATED ALWAYS AS (lower(title))"]),
            ],
            indexes: [
                ClientIndex(name: "by_km", columns: [.init(name: "km", isDescending: true), .init(name: "key")])
            ],
            options: ClientTableOptions(tracksMetadata: true),
            isDirect: true,
            constraints: ["UNIQUE (\"title\", \"km\")"]
        )
        let database = try LocalTestDatabase(table)
        #expect(
            try database.texts(
                "SELECT sql FROM sqlite_master WHERE tbl_name = 'todos' AND type <> 'trigger' AND sql IS NOT NULL"
            )
                == [
                    """
                    CREATE TABLE "todos"(/* powersync-direct */ "id" TEXT NOT NULL PRIMARY KEY, "title" TEXT NOT NULL DEFAULT (''), \
                    "a ""b'" INTEGER, "km" REAL, "key" TEXT GENERATED ALWAYS AS (lower(title)), "_metadata" TEXT, \
                    "_deleted" INTEGER, UNIQUE ("title", "km")) STRICT
                    """,
                    #"CREATE INDEX "powersync_todos__by_km" ON "todos"("km" DESC, "key")"#,
                ]
        )
        #expect(
            try database.texts("SELECT name FROM sqlite_master WHERE type = 'trigger' ORDER BY name") == [
                "powersync_delete2_todos", "powersync_delete_todos", "powersync_insert_todos",
                "powersync_insert_todos__replaced",
                "powersync_update_todos", "powersync_update_todos__replaced",
            ]
        )
    }

    /// Another implementation can call no others.
    @Test func triggersCallWhatEveryImplementationHas() throws {
        let options = ClientTableOptions(
            tracksMetadata: true,
            trackPreviousValues: PreviousValues(onlyWhenChanged: true)
        )
        let database = try LocalTestDatabase(.direct([.init(name: "c", type: .text, constraints: ["UNIQUE"])], options))
        let known = [
            "powersync_diff", "powersync_json_merge", "powersync_strip_subtype", "powersync_in_sync_operation",
            "powersync_crud",
            "powersync_crud_", "powersync_rs_version",
        ]
        for sql in try database.texts("SELECT sql FROM sqlite_master WHERE type = 'trigger'") {
            let names = (sql ?? "").matches(of: /powersync_\w+/).map { String($0.output) }
            #expect(
                names.allSatisfy { known.contains($0) || $0.hasSuffix("_items") || $0.hasSuffix("__replaced") },
                "\(sql ?? "")"
            )
        }
    }

    @Test func sameSchemaExecutesNothing() throws {
        let schema = ClientSchema(
            tables: [
                .direct(
                    [.init(name: "é", type: .text, constraints: ["UNIQUE"])],
                    ClientTableOptions(tracksMetadata: true)
                ),
                ClientTable(name: "local", columns: [], options: .init(isLocalOnly: true), isDirect: true),
                ClientTable(name: "sent", columns: [], options: .init(isInsertOnly: true), isDirect: true),
            ]
        )
        let database = try LocalTestDatabase(schema: schema)
        let version = try database.schemaVersion()
        try database.apply(schema)
        #expect(try database.schemaVersion() == version)
        #expect(try ClientSchema(json: schema.json.text) == schema)
    }

    @Test(
        arguments: [
            (
                ClientTable(name: "a", viewNameOverride: "b", columns: [], options: .init(), isDirect: true),
                "another view name, 'b'"
            ),
            (ClientTable(name: "ps_a", columns: [], options: .init(), isDirect: true), "begins with ps_"),
            (ClientTable(name: "PowerSync_crud", columns: [], options: .init(), isDirect: true), "or powersync_"),
            (
                ClientTable(name: "a", columns: [.init(name: "ID", type: .text)], options: .init(), isDirect: true),
                "declares a column 'id'"
            ),
            (
                ClientTable(name: "mine", columns: [], options: .init(), isDirect: true),
                "declare the table as a raw table"
            ),
        ]
    )
    func whatCannotBeIsRefusedInASentence(_ table: ClientTable, _ words: String) throws {
        let database = try LocalTestDatabase()
        try database.run("CREATE TABLE Mine (id TEXT)")
        let before = try database.objects()
        let error = #expect(throws: LocalDatabaseError.self) { try database.apply(table) }
        #expect(error.map { "\($0)" }?.contains(words) == true, "\(String(describing: error))")
        #expect(try database.objects() == before)
    }

    @Test func twoTablesCannotHaveOneName() throws {
        let tables: [ClientTable] = [.direct([]), .items()]
        for tables in [tables, tables.reversed(), [.direct([]), .direct([])]] {
            let database = try LocalTestDatabase(schema: ClientSchema())
            #expect(throws: LocalDatabaseError.self) { try database.apply(ClientSchema(tables: tables)) }
        }
    }

    // MARK: - Syncing

    @Test(arguments: Delivery.allCases)
    func rowsArePutAndDeleted(_ delivery: Delivery) throws {
        let scenario = try SyncScenario.started(delivery, .direct([.text("name"), .integer("age"), .real("km")]))
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "1", data: #"{"name":"Ada","age":36,"km":1,"unknown":1}"#),
                .put(2, "2", data: #"{"name":"Bob"}"#)
            ),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM items ORDER BY id") == ["1|Ada|36|1.0", "2|Bob||"])
        try scenario.receive(.diff(4), .ops("a", .put(3, "2", data: #"{"age":7}"#), .remove(4, "1")), .done)
        #expect(try scenario.database.rows("SELECT * FROM items") == ["2||7|"])
        #expect(try scenario.database.entries().isEmpty)
        #expect(try scenario.database.rows("SELECT * FROM ps_untyped").isEmpty)
    }

    /// Values are those that a view reads.
    @Test(
        arguments: [
            "null", "true", "false", "0", "-1", "9223372036854775807", "9223372036854775808", "1.5", "1.0", "-0.0",
            "1e300",
            #""""#, #""12abc""#, #""abc""#, #""7""#, #""1e3""#, #""é\n\u00e9""#, "[ 1, \" a \\\" b\" ]",
            #"{ "a" : [ { } ] }"#,
            #""{\"a\":1}""#,
        ]
    )
    func valuesAreConvertedAsAViewDoes(_ value: String) throws {
        let columns: [ClientColumn] = [.text("t"), .integer("i"), .real("r")]
        let view = ClientTable(name: "view", columns: columns)
        let scenario = try SyncScenario(.direct(columns), view)
        try scenario.start()
        let data = #"{"t":VALUE,"i":VALUE,"r":VALUE}"#.replacing("VALUE", with: value)
        // One value for all columns, and for each of them where the others have none.
        let rows =
            [data] + columns.map { #"{"NAME":VALUE}"#.replacing("NAME", with: $0.name).replacing("VALUE", with: value) }
        let operations = rows.enumerated().flatMap { index, row in
            let (opID, id) = (Int64(index * 2), "\(index)")
            return [Operation.put(opID + 1, id, data: row), .put(opID + 2, id, type: "view", data: row)]
        }
        try scenario.receive(.checkpoint(8, [.bucket("a")]), .data(.line("a", operations)), .done)
        let values = "SELECT typeof(t), quote(t), typeof(i), quote(i), typeof(r), quote(r) FROM"
        #expect(
            try scenario.database.rows("\(values) items ORDER BY id")
                == scenario.database.rows("\(values) view ORDER BY id")
        )
        #expect(
            try scenario.database.integer(
                "SELECT count(*) FROM items WHERE typeof(t) IN ('text', 'null') AND typeof(i) IN ('integer', 'null')"
            ) == 4
        )
    }

    @Test func missingValueOfARequiredColumnIsItsDefault() throws {
        let scenario = try SyncScenario.started(
            .oneByOne,
            .direct([
                .init(name: "state", type: .text, constraints: ["NOT NULL", "DEFAULT ('open')"]),
                .init(name: "n", type: .integer, constraints: ["DEFAULT (7)"]),
            ])
        )
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "1", data: #"{"state":null}"#)), .done)
        #expect(try scenario.database.rows("SELECT * FROM items") == ["1|open|"])
    }

    @Test func rowsThatAConstraintRefusesAreSetAsideAndTheOthersCome() throws {
        let scenario = try SyncScenario.started(
            .oneByOne,
            .direct([
                .init(name: "place", type: .integer, constraints: ["UNIQUE", "CHECK (place > 0)"]),
                .init(name: "title", type: .text, constraints: ["NOT NULL"]),
            ])
        )
        try scenario.receive(
            .checkpoint(4, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "1", data: #"{"place":1,"title":"a"}"#),
                .put(2, "2", data: #"{"place":2,"title":"b"}"#),
                .put(3, "3", data: #"{"place":0,"title":"c"}"#),
                .put(4, "4", data: #"{"place":4}"#)
            ),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM items ORDER BY id") == ["1|1|a", "2|2|b"])
        #expect(scenario.status.setAside.rows.map(\.id) == ["3", "4"])
        // Rows that exchange a unique value.
        try scenario.receive(
            .diff(6),
            .ops("a", .put(5, "1", data: #"{"place":2,"title":"a"}"#), .put(6, "2", data: #"{"place":1,"title":"b"}"#)),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM items ORDER BY id") == ["1|2|a", "2|1|b"])
    }

    @Test func clearingEmptiesTablesAndRecordsNothing() throws {
        let database = try LocalTestDatabase(
            .direct([.text("c")]),
            ClientTable(name: "local", columns: [], options: .init(isLocalOnly: true), isDirect: true)
        )
        try database.write("INSERT INTO items VALUES ('1', 'a'); INSERT INTO local VALUES ('1')")
        try database.queue.write { try LocalData.clear($0, []) }
        #expect(try database.integer("SELECT count(*) FROM items") == 0)
        #expect(try database.integer("SELECT count(*) FROM local") == 1)
        #expect(try database.entries().isEmpty)
        try database.queue.write { try LocalData.clear($0, .localTables) }
        #expect(try database.integer("SELECT count(*) FROM local") == 0)
    }

    // MARK: - Local writes

    private func entry(_ op: String, _ rest: String, id: String = "1") -> String {
        #"{"op":"\#(op)","id":"\#(id)","type":"items"\#(rest)}"#
    }

    @Test func writesAreQueuedInTheirTransaction() throws {
        let database = try LocalTestDatabase(.direct([.text("t"), .integer("i"), .real("r")]))
        try database.write(
            """
            INSERT INTO items (id, t, i, r) VALUES ('1', 5, '7', 1);
            UPDATE items SET t = NULL, i = 8;
            UPDATE items SET i = 8;
            DELETE FROM items
            """
        )
        #expect(
            try database.entries() == [
                entry("PUT", #","data":{"i":7,"r":1.0,"t":"5"}"#), entry("PATCH", #","data":{"i":8,"t":null}"#),
                entry("PATCH", #","data":{}"#), entry("DELETE", ""),
            ]
        )
        #expect(try Set(database.transactionIDs()).count == 1)
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == ["items|1"])
    }

    @Test(
        arguments: [
            "INSERT INTO items VALUES ('1', 1)", "INSERT INTO items (id, n) VALUES (NULL, 1)",
            "INSERT INTO items VALUES ('2', 'abc')", "INSERT INTO items VALUES ('2', x'01')",
            "UPDATE items SET id = '2'", "UPDATE items SET n = -1",
        ]
    )
    func refusedWritesChangeNothing(_ sql: String) throws {
        let table = ClientTable.direct([.init(name: "n", type: .integer, constraints: ["CHECK (n >= 0)"])])
        let database = try LocalTestDatabase(table)
        try database.write("INSERT INTO items VALUES ('1', 1)")
        let before = try (database.entries(), database.rows("SELECT * FROM items"))
        #expect(throws: DatabaseError.self) { try database.write(sql) }
        #expect(try database.entries() == before.0)
        #expect(try database.rows("SELECT * FROM items") == before.1)
    }

    @Test(
        arguments: [
            ("INSERT INTO items VALUES ('1', 'b', 'u') ON CONFLICT (id) DO UPDATE SET t = excluded.t", ["PATCH 1"], 1),
            ("INSERT INTO items VALUES ('1', 'b', 'u') ON CONFLICT DO NOTHING", [], 0),
            ("INSERT OR IGNORE INTO items VALUES ('1', 'b', 'u')", [], 0),
            ("INSERT OR REPLACE INTO items VALUES ('1', 'b', 'u')", ["PUT 1"], 1),
            ("INSERT OR REPLACE INTO items VALUES ('2', 'b', 'u1')", ["PUT 2", "DELETE 1"], 1),
            ("INSERT INTO items VALUES ('2', 'b', 'u2'), ('3', 'c', 'u3')", ["PUT 2", "PUT 3"], 2),
            ("UPDATE items SET t = 'x' RETURNING id", ["PATCH 1"], 1), ("DELETE FROM items", ["DELETE 1"], 1),
        ] as [(String, [String], Int)]
    )
    func conflictClausesWorkAsInSQLite(_ sql: String, _ entries: [String], _ changes: Int) throws {
        let columns: [ClientColumn] = [.text("t"), .init(name: "u", type: .text, constraints: ["UNIQUE"])]
        let database = try LocalTestDatabase(.direct(columns))
        try database.write("INSERT INTO items VALUES ('1', 'a', 'u1'); DELETE FROM ps_crud")
        let count = try database.queue.write { db in
            let rows = try Row.fetchAll(db, sql: sql)
            #expect(rows.count == (sql.contains("RETURNING") ? 1 : 0))
            return db.changesCount
        }
        #expect(count == changes)
        let queued = try database.rows("SELECT data ->> 'op', data ->> 'id' FROM ps_crud ORDER BY id")
        #expect(Set(queued) == Set(entries.map { $0.replacing(" ", with: "|") }))
        #expect(queued.count == entries.count)
    }

    @Test func insertOnlyRowsAreQueuedAndNotKept() throws {
        let scenario = try SyncScenario.started(
            .oneByOne,
            .direct([.init(name: "c", type: .text, constraints: ["NOT NULL"])], .init(isInsertOnly: true))
        )
        try scenario.database.write("INSERT INTO items VALUES ('1', 'a'), ('2', 'b')")
        #expect(try scenario.database.integer("SELECT count(*) FROM items") == 0)
        #expect(try scenario.database.rows("SELECT data ->> 'op', data ->> 'id' FROM ps_crud") == ["PUT|1", "PUT|2"])
        #expect(throws: DatabaseError.self) { try scenario.database.write("INSERT INTO items (id) VALUES ('3')") }
        #expect(try scenario.database.entries().count == 2)
        try scenario.database.write("DELETE FROM ps_crud")
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "5", data: #"{"c":"s"}"#)), .done)
        #expect(try scenario.database.rows("SELECT * FROM items") == ["5|s"])
        for sql in ["UPDATE items SET c = 'x'", "DELETE FROM items"] {
            expectDatabaseError(1811, "insert-only") { try scenario.database.write(sql) }
        }
        try scenario.receive(.diff(2), .ops("a", .remove(2, "5")), .done)
        #expect(try scenario.database.integer("SELECT count(*) FROM items") == 0)
    }

    @Test func metadataTravelsAndReadsNull() throws {
        let database = try LocalTestDatabase(.direct([.text("c")], .init(tracksMetadata: true)))
        try database.write(
            """
            INSERT INTO items (id, c, _metadata) VALUES ('1', 'a', 'm1');
            UPDATE items SET c = 'b', _metadata = 'm2';
            UPDATE items SET c = 'c';
            UPDATE items SET _metadata = 'm3'
            """
        )
        #expect(
            try database.entries() == [
                entry("PUT", #","data":{"c":"a"},"metadata":"m1""#),
                entry("PATCH", #","data":{"c":"b"},"metadata":"m2""#),
                entry("PATCH", #","data":{"c":"c"}"#), entry("PATCH", #","data":{},"metadata":"m3""#),
            ]
        )
        #expect(try database.rows("SELECT * FROM items") == ["1|c||"])
    }

    @Test func deletionsCarryMetadataAsInViews() throws {
        let entries = try [true, false].map { isDirect in
            var table = ClientTable.direct(
                [.text("c")],
                .init(tracksMetadata: true, trackPreviousValues: PreviousValues())
            )
            table.isDirect = isDirect
            let database = try LocalTestDatabase(table)
            try database.write(
                "INSERT INTO items (id, c, _deleted) VALUES ('1', 'a', 1), ('2', 'b', NULL), ('3', 'c', 0)"
            )
            try database.write("UPDATE items SET c = 'x', _deleted = TRUE, _metadata = 'why' WHERE id = '1'")
            try database.write("UPDATE items SET c = 'y', _deleted = FALSE, _metadata = 'm' WHERE id = '2'")
            try database.write("UPDATE items SET _deleted = 2")
            #expect(try database.rows("SELECT * FROM items").isEmpty)
            try database.write("INSERT INTO items (id) VALUES ('1'); DELETE FROM items")
            return try database.entries()
        }
        #expect(entries[0] == entries[1])
        #expect(entries[0].count == 9)
        #expect(entries[0][3] == entry("DELETE", #","old":{"c":"a"},"metadata":"why""#))
    }

    @Test func aDeletionWithMetadataCascades() throws {
        let child = ClientTable(
            name: "a_child",
            columns: [.init(name: "item", type: .text, constraints: ["REFERENCES items(id) ON DELETE CASCADE"])],
            options: .init(tracksMetadata: true),
            isDirect: true
        )
        let database = try LocalTestDatabase(.direct([], .init(tracksMetadata: true)), child)
        try database.run("PRAGMA foreign_keys = ON")
        try database.write("INSERT INTO items (id) VALUES ('1'); INSERT INTO a_child (id, item) VALUES ('c', '1')")
        try database.write("DELETE FROM ps_crud")
        try database.write("UPDATE items SET _deleted = TRUE, _metadata = 'why'")
        #expect(try database.integer("SELECT count(*) FROM a_child") == 0)
        #expect(
            try Set(database.rows("SELECT data ->> 'op', data ->> 'id', data ->> 'metadata' FROM ps_crud"))
                == ["DELETE|1|why", "DELETE|c|"]
        )
        try database.write("INSERT INTO items (id) VALUES ('1')")
        #expect(throws: DatabaseError.self) { try database.write("UPDATE items SET id = '2', _deleted = TRUE") }
        #expect(try database.rows("SELECT id FROM items") == ["1"])
    }

    /// The key of the new row is not among the values that are written.
    @Test(arguments: [
        ["UNIQUE"], [], ["UNIQUE COLLATE NOCASE"],
    ])
    func replacingByAGeneratedKeyIsQueued(_ unique: [String]) throws {
        for storage in ["VIRTUAL", "STORED"] {
            let key = ClientColumn(
                name: "key",
                type: .text,
                constraints: ["GENERATED ALWAYS AS (lower(trim(title))) \(storage)"] + unique
            )
            let database = try LocalTestDatabase(.direct([.text("title"), key]))
            if unique.isEmpty { try database.run("CREATE UNIQUE INDEX mine ON items (key)") }
            try database.apply(.direct([.text("title"), key]))
            try database.write("INSERT INTO items (id, title) VALUES ('1', 'Milk'), ('2', 'Salt'), ('3', NULL)")
            #expect(throws: DatabaseError.self) {
                try database.write("INSERT INTO items (id, title) VALUES ('4', ' MILK ')")
            }
            try database.write("DELETE FROM ps_crud")
            try database.write("INSERT OR REPLACE INTO items (id, title) VALUES ('4', ' MILK '), ('5', NULL)")
            try database.write("UPDATE OR REPLACE items SET title = 'SALT' WHERE id = '4'")
            #expect(try database.rows("SELECT id, title FROM items ORDER BY id") == ["3|", "4|SALT", "5|"])
            #expect(
                try database.rows("SELECT data ->> 'op', data ->> 'id', data ->> '$.data.key' FROM ps_crud ORDER BY id")
                    == ["DELETE|1|", "PUT|4|", "PUT|5|", "DELETE|2|", "PATCH|4|"]
            )
        }
    }

    @Test(arguments: [nil, true, false] as [Bool?])
    func previousValuesAreThoseOfViews(_ onlyWhenChanged: Bool?) throws {
        let columns: [ClientColumn] = [.text("t"), .integer("i")]
        let previous = onlyWhenChanged.map { PreviousValues(onlyWhenChanged: $0) }
        let entries = try [true, false].map { isDirect in
            var table = ClientTable.direct(columns, .init(trackPreviousValues: previous))
            table.isDirect = isDirect
            let database = try LocalTestDatabase(table)
            try database.write("INSERT INTO items VALUES ('1', 'a', 1)")
            try database.write("UPDATE items SET t = 'b'")
            try database.write("UPDATE items SET i = NULL")
            try database.write("DELETE FROM items")
            return try database.entries()
        }
        #expect(entries[0] == entries[1])
        #expect(entries[0].count == 4)
    }

    @Test func localOnlyTablesRecordNothing() throws {
        let database = try LocalTestDatabase(.direct([.text("c")], .init(isLocalOnly: true)))
        try database.write("INSERT INTO items VALUES ('1', 'a'); UPDATE items SET c = 'b'")
        #expect(try database.entries().isEmpty)
        #expect(try database.rows("SELECT * FROM items") == ["1|b"])
    }

    @Test func cascadesAreUploadedAndSyncedRowsMayComeInAnyOrder() throws {
        let child = ClientTable(
            name: "a_child",
            columns: [
                .init(
                    name: "item",
                    type: .text,
                    constraints: ["REFERENCES \"items\"(\"id\") ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED"]
                )
            ],
            options: .init(),
            isDirect: true
        )
        let scenario = try SyncScenario(child, .direct([.text("c")]))
        try scenario.database.run("PRAGMA foreign_keys = ON")
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops("a", .put(1, "c", type: "a_child", data: #"{"item":"1"}"#), .put(2, "1", data: #"{"c":"x"}"#)),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM a_child") == ["c|1"])
        try scenario.database.write("DELETE FROM items")
        #expect(
            try Set(scenario.database.rows("SELECT data ->> 'op', data ->> 'type', data ->> 'id' FROM ps_crud"))
                == ["DELETE|items|1", "DELETE|a_child|c"]
        )
    }
}

extension ClientTable {
    /// `items` as a direct table.
    static func direct(_ columns: [ClientColumn], _ options: ClientTableOptions = .init()) -> ClientTable {
        ClientTable(name: "items", columns: columns, options: options, isDirect: true)
    }
}

extension ClientColumn {
    static func text(_ name: String) -> ClientColumn { ClientColumn(name: name, type: .text) }
    static func integer(_ name: String) -> ClientColumn { ClientColumn(name: name, type: .integer) }
    static func real(_ name: String) -> ClientColumn { ClientColumn(name: name, type: .real) }
}
