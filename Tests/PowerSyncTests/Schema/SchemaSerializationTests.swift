import Foundation
import PowerSync
import Testing

@Suite struct SchemaSerializationTests {
    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test func emptySchemaHasBothKeys() throws {
        #expect(try json(Schema()) == #"{"raw_tables":[],"tables":[]}"#)
    }

    @Test func plainTable() throws {
        let table = Table(
            name: "users",
            columns: [.text("name"), .integer("age"), .real("score")],
            indexes: [
                Index(
                    name: "i",
                    IndexedColumn.ascending("name"),
                    IndexedColumn.descending("age"),
                    IndexedColumn(column: "id")
                )
            ]
        )
        #expect(
            try json(table) == """
                {"columns":[{"name":"name","type":"text"},{"name":"age","type":"integer"},{"name":"score","type":"real"}],\
                "ignore_empty_update":false,"include_metadata":false,\
                "indexes":[{"columns":[{"ascending":true,"name":"name","type":"text"},\
                {"ascending":false,"name":"age","type":"integer"},{"ascending":true,"name":"id","type":"text"}],"name":"i"}],\
                "insert_only":false,"local_only":false,"name":"users"}
                """
        )
    }

    @Test(
        arguments: [
            (Table(name: "t", columns: [], viewNameOverride: "v"), #""name":"t","view_name":"v"}"#),
            (Table(name: "t", columns: [], localOnly: true), #""local_only":true"#),
            (Table(name: "t", columns: [], insertOnly: true), #""insert_only":true"#),
            (Table(name: "t", columns: [], trackMetadata: true), #""include_metadata":true"#),
            (Table(name: "t", columns: [], ignoreEmptyUpdates: true), #""ignore_empty_update":true"#),
            (
                Table(name: "t", columns: [], trackPreviousValues: TrackPreviousValuesOptions()),
                #""include_old":true,"include_old_only_when_changed":false"#
            ),
            (
                Table(name: "t", columns: [], trackPreviousValues: .init(columnFilter: ["a"], onlyWhenChanged: true)),
                #""include_old":["a"],"include_old_only_when_changed":true"#
            ),
        ]
    )
    func options(_ table: Table, _ fragment: String) throws {
        #expect(try json(table).contains(fragment))
    }

    @Test func indexOverUnknownColumnCannotBeSerialized() {
        let table = Table(name: "t", columns: [.text("a")], indexes: [.ascending(name: "i", column: "b")])
        #expect(throws: PowerSyncError.self) { try json(table) }
    }

    struct RawCase: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let table: RawTable
        var json: String { testDescription }

        init(_ json: String, _ table: RawTable) {
            testDescription = json
            self.table = table
        }
    }

    static let rawTables = [
        RawCase(
            #"{"delete":{"params":["Id"],"sql":"D"},"name":"t","put":{"params":["Id",{"Column":"a"},"Rest"],"sql":"P"}}"#,
            RawTable(
                name: "t",
                put: PendingStatement(sql: "P", parameters: [.id, .column("a"), .rest]),
                delete: PendingStatement(sql: "D", parameters: [.id])
            )
        ),
        RawCase(
            """
            {"clear":"C","ignore_empty_update":false,"include_metadata":false,"insert_only":false,"local_only":false,\
            "name":"t","table_name":"t"}
            """,
            RawTable(name: "t", schema: RawTableSchema(), clear: "C")
        ),
        RawCase(
            """
            {"delete":{"params":[],"sql":"D"},"ignore_empty_update":true,"include_metadata":false,"include_old":["a"],\
            "include_old_only_when_changed":true,"insert_only":true,"local_only":false,"name":"t",\
            "synced_columns":["a","b"],"table_name":"local"}
            """,
            RawTable(
                name: "t",
                schema: RawTableSchema(
                    tableName: "local",
                    syncedColumns: ["a", "b"],
                    options: TableOptions(
                        insertOnly: true,
                        trackPreviousValues: .init(columnFilter: ["a"], onlyWhenChanged: true),
                        ignoreEmptyUpdates: true
                    )
                ),
                delete: PendingStatement(sql: "D", parameters: [])
            )
        ),
    ]

    @Test(arguments: rawTables)
    func rawTable(_ example: RawCase) throws {
        #expect(try json(example.table) == example.json)
        // The same members, in an order of their own.
        let description = try JSONDecoder().decode(JsonValue.self, from: Data(example.table.jsonDescription().utf8))
        #expect(try json(description) == example.json)
    }

    @Test func schemaTakesBothKindsOfTables() throws {
        let raw = RawTable(name: "r", schema: RawTableSchema())
        let schema = Schema(Table(name: "a", columns: []), raw, Table(name: "b", columns: []))
        #expect(schema.tables.map(\.name) == ["a", "b"])
        #expect(schema.rawTables.map(\.name) == ["r"])
        #expect(try json(Schema(tables: [], rawTables: [raw])) == #"{"raw_tables":[\#(json(raw))],"tables":[]}"#)
    }
}
