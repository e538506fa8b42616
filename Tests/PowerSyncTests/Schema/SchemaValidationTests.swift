import PowerSync
import Testing

@Suite struct SchemaValidationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let error: any Error
        let schema: Schema
        var testDescription: String { "\(error)" }

        init(_ error: any Error, _ table: Table..., rawTables: [RawTable] = []) {
            self.error = error
            schema = Schema(tables: table, rawTables: rawTables)
        }
    }

    private static func columns(_ count: Int) -> [Column] { (0..<count).map { .text("c\($0)") } }

    static let invalid = [
        Case(TableError.tooManyColumns(tableName: "t", count: 64), Table(name: "t", columns: columns(64))),
        Case(TableError.invalidViewName(viewName: "a b"), Table(name: "t", columns: [], viewNameOverride: "a b")),
        Case(
            TableError.trackPreviousForLocalTable(tableName: "t"),
            Table(name: "t", columns: [], localOnly: true, trackMetadata: true, trackPreviousValues: .init())
        ),
        Case(
            TableError.metadataForLocalTable(tableName: "t"),
            Table(name: "t", columns: [], localOnly: true, trackMetadata: true)
        ),
        Case(TableError.customIdColumn(tableName: "t"), Table(name: "t", columns: [.text("id")])),
        Case(
            TableError.duplicateColumn(tableName: "t", columnName: "a"),
            Table(name: "t", columns: [.text("a"), .integer("a")])
        ),
        Case(TableError.customIdColumn(tableName: "u"), Table(name: "u", columns: [.text("ID")])),
        Case(
            TableError.duplicateColumn(tableName: "t", columnName: "Name"),
            Table(name: "t", columns: [.text("name"), .text("Name")])
        ),
        Case(
            TableError.duplicateColumn(tableName: "t", columnName: "_Deleted"),
            Table(name: "t", columns: [.text("_Deleted")], trackMetadata: true)
        ),
        Case(TableError.invalidColumnName(tableName: "t", columnName: "a#"), Table(name: "t", columns: [.text("a#")])),
        Case(
            TableError.duplicateIndex(tableName: "t", indexName: "i"),
            Table(name: "t", columns: [], indexes: [Index(name: "i", columns: []), Index(name: "i", columns: [])])
        ),
        Case(
            TableError.invalidIndexName(tableName: "t", indexName: "i.j"),
            Table(name: "t", columns: [], indexes: [Index(name: "i.j", columns: [])])
        ),
        Case(
            TableError.columnNotFound(tableName: "t", columnName: "a", indexName: "i"),
            Table(name: "t", columns: [.text("b")], indexes: [.ascending(name: "i", columns: ["id", "b", "a"])])
        ),
        Case(SchemaError.duplicateTableName("t"), Table(name: "t", columns: []), Table(name: "t", columns: [])),
        Case(SchemaError.duplicateTableName("t"), Table(name: "t", columns: []), rawTables: [raw("r", as: "t")]),
        Case(SchemaError.duplicateTableName("t"), rawTables: [raw("t"), raw("r", as: "t")]),
        Case(
            TableError.customIdColumn(tableName: "t"),
            Table(name: "t", columns: [.text("id")]),
            rawTables: [raw("t")]
        ),
        Case(
            TableError.trackPreviousForLocalTable(tableName: "r"),
            rawTables: [raw("r", TableOptions(localOnly: true, trackMetadata: true, trackPreviousValues: .init()))]
        ),
        Case(
            TableError.metadataForLocalTable(tableName: "r"),
            rawTables: [raw("r", TableOptions(localOnly: true, trackMetadata: true))]
        ),
    ]

    private static func raw(
        _ name: String,
        as tableName: String? = nil,
        _ options: TableOptions = TableOptions()
    ) -> RawTable {
        RawTable(name: name, schema: RawTableSchema(tableName: tableName, options: options))
    }

    private static let explicit = RawTable(
        name: "t",
        put: PendingStatement(sql: "", parameters: []),
        delete: PendingStatement(sql: "", parameters: [])
    )

    @Test(arguments: invalid)
    func firstProblemIsThrown(_ example: Case) {
        let error = #expect(throws: (any Error).self) { try example.schema.validate() }
        // No two of them have the same text.
        #expect(error.map { "\($0)" } == "\(example.error)")
    }

    @Test(arguments: ["\"", "'", "%", ",", ".", "#", "[", "]", " ", "\t", "\n"])
    func everyIllegalCharacterIsFound(_ character: String) {
        #expect(throws: TableError.self) {
            try Table(name: "t", columns: [.text("a\(character)b")]).validate()
        }
    }

    static let valid = [
        Schema(),
        Schema(Table(name: "a table with spaces", columns: columns(63))),
        Schema(Table(name: "t", columns: [], localOnly: true, viewNameOverride: "v")),
        Schema(Table(name: "t", columns: []), explicit),
        Schema(Table(name: "t", columns: [.text("_metadata"), .text("_deleted")])),
        Schema(Table(name: "t", columns: []), raw("t", as: "local"), raw("r")),
        Schema(Table(name: "t", columns: [.text("")], indexes: [.ascending(name: "i", column: "id")])),
    ]

    @Test(arguments: valid.indices)
    func validSchemaPasses(_ index: Int) throws {
        try Self.valid[index].validate()
    }
}
