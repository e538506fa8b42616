import PowerSyncSyncConfig
import Testing

/// Reading the YAML (docs/sync-config.md "The file").
@Suite struct SyncConfigTests {
    static let cases: [(name: String, yaml: String, findings: [String])] = [
        ("empty file", "", ["1:1 yaml.not_map"]), ("comment only", "# nothing\n", ["1:1 yaml.not_map"]),
        ("list", "- a\n", ["1:1 yaml.not_map"]), ("scalar", "hello", ["1:1 yaml.not_map"]),
        ("not YAML", "config: {edition: 3\nstreams: [", ["2:8 yaml.syntax"]),
        ("tab", "config:\n\tedition: 3", ["2:1 yaml.syntax"]),
        ("two documents", "a: 1\n---\nb: 2", ["2:1 yaml.syntax"]),
    ]

    @Test(arguments: cases) func refusesWhatIsNoConfig(name: String, yaml: String, expected: [String]) {
        #expect(findings(yaml) == expected)
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

    @Test func twoHundredFindingsAreToldAndErrorsAreAmongThem() {
        func compiled(warnings: Int, _ last: String) -> SyncConfigResult {
            let columns = (0..<warnings).map { "a = \($0)" }.joined(separator: ", ")
            return SyncConfig.parse(config(TestStream("a", "SELECT id, \(columns) FROM t"), TestStream("b", last)))
        }
        #expect(compiled(warnings: 199, "SELECT * FROM t").diagnostics.count == 199)
        #expect(compiled(warnings: 200, "SELECT * FROM t").diagnostics.count == 200)
        let many = compiled(warnings: 201, "SELECT * FROM t")
        #expect(many.diagnostics.count == 200)
        #expect(many.isUsable)
        let broken = compiled(warnings: 201, "SELECT * FROM t WHERE foo(a)")
        #expect(broken.diagnostics.count == 200)
        #expect(broken.diagnostics.last?.code == "sql.unknown_function")
        #expect(broken.diagnostics.dropLast().allSatisfy { $0.severity == .warning })
        #expect(!broken.isUsable)
        let errors = (0..<201).map { "foo(\($0))" }.joined(separator: ", ")
        let hopeless = compiled(warnings: 201, "SELECT \(errors) FROM t")
        #expect(hopeless.diagnostics.map(\.code) == Array(repeating: "sql.unknown_function", count: 200))
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
