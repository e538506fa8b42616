import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Publishing synced rows into raw tables (docs/database.md "Raw tables").
@Suite struct RawTablePublishingTests {
    private static let inferred = ClientRawTable(name: "users", structure: .init(tableName: "local_users"))

    private static let explicit = ClientRawTable(
        name: "users",
        put: .init(
            sql: "INSERT OR REPLACE INTO local_users (id, name, rest) VALUES (?, ?, ?)",
            parameters: [.id, .column("name"), .rest]
        ),
        delete: .init(sql: "DELETE FROM local_users WHERE id = ?", parameters: [.id])
    )

    private func scenario(
        _ table: ClientRawTable = inferred,
        _ sql: String = "CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT, age INTEGER)",
        delivery: Delivery = .oneByOne
    ) throws -> SyncScenario {
        let scenario = try SyncScenario(rawTables: [table], delivery: delivery)
        try scenario.database.run(sql)
        try scenario.start()
        return scenario
    }

    private func put(_ opID: Int64, _ id: String, _ data: String?, type: String = "users") -> SyncLine {
        .ops("a", .put(opID, id, type: type, data: data))
    }

    // MARK: - Inferred statements

    @Test(arguments: Delivery.allCases)
    func rowsArePutAndDeleted(_ delivery: Delivery) throws {
        let scenario = try scenario(delivery: delivery)
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "1", type: "users", data: #"{"name":"Ada","age":36,"unknown":1}"#),
                .put(2, "2", type: "users", data: #"{"name":"Bob"}"#)
            ),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM local_users ORDER BY id") == ["1|Ada|36", "2|Bob|"])
        try scenario.receive(
            .diff(4),
            .ops("a", .put(3, "2", type: "users", data: #"{"age":7}"#), .remove(4, "1", type: "users")),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM local_users") == ["2||7"])
        #expect(try scenario.database.entries().isEmpty)
        #expect(try scenario.database.rows("SELECT * FROM ps_untyped").isEmpty)
    }

    @Test func columnsThatAreNotSyncedKeepTheirValues() throws {
        var table = Self.inferred
        table.structure?.syncedColumns = ["name"]
        let scenario = try scenario(table)
        try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", #"{"name":"Ada","age":36}"#), .done)
        #expect(try scenario.database.rows("SELECT * FROM local_users") == ["1|Ada|"])
        try scenario.database.write("UPDATE local_users SET age = 40")
        try scenario.receive(.diff(2), put(2, "1", #"{"name":"Bob","age":37}"#), .done)
        #expect(try scenario.database.rows("SELECT * FROM local_users") == ["1|Bob|40"])
    }

    @Test func tableMayHaveNoOtherColumn() throws {
        let scenario = try scenario(Self.inferred, "CREATE TABLE local_users (id TEXT PRIMARY KEY) WITHOUT ROWID")
        try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", "{}"), .done)
        try scenario.receive(.diff(2), put(2, "1", #"{"name":"x"}"#), .done)
        #expect(try scenario.database.rows("SELECT * FROM local_users") == ["1"])
    }

    @Test func columnThatIsAddedBetweenCheckpointsIsFilled() throws {
        let scenario = try scenario()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", #"{"name":"Ada","city":"Paris"}"#), .done)
        try scenario.database.run("ALTER TABLE local_users ADD COLUMN city TEXT")
        try scenario.receive(.diff(2), put(2, "1", #"{"name":"Ada","city":"Rome"}"#), .done)
        #expect(try scenario.database.rows("SELECT name, city FROM local_users") == ["Ada|Rome"])
    }

    @Test func generatedColumnsAreLeftToTheTable() throws {
        let scenario = try scenario(
            Self.inferred,
            "CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT, initial TEXT AS (substr(name, 1, 1)))"
        )
        try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", #"{"name":"Ada","initial":"Z"}"#), .done)
        #expect(try scenario.database.rows("SELECT id, name, initial FROM local_users") == ["1|Ada|A"])
    }

    // MARK: - Explicit statements

    @Test func aDeletionMayUseTheIDMoreThanOnce() throws {
        var table = Self.explicit
        table.delete = .init(sql: "DELETE FROM local_users WHERE id = ? OR name = ?", parameters: [.id, .id])
        let scenario = try scenario(table, "CREATE TABLE local_users (id TEXT PRIMARY KEY, name, rest)")
        try scenario.receive(
            .checkpoint(3, [.bucket("a")]),
            put(1, "1", #"{"name":"x"}"#),
            put(2, "2", #"{"name":"1"}"#),
            put(3, "3", #"{"name":"y"}"#),
            .done
        )
        try scenario.receive(.diff(4), .ops("a", .remove(4, "1", type: "users")), .done)
        #expect(try scenario.database.rows("SELECT id FROM local_users") == ["3"])
    }

    @Test func restIsWhatNoColumnStandsFor() throws {
        let scenario = try scenario(Self.explicit, "CREATE TABLE local_users (id TEXT PRIMARY KEY, name, rest)")
        try scenario.receive(
            .checkpoint(4, [.bucket("a")]),
            put(1, "1", #"{"name":"x"}"#),
            put(2, "2", #"{"name":"x","foo":"bar","another":3}"#),
            put(3, "3", #"{ "z" : [1, {"b" : 2}], "id": 7, "a\u0022": null, "name": null, "a": "\u00e9\/" }"#),
            put(4, "4", "{}"),
            .done
        )
        #expect(
            try scenario.database.rows("SELECT * FROM local_users ORDER BY id") == [
                "1|x|", #"2|x|{"another":3,"foo":"bar"}"#, #"3||{"a":"é/","a\"":null,"z":[1,{"b":2}]}"#, "4||",
            ]
        )
    }

    /// Of which only the first would run.
    @Test func severalStatementsAreAnError() throws {
        var table = Self.explicit
        table.put?.sql += "; DELETE FROM local_users"
        let scenario = try scenario(table, "CREATE TABLE local_users (id TEXT PRIMARY KEY, name, rest)")
        let error = #expect(throws: (any Error).self) {
            try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", #"{"name":"x"}"#), .done)
        }
        let text = error.map { "\($0)" } ?? ""
        #expect(
            text.contains("put statement of raw table users") && text.contains("DELETE FROM local_users"),
            "\(text)"
        )
    }

    // MARK: - Values

    struct Value: CustomTestStringConvertible {
        let json: String
        let type: String
        let stored: String
        var testDescription: String { "\(json) in \(type)" }

        init(_ json: String, in type: String = "", _ stored: String) {
            (self.json, self.type, self.stored) = (json, type, stored)
        }
    }

    static let values = [
        Value(#""text""#, "text|text"), Value(#""""#, "text|"), Value(#""a\n\u00e9\ud83d\ude00""#, "text|a\né😀"),
        Value("null", "null|"), Value("true", "integer|1"), Value("false", "integer|0"),
        Value("[1]", "null|"), Value(#"{"a":1}"#, "null|"),
        Value("3", "integer|3"), Value("-0", "real|-0.0"), Value("1.5", "real|1.5"), Value("1e3", "real|1000.0"),
        Value("9007199254740993", in: "INTEGER", "integer|9007199254740993"),
        Value("-9223372036854775808", "integer|-9223372036854775808"),
        Value("9223372036854775808", "real|9.223372036854776e+18"),
        Value("3", in: "TEXT", "text|3"), Value("3.0", in: "INTEGER", "integer|3"), Value("3", in: "REAL", "real|3.0"),
    ]

    @Test(arguments: values)
    func valuesKeepTheirType(_ value: Value) throws {
        let scenario = try scenario(
            Self.inferred,
            "CREATE TABLE local_users (id TEXT PRIMARY KEY, v \(value.type), missing)"
        )
        try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", "{\"v\": \(value.json) }"), .done)
        #expect(
            try scenario.database.rows("SELECT typeof(v), v FROM local_users WHERE missing IS NULL") == [value.stored]
        )
    }

    @Test func lastOfEqualNamesCounts() throws {
        let scenario = try scenario()
        try scenario.receive(
            .checkpoint(1, [.bucket("a")]),
            put(1, "1", #"{"name":"a","age":1,"n\u0061me":"b"}"#),
            .done
        )
        #expect(try scenario.database.rows("SELECT name, age FROM local_users") == ["b|1"])
    }

    // MARK: - Which table

    @Test func rawTablesCreateNothing() throws {
        let database = try LocalTestDatabase(schema: ClientSchema(rawTables: [Self.inferred, Self.explicit]))
        #expect(try database.objects().filter { $0.contains("ps_data") || $0.contains("users") }.isEmpty)
    }

    @Test func dataTableWinsOverARawTable() throws {
        let raw = ClientRawTable(name: "items", structure: .init(tableName: "raw_items"))
        let scenario = try SyncScenario(rawTables: [raw])
        try scenario.database.run("CREATE TABLE raw_items (id TEXT PRIMARY KEY)")
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        #expect(try scenario.itemIDs == ["x"])
        #expect(try scenario.database.rows("SELECT * FROM raw_items").isEmpty)
    }

    @Test func schemaAtTheStartOfTheIterationCounts() throws {
        let scenario = try scenario()
        try scenario.database.apply(ClientSchema(tables: [.items()]))
        try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", #"{"name":"Ada"}"#), .done)
        #expect(try scenario.database.rows("SELECT id FROM local_users") == ["1"])
        try scenario.start()
        try scenario.receive(.checkpoint(2, [.bucket("a")]), put(2, "2", #"{"name":"Bob"}"#), .done)
        #expect(try scenario.database.rows("SELECT id FROM local_users") == ["1"])
        #expect(try scenario.database.rows("SELECT type, id FROM ps_untyped") == ["users|2"])
    }

    @Test func schemaThatWasRolledBackDoesNotCount() throws {
        struct Refusal: Error {}
        let scenario = try scenario()
        #expect(throws: Refusal.self) {
            try scenario.write { db in
                try ClientSchema().apply(to: db)
                try ClientSchema(rawTables: [Self.explicit]).apply(to: db)
                throw Refusal()
            }
        }
        #expect(try scenario.write { try ConnectionState.of($0).rawTables } == [Self.inferred])
    }

    @Test func firstSyncGoesToRawTables() throws {
        let scenario = try SyncScenario(rawTables: [Self.inferred], delivery: .batched, bulkLoadThreshold: 1)
        try scenario.database.run("CREATE TABLE local_users (id TEXT PRIMARY KEY, name TEXT)")
        try scenario.start()
        try scenario.receive(
            .checkpoint(3, [.bucket("a", count: 2), .bucket("b", count: 1)]),
            .ops("a", .put(1, "1", type: "users", data: #"{"name":"old"}"#), .put(2, "x")),
            .ops("b", .put(3, "1", type: "users", data: #"{"name":"new"}"#)),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM local_users") == ["1|new"])
        #expect(try scenario.itemIDs == ["x"])
    }

    // MARK: - Local writes, foreign keys, triggers

    @Test func localWritesAreReplacedByTheService() throws {
        let scenario = try scenario()
        for write in ["INSERT", "UPDATE", "DELETE"] {
            try scenario.database.run(
                "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                [Self.inferred.json.text, write, write]
            )
        }
        try scenario.database.write("INSERT INTO local_users (id, name) VALUES ('kept', 'a'), ('refused', 'b')")
        #expect(try scenario.database.entries().count == 2)
        try scenario.receive(
            .checkpoint(1, [.bucket("a")], writeCheckpoint: 1),
            put(1, "kept", #"{"name":"c"}"#),
            .done
        )
        #expect(try scenario.database.rows("SELECT id, name FROM local_users ORDER BY id") == ["kept|a", "refused|b"])
        try scenario.database.write("DELETE FROM ps_crud")
        try scenario.write { try LocalWriteGate.setTarget($0, WriteCheckpoint(1)) }
        try scenario.send(.uploadCompleted)
        #expect(try scenario.database.rows("SELECT id, name FROM local_users") == ["kept|c"])
        #expect(try scenario.database.entries().isEmpty)
    }

    @Test func deferredForeignKeysNeedNoOrder() throws {
        let child = ClientRawTable(name: "a_children", structure: .init(tableName: "children"))
        let parent = ClientRawTable(name: "b_parents", structure: .init(tableName: "parents"))
        let scenario = try SyncScenario(rawTables: [child, parent])
        try scenario.database.run(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE parents (id TEXT PRIMARY KEY);
            CREATE TABLE children (
                id TEXT PRIMARY KEY,
                parent TEXT REFERENCES parents (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
            );
            """
        )
        for table in [child, parent] {
            try scenario.database.run(
                "SELECT powersync_create_raw_table_crud_trigger(?, ?, 'DELETE')",
                [table.json.text, "delete_\(table.name)"]
            )
        }
        try scenario.start()
        try scenario.receive(
            .checkpoint(2, [.bucket("a")]),
            put(1, "c", #"{"parent":"p"}"#, type: "a_children"),
            put(2, "p", "{}", type: "b_parents"),
            .done
        )
        #expect(try scenario.database.rows("SELECT * FROM children") == ["c|p"])
        #expect(try scenario.database.entries().isEmpty)
        try scenario.database.write("DELETE FROM parents")
        #expect(
            try scenario.database.entries().sorted { ($0 ?? "") < ($1 ?? "") } == [
                #"{"op":"DELETE","id":"c","type":"a_children"}"#, #"{"op":"DELETE","id":"p","type":"b_parents"}"#,
            ]
        )
        #expect(Set(try scenario.database.transactionIDs()).count == 1)
    }

    /// An update of the parent is none of its id, and a deletion is what the foreign key says.
    @Test(arguments: Delivery.allCases)
    func rowsThatReferToAManagedTableStay(_ delivery: Delivery) throws {
        let child = ClientRawTable(name: "a_children", structure: .init(tableName: "children"))
        let scenario = try SyncScenario(.items(), rawTables: [child], delivery: delivery)
        try scenario.database.run(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE children (
                id TEXT PRIMARY KEY,
                item TEXT REFERENCES PS_DATA__items (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
            );
            """
        )
        try scenario.start()
        try scenario.receive(
            .checkpoint(3, [.bucket("a")]),
            .ops(
                "a",
                .put(1, "c", type: "a_children", data: #"{"item":"p"}"#),
                .put(2, "p", data: #"{"col":"old"}"#),
                .put(3, "q")
            ),
            .done
        )
        let observer = ChangeCounter(tables: ["children"])
        scenario.database.queue.add(transactionObserver: observer)
        try scenario.receive(.diff(4), .ops("a", .put(4, "p", data: #"{"col":"new"}"#)), .done)
        #expect(try scenario.items == [#"p|{"col":"new"}"#, "q|{}"])
        #expect(try scenario.database.rows("SELECT * FROM children") == ["c|p"])
        let changes = observer.changes
        try scenario.receive(.diff(5), .ops("a", .remove(5, "p")), .done)
        #expect(try scenario.itemIDs == ["q"])
        #expect(try scenario.database.rows("SELECT * FROM children").isEmpty)
        #expect(observer.changes > changes)
    }

    /// As triggers of the app expect it.
    @Test func rowsThatNoForeignKeyRefersToAreReplaced() throws {
        let scenario = try SyncScenario()
        try scenario.database.run(
            """
            PRAGMA foreign_keys = OFF;
            CREATE TABLE children (item TEXT REFERENCES ps_data__items (id) ON DELETE CASCADE);
            CREATE TABLE log (id TEXT);
            CREATE TRIGGER own AFTER INSERT ON ps_data__items BEGIN INSERT INTO log VALUES (NEW.id); END;
            """
        )
        try scenario.start()
        try scenario.receive(.checkpoint(1, [.bucket("a")]), .ops("a", .put(1, "x")), .done)
        try scenario.database.run("PRAGMA foreign_keys = ON")
        try scenario.receive(.diff(2), .ops("a", .put(2, "x", data: #"{"col":"a"}"#)), .done)
        #expect(try scenario.database.rows("SELECT id FROM log") == ["x"])
        try scenario.database.run("DROP TABLE children")
        try scenario.receive(.diff(3), .ops("a", .put(3, "x", data: #"{"col":"b"}"#)), .done)
        #expect(try scenario.database.rows("SELECT id FROM log") == ["x", "x"])
    }

    @Test func triggersOfTheUserQueueNothingWhilePublishing() throws {
        let scenario = try scenario()
        try scenario.database.run(
            """
            CREATE TRIGGER own AFTER INSERT ON local_users BEGIN
                INSERT INTO powersync_crud (op, id, type) VALUES ('PUT', NEW.id, 'users');
            END
            """
        )
        try scenario.receive(.checkpoint(1, [.bucket("a")]), put(1, "1", "{}"), .done)
        #expect(try scenario.database.entries().isEmpty)
        try scenario.database.write("INSERT INTO local_users (id) VALUES ('2')")
        #expect(try scenario.database.entries().count == 1)
    }
}
