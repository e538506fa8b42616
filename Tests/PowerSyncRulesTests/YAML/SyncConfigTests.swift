import PowerSyncRules
import Testing

/// Reading the YAML (docs/sync-config.md "The file").
@Suite struct SyncConfigTests {
    @Test func readsStreamsWithTheirOptions() throws {
        let plan = try plan(
            """
            config:
              edition: 3
            streams:
              categories:
                auto_subscribe: true
                query: SELECT * FROM categories
              org_content:
                auto_subscribe: true
                priority: 1
                queries:
                  - SELECT * FROM projects WHERE org_id = auth.parameter('org')
                  - SELECT * FROM todos WHERE org_id = auth.parameter('org')
              issue_comments:
                accept_potentially_dangerous_queries: true
                query: SELECT * FROM comments WHERE issue_id = subscription.parameter('issue_id')
            event_definitions: {}
            bucket_definitions: {}
            """
        )
        #expect(plan.streams.map(\.name) == ["categories", "org_content", "issue_comments"])
        #expect(plan.streams.map(\.isSubscribedByDefault) == [true, true, false])
        #expect(plan.streams.map(\.priority) == [3, 1, 3])
        #expect(plan.buckets.map(\.name) == ["categories|0", "org_content|0", "issue_comments|0"])
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var yaml: String
        var findings: [String]
        var testDescription: String { name }

        /// A stream with the given lines.
        static func stream(_ name: String, _ lines: String..., findings: [String]) -> Case {
            let yaml = "config: {edition: 3}\nstreams:\n  s:\n" + lines.map { "    \($0)\n" }.joined()
            return Case(name: name, yaml: yaml, findings: findings)
        }
    }

    static let cases = [
        Case(name: "empty file", yaml: "", findings: ["1:1 yaml.not_map"]),
        Case(name: "comment only", yaml: "# nothing\n", findings: ["1:1 yaml.not_map"]),
        Case(name: "list", yaml: "- a\n", findings: ["1:1 yaml.not_map"]),
        Case(name: "scalar", yaml: "hello", findings: ["1:1 yaml.not_map"]),
        Case(name: "not YAML", yaml: "config: {edition: 3\nstreams: [", findings: ["2:8 yaml.syntax"]),
        Case(name: "tab", yaml: "config:\n\tedition: 3", findings: ["2:1 yaml.syntax"]),
        Case(name: "two documents", yaml: "a: 1\n---\nb: 2", findings: ["2:1 yaml.syntax"]),
        Case(
            name: "unknown root key",
            yaml: "config: {edition: 3}\nstream: {}\n" + streams,
            findings: ["2:1 yaml.unknown_key"]
        ),
        Case(name: "no streams", yaml: "config: {edition: 3}", findings: ["1:1 streams.missing"]),
        Case(name: "no stream", yaml: "config: {edition: 3}\nstreams: {}", findings: ["2:1 streams.missing"]),
        Case(name: "streams is a list", yaml: "config: {edition: 3}\nstreams: [a]", findings: ["2:10 yaml.not_map"]),
        .stream(
            "query and queries",
            "query: SELECT * FROM t",
            "queries: [SELECT * FROM t]",
            findings: ["5:5 stream.query_xor_queries"]
        ),
        .stream("A4 none", "priority: 1", findings: ["3:3 stream.query_xor_queries"]),
        .stream("A5 priority 4", "query: SELECT * FROM t", "priority: 4", findings: ["5:15 stream.priority"]),
        .stream("A5 priority as text", "query: SELECT * FROM t", "priority: \"1\"", findings: ["5:15 stream.priority"]),
        .stream("A5 priority -1", "query: SELECT * FROM t", "priority: -1", findings: ["5:15 stream.priority"]),
        .stream("A5 priority 0", "query: SELECT * FROM t", "priority: 0", findings: []),
        .stream("A5 priority 3", "query: SELECT * FROM t", "priority: 3", findings: []),
        .stream("A6 bool in other cases", "query: SELECT * FROM t", "auto_subscribe: True", findings: []),
        .stream(
            "A6 bool in capitals",
            "query: SELECT * FROM t WHERE a = subscription.parameter('p')",
            "accept_potentially_dangerous_queries: TRUE",
            findings: []
        ),
        .stream("with without entries", "with: {}", "query: SELECT * FROM t", findings: []),
        .stream("query is a tilde", "query: ~", findings: ["4:12 yaml.expected_scalar"]),
        .stream("query is the text null", "query: \"null\"", findings: ["4:13 sql.not_select"]),
        .stream("queries is null", "queries:", findings: ["4:13 yaml.expected_sequence"]),
        .stream(
            "bool as text",
            "query: SELECT * FROM t",
            "auto_subscribe: \"true\"",
            findings: ["5:21 yaml.expected_bool"]
        ),
        .stream("bool as yes", "query: SELECT * FROM t", "auto_subscribe: yes", findings: ["5:21 yaml.expected_bool"]),
        .stream("queries is a scalar", "queries: SELECT 1", findings: ["4:14 yaml.expected_sequence"]),
        .stream("queries is empty", "queries: []", findings: ["4:14 yaml.expected_sequence"]),
        .stream("query is a list", "query: [SELECT]", findings: ["4:12 yaml.expected_scalar"]),
        .stream("query is null", "query:", findings: ["4:11 yaml.expected_scalar"]),
        .stream("stream is a text", "SELECT * FROM t", findings: ["4:5 yaml.not_map"]),
        .stream("unknown option", "query: SELECT * FROM t", "priorty: 1", findings: ["5:5 yaml.unknown_key"]),
        .stream(
            "with",
            "with: {a: SELECT id FROM t}",
            "query: SELECT * FROM t",
            findings: ["4:5 config.not_supported_yet"]
        ),
        .stream(
            "key twice",
            "query: SELECT * FROM t",
            "query: SELECT * FROM u",
            findings: ["4:5 yaml.syntax"]
        ),
        Case(
            name: "bucket_definitions in edition 3",
            yaml: "config: {edition: 3}\nbucket_definitions: {a: {data: []}}\n" + streams,
            findings: ["2:1 config.edition"]
        ),
        Case(
            name: "global with in edition 2",
            yaml: "config: {edition: 2}\nwith: {a: SELECT id FROM t}\n" + streams,
            findings: ["2:1 cte.edition"]
        ),
        Case(
            name: "global with",
            yaml: "config: {edition: 3}\nwith: {a: SELECT id FROM t}\n" + streams,
            findings: ["2:1 config.not_supported_yet"]
        ),
        Case(name: "edition 4", yaml: "config: {edition: 4}\n" + streams, findings: ["1:19 config.edition"]),
        Case(
            name: "edition as text",
            yaml: "config: {edition: \"3\"}\n" + streams,
            findings: ["1:19 config.edition"]
        ),
        Case(name: "edition 1", yaml: "config: {edition: 1}\n" + streams, findings: ["1:19 config.not_supported_yet"]),
        Case(name: "A11 edition 0", yaml: "config: {edition: 0}\n" + streams, findings: ["1:19 config.edition"]),
        Case(name: "edition 2", yaml: "config: {edition: 2}\n" + streams, findings: []),
        Case(
            name: "empty sections of other editions",
            yaml: "config: {edition: 2}\nwith: {}\nbucket_definitions:\nevent_definitions: {}\n" + streams,
            findings: []
        ),
        Case(
            name: "bucket_definitions in edition 2",
            yaml: "config: {edition: 2}\nbucket_definitions: {a: {data: []}}\n" + streams,
            findings: ["2:1 config.not_supported_yet"]
        ),
        Case(
            name: "event_definitions",
            yaml: "config: {edition: 3}\nevent_definitions: {a: 1}\n" + streams,
            findings: ["2:1 config.not_supported_yet"]
        ),
        Case(name: "streams is a tilde", yaml: "config: {edition: 3}\nstreams: ~", findings: ["2:1 streams.missing"]),
        Case(
            name: "options as every edition has them",
            yaml: """
                config:
                  edition: 3
                  storage_version: 2
                  fixed_json_extract: true
                  custom_postgres_types: true
                  unstable_sqlite_expression_engine: false
                \(streams)
                """,
            findings: []
        ),
        Case(
            name: "options for later",
            yaml: """
                config:
                  edition: 3
                  storage_version: 3
                  timestamp_max_precision: milliseconds
                  unstable_sqlite_expression_engine: true
                \(streams)
                """,
            findings: [
                "3:20 config.not_supported_yet", "4:3 config.not_supported_yet", "5:38 config.not_supported_yet",
            ]
        ),
        Case(
            name: "storage version 1",
            yaml: "config: {edition: 3, storage_version: 1}\n" + streams,
            findings: ["1:39 config.value"]
        ),
        Case(name: "no edition", yaml: streams, findings: ["1:1 config.not_supported_yet"]),
        Case(
            name: "options",
            yaml: """
                config:
                  edition: 3
                  storage_version: 2
                  timestamps_iso8601: true
                  versioned_bucket_ids: false
                  timestamp_max_precision: hours
                  speed: fast
                \(streams)
                """,
            findings: ["5:25 config.not_supported_yet", "6:28 config.precision", "7:3 yaml.unknown_key"]
        ),
    ]

    private static let streams = "streams:\n  s:\n    query: SELECT * FROM t\n"

    @Test(arguments: cases) func reportsWhatIsWrongAndWhere(_ test: Case) {
        #expect(findings(test.yaml) == test.findings)
    }

    @Test func aConfigWithErrorsHasNoPlan() {
        let result = SyncConfig.parse("config: {edition: 3}\nstreams: {s: {query: SELECT}}")
        #expect(result.plan == nil)
        #expect(!result.isUsable)
    }

    @Test func warningsDoNotPreventUse() {
        let result = SyncConfig.parse(config(TestStream("s", "SELECT id, a = 1 FROM t")))
        #expect(result.diagnostics.map(\.severity) == [.warning])
        #expect(result.isUsable)
    }

    @Test func diagnosticsPrintLikeCompilerMessages() throws {
        let result = SyncConfig.parse("config: {edition: 3}\nstreams: {s: {priority: 9, query: SELECT * FROM t}}")
        let diagnostic = try #require(result.diagnostics.first)
        let text = "2:25: error: “priority” must be a number from 0 (most urgent) to 3. [stream.priority]"
        #expect(diagnostic.description == "sync.yaml:" + text)
        #expect(diagnostic.formatted(file: "conf/a.yaml") == "conf/a.yaml:" + text)
    }

    @Test func aTagOnTheStreamAcceptsDangerousQueries() {
        let yaml = """
            config: {edition: 3}
            streams:
              s: !accept_potentially_dangerous_queries
                query: SELECT * FROM t WHERE a = subscription.parameter('p')
            """
        #expect(findings(yaml).isEmpty)
    }

    @Test func streamNamesAppearVerbatimInBucketNames() async throws {
        let plan = try plan(config(TestStream("a/b=c", "SELECT * FROM t")))
        #expect(try await plan.bucketNames() == ["1#a/b=c|0[]"])
        #expect(plan.synced("t", ["id": "1"]) == [#"1#a/b=c|0[] t/1 {"id":"1"}"#])
    }
}
