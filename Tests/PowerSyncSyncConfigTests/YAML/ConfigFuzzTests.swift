import PowerSyncProtocol
import PowerSyncSyncConfig
import TestSupport
import Testing

/// Nothing that a config contains may trap, and every finding has a place in the file.
@Suite struct ConfigFuzzTests {
    private static let words = [
        "SELECT", "FROM", "WHERE", "AND", "OR", "NOT", "IN", "IS", "NULL", "(", ")", ",", ".", "*", "=", "!=", "<>",
        "a",
        "b", "t", "u", "t.a", "u.b", "'x'", "1", "-1", "1.5", "\"Q\"", "AS", "auth.user_id()", "auth.parameter('p')",
        "subscription.parameter('s')", "connection.parameter(", "IN (SELECT a FROM u WHERE", "(SELECT", "DISTINCT", ";",
        "'", "\"", "--", "/*", "*/", "$1", "->>", "||", "::", "ö", "🙂", "\t", "\n        ", "LIKE", "JOIN", "CASE",
        "true",
        "9223372036854775808", "-9223372036854775808", "1e400", "e", "[", "]", "ORDER BY", "LIMIT", "upper(",
        "JOIN u ON", "json_each(", "j.value", "WHEN", "THEN", "ELSE", "END", "CAST(", "::text", "BETWEEN", "IS NOT",
        "ARRAY[", "ROW(", "&&", "->", "+", "%",
        "<", ">=", "iif(", "substring(", "FROM (SELECT a AS id FROM u) AS s", "cte", "IN cte", "t.schema()", "E'\\x'",
        "bucket.u", "request.user_id()", "E'",
    ]

    private static let fragments = [
        "config:", " {edition: 3}", "\nstreams:", "\n  s:", "\n    query:", "\n    queries:", "\n      - ",
        "\n    priority: ",
        "\n    auto_subscribe: true", " |", " >", " >-", "\n      ", "SELECT * FROM t", " WHERE a = auth.user_id()",
        "\"", "'",
        "\\", "\\\n", "\\x41", "\\u00e4", "{", "}", "[", "]", "&x ", "*x", "!t ", "#", ":", "- ", "\t", "\r\n",
        "\u{85}",
        "\u{2028}", "ü", "~", "3", "---", "...", "?", "<<: *x", "%", "@", "\u{0}", "\u{feff}",
    ]

    /// Evaluates whatever came out, too.
    private func check(_ yaml: String, _ comment: Comment) {
        let result = SyncConfig.parse(yaml)
        let length = yaml.utf8.count
        #expect(result.isUsable == !result.diagnostics.contains { $0.severity == .error }, comment)
        for diagnostic in result.diagnostics {
            #expect(diagnostic.range.lowerBound >= 0 && diagnostic.range.upperBound <= length, comment)
            #expect(diagnostic.line >= 1 && diagnostic.column >= 1, comment)
        }
        guard let plan = result.plan else { return }
        _ = plan.synced("t", ["id": 1, "a": "x", "b": 2.5])
        _ = plan.evaluateParameters(["a": "x"], of: SourceTableName(schema: "main", name: "u"))
        _ = plan.querier(for: SyncPlanRequest(tokenPayload: ["sub": "u1"]), bucketPrefix: "1#")
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func garbageQueriesNeverTrap(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<500 {
            var query = Bool.random(using: &generator) ? "SELECT * FROM t WHERE " : ""
            for _ in 0..<Int.random(in: 0..<20, using: &generator) {
                query += (Self.words.randomElement(using: &generator) ?? "") + " "
            }
            check(config(TestStream("s", query)), "seed \(seed), round \(round): \(query)")
            let quoted = yamlQuoted(query)
            let legacy =
                "bucket_definitions: {a: {parameters: \(quoted), data: [SELECT * FROM t WHERE a = bucket.u, \(quoted)]}}"
            check(legacy, "seed \(seed), round \(round), legacy: \(query)")
            let common =
                "config: {edition: 3}\nwith: {cte: \(quoted)}\nstreams: {s: {query: SELECT * FROM t WHERE a IN cte}}"
            check(common, "seed \(seed), round \(round), common table: \(query)")
        }
    }

    /// Long texts of any kind are read once, and not once for each of their parts.
    static let repeated: [(start: String, part: String)] = [
        ("SELECT id FROM t WHERE a = 1", " OR a = 1"), ("SELECT id", ", upper(a) AS b"),
        ("SELECT id FROM t WHERE a IN (1", ", 2"), ("SELECT id FROM t", ", u"),
        ("SELECT id FROM t WHERE ", "a IN ("), ("SELECT id FROM t WHERE ", "(("), ("SELECT id FROM t WHERE a", " || b"),
        ("SELECT id FROM t WHERE ", "NOT "), ("SELECT ", "$1, "), ("SELECT id", ", (SELECT a"),
        ("SELECT id FROM t WHERE ", "CASE WHEN "), ("SELECT id FROM t WHERE a = '", "''"), ("SELECT id /*", "/*"),
        ("", "SELECT "), ("SELECT id FROM t;", ";"), ("SELECT ä", "ä"),
    ]

    @Test(.timeLimit(.minutes(1)), arguments: repeated) func longQueriesTakeLinearTime(start: String, part: String) {
        let query = start + String(repeating: part, count: 5_000)
        check(config(TestStream("s", query)), "\(part) many times")
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func garbageFilesNeverTrap(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for round in 0..<300 {
            var yaml = Bool.random(using: &generator) ? "config: {edition: 3}\nstreams:\n  s:\n    query: " : ""
            for _ in 0..<Int.random(in: 0..<25, using: &generator) {
                yaml += Self.fragments.randomElement(using: &generator) ?? ""
            }
            check(yaml, "seed \(seed), round \(round): \(yaml)")
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func damagedFilesNeverTrap(seed: UInt64) throws {
        let valid = config(
            TestStream(
                "a",
                "SELECT id, 'x' AS \"Y\" FROM t AS x WHERE a IN (SELECT b FROM u WHERE c = auth.user_id()) OR NOT d = 1.5"
            ),
            TestStream("b", "SELECT * FROM \"t_%\" WHERE a = subscription.parameter('p') -- why\n")
        )
        var generator = SeededGenerator(seed: seed)
        for round in 0..<300 {
            var scalars = Array(valid.unicodeScalars)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let position = Int.random(in: 0..<scalars.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: scalars.remove(at: position)
                case 1: scalars.insert(scalars[Int.random(in: 0..<scalars.count, using: &generator)], at: position)
                default: scalars[position] = Unicode.Scalar(UInt8.random(in: 0..<128, using: &generator))
                }
            }
            let yaml = String(String.UnicodeScalarView(scalars))
            check(yaml, "seed \(seed), round \(round): \(yaml)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func manyPlacesInOneLineTakeLinearTime() {
        let streams = (0..<5_000).map { "s\($0): {query: \"SELECT 'ä' AS x, uper(id) FROM t\"}" }
        let result = SyncConfig.parse("config: {edition: 3}\nstreams: {\(streams.joined(separator: ", "))}")
        #expect(result.diagnostics.count == 200)
        #expect(result.diagnostics.allSatisfy { $0.excerpt.contains("uper(id)") && $0.line == 2 })
    }

    @Test func deeplyNestedYAMLIsRefused() {
        let open = String(repeating: "[", count: 100_000)
        #expect(findings("streams: \(open)").map { $0.hasSuffix("yaml.syntax") } == [true])
    }
}
