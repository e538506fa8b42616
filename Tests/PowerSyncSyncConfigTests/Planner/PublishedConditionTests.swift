import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Conditions and joins as people have published them, with what is right for them.
@Suite struct PublishedConditionTests {
    private func findings(_ yaml: String, schema: SourceSchema? = nil) -> [String] {
        let bytes = Array(yaml.utf8)
        return SyncConfig.parse(yaml, schema: schema).diagnostics
            .map { "\($0.code) \(String(decoding: bytes[$0.range], as: UTF8.self))" }
    }

    // MARK: Never or always

    /// `CREATE TABLE t (id integer PRIMARY KEY, owner_id integer, is_public boolean, meta jsonb, price numeric)`.
    private static let schema = SourceSchema(tables: [
        SourceSchema.Table(
            name: SourceTableName(schema: "main", name: "t"),
            columns: ["id", "owner_id", "is_public", "meta", "price"],
            types: [
                "id": .init(declaration: "integer", values: .number),
                "owner_id": .init(declaration: "integer", values: .number),
                "is_public": .init(declaration: "boolean", values: .boolean),
                "meta": .init(declaration: "jsonb", values: .text),
                "price": .init(declaration: "numeric", values: .text),
            ]
        )
    ])

    private static let neverOrAlways = """
        config: {edition: 3}
        streams:
          never_json: {auto_subscribe: true, query: "SELECT * FROM t WHERE meta ->> 'shared' = 'true'"}
          never_claim: {auto_subscribe: true, query: "SELECT * FROM t WHERE auth.parameter('verified') = 'true'"}
          never_bool: {auto_subscribe: true, query: "SELECT * FROM t WHERE is_public = 'true'"}
          never_int: {auto_subscribe: true, query: "SELECT * FROM t WHERE owner_id = auth.user_id()"}
          always_numeric: {auto_subscribe: true, query: "SELECT * FROM t WHERE price > 1000"}
        """

    @Test func conditionsThatAreNeverOrAlwaysTrueAreWarnings() {
        let json = ["filter.never meta ->> 'shared' = 'true'", "filter.never auth.parameter('verified') = 'true'"]
        #expect(findings(Self.neverOrAlways) == json)
        #expect(
            findings(Self.neverOrAlways, schema: Self.schema)
                == json + [
                    "filter.never is_public = 'true'", "filter.never owner_id = auth.user_id()",
                    "filter.always price > 1000",
                ]
        )
        let result = SyncConfig.parse(Self.neverOrAlways, schema: Self.schema)
        #expect(result.isUsable)
        let userID = result.diagnostics.first { $0.message.contains("owner_id") }
        #expect(userID?.message.contains("unless the “sub” of a token is a number") == true)
    }

    @Test func whatTheWarningsSayIsSo() async throws {
        let plan = try plan(Self.neverOrAlways)
        let row: SourceRow = ["id": 1, "owner_id": 5, "is_public": 1, "meta": #"{"shared":true}"#, "price": "9.50"]
        let buckets = plan.bucketNames("t", row)
        let received = try await plan.bucketNames(token: ["sub": "5", "verified": true]).filter(buckets.contains)
        #expect(received == ["1#always_numeric|0[]"])
    }

    // MARK: Direction of lookups

    private static func members(_ select: String) -> String {
        """
        config: {edition: 3}
        streams:
          s:
            auto_subscribe: true
            query: |
              SELECT * FROM projects WHERE id IN (
                SELECT \(select) FROM members m JOIN projects p ON p.id = m.project_id
                WHERE m.user_id = auth.user_id() AND p.status = 'active')
        """
    }

    private static let commonTable = """
        config: {edition: 3}
        streams:
          mine:
            auto_subscribe: true
            with:
              p: SELECT m.project_id AS id FROM members m JOIN projects q ON q.id = m.project_id WHERE m.user_id = auth.user_id() AND q.status = 'active'
            query: SELECT * FROM tasks WHERE project_id IN p
        """

    /// 1,200 active projects, of which each user is a member of two.
    private static let projects: (projects: [SourceRow], members: [SourceRow]) = (
        (0..<1200).map { ["id": .integer(Int64($0)), "status": $0 == 7 ? "closed" : "active"] },
        (0..<1200).map { ["user_id": .text("u\($0 / 2)"), "project_id": .integer(Int64($0))] }
    )

    @Test(arguments: [
        (members("m.project_id"), "projects"), (members("p.id"), "projects"), (commonTable, "tasks"),
    ])
    func aLookupIsReadFromTheSideThatTheUserBounds(yaml: String, table: String) async throws {
        #expect(findings(yaml) == [])
        let plan = try plan(yaml)
        let index = ParameterStore(plan, ["projects": Self.projects.projects, "members": Self.projects.members])
        for (user, ids) in [("u0", [0, 1]), ("u3", [6]), ("u599", [1198, 1199]), ("nobody", [])]
            as [(ExactJSON, [Int64])]
        {
            let buckets = Set(try await plan.bucketNames(token: ["sub": user], index: index))
            let received = (0..<1200 as Range<Int64>).filter { id in
                let row: SourceRow = ["id": .integer(id), "project_id": .integer(id)]
                return !buckets.isDisjoint(with: plan.bucketNames(table, row))
            }
            #expect(received == ids)
        }
    }

    @Test func whatNothingBoundsIsNamed() throws {
        let yaml = config(
            TestStream("s", "SELECT * FROM t WHERE a IN (SELECT m.a FROM m JOIN n ON n.b = m.b WHERE n.c = 1)")
        )
        let found = SyncConfig.parse(yaml).diagnostics
        #expect(found.map(\.code) == ["lookup.unbounded", "lookup.unbounded"])
        #expect(found.map { $0.message.prefix(13) } == ["All rows of “m”", "All rows of “n”"].map { $0.prefix(13) })
    }

    // MARK: Pairs

    private static func pairs(_ condition: String) -> String {
        """
        config: {edition: 3}
        streams:
          clients:
            auto_subscribe: true
            query: >
              SELECT \(condition)
        """
    }

    private static let apart = pairs(
        """
        * FROM clients WHERE town IN (SELECT town FROM places WHERE user_id = auth.user_id())
              AND county IN (SELECT county FROM places WHERE user_id = auth.user_id())
        """
    )

    private func received(_ yaml: String) async throws -> [String] {
        let plan = try plan(yaml)
        let index = ParameterStore(
            plan,
            [
                "places": [
                    ["id": "x", "user_id": "u1", "town": "m1", "county": "p1"],
                    ["id": "y", "user_id": "u1", "town": "m2", "county": "p2"],
                ]
            ]
        )
        let buckets = Set(try await plan.bucketNames(index: index))
        let clients: [(String, SourceRow)] = [
            ("a", ["id": "a", "town": "m1", "county": "p1"]), ("b", ["id": "b", "town": "m1", "county": "p2"]),
        ]
        return clients.filter { !buckets.isDisjoint(with: plan.bucketNames("clients", $0.1)) }.map(\.0)
    }

    @Test func pairsThatAreNotKeptTogetherAreAWarning() async throws {
        let finding = try #require(SyncConfig.parse(Self.apart).diagnostics.first)
        #expect(findings(Self.apart) == ["filter.pairs places"])
        #expect(finding.message.contains("“town” and “county” of “places”"))
        #expect(try await received(Self.apart) == ["a", "b"])
        // The hint, as it is written, gives the pairs.
        let join = try #require(finding.hint?.firstMatch(of: /“(.+)”/)?.output.1)
        let together = Self.pairs("clients.* FROM clients \(join) WHERE places.user_id = auth.user_id()")
        #expect(findings(together) == [])
        #expect(try await received(together) == ["a"])
    }

    static let otherPairs: [(condition: String, isReported: Bool)] = [
        ("town IN (SELECT town FROM mine) AND county IN (SELECT county FROM mine)", true),
        ("a = auth.user_id() AND town IN (SELECT town FROM mine) AND county IN (SELECT county FROM mine)", true),
        ("a IN (SELECT x FROM u WHERE y IN (SELECT town FROM mine) AND z IN (SELECT county FROM mine))", true),
        ("town IN (SELECT town FROM mine) AND county IN (SELECT town FROM mine)", false),
        ("town IN (SELECT town FROM mine) OR county IN (SELECT county FROM mine)", false),
        ("town IN (SELECT town FROM mine) AND county IN (SELECT county FROM others)", false),
        (
            "town IN (SELECT town FROM mine) AND county IN (SELECT county FROM places WHERE active AND user_id = auth.user_id())",
            false
        ),
        ("town IN (SELECT town FROM mine WHERE mine.county = clients.county)", false),
        ("town IN auth.parameter('towns') AND county IN auth.parameter('counties')", false),
    ]

    @Test(arguments: otherPairs) func onlyColumnsOfTheSameRowsArePairs(condition: String, isReported: Bool) {
        let yaml = """
            config: {edition: 3}
            with:
              mine: SELECT town, county FROM places WHERE user_id = auth.user_id()
              others: SELECT county FROM elsewhere WHERE user_id = auth.user_id()
            streams: {s: {auto_subscribe: true, query: "SELECT * FROM clients WHERE \(condition)"}}
            """
        #expect(SyncConfig.parse(yaml).diagnostics.map(\.code).filter { $0 == "filter.pairs" }.isEmpty == !isReported)
    }
}
