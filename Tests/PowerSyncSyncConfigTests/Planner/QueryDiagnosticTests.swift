import PowerSyncSyncConfig
import Testing

/// What the compiler says about queries (docs/sync-config.md "Findings").
///
/// Positions are relative to the query.
@Suite struct QueryDiagnosticTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var query: String
        /// `line:column code`, with 1:1 as the first character of the query.
        var findings: [String]
        var options: [String]
        var name: String

        init(_ name: String = "", _ query: String, _ findings: String..., options: [String] = ["priority: 3"]) {
            self.name = name
            self.query = query
            self.findings = findings
            self.options = options
        }

        var testDescription: String { name.isEmpty ? query : "\(name): \(query)" }

        /// What the compiler finds.
        var actual: [String] {
            let yaml = config(TestStream("s", query, options: options))
            let firstLine = 5 + options.count
            return SyncConfig.parse(yaml).diagnostics.map {
                "\($0.line - firstLine):\($0.column - 8) \($0.code)"
            }
        }
    }

    static let invalid = [
        Case("", "SELECT auth.user_id() AS id FROM t", "1:8 stream.output_request_value"),
        Case("", "SELECT 1 AS id", "1:1 stream.no_table_output"),
        Case("", "SELECT 1 AS id FROM t", "1:1 stream.no_table_output"),
        Case("", "SELECT * FROM t ORDER BY id", "1:17 sql.unsupported_clause"),
        Case("", "SELECT * FROM t LIMIT 1", "1:17 sql.unsupported_clause"),
        Case("", "SELECT * FROM t GROUP BY a", "1:17 sql.unsupported_clause"),
        Case("", "SELECT * FROM t WHERE a HAVING b", "1:25 sql.unsupported_clause"),
        Case("", "SELECT * FROM t UNION SELECT * FROM u", "1:17 sql.not_select"),
        Case("", "SELECT DISTINCT ON (a) * FROM t", "1:17 sql.unsupported_clause"),
        Case("", "SELECT WHERE auth.parameter('a')", "1:8 sql.unsupported_clause"),
        Case("", "SELECT t.* FROM t LEFT JOIN u ON t.a = u.x", "1:19 sql.unsupported_clause"),
        Case("", "SELECT * FROM t WHERE a LIKE 'x%'", "1:25 sql.unsupported_expr"),
        Case("", "SELECT * FROM t WHERE a != auth.user_id()", "1:28 filter.mixed_dependencies"),
        Case("", "SELECT * FROM t WHERE NOT a = auth.user_id()", "1:31 filter.mixed_dependencies"),
        Case("", "SELECT * FROM t WHERE (a = auth.user_id()) = 1", "1:28 filter.mixed_dependencies"),
        Case("", "SELECT * FROM t WHERE (a = auth.user_id()) IS NULL", "1:28 filter.mixed_dependencies"),
        Case("", "SELECT * FROM t WHERE a NOT IN (SELECT id FROM u)", "1:23 sql.unsupported_expr"),
        Case("", "SELECT * FROM t WHERE NOT a IN (SELECT id FROM u)", "1:40 filter.mixed_dependencies"),
        Case("", "SELECT * FROM t WHERE (a IN (SELECT id FROM u)) = 1", "1:23 sql.unsupported_expr"),
        Case("", "SELECT a IN (SELECT id FROM u) AS b FROM t", "1:8 sql.unsupported_expr"),
        Case("", "SELECT * FROM t WHERE (SELECT id FROM u)", "1:24 sql.unsupported_expr"),
        Case("", "SELECT * FROM t WHERE EXISTS (SELECT id FROM u)", "1:23 sql.unknown_function"),
        Case("", "SELECT * FROM t WHERE random() > 1", "1:23 sql.nondeterministic"),
        Case("", "SELECT * FROM t WHERE a = now()", "1:27 sql.nondeterministic"),
        Case("", "SELECT * FROM t WHERE a = CURRENT_TIMESTAMP", "1:27 sql.nondeterministic"),
        Case("", "SELECT * FROM t WHERE foo(a)", "1:23 sql.unknown_function"),
        Case("", "SELECT * FROM t WHERE request.user_id() = a", "1:23 sql.request_function"),
        Case("", "SELECT * FROM t WHERE a = $1", "1:27 sql.unsupported_expr"),
        Case("", "SELECT * FROM t WHERE a = :id", "1:27 sql.unsupported_expr"),
        Case("", "SELECT * FROM t WHERE a = ?", "1:27 sql.unsupported_expr"),
        Case("", "SELECT * FROM t WHERE auth.parameter() = 'x'", "1:23 sql.request_function"),
        Case("", "SELECT * FROM t WHERE connection.user_id() = a", "1:23 sql.request_function"),
        Case("", "SELECT * FROM t WHERE auth.user_id('x') = a", "1:23 sql.request_function"),
        Case("", "SELECT * FROM t WHERE auth.parameter('x', 'y') = a", "1:23 sql.request_function"),
        Case("", "SELECT * FROM t WHERE u.a = 1", "1:23 sql.unknown_table"),
        Case("", "SELECT u.* FROM t", "1:8 sql.unknown_table"),
        Case("", "SELECT t.* FROM t AS x", "1:8 sql.unknown_table"),
        Case("", "SELECT a", "1:8 sql.unknown_table"),
        Case("", "SELECT *", "1:8 sql.unknown_table"),
        Case("", "SELECT * FROM t WHERE bucket.a = b", "1:23 sql.unknown_table"),
        Case("", "SELECT * FROM t WHERE a IN (SELECT id, x FROM u)", "1:29 sql.subquery_columns"),
        Case("", "SELECT * FROM t WHERE a IN (SELECT * FROM u)", "1:36 sql.star_not_allowed"),
        Case("", "SELECT * FROM t WHERE a IN (SELECT id FROM u) AND u.x = 1", "1:51 sql.unknown_table"),
        Case("", "SELECT * FROM t WHERE a IN (SELECT b.id)", "1:36 sql.unknown_table"),
        Case("", "SELECT * FROM t WHERE a IS 1", "1:28 sql.unsupported_expr"),
        Case("", "SELECT (a, b) AS c FROM t", "1:10 sql.unsupported_expr"),
        Case("", "SELECT t.s.a FROM t", "1:10 sql.unknown_table"),
        Case("", "SELECT * FROM t WHERE a = -b", "1:27 sql.unsupported_expr"),
        Case("", "SELECT auth.user_id() OVER () AS x FROM t", "1:23 sql.window"),
        Case("", "SELECT * FROM t WHERE a = -9223372036854775809", "1:28 sql.number_range"),
        Case("", "SELECT * FROM t WHERE a = 1e999", "1:27 sql.number_range"),
        Case("", "SELECT * FROM t WHERE a = 1e", "1:27 sql.syntax"),
        Case("", "SELECT * FROM t WHERE a = 1e+", "1:27 sql.syntax"),
        Case("", "SELECT \"\" FROM t", "1:8 sql.syntax"),
        Case("", "SELECT * FROM t /* a /* b */", "1:17 sql.syntax"),
        Case("", "SELECT * FROM t AS x (a)", "1:22 sql.unsupported_clause"),
        Case("", "", "0:1 sql.syntax"),
        Case("", "SELECT", "1:7 sql.unsupported_clause"),
        Case("", "SELECT * FROM", "1:14 sql.syntax"),
        Case("", "SELECT * FROM t WHERE", "1:22 sql.syntax"),
        Case("", "SELECT * FROM t WHERE a =", "1:26 sql.syntax"),
        Case("", "SELECT * FROM t WHERE (a = b", "1:29 sql.syntax"),
        Case("", "SELECT * FROM t; SELECT * FROM u", "1:18 sql.many_statements"),
        Case("", "SELECT * FROM t WHERE a = 'x", "1:27 sql.syntax"),
        Case("", "SELECT * FROM t WHERE \"a = 1", "1:23 sql.syntax"),
        Case("", "SELECT * FROM t /* never", "1:17 sql.syntax"),
        Case("", "SELECT * FROM order", "1:15 sql.syntax"),
        Case("", "SELECT * FROM t WHERE a = 9223372036854775808", "1:27 sql.number_range"),
        Case("", "SELECT * FROM t WHERE a = 12abc", "1:27 sql.syntax"),
        Case("", "SELECT * FROM t WHERE a = 1 2", "1:29 sql.syntax"),
        Case("", "INSERT INTO t VALUES (1)", "1:1 sql.not_select"),
        Case("", "WITH x AS (SELECT 1) SELECT * FROM x", "1:1 sql.not_select"),
        Case("", "SELECT *\nFROM t\nWHERE a == 1", "3:10 sql.syntax"),
    ]

    @Test(arguments: invalid) func reportsAnError(_ test: Case) {
        #expect(test.actual == test.findings)
    }

    static let warnings = [
        Case("", "SELECT id, a = b FROM t", "1:12 column.unnamed"),
        Case("", "SELECT a AS b, * FROM t", "1:16 column.star_after_alias"),
        Case("", "SELECT *, a AS b FROM t"),
        Case("", "SELECT a, * FROM t"),
        Case("", "SELECT a AS b, c, *, d AS e FROM t", "1:19 column.star_after_alias"),
        Case(
            "",
            "SELECT x.* FROM t AS x WHERE a IN (SELECT id FROM u WHERE y = auth.user_id())",
            "1:22 table.alias_renames"
        ),
        Case("", "SELECT x.* FROM t AS \"x\" WHERE a IN (SELECT id FROM u WHERE y = auth.user_id())"),
        Case("", "SELECT x.* FROM t AS x", "1:22 table.alias_renames"), Case("", "SELECT x.* FROM t AS \"x\""),
        Case("", "SELECT t.* FROM t AS t"), Case("", "SELECT * FROM other.t AS t"),
        Case("", "SELECT x.* FROM \"t_%\" x"),
        Case("", "SELECT * FROM \"tenant_%\".t x", "1:28 table.alias_renames"),
        Case("", "SELECT * FROM t WHERE a = subscription.parameter('p')", "1:27 stream.dangerous_parameter"),
        Case(
            "",
            "SELECT * FROM t WHERE a = subscription.parameter('p')",
            options: ["accept_potentially_dangerous_queries: true"]
        ),
        Case("", "SELECT * FROM t WHERE a = connection.parameter('p') AND b = auth.user_id()"),
        Case(
            "",
            "SELECT * FROM t WHERE a = subscription.parameter('p') AND auth.parameter('role') = 'x'",
            "1:27 stream.dangerous_parameter"
        ),
        Case(
            "",
            "SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE x = subscription.parameter('p'))",
            "1:56 stream.dangerous_parameter"
        ),
        Case(
            "",
            "SELECT * FROM t WHERE a = subscription.parameter('p') AND a IN (SELECT id FROM u WHERE y = auth.user_id())"
        ),
        Case("", "SELECT * FROM t WHERE connection.parameter('flag')", "1:23 stream.dangerous_parameter"),
        Case("", "SELECT * FROM t WHERE auth.parameter('flag')"),
        Case("", "SELECT * FROM t WHERE a IN (SELECT id FROM u)", "1:44 lookup.unbounded"),
        Case("", "SELECT * FROM t WHERE NOT (b OR 'x' IN (SELECT id FROM u))", "1:56 lookup.unbounded"),
        Case(
            "",
            "SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE x IN (SELECT y FROM v)) AND b = auth.user_id()",
            "1:44 lookup.unbounded",
            "1:72 lookup.unbounded"
        ),
    ]

    @Test(arguments: warnings) func warns(_ test: Case) {
        #expect(test.actual == test.findings)
        #expect(SyncConfig.parse(config(TestStream("s", test.query))).isUsable)
    }

    @Test func manyOrsUnderAndAreTooComplex() {
        let factors = (0..<7).map { "(a = auth.parameter('i\($0)') OR b = auth.parameter('j\($0)'))" }
        let test = Case("", "SELECT * FROM t WHERE " + factors.joined(separator: " AND "), "1:24 filter.too_complex")
        #expect(test.actual == test.findings)
    }

    @Test func aStreamHasAtMostAHundredQueriers() {
        let queries = ["x", "y"].map { column in
            let factors = (0..<6).map {
                "(\(column)\($0) = auth.parameter('i\($0)') OR b\($0) = auth.parameter('\(column)'))"
            }
            return "SELECT * FROM \(column) WHERE " + factors.joined(separator: " AND ")
        }
        #expect(findings(config(TestStream("s", queries[0]))).isEmpty)
        #expect(findings(config(TestStream("s", queries[0], queries[1]))) == ["3:3 stream.too_many_buckets"])
    }

    @Test func aHundredCombinationsAreAllowedAndOneMoreIsNot() throws {
        func terms(_ column: String, _ count: Int) -> String {
            let terms = (0..<count).map { "\(column)\($0) = auth.parameter('\(column)\($0)')" }
            return "(\(terms.joined(separator: " OR ")))"
        }
        let most = try plan(query: "SELECT * FROM t WHERE \(terms("a", 10)) AND \(terms("b", 10))")
        #expect(most.streams[0].queriers.count == 100)
        let test = Case(
            "",
            "SELECT * FROM t WHERE \(terms("a", 101)) AND c = auth.user_id()",
            "1:24 filter.too_complex"
        )
        #expect(test.actual == test.findings)
        // Without AND nothing is multiplied.
        #expect(try plan(query: "SELECT * FROM t WHERE \(terms("a", 100))").streams[0].queriers.count == 100)
        let oneMore = config(TestStream("s", "SELECT * FROM t WHERE \(terms("a", 101))"))
        #expect(findings(oneMore) == ["3:3 stream.too_many_buckets"])
    }

    @Test func theHintAboutStreamsIsForNamesOfOldConfigs() {
        func hint(_ table: String) -> String? {
            SyncConfig.parse(config(TestStream("s", "SELECT * FROM t WHERE \(table).a = b"))).diagnostics.first?.hint
        }
        #expect(hint("bucket")?.contains("auth.parameter('a')") == true)
        #expect(hint("u")?.contains("auth.") != true)
    }

    @Test func asManyLevelsAsTheLimitAreAllowed() {
        func nested(_ depth: Int) -> Case {
            let (open, close) = (String(repeating: "(", count: depth), String(repeating: ")", count: depth))
            return Case("", "SELECT * FROM t WHERE \(open)a\(close)")
        }
        // The condition itself is the first level.
        #expect(nested(63).actual.isEmpty)
        #expect(nested(64).actual == ["1:87 sql.syntax"])
    }

    @Test func deeplyNestedQueriesAreRefused() {
        let parentheses = String(repeating: "(", count: 10_000)
        let negations = String(repeating: "NOT ", count: 10_000)
        let subqueries = String(repeating: "a IN (SELECT a FROM t WHERE ", count: 10_000)
        for prefix in [parentheses, negations, subqueries] {
            let test = Case("", "SELECT * FROM t WHERE \(prefix)")
            #expect(test.actual.allSatisfy { $0.hasSuffix("sql.syntax") })
            #expect(test.actual.count == 1)
        }
    }

    @Test func longListsOfTermsAreFine() throws {
        let terms = (0..<5_000).map { "a = \($0)" }.joined(separator: " OR ")
        #expect(try plan(query: "SELECT * FROM t WHERE \(terms)").buckets.count == 1)
    }
}
