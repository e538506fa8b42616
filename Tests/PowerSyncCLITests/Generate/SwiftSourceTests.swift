import Testing

@testable import PowerSyncGenerator

/// The text that is generated.
@Suite struct SwiftSourceTests {
    @Test(arguments: [
        ("list_id", "listID", "ListID"), ("createdAt", "createdAt", "CreatedAt"), ("NAME", "name", "Name"),
        ("USER_IDS", "userIDs", "UserIDs"), ("id", "id", "ID"), ("2nd-try", "_2ndTry", "_2ndTry"),
        ("my table", "myTable", "MyTable"), ("_hidden", "hidden", "Hidden"), ("größe", "größe", "Größe"),
        ("default", "default", "Default"), ("self", "self_", "Self_"), ("a", "a", "A"), ("init", "init_", "Init"),
    ])
    func namesInSwift(_ sql: String, _ member: String, _ type: String) throws {
        let name = try #require(SwiftName(sql))
        #expect(name.member == member && name.type == type)
    }

    @Test func namesWithoutLettersAreNone() {
        for sql in ["", "_", "--", "💡", " "] { #expect(SwiftName(sql) == nil, "\(sql)") }
    }

    @Test func wordsOfTheLanguageAreQuoted() throws {
        #expect(try #require(SwiftName("default")).quotedMember == "`default`")
        #expect(!SwiftName.isIdentifier("default") && !SwiftName.isIdentifier("a b") && !SwiftName.isIdentifier("Self"))
        #expect(SwiftName.isIdentifier("Synced") && SwiftName.isIdentifier("_X1"))
    }

    @Test func textsAreLiterals() {
        #expect("a\"b\\(c)\n\u{202E}é".swiftLiteral == #""a\"b\\(c)\u{a}\u{202e}é""#)
    }

    @Test func namesThatBecomeOneAreRefused() throws {
        let error = #expect(throws: GenerationError.self) {
            try GeneratedCode(
                [
                    "a_b": [#"SELECT id, n AS list_id, n AS "listId", n AS "?" FROM t AS a_b"#],
                    "aB": [
                        "SELECT id FROM t AS a_b WHERE n = subscription.parameter('x_y') AND n = subscription.parameter('xY')"
                    ],
                    "a__b": ["SELECT id FROM t AS a_b_"],
                ],
                schema: "CREATE TABLE t(id, n)"
            )
        }
        let problems = try #require(error?.problems)
        for words in [
            "table 'a_b' and table 'a_b_' would both be 'ABRow'", "stream 'a_b' and stream 'aB' would both be 'aB'",
            "parameter 'xY' of stream 'aB' and parameter 'x_y' of stream 'aB'", "Nothing in the name of column '?'",
        ] {
            #expect(problems.contains { $0.contains(words) }, "\(words) in \(problems)")
        }
    }

    @Test func publicCodeHasInitializers() throws {
        var options = SwiftSource.Options()
        options.access = .public
        options.namespace = "Model"
        options.usesDates = true
        let code = try GeneratedCode(
            ["a": ["SELECT * FROM t"]],
            schema: "CREATE TABLE t(id TEXT, at TIMESTAMP, n INT NOT NULL)",
            options: options
        )
        for line in [
            "public import Foundation", "public import PowerSync", "public enum Model {",
            "    public static let schema = Schema(tables: [", "        public var at: Date?",
            "        public init(id: String, at: Date? = nil, n: Int) {", "        public static func a(_ database:",
        ] {
            #expect(code.text.contains("\n\(line)"), "\(line) in \(code.text)")
        }
    }

    @Test func parametersDoNotHideWhatTheFunctionNeeds() throws {
        let code = try GeneratedCode(
            [
                "a": [
                    """
                    SELECT * FROM t WHERE n = subscription.parameter('database') AND n = subscription.parameter('in') \
                    AND n = subscription.parameter('await')
                    """
                ]
            ],
            schema: "CREATE TABLE t(id, n INT)"
        )
        #expect(code.functions == ["static func a(_, `await`: Int, database database_: Int, `in`: Int)"])
        let params = #"params: ["await": .int(`await`), "database": .int(database_), "in": .int(`in`)]"#
        #expect(code.text.contains(params))
    }

    @Test func differencesAreShort() {
        #expect(TextDifference(from: "a\nb\n", to: "a\nb\n") == nil)
        #expect(TextDifference(from: "a\nb\nc", to: "a\nx\ny\nc")?.lines == ["line 2:", "- b", "+ x", "+ y"])
        #expect(TextDifference(from: "a", to: "a\n")?.lines == ["line 2:", "+ "])
        let long = TextDifference(from: "", to: (1...30).map(String.init).joined(separator: "\n"))
        #expect(long?.lines.count == 2 + TextDifference.shownLines + 1)
        #expect(long?.lines.last == "+ and 20 more lines")
        let longer = TextDifference(
            from: "",
            to: (0...TextDifference.shownLines).map(String.init).joined(separator: "\n")
        )
        #expect(longer?.lines.last == "+ and 1 more line")
    }
}
