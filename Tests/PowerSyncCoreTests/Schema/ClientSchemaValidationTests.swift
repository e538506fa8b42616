import PowerSyncProtocol
import Testing

@testable import PowerSyncCore

/// Case 30.
@Suite struct ClientSchemaValidationTests {
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let schema: ClientSchema
        let error: ClientSchemaError?

        init(
            _ description: String,
            _ tables: ClientTable...,
            rawTables: [ClientRawTable] = [],
            error: ClientSchemaError?
        ) {
            testDescription = description
            schema = ClientSchema(tables: tables, rawTables: rawTables)
            self.error = error
        }
    }

    private static func columns(_ names: String...) -> [ClientColumn] {
        names.map { ClientColumn(name: $0, type: .text) }
    }

    private static func columns(count: Int) -> [ClientColumn] {
        (0..<count).map { ClientColumn(name: "c\($0)", type: .text) }
    }

    private static func index(_ name: String, _ columns: String...) -> ClientIndex {
        ClientIndex(name: name, columns: columns.map { ClientIndex.Column(name: $0) })
    }

    static let cases: [Case] = [
        Case("nothing", error: nil),
        Case("no columns", ClientTable(name: "t", columns: []), error: nil),
        Case("1999 columns", ClientTable(name: "t", columns: columns(count: 1999)), error: nil),
        Case(
            "2000 columns",
            ClientTable(name: "t", columns: columns(count: 2000)),
            error: .tooManyColumns(table: "t", count: 2000, limit: 1999)
        ),
        Case("1997 columns, metadata", .items(columns(count: 1997), tracksMetadata: true), error: nil),
        Case(
            "1998 columns, metadata",
            .items(columns(count: 1998), tracksMetadata: true),
            error: .tooManyColumns(table: "items", count: 1998, limit: 1997)
        ),
        Case("empty name", ClientTable(name: "", columns: []), error: .invalidTableName("")),
        Case(
            "view name",
            ClientTable(name: "t", viewNameOverride: "a b", columns: []),
            error: .invalidViewName(table: "t", view: "a b")
        ),
        Case("NUL", ClientTable(name: "a\0b", columns: []), error: .invalidTableName("a\0b")),
        Case(
            "previous values of local table",
            .items(isLocalOnly: true, tracksMetadata: true, trackPreviousValues: PreviousValues()),
            error: .previousValuesForLocalTable("items")
        ),
        Case(
            "metadata of local table",
            .items(isLocalOnly: true, tracksMetadata: true),
            error: .metadataForLocalTable("items")
        ),
        Case("id", .items(columns("a", "id")), error: .customIDColumn(table: "items")),
        Case("ID", .items(columns("ID")), error: .customIDColumn(table: "items")),
        Case("same column", .items(columns("a", "b", "a")), error: .duplicateColumn(table: "items", column: "a")),
        Case("case of column", .items(columns("a", "A")), error: .duplicateColumn(table: "items", column: "A")),
        Case(
            "_deleted",
            .items(columns("_Deleted"), tracksMetadata: true),
            error: .reservedColumn(table: "items", column: "_Deleted")
        ),
        Case(
            "_metadata",
            .items(columns("_metadata"), tracksMetadata: true),
            error: .reservedColumn(table: "items", column: "_metadata")
        ),
        Case("_metadata without metadata", .items(columns("_metadata")), error: nil),
        Case(
            "metadata and previous values",
            .items(tracksMetadata: true, trackPreviousValues: PreviousValues()),
            error: nil
        ),
        Case("Z and z", .items(columns("Z", "z")), error: .duplicateColumn(table: "items", column: "z")),
        Case("signs beside the letters", .items(columns("@", "`", "{")), error: nil),
        Case("letters beyond ASCII", .items(columns("\u{c9}", "\u{e9}", "e\u{301}")), error: nil),
        Case(
            "case of index",
            ClientTable(name: "t", columns: columns("a"), indexes: [index("i", "a"), index("I", "a")]),
            error: .duplicateIndex(table: "t", index: "I")
        ),
        Case(
            "case of index column",
            ClientTable(name: "t", columns: columns("a"), indexes: [index("i", "A")]),
            error: .columnNotFound(table: "t", column: "A", index: "i")
        ),
        Case("_deleted without metadata", .items(columns("_deleted")), error: nil),
        Case("column name", .items(columns("a.b")), error: .invalidColumnName(table: "items", column: "a.b")),
        Case(
            "same index",
            ClientTable(name: "t", columns: columns("a"), indexes: [index("i", "a"), index("i", "id")]),
            error: .duplicateIndex(table: "t", index: "i")
        ),
        Case(
            "index name",
            ClientTable(name: "t", columns: columns("a"), indexes: [index("i%", "a")]),
            error: .invalidIndexName(table: "t", index: "i%")
        ),
        Case(
            "index column",
            ClientTable(name: "t", columns: columns("a"), indexes: [index("i", "a", "id", "b")]),
            error: .columnNotFound(table: "t", column: "b", index: "i")
        ),
        Case("same table", .items(), .items(isLocalOnly: true), error: .duplicateTable("items")),
        Case("case of table", .items(), ClientTable(name: "Items", columns: []), error: .duplicateTable("Items")),
        Case(
            "same view",
            .items(),
            ClientTable(name: "t", viewNameOverride: "ITEMS", columns: []),
            error: .duplicateView("ITEMS")
        ),
        Case("raw table", .items(), rawTables: [raw("r", "r")], error: nil),
        Case("raw table of same type", .items(), rawTables: [raw("items", "local")], error: nil),
        Case("raw table without structure", .items(), rawTables: [ClientRawTable(name: "items")], error: nil),
        Case("raw table with local name", .items(), rawTables: [raw("r", "Items")], error: .duplicateTable("Items")),
        Case("same raw table", rawTables: [raw("r", "t"), raw("s", "T")], error: .duplicateTable("T")),
        Case(
            "raw table with name of a view",
            ClientTable(name: "t", viewNameOverride: "v", columns: []),
            rawTables: [raw("r", "v")],
            error: .duplicateView("v")
        ),
        Case(
            "options of raw table",
            rawTables: [raw("r", "t", ClientTableOptions(isLocalOnly: true, tracksMetadata: true))],
            error: .metadataForLocalTable("r")
        ),
    ]

    private static func raw(
        _ name: String,
        _ tableName: String,
        _ options: ClientTableOptions = ClientTableOptions()
    ) -> ClientRawTable {
        ClientRawTable(name: name, structure: .init(tableName: tableName, options: options))
    }

    @Test(arguments: cases)
    func firstMistakeIsReported(_ test: Case) {
        let schema = test.schema
        if let error = test.error {
            #expect(throws: error) { try schema.validate() }
            #expect(error.description.contains("'"))
        } else {
            #expect(throws: Never.self) { try schema.validate() }
        }
    }

    @Test(arguments: ["a b", "a.b", "a'b", "a[", "a]", "a#", "a%", "a,", "a\"", "a\t", "a\u{a0}"])
    func charactersThatNamesMayNotHave(name: String) {
        #expect(throws: ClientSchemaError.invalidTableName(name)) {
            try ClientSchema(tables: [ClientTable(name: name, columns: [])]).validate()
        }
    }

    @Test(arguments: ["a", "_a", "1", "größe", "a-b", "a:b", "日本"])
    func charactersThatNamesMayHave(name: String) {
        #expect(throws: Never.self) {
            try ClientSchema(tables: [ClientTable(name: name, columns: [])]).validate()
        }
    }
}
