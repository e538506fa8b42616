import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Complete examples, from a sync config to what clients get.
@Suite struct WorkedExampleTests {
    @Test func globalData() async throws {
        let plan = try plan(config(TestStream("categories", "SELECT * FROM categories")))
        #expect(plan.bucketNames("categories", ["id": "c1"]) == ["1#categories|0[]"])
        #expect(try await plan.bucketNames(token: [:]) == ["1#categories|0[]"])
    }

    @Test func listsByOwner() async throws {
        let plan = try plan(config(TestStream("my_lists", "SELECT * FROM lists WHERE owner_id = auth.user_id()")))
        #expect(
            plan.synced("lists", ["id": "l1", "owner_id": "u1", "name": "Groceries"])
                == [#"1#my_lists|0["u1"] lists/l1 {"id":"l1","owner_id":"u1","name":"Groceries"}"#]
        )
        #expect(plan.synced("lists", ["id": "l1", "owner_id": nil]).isEmpty)
        #expect(try await plan.bucketNames() == [#"1#my_lists|0["u1"]"#])
    }

    @Test func todosInListsOwnedByTheUser() async throws {
        let plan = try plan(
            config(
                TestStream(
                    "my_todos",
                    "SELECT * FROM todos WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id())"
                )
            )
        )
        #expect(plan.bucketNames("todos", ["id": "t1", "list_id": "l1"]) == [#"1#my_todos|0["l1"]"#])
        #expect(plan.synced("lists", ["id": "l1", "owner_id": "u1"]).isEmpty)
        let lists: [SourceRow] = [
            ["id": "l1", "owner_id": "u1"], ["id": "l2", "owner_id": "u2"], ["id": "l3", "owner_id": "u1"],
        ]
        let index = ParameterStore(plan, ["lists": lists])
        let mine = try await plan.bucketNames(index: index)
        #expect(mine == [#"1#my_todos|0["l1"]"#, #"1#my_todos|0["l3"]"#])
        #expect(try await plan.bucketNames(token: ["sub": "u2"], index: index) == [#"1#my_todos|0["l2"]"#])
    }

    @Test func membership() async throws {
        let plan = try plan(
            query: "SELECT * FROM projects WHERE org_id IN (SELECT org_id FROM members WHERE user_id = auth.user_id())"
        )
        let index = ParameterStore(plan, ["members": [["id": 1, "user_id": "u1", "org_id": "org-1"]]])
        #expect(try await plan.bucketNames(index: index) == [#"1#s|0["org-1"]"#])
    }

    @Test func orAndRequestFilters() async throws {
        let plan = try plan(
            config(
                TestStream("notes", "SELECT * FROM notes WHERE owner_id = auth.user_id() OR auth.parameter('is_admin')")
            )
        )
        let row: SourceRow = ["id": "n1", "owner_id": "u1"]
        #expect(plan.bucketNames("notes", row) == [#"1#notes|0["u1"]"#, "1#notes|1[]"])
        #expect(try await plan.bucketNames() == [#"1#notes|0["u1"]"#])
        let admin = try await plan.bucketNames(token: ["sub": "u1", "is_admin": true])
        #expect(admin == [#"1#notes|0["u1"]"#, "1#notes|1[]"])
    }

    @Test func twoQueriesInOneBucket() throws {
        let plan = try plan(
            config(
                TestStream(
                    "mine",
                    "SELECT * FROM settings WHERE user_id = auth.user_id()",
                    "SELECT id, user_id, body FROM notes WHERE user_id = auth.user_id()"
                )
            )
        )
        #expect(plan.buckets.map(\.name) == ["mine|0"])
        #expect(plan.bucketNames("settings", ["id": 1, "user_id": "u1"]) == [#"1#mine|0["u1"]"#])
        #expect(
            plan.synced("notes", ["id": 1, "user_id": "u1", "secret": 1, "body": "b"])
                == [#"1#mine|0["u1"] notes/1 {"id":1,"user_id":"u1","body":"b"}"#]
        )
    }
}
