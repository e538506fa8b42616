import PowerSync
import Testing

/// The recipes of the page "Slow queries" give the result of the query that they stand for, and their plans have no scan in a join.
@Suite(.timeLimit(.minutes(1))) struct SlowQueriesTests {
    private static let schema = Schema(
        Table(name: "lists", columns: [.text("name")]),
        Table(
            name: "todos",
            columns: [.text("list_id"), .text("title")],
            indexes: [.ascending(name: "by_list", column: "list_id")]
        )
    )

    private static let queries = Result {
        try Page(path: "Sources/PowerSync/Documentation.docc/SlowQueries.md").blocks.filter { $0.language == "sql" }
            .map(\.text)
    }

    /// 60 lists, of which the last 20 have no todos, and todos without a list.
    private func withDatabase(_ body: (any PowerSyncDatabaseProtocol) async throws -> Void) async throws {
        let database = PowerSyncDatabase(
            schema: Self.schema,
            dbFilename: ":memory:",
            logger: DefaultLogger(writers: [])
        )
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT"
        try await database.execute(sql: "INSERT INTO lists (id) \(numbers) 'l' || i FROM n", parameters: [60])
        try await database.execute(
            sql: """
                INSERT INTO todos (id, list_id, title)
                \(numbers) 't' || i, CASE WHEN i % 7 > 0 THEN 'l' || (i % 41) END, 'x' FROM n
                """,
            parameters: [500]
        )
        try await body(database)
        try await database.close()
    }

    private func plan(_ sql: String, _ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        let plan = try await database.getAll("EXPLAIN QUERY PLAN \(sql)") { try $0.getString(name: "detail") }
        return plan
    }

    private func rows(_ sql: String, _ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await database.getAll(sql) { "\(try $0.getString(index: 0)) \(try $0.getInt(index: 1))" }.sorted()
    }

    @Test func thePageHasRecipes() throws {
        #expect(try Self.queries.get().count == 5)
    }

    @Test(arguments: 1..<5) func aRecipeGivesTheSameResultWithoutAScan(_ index: Int) async throws {
        let queries = try Self.queries.get()
        try await withDatabase { database in
            #expect(
                try await plan(queries[0], database).contains {
                    $0.hasPrefix("SCAN ps_data__todos") && $0.hasSuffix("LEFT-JOIN")
                }
            )
            let expected = try await rows(queries[0], database)
            #expect(expected.count == 60 && expected.contains { $0.hasSuffix(" 0") })
            #expect(try await rows(queries[index], database) == expected)
            let plan = try await plan(queries[index], database)
            #expect(!plan.contains { $0.hasPrefix("SCAN") && $0.hasSuffix("LEFT-JOIN") })
            // A recipe that materialises reads the table once, and makes an index; the others use that of the schema.
            let usesIndex = plan.contains { $0.contains("INDEX ps_data__todos__by_list") }
            #expect(usesIndex || plan.contains { $0.contains("AUTOMATIC") && $0.contains("(list_id=?)") })
        }
    }

    @Test(
        arguments: [
            "SELECT lists.id FROM todos RIGHT JOIN lists ON todos.list_id = lists.id",
            "SELECT lists.id FROM lists FULL JOIN todos ON todos.list_id = lists.id",
        ]
    )
    func otherOuterJoinsUseNoIndexEither(_ sql: String) async throws {
        try await withDatabase { database in
            let plan = try await plan(sql, database)
            #expect(!plan.contains { $0.contains("ps_data__todos__by_list") })
        }
    }

    @Test(
        arguments: [
            "SELECT todos.id FROM lists JOIN todos ON todos.list_id = lists.id WHERE lists.id = 'l1'",
            "SELECT id FROM todos WHERE list_id IN ('l1', 'l2')",
            "SELECT id FROM todos WHERE list_id > 'l1' AND list_id < 'l2'",
            "SELECT list_id FROM todos ORDER BY list_id",
            "SELECT list_id, count(*) FROM todos GROUP BY list_id",
        ]
    )
    func theIndexIsUsedElsewhere(_ sql: String) async throws {
        try await withDatabase { database in
            let plan = try await plan(sql, database)
            #expect(plan.contains { $0.contains("ps_data__todos__by_list") }, "\(plan)")
        }
    }

    @Test func aTableOfTheAppsOwnIsJoinedByItsIndex() async throws {
        try await withDatabase { database in
            try await database.execute("CREATE TABLE raw (id TEXT PRIMARY KEY, list_id TEXT)")
            try await database.execute("CREATE INDEX raw_by_list ON raw (list_id)")
            let plan = try await plan(
                "SELECT lists.id, raw.id FROM lists LEFT JOIN raw ON raw.list_id = lists.id",
                database
            )
            #expect(plan.contains { $0.contains("raw_by_list") && $0.hasSuffix("LEFT-JOIN") })
        }
    }
}
