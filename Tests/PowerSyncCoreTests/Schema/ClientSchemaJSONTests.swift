import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

@Suite struct ClientSchemaJSONTests {
    private static let full = ClientSchema(
        tables: [
            ClientTable(
                name: "assets",
                viewNameOverride: "my_assets",
                columns: [ClientColumn(name: "make", type: .text), ClientColumn(name: "km", type: .real)],
                indexes: [
                    ClientIndex(
                        name: "makekm",
                        columns: [
                            ClientIndex.Column(name: "make", type: .text),
                            ClientIndex.Column(name: "km", isDescending: true, type: .real),
                        ]
                    )
                ],
                tracksMetadata: true,
                trackPreviousValues: PreviousValues(columns: ["km"], onlyWhenChanged: true),
                ignoresEmptyUpdates: true
            ),
            ClientTable(name: "log", columns: [], isInsertOnly: true, trackPreviousValues: PreviousValues()),
            ClientTable(name: "drafts", columns: [ClientColumn(name: "n", type: .integer)], isLocalOnly: true),
        ]
    )

    @Test func writtenFormHasTheMembersOfTheFormat() {
        #expect(
            Self.full.json.text == """
                {"tables":[{"name":"assets","view_name":"my_assets","columns":[{"name":"make","type":"text"},\
                {"name":"km","type":"real"}],"indexes":[{"name":"makekm","columns":[{"name":"make","ascending":true,\
                "type":"text"},{"name":"km","ascending":false,"type":"real"}]}],"local_only":false,\
                "insert_only":false,"include_metadata":true,"ignore_empty_update":true,"include_old":["km"],\
                "include_old_only_when_changed":true},{"name":"log","columns":[],"indexes":[],"local_only":false,\
                "insert_only":true,"include_metadata":false,"ignore_empty_update":false,"include_old":true,\
                "include_old_only_when_changed":false},{"name":"drafts","columns":[{"name":"n","type":"integer"}],\
                "indexes":[],"local_only":true,"insert_only":false,"include_metadata":false,\
                "ignore_empty_update":false}],"raw_tables":[]}
                """
        )
    }

    private static let raw = ClientSchema(
        rawTables: [
            ClientRawTable(name: "minimal"),
            ClientRawTable(
                name: "explicit",
                put: .init(sql: "INSERT INTO e VALUES (?, ?, ?)", parameters: [.id, .column("a"), .rest]),
                delete: .init(sql: "DELETE FROM e WHERE id = ?", parameters: [.id]),
                clear: "DELETE FROM e"
            ),
            ClientRawTable(
                name: "inferred",
                structure: .init(
                    tableName: "local",
                    syncedColumns: ["a"],
                    options: ClientTableOptions(trackPreviousValues: PreviousValues(), ignoresEmptyUpdates: true)
                )
            ),
        ]
    )

    @Test func writtenFormOfRawTables() throws {
        #expect(
            Self.raw.json.text == """
                {"tables":[],"raw_tables":[{"name":"minimal"},{"name":"explicit","put":{"sql":"INSERT INTO e VALUES (?, ?, ?)",\
                "params":["Id",{"Column":"a"},"Rest"]},"delete":{"sql":"DELETE FROM e WHERE id = ?","params":["Id"]},\
                "clear":"DELETE FROM e"},{"name":"inferred","table_name":"local","synced_columns":["a"],"local_only":false,\
                "insert_only":false,"include_metadata":false,"ignore_empty_update":true,"include_old":true,\
                "include_old_only_when_changed":false}]}
                """
        )
        #expect(try ClientSchema(json: Self.raw.json.text) == Self.raw)
    }

    @Test func rawTableMayHaveNullsInsteadOfMembers() throws {
        let schema = try ClientSchema(
            json: """
                {"tables":[],"raw_tables":[{"name":"r","table_name":null,"synced_columns":null,"put":null,"delete":null,\
                "clear":null}]}
                """
        )
        #expect(schema.rawTables == [ClientRawTable(name: "r")])
    }

    @Test func writtenFormReadsBack() throws {
        #expect(try ClientSchema(json: Self.full.json.text) == Self.full)
    }

    @Test func indexColumnsTakeTheTypeOfTheTable() throws {
        let table = ClientTable(
            name: "t",
            columns: [ClientColumn(name: "n", type: .integer)],
            indexes: [ClientIndex(name: "i", columns: [ClientIndex.Column(name: "n")])]
        )
        let read = try ClientSchema(json: ClientSchema(tables: [table]).json.text)
        #expect(read.tables.first?.indexes.first?.columns.first?.type == .integer)
    }

    @Test func unknownMembersAndSpellingsAreAccepted() throws {
        let schema = try ClientSchema(
            json: """
                {"tables":[{"name":"t","columns":[{"name":"a","type":"TEXT","x":1}],"include_old":null,
                  "view_name":null,"color":"red"}],"version":2}
                """
        )
        let type = try #require(ColumnType(rawValue: "TEXT"))
        #expect(schema.tables == [ClientTable(name: "t", columns: [ClientColumn(name: "a", type: type)])])
    }

    @Test(arguments: [
        ("{", "schema"),
        ("[]", "schema is not an object"),
        ("{}", "member 'tables' of schema is missing"),
        (#"{"tables":[],"raw_tables":[{}]}"#, "member 'name' of raw table is missing"),
        (#"{"tables":[],"raw_tables":[{"name":"r","table_name":1}]}"#, "member 'table_name' of raw table 'r'"),
        (
            #"{"tables":[],"raw_tables":[{"name":"r","table_name":"t","synced_columns":[1]}]}"#,
            "member 'synced_columns' of raw table 'r' is not an array of strings"
        ),
        (
            #"{"tables":[],"raw_tables":[{"name":"r","table_name":"t","insert_only":null}]}"#,
            "member 'insert_only' of raw table 'r'"
        ),
        (#"{"tables":[],"raw_tables":[{"name":"r","put":"x"}]}"#, "member 'put' of raw table 'r' is not an object"),
        (#"{"tables":[],"raw_tables":[{"name":"r","put":{"sql":"x"}}]}"#, "member 'params' of 'put' of raw table 'r'"),
        (
            #"{"tables":[],"raw_tables":[{"name":"r","delete":{"sql":"x","params":["id"]}}]}"#,
            "member 'params' of 'delete' of raw table 'r'"
        ),
        (#"{"tables":{}}"#, "member 'tables' of schema is not an array"),
        (#"{"tables":[1]}"#, "table is not an object"),
        (#"{"tables":[{"columns":[]}]}"#, "member 'name' of table is missing"),
        (#"{"tables":[{"name":"t"}]}"#, "member 'columns' of table 't' is missing"),
        (#"{"tables":[{"name":"t","columns":[{"name":"a"}]}]}"#, "member 'type' of column of table 't' is missing"),
        (#"{"tables":[{"name":"t","columns":[],"local_only":null}]}"#, "member 'local_only' of table 't'"),
        (#"{"tables":[{"name":"t","columns":[],"insert_only":1}]}"#, "member 'insert_only' of table 't'"),
        (#"{"tables":[{"name":"t","columns":[],"include_old":"x"}]}"#, "member 'include_old' of table 't'"),
        (
            #"{"tables":[{"name":"t","columns":[],"indexes":[{"name":"i","columns":[{"name":"a","type":"text"}]}]}]}"#,
            "member 'ascending'"
        ),
    ])
    func mistakesNameTheMember(json: String, words: String) throws {
        let error = #expect(throws: LocalDatabaseError.self) { try ClientSchema(json: json) }
        #expect(error?.resultCode == 3091)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test func sqlFunctionAppliesSchemas() throws {
        let database = try LocalTestDatabase(schema: ClientSchema())
        expectDatabaseError(3091, "powersync_replace_schema: invalid argument", "tables") {
            try database.write("SELECT powersync_replace_schema('{}')")
        }
        expectDatabaseError(21, "transactions") {
            try database.run(#"SELECT powersync_replace_schema('{"tables":[]}')"#)
        }
        try database.write(
            #"SELECT powersync_replace_schema('{"tables":[{"name":"t","columns":[{"name":"a","type":"TEXT"}]}]}')"#
        )
        try database.write("INSERT INTO t(id, a) VALUES ('x', 'y')")
        #expect(try database.entries() == [#"{"op":"PUT","id":"x","type":"t","data":{"a":"y"}}"#])
        try database.write(#"SELECT powersync_replace_schema('{"tables":[]}')"#)
        #expect(try database.rows("SELECT type, id FROM ps_untyped") == ["t|x"])
    }
}
