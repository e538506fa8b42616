import PowerSync
import Testing

@Suite struct SchemaValidationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        /// The error, as text.
        let testDescription: String
        let schema: Schema

        init(_ error: String, _ table: Table..., rawTables: [RawTable] = []) {
            testDescription = error
            schema = Schema(tables: table, rawTables: rawTables)
        }
    }

    private static func columns(_ count: Int) -> [Column] { (0..<count).map { .text("c\($0)") } }

    static let invalid = [
        Case(#"tooManyColumns(tableName: "t", count: 64)"#, Table(name: "t", columns: columns(64))),
        Case(#"invalidViewName(viewName: "a b")"#, Table(name: "t", columns: [], viewNameOverride: "a b")),
        Case(
            #"trackPreviousForLocalTable(tableName: "t")"#,
            Table(name: "t", columns: [], localOnly: true, trackMetadata: true, trackPreviousValues: .init())
        ),
        Case(
            #"metadataForLocalTable(tableName: "t")"#,
            Table(name: "t", columns: [], localOnly: true, trackMetadata: true)
        ),
        Case(#"customIdColumn(tableName: "t")"#, Table(name: "t", columns: [.text("id")])),
        Case(
            #"duplicateColumn(tableName: "t", columnName: "a")"#,
            Table(name: "t", columns: [.text("a"), .integer("a")])
        ),
        Case(#"invalidColumnName(tableName: "t", columnName: "a#")"#, Table(name: "t", columns: [.text("a#")])),
        Case(
            #"duplicateIndex(tableName: "t", indexName: "i")"#,
            Table(name: "t", columns: [], indexes: [Index(name: "i", columns: []), Index(name: "i", columns: [])])
        ),
        Case(
            #"invalidIndexName(tableName: "t", indexName: "i.j")"#,
            Table(name: "t", columns: [], indexes: [Index(name: "i.j", columns: [])])
        ),
        Case(
            #"columnNotFound(tableName: "t", columnName: "a", indexName: "i")"#,
            Table(name: "t", columns: [.text("b")], indexes: [.ascending(name: "i", columns: ["id", "b", "a"])])
        ),
        Case(#"duplicateTableName("t")"#, Table(name: "t", columns: []), Table(name: "t", columns: [])),
        Case(#"duplicateTableName("t")"#, Table(name: "t", columns: []), rawTables: [raw("r", as: "t")]),
        Case(#"duplicateTableName("t")"#, rawTables: [raw("t"), raw("r", as: "t")]),
        Case(#"customIdColumn(tableName: "t")"#, Table(name: "t", columns: [.text("id")]), rawTables: [raw("t")]),
        Case(
            #"trackPreviousForLocalTable(tableName: "r")"#,
            rawTables: [raw("r", TableOptions(localOnly: true, trackMetadata: true, trackPreviousValues: .init()))]
        ),
        Case(
            #"metadataForLocalTable(tableName: "r")"#,
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

    @Test("The first problem is thrown", arguments: invalid)
    func firstProblemIsThrown(_ example: Case) {
        let error = #expect(throws: (any Error).self) { try example.schema.validate() }
        #expect(error.map { "\($0)" } == example.testDescription)
    }

    @Test("Every illegal character is found", arguments: ["\"", "'", "%", ",", ".", "#", "[", "]", " ", "\t", "\n"])
    func illegalCharacterIsFound(_ character: String) {
        #expect(throws: TableError.self) {
            try Table(name: "t", columns: [.text("a\(character)b")]).validate()
        }
    }

    static let valid = [
        Schema(),
        Schema(Table(name: "a table with spaces", columns: columns(63))),
        Schema(Table(name: "t", columns: [], localOnly: true, viewNameOverride: "v")),
        Schema(Table(name: "t", columns: []), explicit),
        Schema(Table(name: "t", columns: []), raw("t", as: "local"), raw("r")),
        Schema(Table(name: "t", columns: [.text("")], indexes: [.ascending(name: "i", column: "id")])),
    ]

    @Test(arguments: valid.indices)
    func validSchemaPasses(_ index: Int) throws {
        try Self.valid[index].validate()
    }
}
