import PowerSyncSyncConfig
import Testing

/// What queries compile to (docs/sync-config.md "Compilation").
@Suite struct PlanShapeTests {
    @Test func aFilterOnTheRowAndOneOnTheRequestAreTwoVariants() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE NOT (a = 1 AND auth.parameter('r') = 'x')")
        #expect(plan.buckets.map(\.name) == ["s|0", "s|1"])
        #expect(plan.evaluators.map(\.filters.count) == [1, 0])
        #expect(plan.streams[0].queriers.map(\.requestFilters.count) == [0, 1])
    }

    @Test func orOfFiltersOnTheRowIsOneBucket() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE a = 1 OR b = 2 OR a = 3")
        #expect(plan.buckets.map(\.name) == ["s|0"])
    }

    @Test func orOfOwnerAndFilterIsTwoVariants() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE a = 1 OR owner = auth.user_id()")
        #expect(plan.evaluators.map(\.partitionKeys) == [[], [.column("owner")]])
    }

    @Test func twoWaysToTheSameRowsShareABucket() throws {
        let plan = try plan(
            query: """
                SELECT * FROM t WHERE a IN (SELECT id FROM u WHERE x = auth.user_id())
                    OR a IN (SELECT y FROM u WHERE x = auth.user_id())
                """
        )
        #expect(plan.buckets.map(\.name) == ["s|0"])
        #expect(plan.streams[0].queriers.map(\.bucket.rawValue) == [0, 0])
        #expect(plan.parameterIndexes.map(\.outputs) == [[.column("id")], [.column("y")]])
    }

    @Test func streamsShareBucketsOfTheSameRows() throws {
        let plan = try plan(
            config(
                TestStream("a", "SELECT * FROM p WHERE k = auth.user_id()"),
                TestStream("b", "SELECT * FROM p WHERE k IN (SELECT m FROM o WHERE id = auth.parameter('o'))")
            )
        )
        #expect(plan.buckets.map(\.name) == ["a|0"])
        #expect(plan.evaluators.count == 1)
    }

    @Test func queriesWithoutParametersShareABucket() throws {
        let plan = try plan(config(TestStream("s", "SELECT * FROM t", "SELECT * FROM u")))
        #expect(plan.buckets.map(\.name) == ["s|0"])
        #expect(plan.buckets[0].evaluators.map(\.rawValue) == [0, 1])
    }

    @Test func equalSubqueriesShareAnIndex() throws {
        let subquery = "(SELECT id FROM lists WHERE owner = auth.user_id())"
        let plan = try plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE list IN \(subquery)"),
                TestStream("b", "SELECT * FROM u WHERE list_id IN \(subquery)")
            )
        )
        #expect(plan.parameterIndexes.count == 1)
        #expect(plan.evaluators.count == 2)
    }

    @Test func theOrderOfConditionsDoesNotMatter() throws {
        let plan = try plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE x = auth.user_id() AND y = auth.parameter('y') AND a AND b"),
                TestStream("b", "SELECT * FROM t WHERE b AND auth.parameter('y') = y AND a AND auth.user_id() = x")
            )
        )
        #expect(plan.evaluators.count == 1)
        #expect(plan.buckets.count == 1)
    }

    @Test func theOrderOfFunctionsDoesNotMatter() throws {
        let condition = "WHERE j.value = auth.parameter('j') AND k.value = auth.parameter('k')"
        let plan = try plan(
            config(
                TestStream("a", "SELECT t.* FROM t, json_each(t.a) j, json_each(t.b) k \(condition)"),
                TestStream("b", "SELECT t.* FROM t, json_each(t.b) k, json_each(t.a) j \(condition)")
            )
        )
        #expect(plan.evaluators.count == 1)
        #expect(plan.buckets.map(\.name) == ["a|0"])
        #expect(plan.streams[0].queriers == plan.streams[1].queriers)
    }

    @Test func theOrderOfConditionsOnTheRequestDoesNotMatter() throws {
        let plan = try plan(
            config(
                TestStream(
                    "s",
                    "SELECT * FROM t WHERE auth.parameter('a') AND auth.parameter('b')",
                    "SELECT * FROM u WHERE auth.parameter('b') AND auth.parameter('a')"
                )
            )
        )
        #expect(plan.streams[0].queriers.count == 1)
        #expect(plan.buckets.map(\.evaluators.count) == [2])
    }

    @Test(arguments: [
        ("a = auth.user_id()", "a = auth.user_id() AND auth.user_id() = a"), ("x", "x AND x"),
        ("auth.parameter('r')", "auth.parameter('r') AND auth.parameter('r')"),
        ("a = auth.user_id() AND x", "NOT (NOT (x AND a = auth.user_id()))"),
    ])
    func whatIsSaidTwiceIsPlannedOnce(once: String, twice: String) throws {
        #expect(try plan(query: "SELECT * FROM t WHERE \(twice)") == plan(query: "SELECT * FROM t WHERE \(once)"))
    }

    @Test func anInnerTableIsAnotherOneThanTheOuterOfTheSameName() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE a IN (SELECT t.id FROM t WHERE t.owner = auth.user_id())")
        #expect(plan.evaluators.map(\.partitionKeys) == [[.column("a")]])
        #expect(plan.evaluators[0].filters.isEmpty)
        #expect(plan.parameterIndexes.map(\.keys) == [[.column("owner")]])
        #expect(plan.parameterIndexes.map(\.outputs) == [[.column("id")]])
    }

    @Test func aChainOfSubqueriesIsAChainOfStages() throws {
        let plan = try plan(
            query: """
                SELECT * FROM a WHERE c1 IN (SELECT b.c1 FROM b WHERE b.c2 IN (SELECT c.c2 FROM c WHERE c.c3 IN
                    (SELECT d.c3 FROM d WHERE d.c4 = a.c4)))
                """
        )
        let querier = plan.streams[0].queriers[0]
        let tables = querier.stages.map { $0.map(plan.table) }
        #expect(tables == [["d"], ["c"], ["b"]])
        let last = try #require(plan.parameterIndexes.first { $0.table.table == "d" })
        #expect(last.keys.isEmpty)
        #expect(Set(last.outputs) == [.column("c3"), .column("c4")])
        #expect(plan.evaluators[0].partitionKeys == [.column("c1"), .column("c4")])
    }

    @Test func aCircleEndsAsAnOutputOfTheInnerLookup() throws {
        // The example of 5.5, written with subqueries.
        let plan = try plan(
            query: """
                SELECT * FROM a WHERE a.x IN (SELECT b.x FROM b WHERE b.u = auth.user_id() AND b.y IN
                    (SELECT c.y FROM c WHERE c.z = a.z AND c.v = auth.user_id()))
                """
        )
        #expect(plan.evaluators[0].partitionKeys == [.column("x"), .column("z")])
        let c = try #require(plan.parameterIndexes.first { $0.table.table == "c" })
        #expect(Set(c.outputs) == [.column("y"), .column("z")])
    }

    @Test func whatTheRequestLeadsToIsReadFromThere() throws {
        // The same circle: only the user's rows of b lead to c, which is not read whole.
        let plan = try plan(
            query: """
                SELECT * FROM a WHERE a.x IN (SELECT b.x FROM b WHERE b.u = auth.user_id() AND b.y IN
                    (SELECT c.y FROM c WHERE c.z = a.z))
                """
        )
        #expect(plan.evaluators[0].partitionKeys == [.column("x"), .column("z")])
        #expect(plan.streams[0].queriers[0].stages.map { $0.map(plan.table) } == [["b"], ["c"]])
        let c = try #require(plan.parameterIndexes.first { $0.table.table == "c" })
        #expect(c.keys == [.column("y")] && c.outputs == [.column("z")])
    }

    /// Queries with joins, and the tables that are read whole.
    static let joins: [(query: String, unbounded: [String])] = [
        // The column that is selected does not matter.
        (
            "SELECT * FROM p WHERE id IN (SELECT m.p FROM m JOIN q ON q.id = m.p WHERE m.u = auth.user_id() AND q.open)",
            []
        ),
        (
            "SELECT * FROM p WHERE id IN (SELECT q.id FROM m JOIN q ON q.id = m.p WHERE m.u = auth.user_id() AND q.open)",
            []
        ),
        // Nor does it if it is another one than that of the join.
        (
            "SELECT * FROM p WHERE id IN (SELECT m.team FROM m JOIN q ON q.id = m.p WHERE m.u = auth.user_id() AND q.open)",
            []
        ),
        ("SELECT p.* FROM p, m, q WHERE p.id = m.p AND q.id = m.q AND m.u = auth.user_id() AND q.open", []),
        (
            "SELECT p.* FROM p, m, q, r WHERE p.id = m.p AND q.id = m.q AND r.id = q.r AND m.u = auth.user_id() AND r.open",
            []
        ),
        ("SELECT p.* FROM p, m WHERE p.u = auth.user_id() AND m.u = p.u AND m.open", []),
        ("SELECT p.* FROM p, m WHERE p.id = m.a AND m.a = m.b AND m.b = auth.user_id() AND m.open", []),
        ("SELECT p.* FROM p, m, q WHERE p.id = m.a AND m.a = m.b AND m.b = q.b AND q.u = auth.user_id()", []),
        ("SELECT p.* FROM p, m, q WHERE p.id = q.id AND q.id = m.id AND q.open AND m.id IN auth.parameter('ids')", []),
        (
            "SELECT p.* FROM p, m, q WHERE p.id = q.id AND lower(q.e) = lower(m.e) AND q.open AND m.u = auth.user_id()",
            []
        ),
        ("SELECT p.* FROM p, m WHERE p.id IN m.list AND m.t = p.t AND p.u = auth.user_id() AND m.open", ["m"]),
        ("SELECT p.* FROM p, m, q WHERE p.id = m.p AND m.q = q.id AND p.u = auth.user_id()", ["m", "q"]),
        ("SELECT p.* FROM p, m, q WHERE p.id = m.p AND m.u = auth.user_id() AND q.t = p.t AND q.open", ["q"]),
    ]

    @Test(arguments: joins) func aTableIsReadWholeOnlyIfNothingLeadsToIt(query: String, unbounded: [String]) throws {
        let result = SyncConfig.parse(config(TestStream("s", query)))
        let found = result.diagnostics.filter { $0.code == "lookup.unbounded" }.compactMap {
            $0.message.firstMatch(of: /“(\w+)”/).map { String($0.output.1) }
        }
        #expect(found == unbounded)
        #expect(result.isUsable)
    }

    @Test func doubleNegationOfACompoundIsNormalised() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE NOT NOT (a = auth.user_id() OR b)")
        #expect(plan.buckets.count == 2)
    }

    @Test func theNegationOfASubqueryIsThatOfItsConditions() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE NOT ('x' IN (SELECT id FROM u WHERE k))")
        // Some row of u has another id, or does not satisfy the condition.
        #expect(
            plan.parameterIndexes.map { $0.filters.map(\.description) } == [
                [#"((NOT equal("x", column("id"))) OR (NOT column("k")))"#]
            ]
        )
        #expect(plan.parameterIndexes.allSatisfy { $0.keys.isEmpty && $0.outputs.isEmpty })
    }

    @Test func tablesAreListedOnce() throws {
        let plan = try plan(
            config(
                TestStream("a", "SELECT * FROM t WHERE l IN (SELECT id FROM lists WHERE owner = auth.user_id())"),
                TestStream("b", "SELECT * FROM app.lists", "SELECT * FROM lists")
            )
        )
        #expect(plan.tablePatterns.map(\.description) == ["t", "app.lists", "lists"])
        #expect(plan.readsTable(SourceTableName(schema: "main", name: "lists")))
        #expect(plan.readsTable(SourceTableName(schema: "app", name: "lists")))
        #expect(!plan.readsTable(SourceTableName(schema: "app", name: "t")))
        #expect(!plan.readsTable(SourceTableName(schema: "main", name: "Lists")))
    }
}
