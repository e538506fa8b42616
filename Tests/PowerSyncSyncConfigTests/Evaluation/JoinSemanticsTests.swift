import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// How values of several lookups are combined (docs/sync-config.md "Requests to buckets").
///
/// The joins are written as correlated subqueries.
@Suite struct JoinSemanticsTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var query: String
        var tables: [String: [SourceRow]]
        /// The parts of bucket names after `1#s|0`.
        var keys: [String]
        var testDescription: String { name }
    }

    private static let pair = """
        SELECT * FROM p WHERE a IN (SELECT s.a FROM s WHERE s.b = p.b AND s.id = auth.parameter('s'))
        """
    private static let intersection = """
        SELECT * FROM t WHERE c1 IN (SELECT b.c1 FROM b WHERE b.c2 = t.c1 AND b.k = auth.user_id())
        """
    private static let stores: [String: [SourceRow]] = [
        "us": [["uid": "u1", "sid": "s1"], ["uid": "u1", "sid": "s2"]],
        "s": [["id": "s1", "a": "A1", "b": "B1"], ["id": "s2", "a": "A2", "b": "B2"]],
    ]

    private static func pairs(_ rows: (String, String)...) -> [String: [SourceRow]] {
        ["b": rows.map { ["c1": .text($0.0), "c2": .text($0.1), "k": "u1"] }]
    }

    static let cases = [
        Case(
            name: "correlated pair",
            query: pair,
            tables: ["s": [["id": 1, "a": 1, "b": "A"], ["id": 1, "a": 2, "b": "B"], ["id": 2, "a": 3, "b": "C"]]],
            keys: [#"[1,"A"]"#, #"[2,"B"]"#]
        ),
        Case(
            name: "independent lookups",
            query: """
                SELECT * FROM p WHERE a IN (SELECT id FROM x WHERE k = auth.user_id())
                    AND b IN (SELECT id FROM y WHERE k = auth.user_id())
                """,
            tables: [
                "x": [["id": 1, "k": "u1"], ["id": 2, "k": "u1"]],
                "y": [["id": 3, "k": "u1"], ["id": 4, "k": "u1"], ["id": 5, "k": "u1"]],
            ],
            keys: ["[1,3]", "[1,4]", "[1,5]", "[2,3]", "[2,4]", "[2,5]"]
        ),
        Case(name: "crossed pairs", query: intersection, tables: pairs(("A", "B"), ("B", "A")), keys: []),
        Case(name: "equal pair", query: intersection, tables: pairs(("A", "A")), keys: [#"["A"]"#]),
        Case(
            name: "two equal pairs",
            query: intersection,
            tables: pairs(("A", "A"), ("B", "B")),
            keys: [#"["A"]"#, #"["B"]"#]
        ),
        Case(
            name: "two equal pairs and a crossed one",
            query: intersection,
            tables: pairs(("A", "A"), ("A", "B"), ("B", "B")),
            keys: [#"["A"]"#, #"["B"]"#]
        ),
        Case(
            name: "two outer rows with the same inner key",
            query: """
                SELECT * FROM p WHERE a IN (SELECT o.a FROM o WHERE o.uid = auth.user_id() AND o.k IN
                    (SELECT i.k FROM i WHERE i.b = p.b))
                """,
            tables: [
                "o": [
                    ["uid": "u1", "a": 1, "k": "x"], ["uid": "u1", "a": 2, "k": "x"], ["uid": "u1", "a": 3, "k": "y"],
                ],
                "i": [["k": "x", "b": 10], ["k": "y", "b": 20]],
            ],
            keys: ["[1,10]", "[2,10]", "[3,20]"]
        ),
        Case(
            name: "outputs of a lookup reached through several keys",
            query: """
                SELECT * FROM p WHERE a IN (SELECT s.a FROM s WHERE s.b = p.b AND s.id IN
                    (SELECT sid FROM us WHERE uid = auth.user_id()))
                """,
            tables: stores,
            keys: [#"["A1","B1"]"#, #"["A2","B2"]"#]
        ),
        Case(
            name: "output of the outer and of the inner lookup",
            query: """
                SELECT * FROM p WHERE sid IN (SELECT us.sid FROM us WHERE us.uid = auth.user_id() AND us.sid IN
                    (SELECT s.id FROM s WHERE s.b = p.b))
                """,
            tables: stores,
            keys: [#"["B1","s1"]"#, #"["B2","s2"]"#]
        ),
        Case(
            name: "a lookup keyed by an early and a late lookup",
            query: """
                SELECT * FROM p WHERE a IN (SELECT w.id FROM w WHERE w.k IN (SELECT id FROM x WHERE k = auth.user_id())
                    AND w.l IN (SELECT id FROM y WHERE z IN (SELECT id FROM z WHERE k = auth.user_id())))
                """,
            tables: [
                "w": [
                    ["id": 1, "k": "x1", "l": "y1"], ["id": 2, "k": "x1", "l": "y2"], ["id": 3, "k": "x2", "l": "y1"],
                ],
                "x": [["id": "x1", "k": "u1"], ["id": "x2", "k": "u2"]],
                "y": [["id": "y1", "z": "z1"], ["id": "y2", "z": "z2"]],
                "z": [["id": "z1", "k": "u1"], ["id": "z2", "k": "u2"]],
            ],
            keys: ["[1]"]
        ),
        Case(
            name: "existence",
            query: "SELECT * FROM p WHERE auth.user_id() IN (SELECT id FROM users WHERE is_admin)",
            tables: ["users": [["id": "u1", "is_admin": 1]]],
            keys: ["[]"]
        ),
        Case(
            name: "no existence",
            query: "SELECT * FROM p WHERE auth.user_id() IN (SELECT id FROM users WHERE is_admin)",
            tables: ["users": [["id": "u1", "is_admin": 0], ["id": "u2", "is_admin": 1]]],
            keys: []
        ),
        Case(
            name: "existence besides a key",
            query: """
                SELECT * FROM p WHERE owner = auth.user_id() AND auth.parameter('org') IN
                    (SELECT id FROM orgs WHERE active)
                """,
            tables: ["orgs": [["id": "o1", "active": 1]]],
            keys: [#"["u1"]"#]
        ),
        Case(
            name: "existence that is missing besides a key",
            query: """
                SELECT * FROM p WHERE owner = auth.user_id() AND auth.parameter('org') IN
                    (SELECT id FROM orgs WHERE active)
                """,
            tables: ["orgs": [["id": "o2", "active": 1]]],
            keys: []
        ),
        Case(
            name: "a constant is in a table only if the table has a row",
            query: "SELECT * FROM p WHERE auth.user_id() IN (SELECT 'u1' FROM switches WHERE enabled)",
            tables: ["switches": [["enabled": 0]]],
            keys: []
        ),
        Case(
            name: "a table of which nothing is used has no effect",
            query: "SELECT * FROM p WHERE auth.user_id() IN (SELECT 'u1' FROM switches)",
            tables: [:],
            keys: ["[]"]
        ),
        Case(
            name: "a constant in a table with a row",
            query: "SELECT * FROM p WHERE auth.user_id() IN (SELECT 'u1' FROM switches)",
            tables: ["switches": [["x": nil]]],
            keys: ["[]"]
        ),
        Case(
            name: "7.6 intersection of request and lookup",
            query: """
                SELECT * FROM todos WHERE list_id = auth.parameter('list') AND list_id IN
                    (SELECT id FROM lists WHERE owner_id = auth.user_id())
                """,
            tables: ["lists": [["id": "l1", "owner_id": "u1"], ["id": "l2", "owner_id": "u1"]]],
            keys: [#"["l1"]"#]
        ),
        Case(
            name: "intersection of two lookups",
            query: """
                SELECT * FROM todos WHERE l IN (SELECT id FROM x WHERE k = auth.user_id())
                    AND l IN (SELECT id FROM y WHERE k = auth.user_id())
                """,
            tables: [
                "x": [["id": 1, "k": "u1"], ["id": 2.0, "k": "u1"]],
                "y": [["id": 2, "k": "u1"], ["id": 3, "k": "u1"]],
            ],
            keys: ["[2]"]
        ),
        Case(
            name: "two values of the request that differ",
            query: "SELECT * FROM p WHERE a = auth.parameter('list') AND a = auth.parameter('org')",
            tables: [:],
            keys: []
        ),
        Case(
            name: "two values of the request that agree",
            query: "SELECT * FROM p WHERE a = auth.parameter('list') AND a = auth.parameter('$.list')",
            tables: [:],
            keys: [#"["l1"]"#]
        ),
        Case(
            name: "an inner table hides an outer one of the same name",
            query: "SELECT * FROM t WHERE a IN (SELECT t.id FROM t WHERE t.owner = auth.user_id())",
            tables: ["t": [["id": 1, "a": 3, "owner": "u1"], ["id": 2, "a": 1, "owner": "u2"]]],
            keys: ["[1]"]
        ),
        Case(
            name: "an inner alias hides an outer table",
            query: "SELECT * FROM t WHERE a IN (SELECT t.x FROM grants AS t WHERE t.owner = auth.user_id())",
            tables: ["grants": [["x": 7, "owner": "u1"], ["x": 8, "owner": "u2"]], "t": [["a": 9, "owner": "u1"]]],
            keys: ["[7]"]
        ),
        Case(
            name: "the innermost of three tables of one name counts",
            query: """
                SELECT * FROM t WHERE a IN (SELECT t.id FROM t WHERE t.a IN (SELECT t.id FROM t WHERE
                    t.owner = auth.user_id()))
                """,
            tables: ["t": [["id": 1, "a": 2, "owner": "u2"], ["id": 2, "a": 3, "owner": "u1"]]],
            keys: ["[1]"]
        ),
        Case(
            name: "names without a table belong to the innermost one",
            query:
                "SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE owner = auth.user_id()) AND id = auth.parameter('s')",
            tables: ["u": [["id": 5, "owner": "u1"], ["id": 6, "owner": "u2"]]],
            keys: ["[5,1]"]
        ),
        Case(
            name: "7.4 three levels",
            query: """
                SELECT * FROM projects WHERE org_id IN (SELECT id FROM orgs WHERE active AND id IN
                    (SELECT org_id FROM members WHERE user_id = auth.user_id()))
                """,
            tables: [
                "orgs": [["id": "o1", "active": 1], ["id": "o2", "active": 0], ["id": "o3", "active": 1]],
                "members": [["user_id": "u1", "org_id": "o1"], ["user_id": "u1", "org_id": "o2"]],
            ],
            keys: [#"["o1"]"#]
        ),
    ]

    @Test(arguments: ["b IN mine", "b IN (SELECT id FROM mine)", "a && mine", "a && (SELECT id FROM mine)"])
    func conditionsOfACommonTableCountWhereverItStands(_ condition: String) async throws {
        let plan = try plan(
            """
            config: {edition: 3}
            with: {mine: "SELECT id FROM u WHERE owner = auth.user_id() AND NOT closed"}
            streams: {s: {auto_subscribe: true, query: "SELECT * FROM t WHERE \(condition)"}}
            """
        )
        let rows: [SourceRow] = [
            ["id": 1, "owner": "u1", "closed": 0], ["id": 2, "owner": "u1", "closed": 1],
            ["id": 3, "owner": "u2", "closed": 0],
        ]
        #expect(try await plan.bucketNames(index: ParameterStore(plan, ["u": rows])) == ["1#s|0[1]"])
        #expect(plan.bucketNames("t", ["id": 9, "a": "[1]", "b": 1]) == ["1#s|0[1]"])
    }

    @Test(arguments: cases) func combinesValuesAsAJoinDoes(_ test: Case) async throws {
        let plan = try plan(query: test.query)
        var index = ParameterStore()
        for (table, rows) in test.tables { index.add(rows, of: table, plan) }
        let names = try await plan.bucketNames(token: ["sub": "u1", "s": 1, "org": "o1", "list": "l1"], index: index)
        #expect(names == test.keys.map { "1#s|0\($0)" })
    }
}
