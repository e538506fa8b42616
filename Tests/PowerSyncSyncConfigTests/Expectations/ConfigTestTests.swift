import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Tests of sync configs: what is read from a file, and what comes out.
@Suite struct ConfigTestTests {
    /// What comes out of a test whose config stands in it.
    private func run(_ text: String, reasons: Bool = false) async throws -> ConfigTestResult {
        let test = ConfigTest(parsing: text)
        guard case .inline(let config) = test.config else { return ConfigTestResult(testFindings: test.findings) }
        return await test.run(config: config, reasons: reasons)
    }

    private static let todos = """
        config: |
          config: {edition: 3}
          streams:
            todos:
              auto_subscribe: true
              query: SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())
        tables:
          lists: [{id: l1, owner_id: u1}, {id: l2, owner_id: u2}]
          todos: [{id: t1, list_id: l1}, {id: t2, list_id: l2}, {id: t3, list_id: l1}]

        """

    @Test func aCasePassesWhenExactlyTheExpectedRowsArrive() async throws {
        let result = try await run(
            Self.todos + """
                cases:
                  - {name: owner, as: {sub: u1}, receives: {todos: [t1, {id: t3, priority: 3, data: {list_id: l1}}]}}
                  - {as: u2, receives: {todos: 1}, never: {todos: [t1], lists: true}}
                  - {as: {sub: u3}, receives: {}}
                """
        )
        #expect(result.isSuccess)
        #expect(result.cases.map(\.name) == ["owner", "case 2", "case 3"])
        #expect(result.cases.flatMap(\.failures) == [])
    }

    @Test func differencesAreSentencesWithTheReasonOfEachRow() async throws {
        let result = try await run(
            Self.todos + """
                cases:
                  - as: {sub: u1}
                    receives: {todos: [t1, t2, t9]}
                    never: {todos: [t1]}
                  - {as: {sub: u1}, receives: {todos: 1}}
                  - {as: {sub: u1}, receives: {todos: [{id: t1, priority: 1, data: {list_id: l2, n: 1}}, t3]}}
                  - {as: {sub: u1}, receives: []}
                  - {as: {sub: u2}, receives: {todos: 2}}
                """
        )
        #expect(!result.isSuccess)
        let through = "it comes through stream `todos`, lookup lists/l1."
        #expect(
            result.cases.map(\.failures) == [
                [
                    "todos/t2 is missing: it is in 1#todos|0[\"l2\"], which this client does not get.",
                    "todos/t9 is missing: no source row becomes it in any bucket.",
                    "todos/t3 is not expected: \(through)",
                    "todos/t1 must never arrive: \(through)",
                ],
                ["todos has 2 rows, expected 1.", "todos/t1 arrives: \(through)", "todos/t3 arrives: \(through)"],
                [
                    "todos/t1 has priority 3, expected 1: \(through)",
                    #"todos/t1.list_id is "l1", expected "l2"."#,
                    "todos/t1.n is missing, expected 1.",
                ],
                ["todos/t1 is not expected: \(through)", "todos/t3 is not expected: \(through)"],
                [
                    "todos has 1 row, expected 2.",
                    "todos/t2 arrives: it comes through stream `todos`, lookup lists/l2.",
                ],
            ]
        )
    }

    static let tables: [(inConfig: String, inTest: String, isReceived: Bool)] = [
        ("orders", "orders", true), ("public.orders", "public.orders", true), ("public.orders", "orders", true),
        ("orders", "public.orders", true), ("main.orders", "main.orders", true), ("main.orders", "orders", true),
        ("other.orders", "other.orders", true), ("other.orders", "orders", false), ("orders", "other.orders", false),
        ("public.orders", "main.orders", false),
    ]

    /// `public` is the default schema where somebody names it.
    @Test(arguments: tables) func aTableIsFoundInItsSchema(
        inConfig: String,
        inTest: String,
        isReceived: Bool
    ) async throws {
        for condition in ["", " WHERE id IN (SELECT id FROM \(inConfig) WHERE owner = auth.user_id())"] {
            let result = try await run(
                """
                config: |
                  config: {edition: 3}
                  streams: {s: {auto_subscribe: true, query: SELECT * FROM \(inConfig)\(condition)}}
                schema: {\(inTest): [id, owner]}
                tables: {\(inTest): [{id: o1, owner: u1}]}
                cases: [{as: u1, receives: {orders: \(isReceived ? 1 : 0)}}]
                """
            )
            #expect(result.cases.flatMap(\.failures) == [])
        }
    }

    static let sources: [(config: String, expected: ConfigTest.Text?)] = [
        ("sync.yaml", .file("sync.yaml")), ("../configs/sync config.yaml", .file("../configs/sync config.yaml")),
        ("{path: sync.yaml}", .file("sync.yaml")), ("'streams: {}'", .inline("streams: {}")),
        ("'{streams: {}}'", .inline("{streams: {}}")), (#""streams:\n  a: {}""#, .inline("streams:\n  a: {}")),
        ("[a]", nil), ("{file: x}", nil),
    ]

    @Test(arguments: sources) func theConfigIsAPathOrAText(config: String, expected: ConfigTest.Text?) {
        let test = ConfigTest(parsing: "config: \(config)\ncases: []")
        #expect(test.config == expected)
        #expect(test.findings.map(\.code) == (expected == nil ? ["test.config"] : []))
    }

    @Test(arguments: [
        ("schema.sql", ConfigTest.Text.file("schema.sql")), ("'CREATE TABLE t (id)'", .inline("CREATE TABLE t (id)")),
    ])
    func soIsTheSchema(schema: String, expected: ConfigTest.Text) {
        guard case .statements(let text)? = ConfigTest(parsing: "config: c.yaml\nschema: \(schema)\ncases: []").schema
        else {
            Issue.record("no statements")
            return
        }
        #expect(text == expected)
    }

    @Test func aSubscriptionToNoStreamIsSaid() async throws {
        let result = try await run(
            """
            config: |
              config: {edition: 3}
              streams: {notes: {query: SELECT * FROM notes}}
            tables: {notes: [{id: 1}]}
            cases:
              - {as: u1, subscriptions: [{stream: nots}], receives: {}}
              - {as: u1, subscriptions: [{stream: notes}], receives: {notes: 1}}
            """
        )
        #expect(
            result.cases.map(\.failures) == [
                ["There is no stream “nots” to subscribe to. Did you mean “notes”?"], [],
            ]
        )
    }

    @Test func aRowThatOnlyHasToExistIsPartOfTheReason() async throws {
        let result = try await run(
            """
            config: |
              config: {edition: 3}
              streams:
                s:
                  auto_subscribe: true
                  query: SELECT * FROM t WHERE auth.user_id() IN (SELECT id FROM users WHERE is_admin)
            tables:
              t: [{id: 1}]
              users: [{id: u1, is_admin: 1}, {id: u2, is_admin: 0}]
            cases:
              - {as: u1, receives: {}}
              - {as: u2, receives: {}}
            """
        )
        #expect(
            result.cases.map(\.failures) == [
                ["t/1 is not expected: it comes through stream `s`, lookup users/u1."], [],
            ]
        )
    }

    @Test func theOutputForToolsHasExactlyTheseMembers() async throws {
        let result = try await run(
            """
            {"config": "config: {edition: 3}\\nstreams:\\n  a:\\n    query: SELECT * FROM t WHERE x = auth.parameter('x')\\n    \
            auto_subscribe: true\\n  b: {priority: 1, query: SELECT * FROM t WHERE x IN subscription.parameter('xs')}",
             "tables": {"t": [{"id": 1, "x": 9007199254740993, "r": 1.0, "b": {"$blob": "0aff"}, "n": {"$real": "NaN"}}],
                        "other.t": [{"id": 2}]},
             "cases": [{"name": "big", "as": {"sub": "u", "x": 9007199254740993},
                        "subscriptions": [{"stream": "b", "parameters": {"xs": "no JSON"}, "priority": 0}]}]}
            """
        )
        #expect(
            try result.json() == """
                {"accepted":true,"cases":[{"buckets":[{"bucket":"1#a|0[9007199254740993]","priority":3,\
                "reasons":[{"default":0}]}],"failures":[],"name":"big","receives":[{"data":\
                "{\\"id\\":1,\\"x\\":9007199254740993,\\"r\\":1.0,\\"n\\":null}","id":"1","priority":3,"table":"t"}],\
                "streamErrors":[{"stream":"b","subscription":0}]}],"findings":[{"code":"stream.dangerous_parameter","column":54,\
                "level":"warning","line":6,"message":"\(result.diagnostics[0].message)"}],\
                "rows":[[{"bucket":"1#a|0[9007199254740993]","data":"{\\"id\\":1,\\"x\\":9007199254740993,\\"r\\":1.0,\\"n\\":null}",\
                "id":"1","table":"t"}],[]]}
                """
        )
    }

    @Test func valuesOfJSONAndYAMLAreThoseOfTheSource() throws {
        let json = #"""
            {"config": "x", "tables": {"t": [{"i": -9223372036854775808, "r": 1e2, "h": 0.5, "t": "1", "n": null, "y": true,
             "b": {"$blob": "0AFF"}, "e": {"$real": "-Infinity"}, "f": {"$real": 3}, "j": [1, {"a": 1.0}], "o": {"k": 1}}]}}
            """#
        let yaml = """
            config: x
            tables:
              t:
                - i: -9223372036854775808
                  r: 1e2
                  h: .5
                  t: "1"
                  n: ~
                  y: true
                  b: {$blob: "0AFF"}
                  e: -.inf
                  f: {$real: 3}
                  j: [1, {a: 1.0}]
                  o: {k: 1}
            """
        let expected: SourceRow = [
            "i": .integer(.min), "r": 100.0, "h": 0.5, "t": "1", "n": nil, "y": 1, "b": .blob([10, 255]),
            "e": .real(-.infinity), "f": 3.0, "j": #"[1,{"a":1.0}]"#, "o": #"{"k":1}"#,
        ]
        for text in [json, yaml] {
            let test = ConfigTest(parsing: text)
            #expect(test.findings == [])
            #expect(test.rows.map(\.values) == [expected])
        }
    }

    @Test func namesOfTablesMayCarryASchema() async throws {
        let test = ConfigTest(parsing: "{config: x, tables: {s.t: [{id: 1}], t: [{id: 1}, {id: 1}]}}")
        #expect(test.rows.map(\.schema) == ["s", nil, nil])
        #expect(test.rows.map(\.table) == ["t", "t", "t"])
    }

    @Test func rowsWithOneIDAreTwoSourceRowsAndOneRowOfTheClient() async throws {
        let result = try await run(
            """
            config: |
              config: {edition: 3}
              streams:
                a: {auto_subscribe: true, priority: 2, query: "SELECT * FROM t WHERE k = 'a'"}
                b: {auto_subscribe: true, priority: 1, query: SELECT id FROM t}
            tables: {t: [{id: 1, k: a}, {id: 1, k: b, n: 2}, {id: 2, k: a}]}
            cases: [{as: u1}]
            """
        )
        #expect(result.rows.map(\.count) == [2, 1, 2])
        let received = try #require(result.cases.first?.reply?.rows)
        #expect(received.map { "\($0.id) \($0.priority.rawValue) \($0.data)" } == [#"1 1 {"id":1}"#, #"2 1 {"id":2}"#])
        #expect(received[0].buckets.map(\.rawValue) == ["1#a|0[]", "1#b|0[]"])
    }

    @Test func aBadRowOrCaseHidesNoOther() async throws {
        let result = try await run(
            """
            config: |
              config: {edition: 3}
              streams: {t: {auto_subscribe: true, query: SELECT * FROM t}}
            tables:
              t:
                - 5
                - {id: 1, n: 9223372036854775808}
                - {id: 2, b: {$blob: 0g}}
                - {id: 3, b: {$blob: "0"}}
                - {id: 4, b: {$real: x}}
                - {id: 5}
              u: {id: 1}
            cases:
              - 5
              - {name: no claims}
              - {name: list, as: [1]}
              - {name: parameters, as: {}, connection: [1], subscriptions: [{stream: 5}, 6]}
              - {name: typo, as: {sub: u}, recieves: {}}
              - {name: shape, as: {sub: u}, receives: {t: x, u: [{}]}, never: {t: 1}}
              - {name: fine, as: {sub: u}, receives: {t: [5]}}
            """
        )
        #expect(result.isAccepted && !result.isSuccess)
        #expect(
            result.testFindings.map(\.code) == ["test.row"] + Array(repeating: "test.value", count: 4) + ["test.tables"]
        )
        #expect(result.rows.map(\.count) == [0, 0, 0, 0, 0, 1])
        #expect(result.cases.map(\.failures.count) == [1, 1, 1, 3, 1, 3, 0])
        #expect(result.cases.map(\.error) == [nil, nil, nil, "PSYNC_S2001", nil, nil, nil])
        #expect(result.cases[4].failures == ["Unknown key “recieves” of a case. Did you mean “receives”?"])
        #expect(result.cases[6].reply?.rows.count == 1)
    }

    @Test func bucketsMayBeExpected() async throws {
        let result = try await run(
            Self.todos + """
                cases:
                  - {as: u1, buckets: ['1#todos|0["l1"]']}
                  - {as: u1, buckets: [{bucket: '1#todos|0["l2"]'}]}
                  - {as: u1, buckets: 5}
                """
        )
        #expect(
            result.cases.map(\.failures) == [
                [], [#"Bucket 1#todos|0["l2"] is missing."#, #"Bucket 1#todos|0["l1"] is not expected."#],
                ["“buckets” must be a list of names."],
            ]
        )
    }

    @Test func aRequestMayHaveToEndWithAnError() async throws {
        let rows = (1...1001).map { "{id: \($0)}" }.joined(separator: ", ")
        let result = try await run(
            """
            config: |
              config: {edition: 3}
              streams: {t: {auto_subscribe: true, query: SELECT * FROM t WHERE id IN (SELECT id FROM u)}}
            tables: {u: [\(rows)]}
            cases:
              - {as: u1, error: PSYNC_S2305}
              - {as: u1}
              - {as: u1, error: PSYNC_S2001, includeDefaults: false}
            """
        )
        #expect(result.cases.map(\.error) == ["PSYNC_S2305", "PSYNC_S2305", nil])
        #expect(result.cases.map(\.failures.count) == [0, 1, 1])
    }

    @Test func aRefusedConfigHasFindingsAndNoRows() async throws {
        let result = try await run("{config: 'streams: 5', tables: {t: [{id: 1}]}, cases: [{as: u1}]}")
        #expect(!result.isAccepted && !result.isSuccess)
        #expect(result.rows.isEmpty && result.cases.isEmpty)
        #expect(result.diagnostics.map(\.code).contains("yaml.expected_map"))
    }

    @Test(arguments: ["", "[1]", "5", "{config: 5}", "{cases: []}", "a: b: c", "\u{0}", "{\"config\": \"x\""])
    func whatIsNoTestIsAFinding(text: String) {
        let test = ConfigTest(parsing: text)
        #expect(!test.findings.isEmpty)
        #expect(test.findings.allSatisfy { $0.level == "error" })
    }

    @Test func rowsThatCannotBeEvaluatedAreNamed() async throws {
        let result = try await run(
            """
            config: |
              config: {edition: 3}
              streams: {t: {auto_subscribe: true, query: SELECT * FROM t WHERE auth.user_id() IN t.users}}
            tables: {t: [{id: 1, users: '["u1"]'}, {id: 2, users: oops}, {users: oops}]}
            cases: [{as: u1, receives: {t: [1]}}]
            """
        )
        #expect(result.isSuccess)
        #expect(
            result.rowProblems.map(\.description) == [
                "t/2: A row of main.t was not synced to t|0: the value is not JSON text.",
                "t row 3: A row of main.t was not synced to t|0: the value is not JSON text.",
            ]
        )
    }

    @Test func theTextNamesEveryRowWhenAskedFor() async throws {
        let result = try await run(
            Self.todos + "cases: [{name: owner, as: u1, receives: {todos: [t1]}}]",
            reasons: true
        )
        let through = "through stream `todos`, lookup lists/l1"
        #expect(
            result.text(file: "a.yaml", config: "sync.yaml", showsRows: true) == """
                a.yaml: FAILED: owner
                    todos/t3 is not expected: it comes \(through).
                    todos/t1 at priority 3 \(through)
                    todos/t3 at priority 3 \(through)

                """
        )
    }

    @Test func claimsAndParametersAreTakenAsTheyAreWritten() async throws {
        let result = try await run(
            """
            config: |
              config: {edition: 3}
              streams:
                s:
                  auto_subscribe: true
                  accept_potentially_dangerous_queries: true
                  query: "SELECT * FROM t WHERE a = auth.parameters() OR a = connection.parameters()"
            cases:
              - as: {"sub": "u", "i": 9007199254740993, "r": 1.0, "e": 1e400, "m": -0.0}
                connection: {"b": [true, null, 2.50]}
            """
        )
        let buckets = try #require(result.cases.first?.reply?.buckets)
        #expect(
            buckets.map(\.name.rawValue) == [
                #"1#s|0["{\"sub\":\"u\",\"i\":9007199254740993,\"r\":1.0,\"e\":null,\"m\":-0.0}"]"#,
                #"1#s|0["{\"b\":[true,null,2.5]}"]"#,
            ]
        )
    }
}
