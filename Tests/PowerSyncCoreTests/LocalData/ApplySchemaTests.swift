import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct ApplySchemaTests {
    private func index(_ name: String, _ columns: String..., type: ColumnType? = nil) -> ClientIndex {
        ClientIndex(name: name, columns: columns.map { ClientIndex.Column(name: $0, type: type) })
    }

    private func table(_ name: String, _ columns: String..., indexes: [ClientIndex] = []) -> ClientTable {
        ClientTable(name: name, columns: columns.map { ClientColumn(name: $0, type: .text) }, indexes: indexes)
    }

    private func texts(of database: LocalTestDatabase, _ condition: String) throws -> [String] {
        try database.rows("SELECT name, sql, rowid FROM sqlite_master WHERE \(condition) ORDER BY name")
    }

    @Test func sameSchemaExecutesNothing() throws {
        let schema = ClientSchema(
            tables: [
                .items(tracksMetadata: true, trackPreviousValues: PreviousValues(columns: [])),
                table("größe", "e\u{301}", "é", indexes: [index("i", "é")]),
                table("none"),
            ]
        )
        let database = try LocalTestDatabase(schema: schema)
        let version = try database.schemaVersion()
        try database.apply(schema)
        #expect(try database.schemaVersion() == version)
    }

    @Test func onlyWhatChangedIsCreatedAnew() throws {
        let indexes = [index("ab", "a", "b"), index("b", "b")]
        let database = try LocalTestDatabase(table("one", "a", "b", indexes: indexes), table("two", "a"))
        let two = try texts(of: database, "tbl_name = 'two'")
        let rest = try texts(of: database, "name = 'ps_data__one__b'")

        try database.apply(
            table("one", "a", "c", indexes: [index("ab", "a", "c"), index("b", "b")]),
            table("two", "a")
        )
        #expect(try texts(of: database, "tbl_name = 'two'") == two)
        #expect(try texts(of: database, "name = 'ps_data__one__b'") == rest)
        let sql = try database.texts("SELECT sql FROM sqlite_master WHERE name IN ('one', 'ps_data__one__ab')")
        #expect(sql.count == 2)
        #expect(sql.allSatisfy { $0?.contains("$.c") == true && $0?.contains("$.b") == false })

        try database.apply(table("one", "a", "c", indexes: [index("b", "b")]), table("two", "a"))
        #expect(
            try database.texts("SELECT name FROM sqlite_master WHERE name GLOB 'ps_data__*__*'") == ["ps_data__one__b"]
        )
    }

    @Test(arguments: [("y", "todos"), ("todos", nil), ("TODOS", nil), ("y", "Todos")] as [(String, String?)])
    func twoTablesCannotHaveOneView(_ second: (name: String, view: String?)) throws {
        let database = try LocalTestDatabase(table("c"))
        let before = try texts(of: database, "1")
        let tables = [
            ClientTable(name: "x", viewNameOverride: "todos", columns: []),
            ClientTable(name: second.name, viewNameOverride: second.view, columns: []),
        ]
        let error = #expect(throws: LocalDatabaseError.self) { try database.apply(ClientSchema(tables: tables)) }
        #expect(error.map { "\($0)" }?.contains("'x' and '\(second.name)'") == true)
        #expect(try texts(of: database, "1") == before)
    }

    /// The triggers would read one of them for both, and take what is written to the other for nothing, or for metadata.
    @Test(
        arguments: [
            (["name", "Name"], false, "'name' and 'Name' of table 't'"),
            (["a", "_metadata"], true, "table 't' tracks metadata"), (["_DELETED"], true, "its own '_DELETED'"),
        ]
    )
    func twoColumnsCannotBeOneForSQLite(_ columns: [String], tracksMetadata: Bool, words: String) throws {
        let kinds: [ClientTableOptions] = [.init(isLocalOnly: true), .init(isInsertOnly: true), .init()]
        let columns = columns.map { ClientColumn(name: $0, type: .text) }
        let database = try LocalTestDatabase(table("c"))
        let before = try texts(of: database, "1")
        for var options in kinds {
            options.tracksMetadata = tracksMetadata
            let error = #expect(throws: LocalDatabaseError.self) {
                try database.apply(ClientTable(name: "t", columns: columns, options: options))
            }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains(words) == true)
        }
        #expect(try texts(of: database, "1") == before)
    }

    /// Of schemas that worked, since nothing is lost: the names are those of one member of a row.
    @Test func columnsThatAreSpeltTheSameAreOneColumn() throws {
        let database = try LocalTestDatabase(table("t", "a", "a", "id", "_deleted", "é", "É"))
        try database.write("INSERT INTO t(id, a, _deleted, é, É) VALUES ('1', 'x', 'y', 'z', 'Z')")
        #expect(try database.rows("SELECT id, a, _deleted, é, É FROM t") == ["1|x|y|z|Z"])
    }

    @Test func aTableMayGetTheNameOfAnIndex() throws {
        let database = try LocalTestDatabase(table("todos", "a", indexes: [index("list", "a"), index("kept", "a")]))
        try database.apply(table("todos", "a", indexes: [index("kept", "a")]), table("todos__list", "a"))
        try database.write("INSERT INTO todos__list(id, a) VALUES ('1', 'x')")
        let indexes = "SELECT name FROM sqlite_master WHERE type = 'index' AND name GLOB 'ps_data__*'"
        #expect(try database.texts(indexes) == ["ps_data__todos__kept"])
        try database.apply(table("todos", "a", indexes: [index("list", "a")]))
        #expect(try database.texts(indexes) == ["ps_data__todos__list"])
    }

    @Test func twoObjectsCannotHaveOneName() throws {
        let database = try LocalTestDatabase(table("c"))
        let before = try texts(of: database, "1")
        let first = table("a", "x", indexes: [index("b__c", "x")])
        let others = [
            (table("a__b", "x", indexes: [index("C", "x")]), "'ps_data__a__b__C' (index, index)"),
            (table("a__b__c", "x"), "'ps_data__a__b__c' (index, data table)"),
            (ClientTable(name: "A", viewNameOverride: "v", columns: []), "'ps_data__A' (data table, data table)"),
        ]
        for (second, words) in others {
            let error = #expect(throws: LocalDatabaseError.self) { try database.apply(first, second) }
            #expect(error?.message.contains("'a' and '\(second.name)' have the same name \(words)") == true)
        }
        #expect(try texts(of: database, "1") == before)
    }

    /// A query has at most 2,000 columns, with the id, and two for metadata.
    @Test(arguments: [(1999, false), (1997, true)])
    func aTableHasAsManyColumnsAsAQueryMayHave(_ limit: Int, tracksMetadata: Bool) throws {
        func table(_ count: Int) -> ClientTable {
            ClientTable(
                name: "wide",
                columns: (0..<count).map { ClientColumn(name: "c\($0)", type: .text) },
                tracksMetadata: tracksMetadata
            )
        }
        let database = try LocalTestDatabase(table(limit))
        #expect(try database.rows("SELECT * FROM wide").isEmpty)
        let error = #expect(throws: LocalDatabaseError.self) { try database.apply(table(limit + 1)) }
        #expect(error.map { "\($0)" }?.contains("more than \(limit) columns") == true)
    }

    @Test func removedTableWaitsInUntypedRows() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1'), ('b', NULL)")
        try database.apply()
        #expect(
            try database.rows("SELECT type, id, data FROM ps_untyped ORDER BY id") == [
                #"items|a|{"col":"1"}"#, #"items|b|{"col":null}"#,
            ]
        )
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE name LIKE '%items%'").isEmpty)
        try database.apply(.items(), table("other", "x"))
        #expect(try database.rows("SELECT * FROM items ORDER BY id") == ["a|1", "b|"])
        #expect(try database.integer("SELECT count(*) FROM ps_untyped") == 0)
        #expect(try database.entries().count == 2)
    }

    @Test func rowsOfARemovedTableReplaceOlderOnesThatWait() throws {
        let database = try LocalTestDatabase()
        try database.write(
            """
            INSERT INTO items(id, col) VALUES ('a', 'new');
            INSERT INTO ps_untyped VALUES ('items', 'a', '{"col":"old"}'), ('items', 'b', '{"col":"b"}'), ('other', 'a', '{}');
            """
        )
        try database.apply()
        #expect(
            try database.rows("SELECT type, id, data FROM ps_untyped ORDER BY 1, 2") == [
                #"items|a|{"col":"new"}"#, #"items|b|{"col":"b"}"#, "other|a|{}",
            ]
        )
        try database.apply(.items())
        #expect(try database.rows("SELECT * FROM items ORDER BY id") == ["a|new", "b|b"])
        #expect(try database.rows("SELECT type, id FROM ps_untyped") == ["other|a"])
    }

    @Test func orderOfAnIndexMayChange() throws {
        func index(_ isDescending: Bool) -> ClientIndex {
            ClientIndex(name: "i", columns: [.init(name: "a", isDescending: isDescending), .init(name: "b")])
        }
        let sql = "SELECT sql FROM sqlite_master WHERE name = 'ps_data__t__i'"
        let columns = ["a", "b"].map { "CAST(json_extract(data, '$.\($0)') as text)" }
        let database = try LocalTestDatabase(table("t", "a", "b", indexes: [index(false)]))
        #expect(
            try database.texts(sql) == [
                #"CREATE INDEX "ps_data__t__i" ON "ps_data__t"(\#(columns[0]), \#(columns[1]))"#
            ]
        )
        try database.apply(table("t", "a", "b", indexes: [index(true)]))
        #expect(
            try database.texts(sql) == [
                #"CREATE INDEX "ps_data__t__i" ON "ps_data__t"(\#(columns[0]) DESC, \#(columns[1]))"#
            ]
        )
    }

    @Test func kindOfTableMayChange() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('synced', '1'); DELETE FROM ps_crud")
        try database.apply(.items(isLocalOnly: true))
        #expect(try database.rows("SELECT * FROM items").isEmpty)
        #expect(try database.rows("SELECT type, id FROM ps_untyped") == ["items|synced"])
        try database.write("INSERT INTO items(id, col) VALUES ('local', '2')")
        #expect(try database.entries().isEmpty)
        try database.apply(.items())
        #expect(try database.rows("SELECT * FROM items") == ["synced|1"])
        try database.apply(.items(isLocalOnly: true))
        #expect(try database.rows("SELECT * FROM items") == ["local|2"])
        try database.apply(.items())
        try database.apply(ClientSchema())
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE name LIKE 'ps_data_local%'").isEmpty)
    }

    @Test func viewNameMayChange() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        var renamed = ClientTable.items()
        renamed.viewNameOverride = "things"
        try database.apply(renamed)
        #expect(try database.rows("SELECT * FROM things") == ["a|1"])
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE type = 'view'") == ["things"])
        try database.write("DELETE FROM things")
        #expect(try database.entries().last == #"{"op":"DELETE","id":"a","type":"items"}"#)
    }

    @Test func viewNamesMayBeSwapped() throws {
        let database = try LocalTestDatabase(table("a", "x"), table("b", "x"))
        try database.write("INSERT INTO a(id, x) VALUES ('1', 'from a')")
        var first = table("a", "x")
        var second = table("b", "x")
        first.viewNameOverride = "b"
        second.viewNameOverride = "a"
        try database.apply(first, second)
        #expect(try database.rows("SELECT x FROM b") == ["from a"])
        #expect(try database.rows("SELECT x FROM a").isEmpty)
    }

    @Test func caseOfViewNameMayChange() throws {
        let database = try LocalTestDatabase()
        var upper = ClientTable.items()
        upper.viewNameOverride = "ITEMS"
        try database.apply(upper)
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE type = 'view'") == ["ITEMS"])
    }

    @Test func caseOfTableNameMayChange() throws {
        let database = try LocalTestDatabase()
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
        try database.apply(table("Items", "col"))
        #expect(try database.rows("SELECT type, id FROM ps_untyped") == ["items|a"])
        try database.write("INSERT INTO Items(id, col) VALUES ('b', '2')")
        #expect(try database.rows("SELECT id FROM ps_data__Items") == ["b"])
    }

    @Test func metadataAddsAndRemovesSecondDeleteTrigger() throws {
        let database = try LocalTestDatabase()
        let names = "SELECT name FROM sqlite_master WHERE name GLOB 'ps_view_delete*' ORDER BY name"
        #expect(try database.rows(names) == ["ps_view_delete_items"])
        try database.apply(.items(tracksMetadata: true))
        #expect(try database.rows(names) == ["ps_view_delete2_items", "ps_view_delete_items"])
        try database.apply(.items())
        #expect(try database.rows(names) == ["ps_view_delete_items"])
    }

    @Test func indexesOfUsersAreKeptUnlessTheyUseOurPrefix() throws {
        let database = try LocalTestDatabase()
        try database.write(
            "CREATE INDEX ps_data_custom ON ps_data__items(data); CREATE INDEX my_idx ON ps_data__items(data)"
        )
        try database.apply(.items())
        #expect(
            try database.rows("SELECT name FROM sqlite_master WHERE name IN ('ps_data_custom', 'my_idx')") == ["my_idx"]
        )
    }

    @Test func viewsOfUsersAreReplacedAndTablesAreNot() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        try database.write("CREATE VIEW items AS SELECT 1 AS x")
        try database.apply(.items())
        #expect(try database.rows("SELECT * FROM items").isEmpty)
        try database.apply()
        try database.write("CREATE TABLE items(x)")
        expectDatabaseError(1, "use DROP TABLE to delete table items") { try database.apply(.items()) }
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE name LIKE 'ps_data%'").isEmpty)
    }

    @Test func duplicateTableIsReportedBySQLite() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        expectDatabaseError(1, "already exists") { try database.apply(.items(), .items()) }
    }

    @Test func applyingNeedsTransaction() throws {
        let database = try LocalTestDatabase()
        #expect {
            try database.queue.writeWithoutTransaction { try ClientSchema().apply(to: $0) }
        } throws: {
            ($0 as? LocalDatabaseError)?.code == .notInTransaction
        }
    }

    @Test func namesWithNULAreRefused() throws {
        let database = try LocalTestDatabase()
        #expect {
            try database.apply(.items(), table("a\0b", "x"))
        } throws: {
            ($0 as? LocalDatabaseError)?.resultCode == 24
        }
        #expect(try database.rows("SELECT name FROM sqlite_master WHERE type = 'view'") == ["items"])
    }

    @Test func moreColumnsThanAViewHoldsAreRefused() throws {
        let columns = (0..<2000).map { ClientColumn(name: "c\($0)", type: .text) }
        let database = try LocalTestDatabase()
        #expect {
            try database.apply(.items(columns))
        } throws: {
            ($0 as? LocalDatabaseError)?.resultCode == 3091
        }
    }

    @Test(arguments: [(nil, "USING INDEX ps_data__t__i"), (ColumnType(rawValue: "TEXT"), "SCAN ps_data__t")])
    func indexIsUsedOnlyIfItsTypeIsWrittenTheSame(type: ColumnType?, plan: String) throws {
        let database = try LocalTestDatabase(table("t", "a", indexes: [index("i", "a", type: type)]))
        let plans = try database.rows("EXPLAIN QUERY PLAN SELECT * FROM t WHERE a = 'x'")
        #expect(plans.contains { $0.contains(plan) }, "\(plans)")
    }

    @Test func failedChangeLeavesThePreviousSchema() throws {
        let database = try LocalTestDatabase()
        try database.write("CREATE TABLE blocker(x)")
        let objects = try database.objects()
        expectDatabaseError(1) {
            try database.apply(.items([ClientColumn(name: "new", type: .text)]), table("blocker", "x"))
        }
        #expect(try database.objects() == objects)
        try database.write("INSERT INTO items(id, col) VALUES ('a', '1')")
    }
}
