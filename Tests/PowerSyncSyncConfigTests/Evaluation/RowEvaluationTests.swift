import PowerSyncSyncConfig
import Testing

/// Rows to buckets (docs/sync-config.md "Rows to buckets").
@Suite struct RowEvaluationTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var query: String
        var row: SourceRow
        var synced: [String]
        var testDescription: String { "\(name): \(query)" }

        init(_ name: String, _ query: String, _ row: SourceRow, _ synced: String...) {
            self.name = name
            self.query = query
            self.row = row
            self.synced = synced
        }
    }

    private static let owned = "SELECT * FROM t WHERE a = auth.user_id()"
    private static let all = "SELECT * FROM t"

    static let cases = [
        Case("a key", owned, ["id": "1", "a": "u1"], #"1#s|0["u1"] t/1 {"id":"1","a":"u1"}"#),
        Case("NULL is not a key", owned, ["id": "1", "a": nil]),
        Case("a key that the row lacks", owned, ["id": "1"]),
        Case("a whole real as a key", owned, ["id": "1", "a": 3.0], #"1#s|0[3] t/1 {"id":"1","a":3.0}"#),
        Case("an integer as a key", owned, ["id": "1", "a": 3], #"1#s|0[3] t/1 {"id":"1","a":3}"#),
        Case("a real as a key", owned, ["id": "1", "a": 3.5], #"1#s|0[3.5] t/1 {"id":"1","a":3.5}"#),
        Case("bytes are not a key", owned, ["id": "1", "a": .blob([1])]),
        Case("infinity is not a key", owned, ["id": "1", "a": .real(.infinity)]),
        Case(
            "two columns with one name",
            "SELECT id, a AS x, b AS x FROM t",
            ["id": "1", "a": 1, "b": 2],
            #"1#s|0[] t/1 {"id":"1","x":2}"#
        ),
        Case(
            "bytes are left out, NULL is not",
            all,
            ["id": "1", "a": .blob([1]), "b": nil],
            #"1#s|0[] t/1 {"id":"1","b":null}"#
        ),
        Case("integer id", all, ["id": 7], #"1#s|0[] t/7 {"id":7}"#),
        Case("real id", all, ["id": 7.0], #"1#s|0[] t/7 {"id":7.0}"#),
        Case("real id with fraction", all, ["id": 7.5], #"1#s|0[] t/7.5 {"id":7.5}"#),
        Case("no id", "SELECT a FROM t", ["a": 1]),
        Case(
            "NULL is unequal",
            "SELECT * FROM t WHERE a != 'x'",
            ["id": "1", "a": nil],
            #"1#s|0[] t/1 {"id":"1","a":null}"#
        ),
        Case("equal", "SELECT * FROM t WHERE a <> 'x'", ["id": "1", "a": "x"]),
        Case("escapes", owned, ["id": "1", "a": #"a"/ü"#], #"1#s|0["a\"/ü"] t/1 {"id":"1","a":"a\"/ü"}"#),
        Case(
            "integers beyond 2^53",
            owned,
            ["id": "1", "a": 9_007_199_254_740_993],
            #"1#s|0[9007199254740993] t/1 {"id":"1","a":9007199254740993}"#
        ),
        Case(
            "two keys in the order of the plan",
            "SELECT * FROM t WHERE b = auth.parameter('b') AND a = auth.user_id()",
            ["id": "1", "a": "A", "b": 2],
            #"1#s|0["A",2] t/1 {"id":"1","a":"A","b":2}"#
        ),
        Case("alias", "SELECT x.* FROM t AS x", ["id": "1"], #"1#s|0[] x/1 {"id":"1"}"#),
        Case("alias without AS", "SELECT x.id FROM t x", ["id": "1"], #"1#s|0[] x/1 {"id":"1"}"#),
        Case(
            "id by alias",
            "SELECT uuid AS id, a FROM t",
            ["id": 1, "uuid": "x", "a": 2],
            #"1#s|0[] t/x {"id":"x","a":2}"#
        ),
        Case(
            "a later column keeps the first place",
            "SELECT a AS id, b, * FROM t",
            ["id": "1", "a": 5, "b": 2],
            #"1#s|0[] t/1 {"id":"1","b":2,"a":5}"#
        ),
        Case(
            "expressions",
            "SELECT id, 'x' AS kind, -1 AS n, a IS NULL AS e, true AS t, null AS z, 1.5 AS r FROM t",
            ["id": "1"],
            #"1#s|0[] t/1 {"id":"1","kind":"x","n":-1,"e":1,"t":1,"z":null,"r":1.5}"#
        ),
        Case("unnamed column", "SELECT id, a = 1 FROM t", ["id": "1", "a": 1], #"1#s|0[] t/1 {"id":"1","a = 1":1}"#),
        Case(
            "names are folded",
            "SELECT ID, Name FROM T",
            ["id": "1", "name": "x"],
            #"1#s|0[] t/1 {"id":"1","name":"x"}"#
        ),
        Case(
            "quoted names are not",
            "SELECT id, \"Name\" FROM t",
            ["id": "1", "Name": "x"],
            #"1#s|0[] t/1 {"id":"1","Name":"x"}"#
        ),
        Case(
            "literal filter",
            "SELECT * FROM t WHERE kind = 'it''s'",
            ["id": "1", "kind": "it's"],
            #"1#s|0[] t/1 {"id":"1","kind":"it's"}"#
        ),
        Case(
            "columns of a row",
            "SELECT id FROM t WHERE a = b",
            ["id": "1", "a": 1, "b": 1.0],
            #"1#s|0[] t/1 {"id":"1"}"#
        ),
        Case("columns of a row differ", "SELECT id FROM t WHERE a = b", ["id": "1", "a": 1, "b": "1"]),
        Case(
            "a real equals an integer",
            "SELECT id FROM t WHERE a = b",
            ["id": "1", "a": -2.0, "b": -2],
            #"1#s|0[] t/1 {"id":"1"}"#
        ),
        Case("half is not an integer", "SELECT id FROM t WHERE a = b", ["id": "1", "a": 2.5, "b": 2]),
        Case(
            "large integers keep their digits",
            "SELECT id FROM t WHERE a = b",
            ["id": "1", "a": 9_007_199_254_740_993, "b": 9_007_199_254_740_992.0]
        ),
        Case(
            "zeros are equal",
            "SELECT id FROM t WHERE a = b",
            ["id": "1", "a": 0.0, "b": -0.0],
            #"1#s|0[] t/1 {"id":"1"}"#
        ),
        Case("NaN equals nothing", "SELECT id FROM t WHERE a = b", ["id": "1", "a": .real(.nan), "b": .real(.nan)]),
        Case("NULL equals nothing", "SELECT id FROM t WHERE a = b", ["id": "1", "a": nil, "b": nil]),
        Case("minus infinity is not a key", owned, ["id": "1", "a": .real(-.infinity)]),
        Case("NaN is not a key", owned, ["id": "1", "a": .real(.nan)]),
        Case("negative zero is the key zero", owned, ["id": "1", "a": -0.0], #"1#s|0[0] t/1 {"id":"1","a":-0.0}"#),
        Case("IS NULL", "SELECT id FROM t WHERE a IS NULL", ["id": "1", "a": nil], #"1#s|0[] t/1 {"id":"1"}"#),
        Case("IS NOT NULL", "SELECT id FROM t WHERE a IS NOT NULL", ["id": "1", "a": nil]),
        Case("= NULL", "SELECT id FROM t WHERE a = b", ["id": "1", "a": nil, "b": nil]),
        Case(
            "precedence",
            "SELECT id FROM t WHERE a OR b AND NOT c",
            ["id": "1", "a": 1, "b": 0, "c": 1],
            #"1#s|0[] t/1 {"id":"1"}"#
        ),
        Case(
            "NOT binds weaker than =",
            "SELECT id FROM t WHERE NOT a = 1",
            ["id": "1", "a": 2],
            #"1#s|0[] t/1 {"id":"1"}"#
        ),
        Case(
            "two columns of one name",
            "SELECT a AS x, b AS x, id FROM t",
            ["id": "1", "a": 1, "b": 2],
            #"1#s|0[] t/1 {"x":2,"id":"1"}"#
        ),
        Case("bytes are no id", all, ["id": .blob([1]), "a": 1]),
        Case(
            "comments",
            "SELECT id /* a /* nested */ * / */ FROM t -- end\nWHERE a = 1 /**/ AND b -- * FROM u",
            ["id": "1", "a": 1, "b": 1],
            #"1#s|0[] t/1 {"id":"1"}"#
        ),
        Case(
            "numbers",
            "SELECT id, .5 AS a, 1. AS b, 1e3 AS c, 1E-2 AS d, 2e+1 AS e, +7 AS f, -.5 AS g FROM t",
            ["id": "1"],
            #"1#s|0[] t/1 {"id":"1","a":0.5,"b":1.0,"c":1000.0,"d":0.01,"e":20.0,"f":7,"g":-0.5}"#
        ),
        Case(
            "integers to the ends of 64 bits",
            "SELECT id, -9223372036854775808 AS a, 9223372036854775807 AS b FROM t",
            ["id": "1"],
            #"1#s|0[] t/1 {"id":"1","a":-9223372036854775808,"b":9223372036854775807}"#
        ),
        Case(
            "quotes in names",
            "SELECT id, \"a\"\"b\" FROM t",
            ["id": "1", "a\"b": 1],
            #"1#s|0[] t/1 {"id":"1","a\"b":1}"#
        ),
        Case("DISTINCT, ALL and a semicolon", "SELECT DISTINCT id FROM t;", ["id": "1"], #"1#s|0[] t/1 {"id":"1"}"#),
        Case("ALL", "SELECT ALL id FROM t ;", ["id": "1"], #"1#s|0[] t/1 {"id":"1"}"#),
        Case("false", "SELECT id FROM t WHERE a OR false", ["id": "1", "a": 0], #"1#s|1[] t/1 {"id":"1"}"#),
    ]

    @Test(arguments: cases) func evaluates(_ test: Case) throws {
        #expect(try plan(query: test.query).synced("t", test.row) == test.synced)
    }

    static let truth: [(SQLValue, isTrue: Bool)] = [
        (0, false), ("0", false), ("abc", false), (nil, false), (1, true), ("1abc", true), (0.5, true), ("-2", true),
        (" 7", true), ("0x1", false), (.blob([1]), false), (-0.0, false), ("", false), ("+3", true), ("-0", false),
        ("\t\n\u{b}\u{c}\r 9", true), ("\u{8}7", false), ("\u{e}7", false), ("--1", false), ("- 1", false),
        ("0001", true), ("0 1", false), ("0:1", false), ("0/1", false), (":", false), ("/", false),
    ]

    @Test(arguments: truth) func filtersByTruth(_ value: SQLValue, isTrue: Bool) throws {
        let row: SourceRow = ["id": "1", "a": value]
        #expect(try plan(query: "SELECT id FROM t WHERE a").synced("t", row).isEmpty == !isTrue)
        #expect(try plan(query: "SELECT id FROM t WHERE NOT a").synced("t", row).isEmpty == isTrue)
    }

    @Test func wildcardsNameTheRealTable() throws {
        let plan = try plan(query: "SELECT * FROM \"t_%\"")
        #expect(plan.synced("t_2024", ["id": "1"]) == [#"1#s|0[] t_2024/1 {"id":"1"}"#])
        #expect(plan.synced("t", ["id": "1"]).isEmpty)
        #expect(plan.synced("t_2024", ["id": "1"], schema: "other").isEmpty)
    }

    @Test func wildcardSchemasLeaveOutSystemSchemas() throws {
        let plan = try plan(query: "SELECT * FROM \"%\".t")
        #expect(plan.synced("t", ["id": "1"], schema: "a").count == 1)
        #expect(plan.synced("t", ["id": "1"], schema: "pg_catalog").isEmpty)
        #expect(plan.synced("t", ["id": "1"], schema: "information_schema").isEmpty)
    }

    @Test func onlyWildcardsLeaveOutSystemSchemas() throws {
        let named = try plan(query: "SELECT * FROM pg_catalog.t")
        #expect(named.synced("t", ["id": "1"], schema: "pg_catalog").count == 1)
        #expect(named.synced("t", ["id": "1"], schema: "pg_catalogs").isEmpty)
        let all = try plan(query: "SELECT * FROM \"%\".t")
        for schema in ["pgx", "p", "information_schemas", "information", ""] {
            #expect(all.synced("t", ["id": "1"], schema: schema).count == 1)
        }
        let some = try plan(query: "SELECT * FROM \"app_%\".t")
        #expect(some.synced("t", ["id": "1"], schema: "app_").count == 1)
        #expect(some.synced("t", ["id": "1"], schema: "app").isEmpty)
        #expect(some.synced("t", ["id": "1"], schema: "my_app_").isEmpty)
    }

    @Test func wildcardsStandForNothingAsWell() throws {
        let plan = try plan(query: "SELECT * FROM \"t_%\"")
        #expect(plan.synced("t_", ["id": "1"]) == [#"1#s|0[] t_/1 {"id":"1"}"#])
        #expect(plan.synced("at_", ["id": "1"]).isEmpty)
    }

    @Test func theDefaultSchemaBelongsToTheSource() throws {
        var plan = try plan(query: "SELECT * FROM t")
        #expect(plan.synced("t", ["id": "1"], schema: "public").isEmpty)
        plan.defaultSchema = "public"
        #expect(plan.synced("t", ["id": "1"], schema: "public").count == 1)
    }

    @Test func eachQueryWritesItsOwnColumns() throws {
        let queries = [
            "SELECT * FROM t", "SELECT *, upper(a) AS b FROM t", "SELECT id FROM t", "SELECT * FROM t WHERE a = 'x'",
        ]
        let row: SourceRow = ["id": 1, "a": "x"]
        let data = [#"{"id":1,"a":"x"}"#, #"{"id":1,"a":"x","b":"X"}"#, #"{"id":1}"#, #"{"id":1,"a":"x"}"#]
        let forwards = try plan(config(queries.enumerated().map { TestStream("s\($0.offset)", $0.element) }))
        #expect(forwards.synced("t", row) == (0..<4).map { "1#s\($0)|0[] t/1 \(data[$0])" })
        let backwards = try plan(
            config(queries.enumerated().reversed().map { TestStream("s\($0.offset)", $0.element) })
        )
        #expect(backwards.synced("t", row) == (0..<4).reversed().map { "1#s\($0)|0[] t/1 \(data[$0])" })
    }

    @Test func eachOfManyColumnsIsThereOnce() throws {
        let plan = try plan(
            query: "SELECT *, upper(c5) AS c5, upper(c35) AS c35, 'x' AS c99, 'y' AS c99, 'i' AS id FROM t"
        )
        let row = SourceRow(columns: (0..<40).map { SourceRow.Column(name: "c\($0)", value: "v") })
        let members = (0..<40).map { $0 == 5 || $0 == 35 ? #""c\#($0)":"V""# : #""c\#($0)":"v""# }
        let ends = [#""c99":"y""#, #""id":"i""#]
        #expect(plan.synced("t", row) == ["1#s|0[] t/i {\((members + ends).joined(separator: ","))}"])
    }

    @Test func aRowOfTwoQueriesIsInTheirBucketOnce() throws {
        let plan = try plan(config(TestStream("s", "SELECT * FROM t WHERE a", "SELECT * FROM t WHERE b")))
        #expect(plan.synced("t", ["id": 1, "a": 1, "b": 1]) == [#"1#s|0[] t/1 {"id":1,"a":1,"b":1}"#])
        #expect(plan.synced("t", ["id": 1, "a": 0, "b": 1]) == [#"1#s|0[] t/1 {"id":1,"a":0,"b":1}"#])
        #expect(plan.synced("t", ["id": 1, "a": 0, "b": 0]).isEmpty)
    }

    @Test func rowsOfOtherTablesAreIgnored() throws {
        #expect(try plan(query: "SELECT * FROM t").synced("u", ["id": "1"]).isEmpty)
    }

    @Test func namesThatLookAlikeAreDifferentBuckets() throws {
        // "é" as one scalar and as two: equal as Swift strings, different as keys.
        let plan = try plan(query: Self.owned)
        let names = ["\u{e9}", "e\u{301}"].map { a in
            plan.evaluate(["id": "1", "a": .text(a)], of: SourceTableName(schema: "main", name: "t"), bucketPrefix: "")
                .map(\.bucket)
        }
        #expect(names[0] != names[1])
    }

    static let texts: [(SQLValue, text: String)] = [
        (.integer(.max), "9223372036854775807"), (.integer(.min), "-9223372036854775808"), (0.1, "0.1"), (3.0, "3.0"),
        (-0.5, "-0.5"), (.real(.nan), "null"), (.real(.infinity), "null"), (.real(-.infinity), "null"),
        ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\t\r\u{8}\u{c}", #""\n\t\r\b\f""#), ("\u{0}\u{1f}", #""\u0000\u001f""#),
        ("ü🙂\u{2028}\u{7f}", "\"ü🙂\u{2028}\u{7f}\""), ("", "\"\""), (nil, "null"),
    ]

    @Test(arguments: texts) func writesJSON(_ value: SQLValue, text: String) throws {
        let plan = try plan(query: "SELECT a, 1 AS id FROM t")
        #expect(plan.synced("t", ["a": value]) == ["1#s|0[] t/1 {\"a\":\(text),\"id\":1}"])
    }
}
