import GRDB
import PowerSyncCoreTestSupport
import PowerSyncProtocol
import PowerSyncSQLite
import Testing

@testable import PowerSyncCore

/// Every text of a schema that came as JSON, with all that SQL gives a meaning: a schema works, or it is refused as a whole.
@Suite struct SchemaTextTests {
    /// A place in a schema of one table, one index and one raw table.
    enum Place: CaseIterable, CustomTestStringConvertible {
        case table, view, column, index, trackedColumn, rawTable, rawTableName, syncedColumn
        var testDescription: String { "\(self)" }
    }

    static let texts = [
        "\"", "'", "`", "[", "]", "(", ")", "a\"b", "it's", "\"\"", "--", "-- x", "/*", "*/", ";",
        "; DROP TABLE ps_kv; --",
        "x\"); DROP TABLE ps_kv; --", "x'); DROP TABLE ps_kv; --", "text) , (1", "select", "order", "table", "rowid",
        "_rowid_",
        "null", "a b", " ", "a.b", ".", "a[0]", "#", "$", "$.a", "%", ",", "?1", ":a", "@a", "\\", "a\\b", "\n", "\t",
        "a\0b", "é",
        "e\u{301}", "😀", "\u{301}", "1", "0x1", "main.t", "NEW", "OLD", "data", "new.id", "ps_old", "",
    ]

    private func schema(_ place: Place, _ text: String) -> JSONObject {
        func name(_ other: Place, _ usual: String) -> ExactJSON { .string(place == other ? text : usual) }
        let column = name(.column, "c")
        return [
            "tables": [
                [
                    "name": name(.table, "t"), "view_name": place == .view ? .string(text) : .null,
                    "columns": [["name": column, "type": "text"], ["name": "other", "type": "integer"]],
                    "indexes": [
                        [
                            "name": name(.index, "i"),
                            "columns": [["name": column, "ascending": true, "type": "text"]],
                        ]
                    ],
                    "include_old": [place == .trackedColumn ? .string(text) : column], "include_metadata": true,
                ]
            ],
            "raw_tables": [
                [
                    "name": name(.rawTable, "r"), "table_name": name(.rawTableName, "local"),
                    "synced_columns": [name(.syncedColumn, "s")],
                ]
            ],
        ]
    }

    @Test(arguments: Place.allCases)
    func namesWorkOrAreRefused(_ place: Place) throws {
        for text in Self.texts {
            let database = try LocalTestDatabase(schema: ClientSchema())
            let json = schema(place, text).text
            let objects = try database.objects()
            let place = "\(place) '\(text)'"
            do {
                try database.write("SELECT powersync_replace_schema(?)", [json])
            } catch let error as DatabaseError {
                #expect(error.message?.isEmpty == false, "\(place)")
                #expect(try database.objects() == objects, "\(place): \(error)")
                continue
            }
            #expect(try database.integer("SELECT count(*) FROM ps_kv") != nil, "\(place)")
            let version = try database.schemaVersion()
            try database.write("SELECT powersync_replace_schema(?)", [json])
            #expect(try database.schemaVersion() == version, "\(place)")
            let table = try #require(try ClientSchema(json: json).tables.first)
            let view = SQLText.identifier(table.viewName)
            let column = SQLText.identifier(table.columns[0].name)
            try database.write("INSERT INTO \(view) (id, \(column), other) VALUES ('1', 'x', 2), ('2', 'y', 3)")
            try database.write("UPDATE \(view) SET other = 4 WHERE \(column) = 'x'")
            try database.write("UPDATE \(view) SET \(column) = 'z' WHERE id = '2'; DELETE FROM \(view) WHERE id = '1'")
            #expect(try database.rows("SELECT id, \(column), other FROM \(view)") == ["2|z|3"], "\(place)")
            let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
            #expect(writes.map(\.kind) == [.put, .put, .patch, .patch, .delete], "\(place)")
            #expect(writes[3].data == [table.columns[0].name: "z"], "\(place)")
            #expect(writes.allSatisfy { ExactText($0.table) == ExactText(table.name) }, "\(place)")
        }
    }

    @Test func rawTablesWithAnyName() throws {
        for text in Self.texts where !text.isEmpty && !text.contains("\0") {
            let database = try LocalTestDatabase(schema: ClientSchema())
            let name = SQLText.identifier(text)
            try database.write(
                "CREATE TABLE \(name) (id TEXT PRIMARY KEY, \(SQLText.identifier("c" + text)) TEXT UNIQUE)"
            )
            let structure = ClientRawTable.Structure(
                tableName: text,
                options: ClientTableOptions(trackPreviousValues: PreviousValues(), ignoresEmptyUpdates: true)
            )
            let table = ClientRawTable(name: text, structure: structure)
            for write in ["INSERT", "UPDATE", "DELETE"] {
                try database.run(
                    "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                    [table.json.text, text + write, write]
                )
            }
            try database.write("INSERT INTO \(name) VALUES ('1', 'x')")
            try database.write("INSERT OR REPLACE INTO \(name) VALUES ('2', 'x')")
            try database.write("UPDATE \(name) SET \(SQLText.identifier("c" + text)) = 'z'; DELETE FROM \(name)")
            let writes = try #require(try database.queue.read { try UploadQueue.batch($0) }?.writes)
            #expect(writes.map(\.kind) == [.put, .delete, .put, .patch, .delete], "\(text)")
        }
    }

    @Test(arguments: ["text", "TEXT", "Integer", "REAL"])
    func knownTypes(_ type: String) throws {
        let json: JSONObject = ["tables": [["name": "t", "columns": [["name": "c", "type": .string(type)]]]]]
        #expect(try ClientSchema(json: json.text).tables[0].columns[0].type.rawValue == type)
    }

    @Test(arguments: texts + ["numeric", "blob", "int", "text ", "text)", "text) AS x, (1", "varchar(10)", "TEXT/**/"])
    func otherTypesAreRefused(_ type: String) {
        let column: ExactJSON = ["name": "c", "type": .string(type), "ascending": true]
        let good: ExactJSON = ["name": "c", "type": "text"]
        for table in [
            ["name": "t", "columns": [column]],
            ["name": "t", "columns": [good], "indexes": [["name": "i", "columns": [column]]]],
        ] as [ExactJSON] {
            let json: JSONObject = ["tables": [table]]
            let error = #expect(throws: LocalDatabaseError.self) { try ClientSchema(json: json.text) }
            #expect(error?.message.contains("table 't'") == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("text, integer or real") == true)
        }
    }
}
