import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Every name that bucket definitions have besides columns and functions is bound where it belongs, and refused elsewhere:
/// taken for a column it would be NULL, and a condition on it true or false for all rows
/// (docs/sync-config.md "Bucket definitions").
@Suite struct DefinitionNamesTests {
    // MARK: Values of the request

    struct Value: Sendable, CustomTestStringConvertible {
        var name: String
        /// The key of the bucket for the request of this suite.
        var key: String
        /// What is said about the name in a data query, and in a stream.
        var inData: String
        var inStream: String
        var testDescription: String { name }
    }

    static let values = [
        Value(
            name: "request.user_id()",
            key: #"["u1"]"#,
            inData: "sql.request_function",
            inStream: "sql.request_function"
        ),
        Value(
            name: "request.jwt() ->> 'role'",
            key: #"["admin"]"#,
            inData: "sql.request_function",
            inStream: "sql.request_function"
        ),
        Value(
            name: "request.parameters() ->> 'page'",
            key: "[7]",
            inData: "sql.request_function",
            inStream: "sql.request_function"
        ),
        Value(
            name: "token_parameters.user_id",
            key: #"["u1"]"#,
            inData: "sql.unknown_table",
            inStream: "sql.unknown_table"
        ),
        Value(
            name: "token_parameters.org",
            key: #"["o1"]"#,
            inData: "sql.unknown_table",
            inStream: "sql.unknown_table"
        ),
        Value(name: "user_parameters.page", key: "[7]", inData: "sql.unknown_table", inStream: "sql.unknown_table"),
    ]

    private static let token: JSONObject = [
        "sub": "u1", "role": "admin", "parameters": ["org": "o1", "user_id": "somebody else"],
    ]

    @Test(arguments: values) func parameterQueriesReadTheRequest(_ value: Value) async throws {
        let parameterQueries = [
            "SELECT \(value.name) AS u",
            "SELECT \(value.name) AS u FROM x WHERE k = \(value.name)",
            "SELECT k AS u FROM x WHERE k = \(value.name)",
            "SELECT \(value.name) AS u FROM json_each(request.jwt() -> 'one')",
        ]
        for query in parameterQueries {
            let plan = try plan(BucketDefinitionTests.yaml([query], ["SELECT * FROM t WHERE a = bucket.u"]))
            let index = ParameterStore(plan, ["x": ["u1", "admin", 7, "o1", "other", nil].map { ["k": $0] }])
            var token = Self.token
            token["one"] = [1]
            let names = try await plan.bucketNames(token: token, parameters: ["page": 7], index: index)
            #expect(names == ["1#a\(value.key)"], "\(query)")
        }
    }

    @Test(arguments: values) func valuesOfTheRequestAreRefusedElsewhere(_ value: Value) {
        for condition in ["\(value.name) = b", "NOT (\(value.name) = b)", "b IN \(value.name)"] {
            let definition = BucketDefinitionTests.yaml(
                ["SELECT request.user_id() AS u"],
                ["SELECT * FROM t WHERE a = bucket.u AND \(condition)"]
            )
            #expect(errors(definition) == [value.inData])
            #expect(errors(config(TestStream("s", "SELECT * FROM t WHERE \(condition)"))) == [value.inStream])
        }
        let column = BucketDefinitionTests.yaml([], ["SELECT id, \(value.name) AS v FROM t"])
        #expect(errors(column) == [value.inData])
    }

    @Test(arguments: [
        "SELECT bucket.u AS u", "SELECT id AS u FROM x WHERE k = bucket.u",
        "SELECT id AS u FROM x WHERE NOT (k = bucket.u)",
        "SELECT value AS u FROM json_each(bucket.u)",
    ])
    func parametersOfBucketsBelongToDataQueries(query: String) {
        let yaml = BucketDefinitionTests.yaml([query], ["SELECT * FROM t WHERE a = bucket.u"])
        #expect(errors(yaml) == ["sql.unknown_table"])
    }

    @Test(arguments: ["sub", "iss", "aud", "exp", "nbf", "iat", "jti", "parameters"])
    func aClaimOfTheTokenItselfIsNoTokenParameter(claim: String) {
        let yaml = BucketDefinitionTests.yaml(
            ["SELECT token_parameters.\(claim) AS u"],
            ["SELECT * FROM t WHERE a = bucket.u"]
        )
        #expect(SyncConfig.parse(yaml).diagnostics.map(\.code) == ["legacy.token_claim"])
    }

    // MARK: Names that are no tables

    @Test(arguments: [
        "token_parameters", "user_parameters", "bucket", "public.token_parameters", #""user_parameters""#,
    ])
    func namesOfTheLanguageAreNoTables(name: String) {
        for query in ["SELECT user_id AS u FROM \(name)", "SELECT FROM \(name) WHERE k = request.user_id()"] {
            #expect(errors(BucketDefinitionTests.yaml([query], ["SELECT * FROM t"])).first == "sql.unknown_table")
            #expect(errors(BucketDefinitionTests.yaml([query], ["SELECT * FROM t"])).count == 1)
        }
    }

    @Test(arguments: ["token_parameters", "user_parameters"]) func orInDataQueries(name: String) {
        #expect(errors(BucketDefinitionTests.yaml([], ["SELECT * FROM \(name)"])) == ["sql.unknown_table"])
    }

    // MARK: Lookups of all rows

    struct Lookup: Sendable, CustomTestStringConvertible {
        var query: String
        var findings: [String]
        var testDescription: String { query }
    }

    static let lookups = [
        Lookup(query: "SELECT id AS u FROM x", findings: ["lookup.unbounded"]),
        Lookup(query: "SELECT id AS u FROM x WHERE NOT archived", findings: ["lookup.unbounded"]),
        Lookup(query: "SELECT id AS u FROM x WHERE request.jwt() ->> 'role' = 'admin'", findings: ["lookup.unbounded"]),
        Lookup(query: "SELECT id AS u FROM x WHERE k = request.user_id()", findings: []),
        Lookup(query: "SELECT id AS u FROM x WHERE k IN request.jwt() -> 'ks'", findings: []),
        Lookup(query: "SELECT id AS u FROM x WHERE request.user_id() IN ks", findings: []),
        Lookup(query: "SELECT value AS u FROM json_each(request.jwt() -> 'ks')", findings: []),
        Lookup(query: "SELECT request.user_id() AS u", findings: []),
    ]

    @Test(arguments: lookups) func tablesThatAreReadForEveryClientAreSaid(_ test: Lookup) {
        let yaml = BucketDefinitionTests.yaml([test.query], ["SELECT * FROM t WHERE a = bucket.u"])
        #expect(SyncConfig.parse(yaml).diagnostics.map(\.code) == test.findings)
    }

    private func errors(_ yaml: String) -> [String] {
        SyncConfig.parse(yaml).diagnostics.filter { $0.severity == .error }.map(\.code)
    }
}

extension DefinitionNamesTests {
    // MARK: Suffixes of wildcards

    struct Suffix: Sendable, CustomTestStringConvertible {
        var query: String
        /// Rows of `t_2023` and `t_2024` that are synced.
        var synced: [String]
        var testDescription: String { query }
    }

    static let suffixes = [
        Suffix(query: #"SELECT id FROM "t_%" WHERE _table_suffix = '2023'"#, synced: ["t_2023"]),
        Suffix(query: #"SELECT id FROM "t_%" WHERE NOT (_table_suffix = '2023')"#, synced: ["t_2024"]),
        Suffix(query: #"SELECT id FROM "t_%" WHERE _table_suffix != '2023'"#, synced: ["t_2024"]),
        Suffix(query: #"SELECT id FROM "t_%" AS t WHERE t._table_suffix = '2024'"#, synced: ["t_2024"]),
        Suffix(query: #"SELECT id FROM "t_%" WHERE "_table_suffix" = '2024'"#, synced: ["t_2024"]),
        Suffix(
            query: #"SELECT id, _table_suffix AS s FROM "t_%" WHERE substring(_table_suffix, 4) = '3'"#,
            synced: ["t_2023"]
        ),
        Suffix(query: #"SELECT id FROM "main".t_2023 WHERE "_table_suffix" IS NULL"#, synced: ["t_2023"]),
    ]

    @Test(arguments: suffixes) func theSuffixOfAWildcardIsBound(_ test: Suffix) throws {
        let yamls = [
            BucketDefinitionTests.yaml([], [test.query]), BucketDefinitionTests.yaml([], [test.query], edition: 2),
            "config: {edition: 2}\nstreams: {s: {auto_subscribe: true, query: \(yamlQuoted(test.query))}}",
        ]
        for yaml in yamls {
            let plan = try plan(yaml)
            let synced = ["t_2023", "t_2024"].filter { !plan.synced($0, ["id": 1]).isEmpty }
            #expect(synced == test.synced)
        }
    }

    @Test func parameterQueriesBindItToo() async throws {
        let plan = try plan(
            BucketDefinitionTests.yaml(
                [#"SELECT id AS u FROM "x_%" WHERE k = request.user_id() AND NOT (_table_suffix = 'a')"#],
                ["SELECT * FROM t WHERE a = bucket.u"]
            )
        )
        let index = ParameterStore(plan, ["x_a": [["id": 1, "k": "u1"]], "x_b": [["id": 2, "k": "u1"]]])
        #expect(try await plan.bucketNames(index: index) == ["1#a[2]"])
    }

    @Test(arguments: [
        ("SELECT id FROM t WHERE NOT (_table_suffix = '2023')", 2, true),
        ("SELECT id, _table_suffix FROM t", 2, true),
        (#"SELECT id FROM "tenant_%".t WHERE _table_suffix = 'x'"#, 2, true),
        (#"SELECT id FROM "t_%" WHERE NOT (_table_suffix = '2023')"#, 3, true),
        (#"SELECT id FROM "t_%" WHERE NOT ("_table_suffix" = '2023')"#, 3, false),
        ("SELECT id FROM t WHERE _table_suffix = '2023'", 3, false),
        (#"SELECT id FROM "t_%" WHERE NOT ("t_%".table_suffix() = '2023')"#, 3, false),
    ])
    func aSuffixThatIsNoneIsRefused(query: String, edition: Int, isRefused: Bool) {
        var yamls = ["config: {edition: \(edition)}\nstreams: {s: {auto_subscribe: true, query: \(yamlQuoted(query))}}"]
        if edition < 3 { yamls.append(BucketDefinitionTests.yaml([], [query])) }
        for yaml in yamls {
            let errors = SyncConfig.parse(yaml).diagnostics.filter { $0.severity == .error }
            #expect(errors.map(\.code) == (isRefused ? ["sql.unknown_column"] : []))
        }
    }
}
