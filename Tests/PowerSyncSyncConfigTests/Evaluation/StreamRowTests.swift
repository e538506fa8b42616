import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Rows to buckets for joins, arrays, metadata and the NULL rules (docs/sync-config.md "Rows to buckets").
@Suite struct StreamRowTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var query: String
        var row: SourceRow
        /// `[keys]` of the buckets, with `s|1` for other definitions than the first.
        var buckets: [String]
        var edition: Int
        var testDescription: String {
            "edition \(edition): \(query) with \(row.columns.map { "\($0.name) = \($0.value)" })"
        }

        init(_ query: String, _ row: SourceRow, _ buckets: String..., edition: Int = 3) {
            self.query = query
            self.row = row
            self.buckets = buckets
            self.edition = edition
        }
    }

    private static let tag = "SELECT * FROM t WHERE subscription.parameter('g') IN a"
    private static let own = "SELECT * FROM t WHERE a = auth.user_id()"

    static let cases = [
        Case(tag, ["id": 1, "a": #"[1,"x",null,[2]]"#], "[1]", #"["x"]"#, #"["[2]"]"#),
        Case(tag, ["id": 1, "a": "[]"]), Case(tag, ["id": 1, "a": nil]),
        Case(tag, ["id": 1, "a": "oops"]), Case(tag, ["id": 1, "a": 5]),
        Case(tag, ["id": 1, "a": #"{"x":1,"y":2,"x":3}"#], "[3]", "[2]"),
        Case(tag, ["id": 1, "a": "7"], "[7]"), Case(tag, ["id": 1, "a": "[1,1.0,true]"], "[1]"),
        Case(tag, ["id": 1, "a": "[9007199254740993]"], "[9007199254740993]"),
        Case(
            "SELECT * FROM t WHERE a && subscription.parameter('g')",
            ["id": 1, "a": #"["x","y"]"#],
            #"["x"]"#,
            #"["y"]"#
        ),
        Case(
            "SELECT * FROM t WHERE a && (SELECT x FROM u WHERE y = auth.user_id())",
            ["id": 1, "a": #"["x","y"]"#],
            #"["x"]"#,
            #"["y"]"#
        ),
        Case(
            "SELECT t.* FROM t, json_each(t.a) j WHERE j.value = auth.user_id() AND j.key > 0",
            ["id": 1, "a": #"["x","y"]"#],
            #"["y"]"#
        ),
        Case(
            "SELECT t.* FROM t, json_each(t.a) WHERE json_each.key = auth.parameter('k')",
            ["id": 1, "a": #"{"p":1,"q":2}"#],
            #"["p"]"#,
            #"["q"]"#
        ),
        Case(
            "SELECT t.* FROM t, json_each(t.a) j, json_each(t.b) k WHERE j.value = auth.parameter('j') AND k.value = auth.parameter('k')",
            ["id": 1, "a": "[1,2]", "b": "[3,4]"],
            "[1,3]",
            "[1,4]",
            "[2,3]",
            "[2,4]"
        ),
        Case("SELECT * FROM t WHERE a && b", ["id": 1, "a": "[1,2]", "b": "[2,3]"], "[]"),
        Case("SELECT * FROM t WHERE a && b", ["id": 1, "a": "[1]", "b": "[3]"]),
        Case("SELECT * FROM t WHERE a IN '[9999999999999999]'", ["id": 1, "a": 9_999_999_999_999_999], "[]"),
        Case("SELECT * FROM t WHERE a IN '[9999999999999999]'", ["id": 1, "a": 10_000_000_000_000_000]),
        Case("SELECT * FROM t WHERE a IN '[\"x\",\"x\"]'", ["id": 1, "a": "x"], "[]"),
        Case("SELECT * FROM t WHERE a IN ('[\"x\"]')", ["id": 1, "a": "x"], "[]"),
        Case("SELECT * FROM t WHERE a IN '[]' OR b = 1", ["id": 1, "b": 1], "[]"),
        Case("SELECT * FROM t WHERE a IN '[]' OR b = 1", ["id": 1, "b": 2]),
        Case("SELECT * FROM t WHERE NOT (1 IN a)", ["id": 1, "a": "[1,2]"], "[]"),
        Case("SELECT * FROM t WHERE NOT (1 IN a)", ["id": 1, "a": "[]"]),
        Case("SELECT * FROM t WHERE NOT (1 IN a)", ["id": 1, "a": nil]),
        Case("SELECT * FROM t WHERE 1 NOT IN a", ["id": 1, "a": "[1,2]"]),
        Case("SELECT * FROM t WHERE 1 NOT IN a", ["id": 1, "a": "[]"], "[]"),
        Case("SELECT * FROM t WHERE 1 NOT IN a", ["id": 1, "a": nil], "[]"),
        Case("SELECT t.* FROM t, json_each(t.a) j WHERE j.type = 'text'", ["id": 1, "a": "[1]"]),
        Case(
            "SELECT t.* FROM t, json_each(t.b) j WHERE t.a = auth.user_id()",
            ["id": 1, "a": "u", "b": "oops"],
            #"["u"]"#
        ),
        Case(
            "SELECT t.* FROM t, json_each(t.b) j WHERE t.a = auth.user_id()",
            ["id": 1, "a": "u", "b": "[1,2]"],
            #"["u"]"#
        ),
        Case(
            "SELECT * FROM t WHERE a = auth.user_id() AND b IN ARRAY['x','y']",
            ["id": 1, "a": "u", "b": "x"],
            #"["u"]"#
        ), Case("SELECT * FROM t WHERE a = auth.user_id() AND b IN ARRAY['x','y']", ["id": 1, "a": "u", "b": nil]),
        Case("SELECT * FROM t WHERE lower(a) = lower(auth.parameter('email'))", ["id": 1, "a": "ÄX"], #"["äx"]"#),
        Case("SELECT * FROM t WHERE a || b = auth.parameter('k')", ["id": 1, "a": "x", "b": 3.0], #"["x3"]"#),
        Case(
            "SELECT s.id FROM (SELECT id, a FROM t WHERE b) AS s WHERE s.a = auth.user_id()",
            ["id": 1, "a": "u", "b": 1],
            #"["u"]"#
        ),
        Case(
            "SELECT s.id FROM (SELECT id, a FROM t WHERE b) AS s WHERE s.a = auth.user_id()",
            ["id": 1, "a": "u", "b": 0]
        ),
        Case(
            "SELECT s.k AS id FROM (SELECT id, a || 'x' FROM t) AS s(k, l) WHERE s.l = auth.user_id()",
            ["id": 1, "a": "u"],
            #"["ux"]"#
        ), Case(own, ["id": 1, "a": .real(.nan)]), Case(own, ["id": 1, "a": .real(.infinity)]),
        Case(own, ["id": 1, "a": 1e21], "[1e+21]"), Case(own, ["id": 1, "a": 1e20], "[100000000000000000000]"),
        Case(own, ["id": 1, "a": 1.5e-7], "[1.5e-7]"), Case("SELECT * FROM t WHERE a IN ARRAY[]", ["id": 1, "a": 1]),
        // Who receives a row with NULL depends on the edition.
        Case("SELECT * FROM t WHERE a != 'x'", ["id": 1, "a": nil], "[]"),
        Case("SELECT * FROM t WHERE a != 'x'", ["id": 1, "a": nil], edition: 2),
        Case("SELECT * FROM t WHERE a <> 'x'", ["id": 1, "a": nil], edition: 2),
        Case("SELECT * FROM t WHERE NOT a", ["id": 1, "a": nil], "[]", edition: 2),
        Case("SELECT * FROM t WHERE a NOT IN '[\"x\"]'", ["id": 1, "a": nil], "[]"),
        Case("SELECT * FROM t WHERE a NOT IN '[\"x\"]'", ["id": 1, "a": nil], edition: 2),
        Case("SELECT * FROM t WHERE a NOT IN ARRAY['x']", ["id": 1, "a": nil], "[]"),
        Case("SELECT * FROM t WHERE a NOT IN ARRAY['x']", ["id": 1, "a": nil], edition: 2),
        Case("SELECT * FROM t WHERE a NOT BETWEEN 1 AND 2", ["id": 1, "a": nil], "[]"),
        Case("SELECT * FROM t WHERE a NOT BETWEEN 1 AND 2", ["id": 1, "a": nil], edition: 2),
        Case("SELECT * FROM t WHERE a BETWEEN 1 AND 2", ["id": 1, "a": nil]),
        Case("SELECT * FROM t WHERE a != 'x'", ["id": 1, "a": "y"], "[]", edition: 2),
        Case("SELECT * FROM t WHERE a != 'x' OR b", ["id": 1, "a": nil, "b": 1], "[]", edition: 2),
        Case("SELECT * FROM t WHERE NOT (a != 'x')", ["id": 1, "a": nil]),
        Case("SELECT * FROM t WHERE NOT (a != 'x')", ["id": 1, "a": nil], "[]", edition: 2),
        Case("SELECT * FROM t WHERE id IN (SELECT k FROM u WHERE x = auth.user_id())", ["id": .real(.nan)]),
        Case("SELECT * FROM t WHERE NOT nope", ["id": 1], "[]"),
    ]

    @Test(arguments: cases) func findsTheBucketsOfARow(_ test: Case) throws {
        let plan = try plan("config: {edition: \(test.edition)}\nstreams: {s: {query: \(yamlQuoted(test.query))}}")
        let expected = test.buckets.map { $0.hasPrefix("s|") ? "1#\($0)" : "1#s|0\($0)" }
        #expect(plan.bucketNames("t", test.row) == expected)
    }

    @Test func aStarIsTheOnlyTableBesideFunctions() throws {
        let row: SourceRow = ["id": 1, "a": "[2]"]
        let expected = [#"1#s|0[1] t/1 {"id":1,"a":"[2]"}"#]
        let joined = try plan(query: "SELECT * FROM t JOIN json_each(auth.parameter('l')) AS j ON t.id = j.value")
        #expect(joined.synced("t", row) == expected)
        let two = try plan(
            query:
                "SELECT * FROM json_each(auth.parameter('l')) j, t, json_each(t.a) k WHERE t.id = j.value AND k.key = 0"
        )
        #expect(two.synced("t", row) == expected)
    }

    @Test func aWildcardKnowsItsTable() throws {
        let plan = try plan(query: "SELECT * FROM \"t_%\" AS t WHERE t.table_suffix() = auth.parameter('y')")
        #expect(plan.synced("t_2024", ["id": "1"]) == [#"1#s|0["2024"] t/1 {"id":"1"}"#])
        let schemas = try PowerSyncSyncConfigTests.plan(
            query: "SELECT t.id, t.table_name() AS n FROM \"%\".t WHERE t.schema() = auth.parameter('s')"
        )
        #expect(schemas.synced("t", ["id": "1"], schema: "a") == [#"1#s|0["a"] t/1 {"id":"1","n":"t"}"#])
        #expect(schemas.synced("t", ["id": "1"], schema: "pg_catalog").isEmpty)
    }

    @Test func columnsAreInTheOrderOfTheListOrTheSource() throws {
        let row: SourceRow = ["1": "z", "2": "x", "10": "y", "id": "k"]
        let list = try plan(query: "SELECT \"10\" AS \"3\", \"2\" AS b, id, \"1\" FROM t")
        #expect(list.synced("t", row) == [#"1#s|0[] t/k {"3":"y","b":"x","id":"k","1":"z"}"#])
        let star = try plan(query: "SELECT * FROM t")
        #expect(
            star.synced("t", ["b": 1, "2": 2, "id": "k", "1": 3]) == [#"1#s|0[] t/k {"b":1,"2":2,"id":"k","1":3}"#]
        )
    }

    @Test func aMissingColumnIsLeftOutAndNULLElsewhere() throws {
        let plan = try plan(
            query: "SELECT id, nope AS x, nope IS NULL AS y, upper(\"toString\") AS z FROM t WHERE NOT nope"
        )
        #expect(plan.synced("t", ["id": "1"]) == [#"1#s|0[] t/1 {"id":"1","y":1,"z":null}"#])
    }

    @Test func theConnectionOfATableIsTheDefaultOne() throws {
        #expect(
            try plan(query: "SELECT * FROM \"default.public\".t").synced("t", ["id": 1], schema: "public").count == 1
        )
        #expect(try plan(query: "SELECT * FROM \"other.public\".t").synced("t", ["id": 1], schema: "public").isEmpty)
    }

    @Test func aFailingRowIsReportedAndLeftOut() throws {
        let plan = try plan(config(TestStream("s", Self.tag), TestStream("all", "SELECT * FROM t")))
        var errors: [RowEvaluationError] = []
        let table = SourceTableName(schema: "main", name: "t")
        let rows = plan.evaluate(["id": 1, "a": "oops"], of: table, bucketPrefix: "1#") { errors.append($0) }
        #expect(rows.map(\.bucket.rawValue) == ["1#all|0[]"])
        #expect(errors.map(\.target) == [.buckets(["s|0"])])
        #expect(errors.map(\.underlyingError) == [.notJSON])
        let indexed = try PowerSyncSyncConfigTests.plan(
            query: "SELECT * FROM d WHERE id IN (SELECT doc FROM t WHERE auth.user_id() IN t.a)"
        )
        errors = []
        #expect(indexed.evaluateParameters(["doc": 1, "a": "oops"], of: table) { errors.append($0) }.isEmpty)
        #expect(errors.map(\.target) == [.parameterIndex(0)])
    }

    @Test func tooManyCombinationsAreAnError() throws {
        let plan = try plan(
            query:
                "SELECT t.* FROM t, json_each(t.a) j, json_each(t.a) k WHERE j.value = auth.user_id() AND k.value = auth.parameter('k')"
        )
        let array = "[\(Array(repeating: "1", count: 400).joined(separator: ","))]"
        var errors: [EvaluationError] = []
        let table = SourceTableName(schema: "main", name: "t")
        #expect(
            plan.evaluate(["id": 1, "a": .text(array)], of: table, bucketPrefix: "") {
                errors.append($0.underlyingError)
            }.isEmpty
        )
        #expect(errors == [.tooManyRows])
    }

    @Test func aHundredThousandCombinationsAreAllowed() throws {
        let plan = try plan(query: "SELECT t.* FROM t, json_each(t.a) j, json_each(t.b) k WHERE j.value = k.value")
        func array(_ count: Int, _ last: String) -> SQLValue {
            .text("[\((Array(repeating: last + "0", count: count - 1) + ["7"]).joined(separator: ","))]")
        }
        #expect(plan.bucketNames("t", ["id": 1, "a": array(10, "1"), "b": array(10_000, "2")]) == ["1#s|0[]"])
        #expect(plan.bucketNames("t", ["id": 1, "a": array(11, "1"), "b": array(9_091, "2")]).isEmpty)
    }

    @Test func arraysOfParameterTablesAreKeysAndOutputs() throws {
        let keyed = try plan(
            query: "SELECT * FROM docs WHERE id IN (SELECT doc_id FROM shares WHERE auth.user_id() IN shares.users)"
        )
        let table = SourceTableName(schema: "main", name: "shares")
        let entries = keyed.evaluateParameters(["doc_id": "d", "users": #"["a","b","c"]"#], of: table)
        #expect(entries.map(\.lookup.rawValue) == [#"0["a"]"#, #"0["b"]"#, #"0["c"]"#])
        #expect(entries.map(\.rows) == Array(repeating: [ParameterRow(values: ["d"])], count: 3))
        let listed = try plan(
            query:
                "SELECT * FROM lists WHERE id IN (SELECT j.value FROM access a, json_each(a.list_ids) j WHERE a.user_id = auth.user_id())"
        )
        let access = SourceTableName(schema: "main", name: "access")
        let outputs = listed.evaluateParameters(["user_id": "u1", "list_ids": #"["l1","l2"]"#], of: access)
        #expect(outputs.map(\.lookup.rawValue) == [#"0["u1"]"#])
        #expect(outputs.flatMap(\.rows) == [ParameterRow(values: ["l1"]), ParameterRow(values: ["l2"])])
    }
}
