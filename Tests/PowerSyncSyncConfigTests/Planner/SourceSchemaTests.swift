import PowerSyncSyncConfig
import Testing

/// Warnings that need to know the source (docs/sync-config.md "Findings").
@Suite struct SourceSchemaTests {
    private static let schema = SourceSchema(tables: [
        SourceSchema.Table(name: SourceTableName(schema: "main", name: "todos"), columns: ["id", "userId", "title"]),
        SourceSchema.Table(name: SourceTableName(schema: "main", name: "Lists"), columns: ["id"]),
        SourceSchema.Table(name: SourceTableName(schema: "main", name: "log_1"), columns: ["id", "a"]),
        SourceSchema.Table(name: SourceTableName(schema: "main", name: "log_2"), columns: ["id", "b"]),
    ])

    static let cases: [(query: String, findings: [String], hint: String?)] = [
        ("SELECT id, title FROM todos", [], nil),
        ("SELECT id FROM todos WHERE userId = auth.user_id()", ["schema.column_missing"], "write \"userId\""),
        ("SELECT id FROM todos WHERE \"userId\" = auth.user_id()", [], nil),
        ("SELECT id, titel FROM todos", ["schema.column_missing"], "“title”"),
        ("SELECT * FROM lists", ["schema.table_missing"], "write \"Lists\""),
        ("SELECT * FROM todo", ["schema.table_missing"], "“todos”"),
        ("SELECT * FROM other.todos", ["schema.table_missing"], nil),
        ("SELECT id, a, b FROM \"log_%\"", [], nil), ("SELECT id, c FROM \"log_%\"", ["schema.column_missing"], nil),
        ("SELECT * FROM \"x_%\"", ["schema.table_missing"], nil),
        ("SELECT main.todos.id FROM todos", [], nil), ("SELECT public.todos.id FROM todos", ["sql.column_schema"], nil),
    ]

    @Test(arguments: cases) func warnsAboutWhatTheSourceLacks(query: String, findings: [String], hint: String?) {
        let result = SyncConfig.parse(config(TestStream("s", query)), schema: Self.schema)
        #expect(result.diagnostics.map(\.code) == findings)
        if let hint { #expect(result.diagnostics.first?.hint?.contains(hint) == true) }
    }

    @Test func aCommonTableThatHidesATableIsReported() {
        let text = """
            config: {edition: 3}
            with: {TODOS: SELECT id FROM todos WHERE "userId" = auth.user_id()}
            streams: {s: {query: SELECT * FROM "Lists" WHERE id IN todos}}
            """
        #expect(SyncConfig.parse(text, schema: Self.schema).diagnostics.map(\.code) == ["cte.shadows_table"])
    }

    @Test func thePlanDoesNotDependOnTheSchema() throws {
        let text = config(
            TestStream("s", "SELECT id, titel FROM todos WHERE userId = auth.user_id() OR x IN (SELECT id FROM lists)")
        )
        #expect(SyncConfig.parse(text, schema: Self.schema).plan == SyncConfig.parse(text).plan)
        #expect(SyncConfig.parse(text).plan != nil)
    }

    @Test func aPlanKnowsTheColumnsThatATableLacks() throws {
        let plan = try plan(
            query: """
                SELECT todos.id, upper(todos.titel) AS t FROM todos, json_each(todos.tags) j
                WHERE j.value = auth.user_id() AND todos.listId IN (SELECT id FROM lists WHERE ownerId = auth.user_id())
                    OR todos.id IN (SELECT x FROM "log_%" WHERE y = auth.user_id())
                """
        )
        func missing(_ table: String, _ columns: String...) -> [String] {
            plan.missingColumns(of: SourceTableName(schema: "main", name: table), among: columns)
        }
        #expect(missing("todos", "id", "listId") == ["tags", "listid", "titel"])
        #expect(missing("lists", "id", "ownerid").isEmpty)
        #expect(missing("log_1").isEmpty)
    }
}
