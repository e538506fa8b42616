import PowerSyncSyncConfig
import Testing

/// Places in SQL are mapped back through every style of YAML scalar (docs/sync-config.md "Findings").
@Suite struct SourcePositionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        /// The stream, with `@` directly before the token that is at fault.
        var yaml: String
        var testDescription: String { name }
    }

    static let cases = [
        Case(name: "plain", yaml: "    query: SELECT * FROM t WHERE @uper(a)"),
        Case(name: "plain on two lines", yaml: "    query: SELECT * FROM t\n      WHERE @uper(a)"),
        Case(name: "plain with an empty line", yaml: "    query: SELECT *\n\n      FROM t\n        WHERE @uper(a)"),
        Case(name: "plain with spaces at the end", yaml: "    query: SELECT *   \n      FROM t  WHERE   @uper(a)"),
        Case(name: "plain on the next line", yaml: "    query:\n      SELECT * FROM t WHERE @uper(a)"),
        Case(name: "plain with a comment behind", yaml: "    query: SELECT * FROM t WHERE @uper(a) # why"),
        Case(name: "single quoted", yaml: "    query: 'SELECT * FROM t WHERE a = ''x'' AND @uper(a)'"),
        Case(name: "single quoted on two lines", yaml: "    query: 'SELECT * FROM t\n\n      WHERE @uper(a)'"),
        Case(name: "double quoted", yaml: #"    query: "SELECT \"id\" FROM t WHERE @uper(a)""#),
        Case(name: "double quoted with escapes", yaml: #"    query: "SELECT *\n\tFROM\x20t \u0057HERE @uper(a)""#),
        Case(
            name: "double quoted, joined lines",
            yaml: "    query: \"SELECT * FR\\\n      OM t \\\n    \\ WHERE @uper(a)\""
        ),
        Case(name: "double quoted, folded lines", yaml: "    query: \"SELECT *\n      FROM t\n      WHERE @uper(a)\""),
        Case(name: "literal", yaml: "    query: |\n      SELECT *\n        FROM t\n      WHERE @uper(a)"),
        Case(name: "literal, stripped", yaml: "    query: |-\n      SELECT *\n      FROM t WHERE @uper(a)"),
        Case(name: "literal with indentation", yaml: "    query: |2\n        SELECT *\n      FROM t WHERE @uper(a)"),
        Case(name: "literal with header comment", yaml: "    query: | # SELECT\n      SELECT * FROM t WHERE @uper(a)"),
        Case(name: "A16 folded", yaml: "    query: >\n      SELECT *\n      FROM t\n      WHERE @uper(a)"),
        Case(
            name: "folded with more indentation",
            yaml: "    query: >-\n      SELECT *\n\n          FROM t\n      WHERE @uper(a)"
        ),
        Case(name: "CR LF", yaml: "    query: |\r\n      SELECT *\r\n      FROM t WHERE @uper(a)\r\n"),
        Case(name: "anchor and tag", yaml: "    query: &q !!str\n      SELECT * FROM t WHERE @uper(a)"),
        Case(name: "non-ASCII before it", yaml: "    query: SELECT 'äöü🙂', a AS \"é\" FROM t WHERE @uper(a)"),
        Case(name: "list", yaml: "    queries:\n      - SELECT * FROM t\n      - SELECT * FROM t WHERE @uper(a)"),
        Case(name: "flow list", yaml: "    queries: [SELECT * FROM t, SELECT * FROM t WHERE @uper(a)]"),
        Case(name: "tab in a literal", yaml: "    query: |\n      SELECT *\tFROM t\n      \tWHERE @uper(a)"),
    ]

    @Test(arguments: cases) func findsTheTokenInTheFile(_ test: Case) throws {
        let marked = "config: {edition: 3}\nstreams:\n  s:\n" + test.yaml
        let start = try #require(marked.utf8.firstIndex(of: UInt8(ascii: "@")))
        let offset = marked.utf8.distance(from: marked.startIndex, to: start)
        let yaml = marked.replacing("@", with: "")

        let diagnostic = try #require(SyncConfig.parse(yaml).diagnostics.first { $0.severity == .error })
        #expect(diagnostic.code == "sql.unknown_function")
        #expect(String(decoding: Array(yaml.utf8)[diagnostic.range], as: UTF8.self) == "uper")
        #expect(diagnostic.range.lowerBound == offset)
        // Line and column agree with what an editor shows.
        let before = String(decoding: Array(yaml.utf8)[..<offset], as: UTF8.self)
        let lines = before.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        #expect(diagnostic.line == lines.count)
        #expect(diagnostic.column == (lines.last?.unicodeScalars.count ?? 0) + 1)
    }

    @Test func aliasesPointToTheAnchor() throws {
        let yaml = """
            config: {edition: 3}
            streams:
              a: {query: &q "SELECT * FROM t WHERE uper(a)"}
              b: {query: *q}
            """
        #expect(findings(yaml) == ["3:40 sql.unknown_function"])
    }

    static let foldedComments = [
        Case(name: "folded", yaml: "    query: >\n      SELECT * FROM t @-- mine\n      WHERE a = auth.user_id()"),
        Case(name: "plain", yaml: "    query: SELECT * FROM t @-- mine\n      WHERE a = auth.user_id()"),
        Case(name: "single quoted", yaml: "    query: 'SELECT * FROM t @-- mine\n      WHERE a = auth.user_id()'"),
        Case(name: "double quoted", yaml: "    query: \"SELECT * FROM t @-- mine\n      WHERE a = auth.user_id()\""),
        Case(name: "escaped", yaml: "    query: \"SELECT * FROM t @-- mine \\\n      WHERE a = auth.user_id()\""),
        Case(name: "CR LF", yaml: "    query: >-\r\n      SELECT * FROM t WHERE b @-- mine\r\n      AND a = 'u1'\r\n"),
    ]

    @Test(arguments: foldedComments) func aCommentThatTakesInTheNextLineIsAnError(_ test: Case) throws {
        let marked = "config: {edition: 3}\nstreams:\n  s:\n" + test.yaml
        let start = try #require(marked.utf8.firstIndex(of: UInt8(ascii: "@")))
        let yaml = marked.replacing("@", with: "")
        let result = SyncConfig.parse(yaml)
        #expect(result.plan == nil)
        let diagnostic = try #require(result.diagnostics.first { $0.severity == .error })
        #expect(diagnostic.code == "sql.syntax")
        #expect(diagnostic.message.contains("folded"))
        #expect(diagnostic.range.lowerBound == marked.utf8.distance(from: marked.startIndex, to: start))
    }

    static let wholeComments = [
        "    query: |\n      SELECT * FROM t -- mine\n      WHERE a = auth.user_id()\n",
        "    query: \"SELECT * FROM t -- mine\\nWHERE a = auth.user_id()\"",
        "    query: >\n      SELECT * FROM t -- mine\n\n      WHERE a = auth.user_id()\n",
        "    query: >\n      SELECT * FROM t /* mine */\n      WHERE a = auth.user_id() -- end\n",
        "    query: 'SELECT * FROM t\n      WHERE a = auth.user_id() -- end\n      '",
        "    query: >-\n      SELECT * FROM t\n      WHERE a = auth.user_id()\n      -- of the user,\n      -- and of nobody else\n      ;\n",
    ]

    @Test(arguments: wholeComments) func aCommentThatEndsWithItsLineIsNone(_ yaml: String) throws {
        let plan = try plan("config: {edition: 3}\nstreams:\n  s:\n" + yaml)
        #expect(plan.bucketNames("t", ["id": 1, "a": "u1"]) == [#"1#s|0["u1"]"#])
    }

    @Test func rangesCoverTheWholeExpression() throws {
        let yaml = config(TestStream("s", "SELECT * FROM t WHERE a = subscription.parameter(\n  'p'\n)"))
        let diagnostic = try #require(SyncConfig.parse(yaml).diagnostics.first)
        #expect(diagnostic.code == "stream.dangerous_parameter")
        let text = String(decoding: Array(yaml.utf8)[diagnostic.range], as: UTF8.self)
        #expect(text == "subscription.parameter(\n          'p'\n        )")
    }
}
