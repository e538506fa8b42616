import PowerSyncSyncConfig
import Testing

/// What the compiler says about queries of the whole language (docs/sync-config.md "Findings").
///
/// The source has the tables `t(id, a, b)` and `u(id, x, y)`.
@Suite struct LanguageDiagnosticTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var query: String
        /// Codes of all findings in the order of the text, each with the text that it is about when that matters:
        /// `sql.syntax`, or `from.unused u`.
        var findings: [String]
        var edition = 3
        var options = "accept_potentially_dangerous_queries: false"

        init(_ query: String, _ findings: String..., edition: Int = 3) {
            self.query = query
            self.findings = findings
            self.edition = edition
        }

        var testDescription: String { query }

        var actual: [String] {
            let yaml = "config: {edition: \(edition)}\nstreams: {s: {query: \(yamlQuoted(query))}}"
            let bytes = Array(yaml.utf8)
            return SyncConfig.parse(yaml).diagnostics.filter { $0.code != "streams.alpha" }.enumerated().map {
                position,
                diagnostic in
                let text = String(decoding: bytes[diagnostic.range], as: UTF8.self)
                let isBare = position < findings.count && !findings[position].contains(" ")
                return isBare ? diagnostic.code : "\(diagnostic.code) \(text.replacing("\\\"", with: "\""))"
            }
        }
    }

    static let errors = [
        Case("SELECT * FROM t, u WHERE t.a = u.x", "sql.ambiguous_column *"),
        Case("SELECT * FROM t, json_each(t.a) j, u WHERE t.a = u.x", "sql.ambiguous_column *"),
        Case("SELECT * FROM t, (SELECT x FROM u) s WHERE t.a = s.x", "sql.ambiguous_column *"),
        Case("SELECT * FROM json_each(auth.parameter('x')) j", "stream.output_not_table *"),
        Case("SELECT t.*, u.x FROM t, u WHERE t.a = u.x AND u.y = auth.user_id()", "stream.multi_table_output u.x"),
        Case("SELECT auth.user_id() AS id FROM t", "stream.output_request_value auth.user_id()"),
        Case("SELECT 1 AS id", "stream.no_table_output"),
        Case("SELECT * FROM t ORDER BY id", "sql.unsupported_clause ORDER"),
        Case("SELECT * FROM t LIMIT 1", "sql.unsupported_clause LIMIT"),
        Case("SELECT * FROM t GROUP BY a", "sql.unsupported_clause GROUP"),
        Case("SELECT * FROM t WHERE a FOR UPDATE", "sql.unsupported_clause FOR"),
        Case("SELECT * FROM t INTERSECT SELECT * FROM u", "sql.unsupported_clause INTERSECT"),
        Case("SELECT * FROM t UNION SELECT * FROM u", "sql.not_select UNION"),
        Case("VALUES (1)", "sql.not_select VALUES"),
        Case("SELECT DISTINCT ON (a) * FROM t", "sql.unsupported_clause ON"),
        Case("SELECT x.id FROM t AS x(a)", "sql.unsupported_clause ("),
        Case("SELECT", "sql.unsupported_clause"), Case("SELECT FROM t", "sql.unsupported_clause FROM"),
        Case("SELECT t.* FROM t LEFT JOIN u ON t.a = u.x AND u.y = auth.user_id()", "sql.unsupported_clause LEFT"),
        Case("SELECT t.* FROM t NATURAL JOIN u", "sql.unsupported_clause NATURAL"),
        Case("SELECT t.* FROM t JOIN u USING (id)", "sql.unsupported_clause USING"),
        Case("SELECT t.id FROM t, LATERAL (SELECT id FROM u) x", "sql.unsupported_clause LATERAL"),
        Case("SELECT t.id FROM t, pg.json_each(t.a) j", "sql.unsupported_clause pg"),
        Case("SELECT t.id FROM t, json_each(t.a) WITH ORDINALITY", "sql.unsupported_clause WITH"),
        Case("SELECT * FROM t WHERE a LIKE 'x%'", "sql.unsupported_expr LIKE"),
        Case("SELECT * FROM t WHERE a NOT LIKE 'x%'", "sql.unsupported_expr NOT"),
        Case("SELECT * FROM t WHERE a GLOB 'x'", "sql.unsupported_expr GLOB"),
        Case("SELECT * FROM t WHERE a SIMILAR TO 'x'", "sql.unsupported_expr SIMILAR"),
        Case("SELECT * FROM t WHERE a COLLATE nocase = 'x'", "sql.unsupported_expr COLLATE"),
        Case("SELECT * FROM t WHERE a IS DISTINCT FROM 1", "sql.unsupported_expr DISTINCT"),
        Case("SELECT * FROM t WHERE a OPERATOR(pg_catalog.=) b", "sql.unsupported_expr OPERATOR"),
        Case("SELECT * FROM t WHERE a > auth.parameter('min')", "filter.mixed_dependencies auth.parameter('min')"),
        Case("SELECT * FROM t WHERE a != auth.user_id()", "filter.mixed_dependencies auth.user_id()"),
        Case("SELECT * FROM t WHERE a = auth.parameter('k') || b", "filter.mixed_dependencies auth.parameter('k')"),
        Case("SELECT t.* FROM t, u WHERE t.a < u.x", "filter.mixed_dependencies u.x"),
        Case("SELECT * FROM t WHERE a NOT IN subscription.parameter('x')", "filter.mixed_dependencies"),
        Case("SELECT t.* FROM t, u WHERE CASE WHEN t.a = 1 THEN auth.user_id() END = u.x", "filter.mixed_dependencies"),
        Case("SELECT * FROM t WHERE a NOT IN (SELECT id FROM u)", "sql.unsupported_expr"),
        Case("SELECT * FROM t WHERE NOT a IN (SELECT id FROM u)", "filter.mixed_dependencies"),
        Case("SELECT * FROM t WHERE NOT (a NOT IN (SELECT id FROM u))", "sql.unsupported_expr"),
        Case("SELECT * FROM t WHERE NOT (a && '[1]')", "sql.unsupported_expr"),
        Case("SELECT * FROM t WHERE auth.parameter('x') && auth.parameter('y')", "filter.unrelated"),
        Case("SELECT * FROM t WHERE auth.user_id() IN auth.parameter('x')", "tvf.partitioned"),
        Case(
            "SELECT t.* FROM t, u WHERE t.a = auth.user_id() AND u.x = t.b AND u.y < t.a",
            "filter.mixed_dependencies t.a"
        ),
        Case("SELECT * FROM t WHERE random() > 1", "sql.nondeterministic random"),
        Case("SELECT * FROM t WHERE a = now()", "sql.nondeterministic now"),
        Case("SELECT * FROM t WHERE a = CURRENT_TIMESTAMP", "sql.nondeterministic CURRENT_TIMESTAMP"),
        Case("SELECT * FROM t WHERE foo(a)", "sql.unknown_function foo"),
        Case("SELECT * FROM t WHERE EXISTS (SELECT id FROM u)", "sql.unknown_function EXISTS"),
        Case("SELECT * FROM t WHERE a = ANY (b)", "sql.unknown_function ANY"),
        Case("SELECT count(*) AS id FROM t", "sql.unknown_function count"),
        Case("SELECT * FROM t WHERE json_each(a)", "sql.unknown_function json_each"),
        Case("SELECT * FROM t WHERE upper(a, b)", "sql.arity"),
        Case("SELECT * FROM t WHERE ifnull(a, 1, 2)", "sql.arity"),
        Case("SELECT t.id FROM t, json_each() j", "sql.arity"),
        Case("SELECT t.id FROM t, nofn(t.a) n", "tvf.unknown nofn"),
        Case("SELECT * FROM t WHERE datetime(a, 'unixepoch', 'subsec', NULL)"),
        Case("SELECT * FROM t WHERE upper(DISTINCT a) = 'X'", "sql.window"),
        Case("SELECT upper(a) OVER () AS id FROM t", "sql.window"),
        Case("SELECT * FROM t WHERE a = $1", "sql.unsupported_expr $1"),
        Case("SELECT * FROM t WHERE a = ?", "sql.unsupported_expr ?"),
        Case("SELECT * FROM t WHERE a = :id", "sql.unsupported_expr :id"),
        Case("SELECT s.k FROM (SELECT id, a FROM t) AS s(k)", "sql.subquery_columns"),
        Case("SELECT s.id FROM (SELECT * FROM t) AS s", "sql.star_not_allowed"),
        Case("SELECT s.id FROM (SELECT id, a AS id FROM t) AS s", "sql.duplicate_column"),
        Case("SELECT s.id FROM (SELECT id FROM t)", "sql.syntax"),
        Case("SELECT s.nope FROM (SELECT id FROM t) s", "sql.unknown_column nope"),
        Case("SELECT t.* FROM t, (SELECT x FROM u WHERE u.y = t.a) s WHERE t.a = s.x", "sql.unknown_table t"),
        Case("SELECT t.* FROM t, (SELECT t.b AS x FROM u) s WHERE t.a = s.x", "sql.unknown_table t"),
        Case("SELECT s.id FROM (SELECT nope.id FROM t) s", "sql.unknown_table nope"),
        Case("SELECT t.* FROM t, json_each(nope.a) j WHERE j.value = t.b", "sql.unknown_table nope"),
        Case("SELECT * FROM t WHERE a IN (SELECT id, x FROM u)", "sql.subquery_columns"),
        Case("SELECT * FROM t WHERE a IN (SELECT * FROM u)", "sql.star_not_allowed"),
        Case("SELECT * FROM t WHERE auth.parameter() = 'x'", "sql.request_function"),
        Case("SELECT * FROM t WHERE connection.user_id() = a", "sql.request_function connection.user_id"),
        Case("SELECT * FROM t WHERE auth.user_id('x') = a", "sql.request_function"),
        Case("SELECT * FROM t WHERE auth.parameters('x') = a", "sql.request_function"),
        Case("SELECT * FROM t WHERE \"AUTH\".user_id() = a", "sql.request_function"),
        Case("SELECT * FROM t WHERE request.user_id() = a", "sql.request_function request.user_id"),
        Case("SELECT * FROM t WHERE AUTH.user_id() = a"), Case("SELECT * FROM t WHERE auth.\"User_Id\"() = a"),
        Case("SELECT * FROM t WHERE token_parameters.a = b", "sql.unknown_table"),
        Case("SELECT * FROM t WHERE bucket.a = b", "sql.unknown_table"),
        Case("SELECT * FROM t WHERE u.schema() = a", "sql.request_function"),
        Case("SELECT * FROM t WHERE t.schema(1) = a", "sql.request_function"),
        Case("SELECT j.value AS id FROM json_each(auth.parameter('x')) j", "stream.output_not_table j.value"),
        Case("SELECT id, ä FROM t", "sql.syntax ä"), Case("SELECT id, a$b FROM t", "sql.syntax a$b"),
        Case("SELECT id, \"\" FROM t", "sql.syntax"),
        Case("SELECT t.id FROM t, u AS T", "sql.duplicate_table T"),
        Case("SELECT t.id FROM t, \"T\"", "sql.duplicate_table"),
        Case("SELECT \"T\".id FROM t"),
        Case("SELECT id, 9223372036854775808 AS n FROM t", "sql.number_range 9223372036854775808"),
        Case("SELECT id, 0x10 AS n FROM t", "sql.syntax 0x10"),
        Case("SELECT id, 1_000 AS n FROM t", "sql.syntax 1_000"),
        Case("SELECT id, - 5 AS n FROM t", "sql.unsupported_expr -"),
        Case("SELECT id, -a AS n FROM t", "sql.unsupported_expr -"),
        Case("SELECT id, -(a) AS n FROM t", "sql.unsupported_expr -"),
        Case("SELECT id, a::uuid AS n FROM t", "sql.bad_cast uuid"),
        Case("SELECT id, CAST(a AS int) AS n FROM t", "sql.bad_cast int"),
        Case("SELECT * FROM t; SELECT * FROM u", "sql.many_statements SELECT"), Case("SELECT * FROM t;;"),
        Case("SELECT public.t.id FROM public.t"), Case("SELECT other.t.id FROM public.t", "sql.column_schema other"),
        Case("SELECT id FROM a.b.c", "sql.syntax a.b.c"), Case("SELECT id FROM \"a.b.c\".d", "sql.bad_schema"),
        Case("SELECT id FROM \"default.public\".d"),
        Case("SELECT id, a IN (SELECT x FROM u) AS n FROM t", "sql.unsupported_expr"),
        Case("SELECT id, a IN b AS n FROM t", "sql.unsupported_expr"),
        Case("SELECT id, a && b AS n FROM t", "sql.unsupported_expr"), Case("SELECT id, a IN ARRAY[1] AS n FROM t"),
        Case("SELECT id, a NOT IN b AS n FROM t"),
        Case("SELECT t.id FROM t, json_each(t.a) j, json_each(j.value) k WHERE k.value = 1", "tvf.inputs j.value"),
        Case("SELECT t.id FROM t, u, json_each(t.a || u.x) j WHERE j.value = 1", "tvf.inputs"),
        Case("SELECT * FROM t WHERE a == 1", "sql.syntax ="), Case("SELECT * FROM t WHERE (a", "sql.syntax"),
        Case("SELECT * FROM t WHERE a = NOT b", "sql.syntax NOT"),
        Case("SELECT * FROM t WHERE a IN ()", "sql.syntax"), Case("SELECT * FROM t WHERE CASE END", "sql.syntax"),
        Case("SELECT id a b FROM t", "sql.syntax b"),
        Case("SELECT * FROM t WHERE a -> b", "sql.syntax b"),
        Case("SELECT id, (SELECT 1) AS n FROM t", "sql.unsupported_expr SELECT"),
        Case(
            "SELECT nope, a +, foo(b) FROM t WHERE bar(a)",
            "sql.syntax ,",
            "sql.unknown_function foo",
            "sql.unknown_function bar"
        ),
        Case(
            "SELECT id FROM t WHERE foo(a) AND bar(b) OR baz(a)",
            "sql.unknown_function foo",
            "sql.unknown_function bar",
            "sql.unknown_function baz"
        ),
        Case(
            "SELECT id, $1 FROM t WHERE a LIKE 'x' ORDER BY 1",
            "sql.unsupported_expr $1",
            "sql.unsupported_expr LIKE",
            "sql.unsupported_clause ORDER"
        ),
    ]

    @Test(arguments: errors) func saysWhatIsWrongAndWhere(_ test: Case) {
        #expect(test.actual == test.findings)
    }

    static let warnings = [
        Case("SELECT id, upper(a) FROM t", "column.unnamed upper(a)"),
        Case("SELECT a AS b, * FROM t", "column.star_after_alias *"),
        Case("SELECT x.* FROM t AS x JOIN u ON x.a = u.x WHERE u.y = auth.user_id()", "table.alias_renames x"),
        Case("SELECT x.* FROM t AS \"x\" JOIN u ON x.a = u.x WHERE u.y = auth.user_id()"),
        Case(
            "SELECT * FROM t WHERE a = subscription.parameter('p')",
            "stream.dangerous_parameter subscription.parameter('p')"
        ),
        Case("SELECT * FROM t WHERE a = connection.parameter('p') AND b = auth.user_id()"),
        Case(
            "SELECT * FROM t WHERE a = subscription.parameter('p') AND auth.parameter('role') = 'x'",
            "stream.dangerous_parameter"
        ),
        Case(
            "SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE x = subscription.parameter('p'))",
            "stream.dangerous_parameter"
        ),
        Case(
            "SELECT * FROM t WHERE a = subscription.parameter('p') AND a IN (SELECT id FROM u WHERE y = auth.user_id())"
        ),
        Case("SELECT * FROM t WHERE connection.parameter('flag')", "stream.dangerous_parameter"),
        Case("SELECT * FROM t WHERE connection.parameter('flag') AND 1 = 1"),
        Case(
            "SELECT * FROM t WHERE a = 'x' || subscription.parameter('p')",
            "stream.dangerous_parameter subscription.parameter('p')"
        ),
        Case("SELECT * FROM t WHERE a IN subscription.parameter('ids')", "stream.dangerous_parameter"),
        Case("SELECT t.* FROM t, u WHERE t.a = auth.user_id()", "from.unused u"),
        Case("SELECT t.* FROM t, json_each(t.b) j WHERE t.a = auth.user_id()", "from.unused json_each(t.b) j"),
        Case("SELECT t.* FROM t, (SELECT x FROM u) s WHERE t.a = auth.user_id()", "from.unused (SELECT x FROM u) s"),
        Case("SELECT t.* FROM t, (SELECT x FROM u WHERE y) s WHERE t.a = auth.user_id()", "lookup.unbounded"),
        Case("SELECT t.* FROM t, u WHERE t.a = auth.user_id() AND u.x = 'k'", "lookup.unbounded u"),
        Case("SELECT t.* FROM t, u WHERE t.a = auth.user_id() AND u.x = u.y", "lookup.unbounded u"),
        Case("SELECT t.* FROM t, u WHERE u.x = 1 OR t.a = 2", "lookup.unbounded u"),
        Case("SELECT t.* FROM t, json_each(t.a) j WHERE j.type = 'text'", "tvf.unknown_column type"),
        Case("SELECT * FROM t WHERE t.table_suffix() = auth.parameter('x')", "metadata.suffix_without_wildcard"),
        Case("SELECT * FROM \"t_%\" AS t WHERE t.table_suffix() = auth.parameter('x')"),
        Case("SELECT * FROM t WHERE a IN (SELECT id FROM u)", "lookup.unbounded u"),
        Case("SELECT id FROM t WHERE a IN auth.parameter('ids') AND b IN auth.parameter('ids')"),
        Case(
            "SELECT ID FROM Todos AS \"x\" WHERE Done",
            "sql.case_folded ID",
            "sql.case_folded Todos",
            "sql.case_folded Done",
            edition: 2
        ),
        Case("SELECT id, \"userId\" FROM todos WHERE UPPER(a) = 'X' AND Auth.user_id() = b", edition: 2),
        Case("SELECT ID FROM Todos"),
    ]

    @Test(arguments: warnings) func warns(_ test: Case) {
        #expect(test.actual == test.findings)
    }

    static let hints = [
        ("SELECT id, ä FROM t", "Write \"ä\"."), ("SELECT * FROM t WHERE uper(a)", "Did you mean “upper”?"),
        ("SELECT tt.id FROM t", "Did you mean “t”?"), ("SELECT s.idd FROM (SELECT id FROM t) s", "Did you mean “id”?"),
        ("SELECT CAST(a AS int) AS id FROM t", "Write “integer”."),
        ("SELECT * FROM order", "To use it as a name, write \"order\"."),
        ("SELECT * FROM t WHERE auth.userid() = a", "Did you mean “user_id”?"),
        ("SELECT * FROM t WHERE a == 1", "Equality is written with one “=”."),
    ]

    @Test(arguments: hints) func proposesWhatToWrite(query: String, hint: String) {
        let yaml = "config: {edition: 3}\nstreams: {s: {query: \(yamlQuoted(query))}}"
        #expect(SyncConfig.parse(yaml).diagnostics.first { $0.severity == .error }?.hint == hint)
    }

    @Test func anExcerptShowsTheLineAndMarksThePlace() throws {
        let yaml = config(TestStream("s", "SELECT id,\n\tuper(a) AS \"ä\"\nFROM t"))
        let finding = try #require(SyncConfig.parse(yaml).diagnostics.first)
        #expect(finding.excerpt == "        \tuper(a) AS \"ä\"\n        \t^^^^")
        #expect(
            finding.rendered(file: "f.yaml").hasPrefix(
                "f.yaml:8:10: error: There is no function uper(). Did you mean “upper”? [sql.unknown_function]\n"
            )
        )
    }

    @Test func anExcerptOfALongLineIsCut() throws {
        let yaml = config(TestStream("s", "SELECT \(String(repeating: "a, ", count: 5_000))uper(a) AS x FROM t"))
        let lines = try #require(SyncConfig.parse(yaml).diagnostics.first?.excerpt).split(separator: "\n")
        #expect(lines.count == 2 && lines[0].count <= 160)
        #expect(lines[0].dropFirst(lines[1].count - 4).hasPrefix("uper"))
    }

    @Test func aQueryInALoopOfAliasesIsReportedOnce() {
        let yaml = "config: {edition: 3}\nstreams:\n  a: &x {query: SELECT foo(a) AS id FROM t}\n  b: *x\n"
        #expect(SyncConfig.parse(yaml).diagnostics.map(\.code) == ["sql.unknown_function"])
    }

    @Test func chainsOfOperatorsHaveALimit() {
        func finding(_ count: Int) -> [String] {
            let chain = Array(repeating: "a", count: count).joined(separator: " || ")
            return SyncConfig.parse(config(TestStream("s", "SELECT id, \(chain) AS x FROM t"))).diagnostics.map(\.code)
        }
        #expect(finding(100).isEmpty)
        #expect(finding(101) == ["sql.syntax"])
        #expect(finding(100_000) == ["sql.syntax"])
    }
}
