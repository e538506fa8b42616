import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Rows without an id are never sent: clients would take all of them for one.
///
/// Queries that give none are said when the config is compiled, as far as it or the schema shows it.
@Suite struct RowIDTests {
    private static let schema = SourceSchema(
        tables: [
            ("links", ["source", "target"]), ("item_labels", ["item_id", "label_id", "weight"]),
            ("settings", ["user_id", "theme"]), ("todos", ["id", "list_id"]), ("log_1", ["at", "text"]),
            ("log_2", ["id", "text"]), ("names", ["ID", "name"]),
        ].map { SourceSchema.Table(name: SourceTableName(schema: "main", name: $0), columns: $1) }
    )

    struct Query: Sendable, CustomTestStringConvertible {
        var text: String
        /// What the hint says to add; `nil` for no finding.
        var withSchema: String?
        var withoutSchema: String?
        var testDescription: String { text }

        /// A list, about which the schema tells nothing new.
        static func list(_ text: String, _ advice: String?) -> Query {
            Query(text: text, withSchema: advice, withoutSchema: advice)
        }

        static func star(_ text: String, _ advice: String?) -> Query {
            Query(text: text, withSchema: advice, withoutSchema: nil)
        }
    }

    static let queries: [Query] = [
        .list("SELECT source, target FROM links", "source || '-' || target AS id"),
        .list("SELECT item_id, label_id, weight FROM item_labels", "item_id || '-' || label_id AS id"),
        .list("SELECT theme, user_id FROM settings", "user_id AS id"),
        .list("SELECT upper(source) AS a FROM links", "a || '-' || b AS id"),
        .list("SELECT id AS uid, list_id FROM todos", "id || '-' || list_id AS id"),
        .list("SELECT list_id AS \"ID\" FROM todos", "list_id AS id"),
        .list("SELECT source || target AS id FROM links", nil), .list("SELECT id FROM todos", nil),
        .list("SELECT user_id AS id, theme FROM settings", nil),
        .star("SELECT * FROM links", "source || '-' || target AS id"),
        .star("SELECT links.* FROM links", "links.source || '-' || links.target AS id"),
        .star("SELECT * FROM item_labels", "item_id || '-' || label_id AS id"),
        .star("SELECT * FROM settings", "user_id AS id"), .star("SELECT * FROM names", #""ID" AS id"#),
        .star("SELECT *, source || '-' || target AS id FROM links", nil), .star("SELECT * FROM todos", nil),
        .star(#"SELECT * FROM "log_%""#, "at || '-' || text AS id"), .star("SELECT * FROM elsewhere", nil),
    ]

    @Test(arguments: queries) func streamsWarn(_ query: Query) {
        let yaml = config(TestStream("s", query.text))
        for (schema, advice) in [(Self.schema, query.withSchema), (nil, query.withoutSchema)] {
            let findings = SyncConfig.parse(yaml, schema: schema).diagnostics.filter { $0.code == "stream.no_id" }
            #expect(findings.count == (advice == nil ? 0 : 1))
            #expect(findings.allSatisfy { $0.severity == .warning })
            if let advice { #expect(findings.first?.hint?.contains("“\(advice)”") == true, "\(findings)") }
        }
    }

    @Test(arguments: queries) func listsOfDefinitionsAreErrorsAndStarsAreWarnings(_ query: Query) {
        let yaml = BucketDefinitionTests.yaml([], [query.text])
        for (schema, advice) in [(Self.schema, query.withSchema), (nil, query.withoutSchema)] {
            let result = SyncConfig.parse(yaml, schema: schema)
            let findings = result.diagnostics.filter { $0.code == "legacy.no_id" }
            #expect(findings.count == (advice == nil ? 0 : 1))
            let isList = query.withSchema == query.withoutSchema
            #expect(findings.allSatisfy { $0.severity == (isList ? .error : .warning) })
            #expect(result.isUsable == (advice == nil || !isList))
            if let advice { #expect(findings.first?.hint?.contains("“\(advice)”") == true, "\(findings)") }
        }
    }

    /// The advice for a query whose columns are known only by the schema, written into it.
    @Test(arguments: ["links", "item_labels", "settings", "names", "log_1"]) func theAdviceGivesEachRowAnID(
        table: String
    ) throws {
        let finding = try #require(
            SyncConfig.parse(config(TestStream("s", "SELECT * FROM \(table)")), schema: Self.schema).diagnostics.first
        )
        let advice = try #require(finding.hint?.split(separator: "“").dropFirst().first?.split(separator: "”").first)
        let mended = config(TestStream("s", "SELECT *, \(advice) FROM \(table)"))
        #expect(SyncConfig.parse(mended, schema: Self.schema).diagnostics == [])
        let columns = try #require(Self.schema.tables.first { $0.name.name == table }).columns
        let row = SourceRow(columns: columns.map { SourceRow.Column(name: $0, value: .text("v")) })
        #expect(try plan(mended).synced(table, row).count == 1)
    }

    // MARK: Rows

    struct ID: Sendable, CustomTestStringConvertible {
        /// `nil` for a row without the column.
        var value: SQLValue?
        /// The id on clients; `nil` for a row that is not sent.
        var id: String?
        var testDescription: String { "\(value.map(\.description) ?? "missing")" }
    }

    static let ids = [
        ID(value: nil, id: nil), ID(value: .some(.null), id: nil), ID(value: .blob([1]), id: nil),
        ID(value: "", id: nil),
        ID(value: .real(.nan), id: nil), ID(value: "x", id: "x"), ID(value: 7, id: "7"), ID(value: 7.0, id: "7"),
        ID(value: 0, id: "0"), ID(value: " ", id: " "), ID(value: .real(.infinity), id: "Infinity"),
    ]

    @Test(arguments: ids) func rowsWithoutAnIDAreNotSent(_ id: ID) throws {
        var columns = [SourceRow.Column(name: "a", value: "x"), SourceRow.Column(name: "ks", value: "[1,2]")]
        if let value = id.value { columns.append(SourceRow.Column(name: "id", value: value)) }
        let row = SourceRow(columns: columns)
        let queries = [
            "SELECT * FROM t", "SELECT id, a FROM t", "SELECT id AS id FROM t WHERE a = auth.user_id()",
            "SELECT a, id, id FROM t", "SELECT id FROM t WHERE auth.user_id() IN ks",
        ]
        for query in queries {
            let plan = try plan(query: query)
            var errors: [RowEvaluationError] = []
            let rows = plan.evaluate(row, of: SourceTableName(schema: "main", name: "t"), bucketPrefix: "1#") {
                errors.append($0)
            }
            #expect(Set(rows.map(\.id)) == Set([id.id].compactMap { $0 }), "\(query)")
            #expect(errors.map(\.underlyingError) == (id.id == nil ? [.noID] : []), "\(query)")
            #expect(rows.isEmpty == (id.id == nil))
        }
    }

    /// One query of several: the others go on, and so does what rows lead to.
    @Test func otherQueriesGoOn() throws {
        let plan = try plan(
            config(
                TestStream("a", "SELECT source FROM links"),
                TestStream("b", "SELECT source AS id FROM links"),
                TestStream("c", "SELECT * FROM t WHERE x IN (SELECT target FROM links WHERE source = auth.user_id())")
            )
        )
        let row: SourceRow = ["source": "u1", "target": "y"]
        #expect(plan.synced("links", row) == [#"1#b|0[] links/u1 {"id":"u1"}"#])
        #expect(plan.evaluateParameters(row, of: SourceTableName(schema: "main", name: "links")).count == 1)
    }

    @Test func aRunningSourceNamesWhatIsNotSent() throws {
        let plan = try plan(
            config(
                TestStream("a", "SELECT * FROM links"),
                TestStream("b", "SELECT *, source AS id FROM links"),
                TestStream("c", "SELECT source FROM links"),
                TestStream("d", #"SELECT * FROM "lin%""#),
                TestStream("e", "SELECT uid AS id FROM links")
            )
        )
        let table = SourceTableName(schema: "main", name: "links")
        #expect(plan.definitionsWithoutID(of: table, among: ["source", "target"]) == ["a|0", "c|0", "d|0", "e|0"])
        #expect(plan.definitionsWithoutID(of: table, among: ["id", "source"]) == ["c|0", "e|0"])
        let other = SourceTableName(schema: "main", name: "other")
        #expect(plan.definitionsWithoutID(of: other, among: ["source"]) == [])
    }
}
