import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Configs as people have published them, with what is right for each of them.
@Suite struct PublishedConfigTests {
    /// The findings as `code` and hint.
    private func findings(_ yaml: String, schema: SourceSchema? = nil) -> [ConfigDiagnostic] {
        SyncConfig.parse(yaml, schema: schema).diagnostics
    }

    @Test func legacyQueriesMatchExpressionsOfTheRow() async throws {
        let plan = try plan(
            """
            bucket_definitions:
              orgs:
                parameters: SELECT id AS org FROM orgs WHERE owner::text = request.user_id()
                data: [SELECT * FROM things WHERE org = bucket.org]
              mails:
                parameters: SELECT id AS org FROM orgs WHERE lower(email) = request.jwt() ->> 'email'
                data: [SELECT * FROM things WHERE org = bucket.org]
              json:
                parameters: SELECT id AS org FROM orgs WHERE request.user_id() IN json_extract(meta, '$.owners')
                data: [SELECT * FROM things WHERE org = bucket.org]
              members:
                parameters: SELECT id AS org FROM orgs WHERE request.user_id() IN (meta -> 'members')
                data: [SELECT * FROM things WHERE org = bucket.org]
              owner:
                parameters: SELECT id AS org FROM orgs WHERE meta ->> 'owner' = request.user_id()
                data: [SELECT * FROM things WHERE org = bucket.org]
            """
        )
        let index = ParameterStore(
            plan,
            [
                "orgs": [
                    ["id": "o1", "owner": 7, "email": "x@y", "meta": #"{"owners":["9"]}"#],
                    ["id": "o2", "owner": 8, "email": "A@B", "meta": "{}"],
                    ["id": "o3", "owner": 8, "meta": #"{"owners":["7","8"]}"#],
                    ["id": "o4", "meta": #"{"members":["7"],"owners":{"a":"7"}}"#],
                    ["id": "o5", "meta": #"{"owner":"7","members":"7"}"#],
                ]
            ]
        )
        let names = try await plan.bucketNames(token: ["sub": "7", "email": "a@b"], index: index)
        #expect(
            names == [
                #"1#json["o3"]"#, #"1#mails["o2"]"#, #"1#members["o4"]"#, #"1#orgs["o1"]"#, #"1#owner["o5"]"#,
            ]
        )
    }

    @Test func tablesWithoutAnIDWarnAndAreLeftOut() async {
        let links = SourceSchema(
            tables: [
                SourceSchema.Table(
                    name: SourceTableName(schema: "main", name: "links"),
                    columns: ["source", "target", "owner_id"]
                )
            ]
        )
        let yaml = """
            config: {edition: 3}
            streams:
              list: {auto_subscribe: true, query: "SELECT source, target FROM links"}
              star: {auto_subscribe: true, query: "SELECT * FROM links"}
            """
        #expect(findings(yaml).map { "\($0.line) \($0.code)" } == ["3 stream.no_id"])
        #expect(findings(yaml, schema: links).map { "\($0.line) \($0.code)" } == ["3 stream.no_id", "4 stream.no_id"])
        let definition = "bucket_definitions:\n  g: {data: [\"SELECT * FROM links\"]}"
        #expect(findings(definition, schema: links).map(\.code) == ["legacy.no_id"])
        #expect(SyncConfig.parse(definition, schema: links).isUsable)

        let test = ConfigTest(
            parsing: """
                config: {path: links.yaml}
                tables:
                  links: [{source: a, target: b}, {source: c, target: d}, {source: e, target: f}]
                cases:
                  - {name: no row has an id, as: u1, receives: {links: 0}}
                """
        )
        let result = await test.run(config: yaml)
        #expect(result.isSuccess)
        // Three rows, of two queries.
        #expect(result.rowProblems.map(\.error.underlyingError) == Array(repeating: .noID, count: 6))
        let labels = """
            config: {edition: 3}
            streams:
              labels:
                auto_subscribe: true
                queries:
                  - SELECT item_id, label_id, weight FROM item_labels
                  - SELECT * FROM item_labels
            """
        #expect(findings(labels).map { "\($0.line):\($0.column) \($0.code)" } == ["6:16 stream.no_id"])
        #expect(findings(labels).first?.hint?.contains("item_id || '-' || label_id AS id") == true)
    }

    @Test func aJoinInADefinitionIsPrintedAsAStream() throws {
        let finding = try #require(
            findings(
                """
                bucket_definitions:
                  todos:
                    parameters: SELECT request.user_id() AS user_id
                    data:
                      - SELECT todos.* FROM todos JOIN lists ON lists.id = todos.list_id WHERE lists.owner_id = bucket.user_id
                """
            ).first
        )
        #expect(finding.code == "sql.unsupported_clause")
        let line = try #require(finding.hint?.split(separator: "write: ").last)
        #expect(
            line == """
                streams: {todos: {auto_subscribe: true, query: "SELECT todos.* FROM todos JOIN lists ON lists.id = todos.list_id \
                WHERE lists.owner_id = auth.user_id()"}}
                """
        )
        let plan = try plan("config: {edition: 3}\n\(line)")
        #expect(
            plan.synced("todos", ["id": 1, "list_id": "l1"]) == [#"1#todos|0["l1"] todos/1 {"id":1,"list_id":"l1"}"#]
        )
    }

    struct Definition: Sendable, CustomTestStringConvertible {
        var parameters: [String]
        var data: [String]
        /// The stream that is printed; `nil` where none means the same.
        var queries: String?
        var testDescription: String { "\(parameters) \(data)" }
    }

    private static let user = "SELECT request.user_id() AS u"

    static let definitions = [
        Definition(
            parameters: [
                "SELECT m.list_id AS l FROM members m JOIN users u ON u.id = m.user WHERE u.login = request.user_id()"
            ],
            data: [
                "SELECT * FROM todos WHERE list_id = bucket.l",
                "SELECT * FROM lists WHERE bucket.l = id AND NOT archived",
            ],
            queries: """
                queries: ["SELECT * FROM todos WHERE list_id IN (SELECT m.list_id FROM members m JOIN users u ON u.id = m.user \
                WHERE u.login = auth.user_id())", "SELECT * FROM lists WHERE id IN (SELECT m.list_id FROM members m JOIN users u \
                ON u.id = m.user WHERE u.login = auth.user_id()) AND NOT archived"]
                """
        ),
        Definition(
            parameters: ["SELECT token_parameters.org AS o WHERE request.jwt() ->> 'role' = 'admin'"],
            data: ["SELECT DISTINCT * FROM t WHERE org = bucket.o"],
            queries: """
                query: "SELECT DISTINCT * FROM t WHERE org = auth.parameter('$.parameters.org') AND (auth.parameters() ->> \
                'role' = 'admin')"
                """
        ),
        Definition(
            parameters: [],
            data: ["SELECT t.* FROM t, u WHERE t.a = u.id AND u.b = 'x'"],
            queries: #"query: "SELECT t.* FROM t, u WHERE t.a = u.id AND u.b = 'x'""#
        ),
        // Edition 3 takes NULL for unequal: more rows than were meant.
        Definition(parameters: [user], data: ["SELECT t.* FROM t, x WHERE t.a = bucket.u AND t.b != x.c"]),
        Definition(parameters: [user, user], data: ["SELECT t.* FROM t, x WHERE t.a = bucket.u AND t.b = x.c"]),
        Definition(
            parameters: ["SELECT a AS u, b AS v FROM m WHERE k = request.user_id()"],
            data: ["SELECT t.* FROM t, x WHERE t.a = bucket.u AND t.c = bucket.v AND t.b = x.c"]
        ),
        Definition(parameters: [user], data: ["SELECT t.* FROM t LEFT JOIN x ON t.b = x.c WHERE t.a = bucket.u"]),
        Definition(parameters: [user], data: ["SELECT t.* FROM t, x -- all\nWHERE t.a = bucket.u AND t.b = x.c"]),
        Definition(parameters: [user], data: ["SELECT t.* FROM t, x WHERE bucket.u IN t.a AND t.b = x.c"]),
    ]

    @Test(arguments: definitions) func streamsThatMeanTheSameArePrinted(_ test: Definition) throws {
        let yaml = BucketDefinitionTests.yaml(test.parameters, test.data, options: "priority: 1")
        let hints = findings(yaml).compactMap(\.hint).filter { $0.contains("write: streams:") }
        guard let queries = test.queries else {
            #expect(hints.isEmpty)
            return
        }
        let line = try #require(hints.first?.split(separator: "write: ").last)
        #expect(line == "streams: {a: {auto_subscribe: true, priority: 1, \(queries)}}")
        #expect(SyncConfig.parse("config: {edition: 3}\n\(line)").isUsable)
    }

    @Test func aliasesThatRenameAreSaid() {
        let stream = """
            config: {edition: 3}
            streams:
              clients: {auto_subscribe: true, query: "SELECT c.id, c.name FROM clients c WHERE c.owner_id = auth.user_id()"}
            """
        let definition = """
            bucket_definitions:
              orders:
                parameters: SELECT request.user_id() AS user_id
                data: ["SELECT o.id, o.total FROM orders o WHERE o.user_id = bucket.user_id"]
            """
        for (yaml, table) in [(stream, "clients"), (definition, "orders")] {
            #expect(findings(yaml).map(\.code) == ["table.alias_renames"])
            #expect(findings(yaml).first?.message.contains("“\(table)” stays empty") == true)
            #expect(SyncConfig.parse(yaml).isUsable)
        }
    }

    @Test func aMissingEditionIsOneFinding() {
        let yaml = """
            with: {mine: SELECT id FROM lists WHERE owner_id = auth.user_id()}
            streams:
              a: {auto_subscribe: true, query: "SELECT * FROM a WHERE l IN mine"}
              b: {auto_subscribe: true, queries: ["SELECT * FROM b", "SELECT * FROM d"]}
              c: {auto_subscribe: true, with: {x: SELECT id FROM b}, query: "SELECT * FROM c WHERE b IN x"}
            """
        let found = findings(yaml).filter { $0.severity == .error }
        #expect(found.map(\.code) == ["streams.edition"])
        #expect(found.first?.hint?.contains("config: {edition: 3}") == true)
        #expect(SyncConfig.parse("config: {edition: 3}\n" + yaml).isUsable)
    }

    @Test func aSchemaFileIsOfTheDefaultSchema() {
        var schema = SourceSchema(
            tables: [SourceSchema.Table(name: SourceTableName(schema: "main", name: "things"), columns: ["id"])]
        )
        let yaml = config(TestStream("a", "SELECT public.things.id FROM public.things"))
        #expect(findings(yaml, schema: schema).map(\.code) == ["schema.table_missing"])
        // A database says in which schema it has its tables.
        let hint = findings(yaml, schema: schema).first?.hint ?? ""
        #expect(hint.contains("write things, without a schema"))
        #expect(findings(config(TestStream("a", "SELECT things.id FROM things")), schema: schema) == [])
        schema.defaultSchemaAliases = ["public"]
        #expect(findings(yaml, schema: schema) == [])
        #expect(findings(config(TestStream("a", "SELECT public.things.id FROM things")), schema: schema) == [])
        #expect(findings(config(TestStream("a", "SELECT * FROM other.things")), schema: schema).count == 1)
    }
}
