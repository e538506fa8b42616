import PowerSyncSyncConfig
import Testing

/// Constants that can never work are found when a config is compiled (docs/sync-config.md "Findings").
@Suite struct ConstantTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var expression: String
        /// The code with the text that it is about, or `nil` when nothing is wrong.
        var finding: String?
        /// What the hint says to write instead of the text that the finding is about; it compiles.
        var instead: String?
        var testDescription: String { expression }

        init(_ expression: String, _ finding: String?, instead: String? = nil) {
            self.expression = expression
            self.finding = finding
            self.instead = instead
        }
    }

    private func findings(_ query: String, edition: Int = 3) -> [String] {
        let yaml = "config: {edition: \(edition)}\nstreams:\n  s:\n    query: |\n      \(query)\n"
        let bytes = Array(yaml.utf8)
        return SyncConfig.parse(yaml).diagnostics.filter { $0.code != "streams.alpha" }
            .map { "\($0.code) \(String(decoding: bytes[$0.range], as: UTF8.self))" }
    }

    static let paths = [
        Case(#"a ->> '$."a.b"'"#, nil), Case(#"a ->> '$.x."a b"[0]."c"'"#, nil), Case("a ->> '$.'", nil),
        Case("a ->> '$'", nil),
        Case("a ->> '$[0][#-1].x'", nil), Case("a ->> 'x.y'", nil), Case("a ->> 'x['", nil), Case("a -> 0", nil),
        Case(#"a ->> '$."a.b'"#, #"sql.json_path '$."a.b'"#), Case("a -> '$o'", "sql.json_path '$o'"),
        Case("a -> '$.x]'", nil),
        Case("a ->> '$.''x'''", "sql.json_path '$.''x'''", instead: #"'$."x"'"#),
        Case("a ->> '$.'''", "sql.json_path '$.'''"), Case("a ->> '$[''x'']'", "sql.json_path", instead: #"'$."x"'"#),
        Case(#"a ->> '$["x"]'"#, "sql.json_path", instead: #"'$."x"'"#), Case("a ->> '$[x]'", "sql.json_path"),
        Case("a ->> '$[-1]'", "sql.json_path"), Case("a ->> '$[#]'", "sql.json_path"),
        Case("a ->> '$[#-0]'", "sql.json_path"),
        Case("a ->> '$[0'", "sql.json_path"), Case("a ->> '$..x'", "sql.json_path"),
        Case("a ->> '$.x..y'", "sql.json_path"),
        Case("a ->> '$.*'", "sql.json_path"), Case("a ->> '$[*]'", "sql.json_path"),
        Case("a ->> '$ .x'", "sql.json_path"),
        Case("a ->> '$[99999999999999999999]'", "sql.json_path"),
        Case("json_extract(a, 'x')", "sql.json_path 'x'", instead: "'$.x'"),
        Case("json_extract(a, '[0]')", "sql.json_path '[0]'", instead: "'$[0]'"),
        Case("json_extract(a, 1)", "sql.json_path 1"), Case("json_extract(a, '')", "sql.json_path ''"),
        Case("json_array_length(a, 'x')", "sql.json_path 'x'", instead: "'$.x'"),
        Case("json_type(a, 'x.y')", "sql.json_path 'x.y'", instead: "'$.x.y'"),
        Case("json_type(a, '$.x[')", "sql.json_path"),
        Case("json_extract(a, b)", nil), Case("json_extract(a, NULL)", nil),
    ]

    static let dates = [
        Case("datetime('now')", "sql.nondeterministic 'now'"),
        Case("unixepoch('NOW', '-1 day')", "sql.nondeterministic 'NOW'"),
        Case("datetime(a, 'localtime')", "sql.nondeterministic 'localtime'"),
        Case("datetime(a, 'utc')", "sql.nondeterministic 'utc'"),
        Case("datetime(a, 'weekday 7')", "sql.date_modifier 'weekday 7'"),
        Case("datetime(a, '+1 fortnight')", "sql.date_modifier '+1 fortnight'"),
        Case("datetime(a, '')", "sql.date_modifier ''"),
        Case("unixepoch(a, 'start of moth')", "sql.date_modifier 'start of moth'", instead: "'start of month'"),
        Case("datetime(a, '+1 day', 'unixepoch')", "sql.date_modifier 'unixepoch'"),
        Case("datetime(a, 'subsec', 'auto')", "sql.date_modifier 'auto'"),
        Case("datetime(a, 5)", "sql.date_modifier 5"),
        Case("datetime('Jan 5 2024')", "sql.constant datetime('Jan 5 2024')"),
        Case("datetime('2024-02-30')", "sql.constant datetime('2024-02-30')"),
        Case("unixepoch('12:30')", "sql.constant"),
        Case("datetime(a, '+1 day', 'start of month', 'subsec')", nil),
        Case("datetime(a, 'unixepoch', '-3 hours')", nil),
        Case("datetime(a, 'unixepoch', NULL)", nil), Case("datetime(a, b)", nil),
        Case("datetime('2024-02-29', a)", nil),
        Case("datetime(NULL)", nil), Case("unixepoch('2024-02-29')", nil),
    ]

    static let calls = [
        Case("uuid_blob('x')", "sql.constant uuid_blob('x')"), Case("'oops' ->> 'x'", "sql.constant 'oops' ->> 'x'"),
        Case("json_keys('[1]')", "sql.constant json_keys('[1]')"), Case("st_x('zz')", "sql.constant st_x('zz')"),
        Case("ifnull(a, json_keys('1'))", "sql.constant json_keys('1')"),
        Case("a NOT IN 'x'", "sql.constant 'x'", instead: "('x')"),
        Case("a NOT IN '{}'", "sql.constant '{}'"), Case("a NOT IN 5", "sql.constant 5", instead: "(5)"),
        Case("a NOT IN '[\"x\"]'", nil), Case("uuid_blob(a)", nil), Case("'{}' ->> 'x'", nil),
    ]

    @Test(arguments: paths + dates + calls) func whatCanNeverWorkIsAnError(_ test: Case) throws {
        let found = findings("SELECT id, \(test.expression) AS r FROM t")
        guard let finding = test.finding else {
            #expect(found == [])
            return
        }
        #expect(found.count == 1 && found[0].hasPrefix(finding), "\(found)")
        guard let instead = test.instead else { return }
        let wrong = String(try #require(found.first).drop { $0 != " " }.dropFirst())
        #expect(findings("SELECT id, \(test.expression.replacing(wrong, with: instead)) AS r FROM t") == [])
    }

    @Test(arguments: ["auth.parameter('$[x]')", "connection.parameter('$o')", "subscription.parameter('$.a..b')"])
    func pathsIntoTheRequestAreChecked(_ call: String) {
        #expect(
            findings("SELECT * FROM t WHERE a = \(call) AND b = auth.user_id()").map { $0.prefix(13) } == [
                "sql.json_path"
            ]
        )
    }

    @Test(arguments: [1, 2]) func bucketDefinitionsAreCheckedToo(edition: Int) {
        let yaml = """
            config: {edition: \(edition)}
            bucket_definitions:
              d:
                parameters: SELECT request.jwt() ->> '$[x]' AS u
                data: ["SELECT id, json_extract(a, 'x') AS x FROM t WHERE u = bucket.u AND datetime(a) > datetime('now')"]
            """
        let codes = SyncConfig.parse(yaml).diagnostics.map(\.code)
        #expect(codes.sorted() == ["sql.json_path", "sql.json_path", "sql.nondeterministic"])
    }

    static let conditions = [
        Case("a = NULL", "filter.null"), Case("a != NULL", "filter.null"), Case("NULL = a", "filter.null"),
        Case("a > NULL", "filter.null"),
        Case("a BETWEEN NULL AND 5", "filter.null"), Case("a BETWEEN 1 AND NULL", "filter.null"),
        Case("a IN (NULL)", "filter.null"),
        Case("a NOT IN (NULL)", "filter.null"), Case("NOT (a = NULL)", "filter.null"),
        Case("a = upper(NULL)", "filter.null"),
        Case("auth.user_id() = NULL", "filter.null"), Case("NULL", "filter.null"), Case("1 / 0", "filter.null"),
        Case("a = 1 OR b = NULL", "filter.null"), Case("a IN NULL", "sql.constant"),
        Case("a IN 'x'", "sql.constant", instead: "('x')"),
        Case("false", "filter.never"), Case("1 = 0", "filter.never"), Case("a = 1 AND 'x'", "filter.never"),
        Case("a = 1 OR 1 = 2", "filter.never"), Case("'2' = 2", "filter.never"), Case("NOT 1", "filter.never"),
        Case("'a' > 'b'", "filter.never"),
        Case("uuid_blob(a) = uuid_blob(b)", "filter.bytes"),
        Case("uuid_blob(a) = uuid_blob(auth.user_id())", "filter.bytes"),
        Case("CAST(a AS blob) IN (uuid_blob(b), uuid_blob(id))", "filter.bytes"), Case("uuid_blob(a)", "filter.never"),
        Case("a -> 'x'", "filter.never", instead: "a ->> 'x'"),
        Case("a IN (true)", nil), Case("a IN (-5)", nil), Case("a NOT IN (-1.5)", nil), Case("true", nil),
        Case("1 = 1", nil), Case("a IN (1, NULL)", nil), Case("a IS NULL", nil),
        Case("'[1]' = b", nil),
        Case("a IN '[]'", nil), Case("a IN '[1]'", nil), Case("CASE WHEN a THEN NULL ELSE 1 END = 1", nil),
        Case("a = ifnull(NULL, b)", nil),
    ]

    @Test(arguments: conditions) func aConditionThatIsNeverTrueIsFound(_ test: Case) throws {
        let found = findings("SELECT * FROM t WHERE \(test.expression)")
        guard let finding = test.finding else {
            #expect(found == [])
            return
        }
        #expect(found.count == 1 && found[0].hasPrefix(finding), "\(found)")
        guard let instead = test.instead else { return }
        let wrong = String(try #require(found.first).drop { $0 != " " }.dropFirst())
        #expect(findings("SELECT * FROM t WHERE \(test.expression.replacing(wrong, with: instead))") == [])
    }
}
