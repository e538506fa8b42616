#if DEBUG
import PowerSync
import Testing

/// What a build for debugging says about queries whose joins use no index.
@Suite(.timeLimit(.minutes(1))) struct SlowJoinsTests {
    private static let schema = Schema(
        Table(name: "lists", columns: [.text("name")]),
        Table(
            name: "todos",
            columns: [.text("list_id"), .text("title"), .text("due date")],
            indexes: [.ascending(name: "by_list", column: "list_id"), .ascending(name: "by_due", column: "due date")]
        ),
        Table(
            name: "drafts",
            columns: [.text("list_id")],
            indexes: [.ascending(name: "by_list", column: "list_id")],
            localOnly: true
        )
    )

    private func hints(
        _ body: (any PowerSyncDatabaseProtocol) async throws -> Void
    ) async throws -> [String] {
        let writer = CollectingLogWriter()
        try await withFileDatabase(Self.schema, logger: DefaultLogger(writers: [writer]), body)
        return writer.messages(.debug).filter { $0.contains("LEFT JOIN reads") }
    }

    @Test(
        arguments: [
            (
                "SELECT todos.id FROM lists LEFT JOIN todos ON todos.list_id = lists.id", "ps_data__todos",
                "ps_data__todos__by_list"
            ),
            (
                "select t.id from lists l left outer join todos t on t.list_id = l.id", "ps_data__todos",
                "ps_data__todos__by_list"
            ),
            (
                "SELECT d.id FROM lists LEFT JOIN drafts d ON d.list_id = lists.id", "ps_data_local__drafts",
                "ps_data_local__drafts__by_list"
            ),
            (
                "SELECT t.id FROM lists LEFT JOIN todos t ON t.\"due date\" = lists.name", "ps_data__todos",
                "ps_data__todos__by_due"
            ),
        ]
    )
    func aScanInAJoinIsNamedOnce(_ sql: String, _ table: String, _ index: String) async throws {
        let hints = try await hints { database in
            for _ in 0..<2 { _ = try await database.getAll(sql) { _ in 1 } }
            _ = try await database.getOptional(sql) { _ in 1 }
            try await database.readTransaction { _ = try $0.getAll(sql: sql, parameters: []) { _ in 1 } }
            var results = try database.watch(sql) { _ in 1 }.makeAsyncIterator()
            _ = try await results.next()
        }
        #expect(hints.count == 1)
        #expect(hints.first?.contains("\(table) ") == true && hints.first?.contains("index \(index).") == true)
    }

    @Test func aWatchSaysItAsWell() async throws {
        let hints = try await hints { database in
            let sql = "SELECT todos.id FROM lists LEFT JOIN todos ON todos.list_id = lists.id"
            var results = try database.watch(sql) { _ in 1 }.makeAsyncIterator()
            _ = try await results.next()
            try await database.execute("INSERT INTO lists (id) VALUES ('1')")
            while let count = try await results.next()?.count, count != 1 {}
        }
        #expect(hints.count == 1)
    }

    @Test func eachDatabaseSaysIt() async throws {
        let sql = "SELECT todos.id FROM lists LEFT JOIN todos ON todos.list_id = lists.id"
        for _ in 0..<2 {
            let hints = try await hints { _ = try await $0.getAll(sql) { _ in 1 } }
            #expect(hints.count == 1)
        }
    }

    @Test(
        arguments: [
            "SELECT todos.id FROM lists JOIN todos ON todos.list_id = lists.id",
            "SELECT lists.id FROM todos LEFT JOIN lists ON lists.id = todos.list_id",
            "SELECT t.id FROM lists LEFT JOIN todos t ON t.title = lists.name",
            "SELECT t.id FROM lists LEFT JOIN todos t ON t.id IN (SELECT id FROM todos WHERE list_id = lists.id)",
            "WITH t AS MATERIALIZED (SELECT id, list_id FROM todos) SELECT t.id FROM lists LEFT JOIN t ON t.list_id = lists.id",
            "SELECT 'left join' FROM todos",
        ]
    )
    func nothingIsSaidOfOthers(_ sql: String) async throws {
        let hints = try await hints { _ = try await $0.getAll(sql) { _ in 1 } }
        #expect(hints == [])
    }
}
#endif
