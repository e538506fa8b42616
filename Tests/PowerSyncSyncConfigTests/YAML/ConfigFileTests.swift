import PowerSyncSyncConfig
import Testing

/// The YAML of all editions (docs/sync-config.md "The file").
@Suite struct ConfigFileTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var yaml: String
        /// Findings as `line:column code`.
        var findings: [String]
        var testDescription: String { name }

        init(_ name: String, _ yaml: String, _ findings: String...) {
            self.name = name
            self.yaml = yaml
            self.findings = findings
        }

        /// A stream `s` of edition 3 with the given lines, from line 4 on.
        static func stream(_ lines: String, _ findings: String...) -> Case {
            let yaml =
                "config: {edition: 3}\nstreams:\n  s:\n" + lines.split(separator: "\n").map { "    \($0)\n" }.joined()
            var test = Case(lines, yaml)
            test.findings = findings
            return test
        }
    }

    private static let streams = "streams:\n  s: {query: SELECT * FROM t}\n"

    static let cases = [
        Case("unknown root key", "config: {edition: 3}\nstream: {}\n" + streams, "2:1 yaml.unknown_key"),
        Case("edition 3 without streams", "config: {edition: 3}", "1:1 streams.missing"),
        Case("edition 3 with no stream", "config: {edition: 3}\nstreams: {}"),
        Case("streams is null", "config: {edition: 3}\nstreams:", "1:1 streams.missing", "2:1 yaml.null_section"),
        .stream("query: SELECT * FROM t\nqueries: [SELECT * FROM t]", "4:5 stream.query_xor_queries"),
        .stream("priority: 1", "4:5 stream.query_xor_queries"),
        .stream("query: SELECT * FROM t\npriority: 4", "5:15 stream.priority"),
        .stream("query: SELECT * FROM t\npriority: \"1\"", "5:15 stream.priority"),
        .stream("query: SELECT * FROM t\npriority: -1", "5:15 stream.priority"),
        .stream("query: SELECT * FROM t\npriority: 1.5", "5:15 stream.priority"),
        .stream("query: SELECT * FROM t\npriority: null", "5:15 stream.priority"),
        .stream("query: SELECT * FROM t\npriority: 0"),
        .stream("query: SELECT * FROM t\npriority: 1.0"), .stream("query: SELECT * FROM t\npriority: 0x2"),
        .stream("query: SELECT * FROM t\npriority: 1e0"),
        .stream("query: SELECT * FROM t\npriority: 03"),
        .stream("query: SELECT * FROM t\nauto_subscribe: \"true\"", "5:21 yaml.expected_bool"),
        .stream("query: SELECT * FROM t\nauto_subscribe: yes", "5:21 yaml.expected_bool"),
        .stream("query: SELECT * FROM t\nauto_subscribe: TRUE"),
        .stream("queries: SELECT 1", "4:14 yaml.expected_sequence"), .stream("queries: []"),
        .stream("query:", "4:11 yaml.expected_scalar"),
        .stream("query: [SELECT]", "4:12 yaml.expected_scalar"),
        .stream("query: SELECT * FROM t\nwith: [a]", "5:11 yaml.expected_map"),
        .stream("query: SELECT * FROM t\npriorty: 1", "5:5 yaml.unknown_key"),
        Case("stream is a list", "config: {edition: 3}\nstreams: {s: [a]}", "2:14 yaml.expected_map"),
        Case(
            "legacy in edition 3",
            "config: {edition: 3}\nbucket_definitions: {}\n" + streams,
            "2:1 streams.legacy_in_edition3"
        ),
        Case(
            "legacy in edition 3, filled",
            "config: {edition: 3}\nbucket_definitions: {a: {data: []}}\n" + streams,
            "2:1 streams.legacy_in_edition3"
        ),
        Case(
            "legacy in edition 3, null",
            "config: {edition: 3}\nbucket_definitions:\n" + streams,
            "2:1 yaml.null_section"
        ),
        Case(
            "global with in edition 2",
            "config: {edition: 2}\nwith: {a: SELECT id FROM t}\n" + streams,
            "2:1 cte.edition",
            "3:1 streams.alpha"
        ),
        Case(
            "with of a stream in edition 2",
            "config: {edition: 2}\nstreams:\n  s: {with: {}, query: SELECT * FROM t}\n",
            "2:1 streams.alpha",
            "3:7 cte.edition"
        ),
        Case(
            "queries in edition 2",
            "config: {edition: 2}\nstreams:\n  s: {queries: []}\n",
            "2:1 streams.alpha",
            "3:7 cte.edition"
        ),
        Case(
            "precision without ISO timestamps",
            "config: {timestamp_max_precision: milliseconds}\nbucket_definitions: {}",
            "1:10 config.option_requires"
        ),
        Case(
            "precision with ISO timestamps",
            "config: {timestamp_max_precision: milliseconds, timestamps_iso8601: true}\nbucket_definitions: {}"
        ),
        Case(
            "precision switched off",
            "config: {edition: 3, timestamp_max_precision: seconds, timestamps_iso8601: false}\n" + streams,
            "1:22 config.option_requires"
        ),
        Case(
            "unknown precision",
            "config: {edition: 3, timestamp_max_precision: hours}\n" + streams,
            "1:47 config.precision"
        ),
        Case("edition 4", "config: {edition: 4}\n" + streams, "1:19 config.edition"),
        Case("edition 0", "config: {edition: 0}\n" + streams, "1:19 config.edition"),
        Case("edition as text", "config: {edition: \"3\"}\n" + streams, "1:19 config.edition"),
        Case("edition 3.0", "config: {edition: 3.0}\n" + streams),
        Case(
            "storage version 3",
            "config: {edition: 3, storage_version: 3}\n" + streams,
            "1:39 config.storage_unstable"
        ),
        Case("storage version 2", "config: {edition: 3, storage_version: 2}\n" + streams, "1:39 config.no_effect"),
        Case("storage version 4", "config: {edition: 3, storage_version: 4}\n" + streams, "1:39 config.no_effect"),
        Case(
            "storage version 2.0 in edition 1",
            "config: {storage_version: 2.0}\nbucket_definitions: {}",
            "1:27 config.no_effect"
        ),
        Case(
            "storage version as text",
            "config: {edition: 3, storage_version: \"4\"}\n" + streams,
            "1:39 config.storage_version"
        ),
        Case(
            "storage version null",
            "config: {edition: 3, storage_version: ~}\n" + streams,
            "1:39 config.storage_version"
        ),
        Case(
            "storage version 1",
            "config: {edition: 3, storage_version: 1}\n" + streams,
            "1:39 config.storage_version"
        ),
        Case(
            "versioned ids off",
            "config: {edition: 3, versioned_bucket_ids: false}\n" + streams,
            "1:44 config.no_effect"
        ),
        Case(
            "SQLite engine",
            "config: {edition: 3, unstable_sqlite_expression_engine: true}\n" + streams,
            "1:22 config.unsupported"
        ),
        Case(
            "SQLite engine in edition 2",
            "config: {edition: 2, unstable_sqlite_expression_engine: true}\nbucket_definitions: {}",
            "1:22 config.option_requires"
        ),
        Case("unknown option", "config: {edition: 3, speed: 1}\n" + streams, "1:22 yaml.unknown_key"),
        Case("edition 2 with an empty stream", "config: {edition: 2}\nstreams: {s: {}}", "2:1 streams.alpha"),
        Case("edition 1 with a stream", "config: {edition: 1}\n" + streams, "2:1 streams.edition"),
        Case("no config with a stream", streams, "1:1 streams.edition"),
        Case("config without an edition", "config: {}\n" + streams, "2:1 streams.edition"),
        Case("config is null, with a stream", "config:\n" + streams, "1:1 yaml.null_section", "2:1 streams.edition"),
        Case(
            "an option that the missing edition has",
            "config: {timestamp_max_precision: milliseconds}\n" + streams,
            "2:1 streams.edition"
        ),
        Case(
            "an option that edition 1 lacks",
            "config: {edition: 1, timestamp_max_precision: milliseconds}\n" + streams,
            "2:1 streams.edition"
        ),
        Case(
            "no config with definitions, too",
            streams + "bucket_definitions: {}",
            "1:1 streams.edition",
            "1:1 streams.alpha"
        ),
        Case("edition 1 with nothing", "config: {edition: 1}", "1:1 streams.missing"),
        Case("edition 1, empty legacy", "config: {edition: 1}\nbucket_definitions: {}"),
        Case(
            "null sections",
            "config: {edition: 3}\nwith:\nevent_definitions:\n" + streams,
            "2:1 yaml.null_section",
            "3:1 yaml.null_section"
        ),
        Case("config is null", "config:\nbucket_definitions: {}", "1:1 yaml.null_section"),
        Case("config is a list", "config: []\nbucket_definitions: {}", "1:9 yaml.expected_map"),
        .stream("<<: {priority: 1}\nquery: SELECT * FROM t", "4:5 yaml.unknown_key"),
        Case("names that differ in case", "config: {edition: 3}\nstreams: {a: {queries: []}, A: {queries: []}}"),
        Case("empty name", "config: {edition: 3}\nstreams: {\"\": {queries: []}}", "2:11 stream.empty_name"),
        Case("a number as name", "config: {edition: 3}\nstreams: {5: {queries: []}}", "2:11 yaml.expected_scalar"),
        Case("a boolean as name", "config: {edition: 3}\nstreams: {true: {queries: []}}", "2:11 yaml.expected_scalar"),
        Case("null as name", "config: {edition: 3}\nstreams: {~: {queries: []}}", "2:11 yaml.expected_scalar"),
        Case("a number in quotes", "config: {edition: 3}\nstreams: {\"5\": {queries: []}}"),
        Case(
            "a name of two sections",
            "config: {edition: 2}\nstreams: {a: {}}\nbucket_definitions: {a: {data: []}}",
            "2:1 streams.alpha",
            "3:22 stream.duplicate_name"
        ),
        Case("a name twice", "config: {edition: 3}\nstreams: {a: {queries: []}, a: {queries: []}}", "2:11 yaml.syntax"),
        Case(
            "unused CTE with an error",
            "config: {edition: 3}\nwith:\n  a: SELECT FROM\n" + streams,
            "3:3 cte.unused",
            "3:13 sql.unsupported_clause",
            "3:17 sql.syntax"
        ),
        Case("unused CTE", "config: {edition: 3}\nwith: {a: SELECT id FROM t}\n" + streams, "2:8 cte.unused"),
        Case(
            "CTE with *",
            "config: {edition: 3}\nwith: {a: SELECT * FROM t}\nstreams: {s: {query: SELECT * FROM t WHERE b IN a}}",
            "2:18 sql.star_not_allowed"
        ),
        Case(
            "CTE with two columns after IN",
            "config: {edition: 3}\nwith: {a: \"SELECT id, b FROM t\"}\nstreams: {s: {query: SELECT * FROM t WHERE b IN a}}",
            "3:49 cte.single_column"
        ),
        Case(
            "CTE with a condition that mixes",
            "config: {edition: 3}\nwith: {a: SELECT id FROM t WHERE b > auth.user_id()}\n" + streams,
            "2:8 cte.unused",
            "2:38 filter.mixed_dependencies"
        ),
        Case(
            "CTE twice",
            "config: {edition: 3}\nwith: {a: SELECT id FROM t, A: SELECT id FROM u}\nstreams: {s: {query: SELECT * FROM t WHERE b IN a AND c = auth.user_id()}}",
            "2:29 stream.duplicate_name",
            "3:49 lookup.unbounded"
        ),
        Case(
            "events",
            "config: {edition: 3}\nevent_definitions: {e: {payloads: [SELECT a FROM t WHERE b]}}\n" + streams,
            "2:21 config.no_effect"
        ),
        Case(
            "events of an earlier edition",
            "config: {edition: 2}\nevent_definitions: {e: {payloads: [SELECT a FROM t WHERE b]}}\n" + streams,
            "2:21 config.no_effect",
            "2:58 event.where_ignored",
            "3:1 streams.alpha"
        ),
        Case(
            "events without alias",
            "config: {edition: 3}\nevent_definitions: {e: {payloads: [SELECT upper(a) FROM t]}}\n" + streams,
            "2:21 config.no_effect",
            "2:43 column.unnamed"
        ),
        Case(
            "events without alias of an earlier edition",
            "config: {edition: 2}\nevent_definitions: {e: {payloads: [SELECT upper(a) FROM t]}}\n" + streams,
            "2:21 config.no_effect",
            "2:43 legacy.alias_required",
            "3:1 streams.alpha"
        ),
        Case(
            "events with a join",
            "config: {edition: 3}\nevent_definitions: {e: {payloads: [\"SELECT t.a FROM t, u\"], x: 1}}\n" + streams,
            "2:21 config.no_effect",
            "2:56 sql.unsupported_clause",
            "2:61 yaml.unknown_key"
        ),
        Case(
            "events without payloads",
            "config: {edition: 3}\nevent_definitions: {e: {}}\n" + streams,
            "2:21 config.no_effect",
            "2:24 yaml.missing_key"
        ),
        Case(
            "write checkpoints",
            "config: {edition: 3}\nevent_definitions: {write_checkpoints: {payloads: [SELECT * FROM t WHERE b]}}\n"
                + streams
        ),
        Case(
            "write checkpoints without columns",
            "config: {edition: 3}\nevent_definitions: {write_checkpoints: {payloads: [SELECT user_id FROM t]}}\n"
                + streams,
            "2:59 event.columns",
            "2:59 event.columns"
        ),
        Case("a definition without data", "bucket_definitions: {a: {}}", "1:25 yaml.missing_key"),
        Case("no parameter query", "bucket_definitions: {a: {parameters: [], data: []}}", "1:38 legacy.no_parameters"),
        Case(
            "an unknown key of a definition",
            "bucket_definitions: {a: {data: [], query: x}}",
            "1:36 yaml.unknown_key"
        ),
        Case("directives and a mark", "\u{feff}%YAML 1.2\n---\nconfig: {edition: 3}\n" + streams),
    ]

    @Test(arguments: cases) func readsTheFile(_ test: Case) {
        #expect(findings(test.yaml) == test.findings)
    }

    @Test func theExampleOfTheLanguage() async throws {
        let text = """
            config:
              edition: 3
            with:
              my_orgs: SELECT org_id FROM members WHERE user_id = auth.user_id()
            streams:
              categories:
                auto_subscribe: true
                query: SELECT * FROM categories
              org_content:
                auto_subscribe: true
                priority: 1
                with:
                  my_lists: SELECT id FROM lists WHERE owner_id = auth.user_id()
                queries:
                  - SELECT * FROM projects WHERE org_id IN my_orgs
                  - SELECT * FROM todos WHERE list_id IN my_lists
              issue_comments:
                accept_potentially_dangerous_queries: true
                query: SELECT * FROM comments WHERE issue_id = subscription.parameter('issue_id')
            event_definitions: {}
            """
        #expect(findings(text).isEmpty)
        let plan = try plan(text)
        #expect(plan.streams.map(\.name) == ["categories", "org_content", "issue_comments"])
        #expect(plan.streams.map(\.isSubscribedByDefault) == [true, true, false])
        #expect(plan.streams.map(\.priority) == [3, 1, 3])
        let index = ParameterStore(
            plan,
            ["members": [["user_id": "u1", "org_id": "o1"]], "lists": [["id": "l1", "owner_id": "u1"]]]
        )
        #expect(
            try await plan.bucketNames(index: index) == [
                "1#categories|0[]", #"1#org_content|0["o1"]"#, #"1#org_content|1["l1"]"#,
            ]
        )
    }

    @Test func aLocalCommonTableWinsOverAGlobalOne() throws {
        let text = """
            config: {edition: 3}
            with: {a: SELECT x FROM wrong WHERE u = auth.user_id()}
            streams:
              s:
                with: {A: SELECT y FROM right WHERE u = auth.user_id()}
                query: SELECT * FROM t WHERE k IN a
            """
        #expect(findings(text) == ["2:8 cte.unused"])
        #expect(try plan(text).parameterIndexes.map(\.table.table) == ["right"])
    }

    @Test func commonTablesDoNotSeeEachOther() throws {
        let text = """
            config: {edition: 3}
            with:
              a: SELECT id FROM x WHERE u = auth.user_id()
              b: SELECT id FROM a WHERE u = auth.user_id()
            streams: {s: {queries: [SELECT * FROM t WHERE k IN b, SELECT * FROM t WHERE k IN a, SELECT * FROM public.a]}}
            """
        #expect(try plan(text).parameterIndexes.map(\.table.description) == ["a", "x"])
        #expect(try plan(text).evaluators.map(\.table.description) == ["t", "public.a"])
    }

    @Test func eachReferenceToACommonTableIsAJoinOfItsOwn() throws {
        let plan = try plan(
            """
            config: {edition: 3}
            with: {m: "SELECT a, b FROM member WHERE u = auth.user_id()"}
            streams:
              twice: {query: "SELECT t.* FROM t, m AS x, m AS y WHERE t.a = x.a AND t.b = y.b"}
              once: {query: "SELECT t.* FROM t, m WHERE t.a = m.a AND t.b = m.b"}
            """
        )
        #expect(plan.streams.map { $0.queriers[0].stages.joined().count } == [2, 1])
    }

    @Test func aliasesOfYAMLAreResolved() throws {
        let text = "config: {edition: 3}\nstreams:\n  s: &x {query: SELECT * FROM t}\n  u: *x\n"
        #expect(try plan(text).streams.map(\.name) == ["s", "u"])
    }

    @Test func aliasesThatExplodeAreRefusedAtOnce() {
        var text = "config: {edition: 3}\nx0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        for level in 1...9 {
            text += "x\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", "))]\n"
        }
        #expect(findings(text) == ["1:1 yaml.expansion"])
    }

    @Test func namesAppearVerbatimInBucketNames() async throws {
        let plan = try plan(
            "config: {edition: 3}\nstreams: {\"a/b=c. d\": {auto_subscribe: true, query: SELECT * FROM t}}"
        )
        #expect(try await plan.bucketNames() == ["1#a/b=c. d|0[]"])
    }

    @Test func optionsReachThePlan() throws {
        let text =
            "config: {edition: 3, timestamp_max_precision: milliseconds, custom_postgres_types: false}\n" + Self.streams
        var options = SourceValueOptions()
        options.timestampMaximumPrecision = .milliseconds
        options.writesDeclaredTypesAsJSON = false
        #expect(try plan(text).valueOptions == options)
        #expect(try SyncPlan(encodedJSON: plan(text).encodedJSON()).valueOptions == options)
        let legacy = try plan("bucket_definitions: {a: {data: []}}").valueOptions
        #expect(!legacy.timestampsISO8601 && !legacy.writesDeclaredTypesAsJSON)
    }

    static let extractions: [(config: String, value: String)] = [
        ("edition: 3", "1"), ("edition: 3, fixed_json_extract: false", "2"), ("edition: 2", "1"),
    ]

    @Test(arguments: extractions) func pathsAreSplitAsTheOptionSays(config: String, value: String) throws {
        let text = "config: {\(config)}\nstreams: {s: {query: SELECT a ->> 'x.y' AS id FROM t}}"
        #expect(
            try plan(text).synced("t", ["a": #"{"x.y":1,"x":{"y":2}}"#]) == [#"1#s|0[] t/\#(value) {"id":\#(value)}"#]
        )
    }

    @Test func withoutFixedExtractionJSONNullIsTextForJSONExtract() throws {
        let text =
            "config: {edition: 3, fixed_json_extract: false}\nstreams: {s: {query: \"SELECT id, a ->> '$.x' AS t, a -> 'x' AS j, json_extract(a, '$.x') AS e FROM t\"}}"
        #expect(
            try plan(text).synced("t", ["id": "1", "a": #"{"x":null}"#]) == [
                #"1#s|0[] t/1 {"id":"1","t":null,"j":null,"e":"null"}"#
            ]
        )
    }
}
