import Foundation
import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// Which parts of a plan stay when another one takes its place (docs/service.md "What a deployment keeps").
@Suite struct PlanContinuationTests {
    private static let lists = TestStream("lists", "SELECT * FROM lists WHERE owner = auth.user_id() AND NOT archived")
    private static let todos = TestStream(
        "todos",
        "SELECT id, text FROM todos WHERE list IN (SELECT id FROM lists WHERE owner = auth.user_id())"
    )

    private func continuation(
        of new: [TestStream],
        after earlier: [TestStream] = [lists, todos],
        number: Int64 = 2
    ) throws -> PlanContinuation {
        PlanContinuation(of: try plan(config(new)), after: try plan(config(earlier)), number: number)
    }

    private func names(_ plan: SyncPlan) -> [String] { plan.buckets.map(\.name) }

    @Test func theSameConfigIsKept() throws {
        let continuation = try continuation(of: [Self.todos, Self.lists])
        #expect(continuation.keepsParts && continuation.readsNothing)
        #expect(continuation.streams.map(\.description) == ["todos: kept (unchanged)", "lists: kept (unchanged)"])
        #expect(names(continuation.plan) == ["todos|0", "lists|0"])
    }

    /// Terms in another order, and another name in the query, say the same.
    @Test func whatSaysTheSameIsTheSame() throws {
        let same = TestStream("lists", "SELECT * FROM lists WHERE NOT archived AND auth.user_id() = lists.owner")
        let continuation = try continuation(of: [same, Self.todos])
        #expect(continuation.readsNothing)
        #expect(continuation.streams.map(\.reason) == ["unchanged", "unchanged"])
    }

    @Test func aRenamedStreamKeepsItsBuckets() throws {
        let renamed = TestStream("to_do", Self.todos.queries[0])
        let continuation = try continuation(of: [renamed])
        #expect(
            continuation.streams.map(\.description) == [
                "to_do: kept (renamed from todos)", "lists: removed (no longer in the config)",
            ]
        )
        #expect(names(continuation.plan) == ["todos|0"])
    }

    /// A name of an app's may look like one that is given.
    @Test func aNewNameIsThatOfNoOtherPart() throws {
        let changed = TestStream("lists", "SELECT id FROM lists WHERE owner = auth.user_id()")
        let earlier = try continuation(of: [changed, Self.todos]).plan
        #expect(names(earlier) == ["lists|0:2", "todos|0"])
        let kept = TestStream("mine", changed.queries[0])
        let other = TestStream("lists", "SELECT id, name FROM lists WHERE owner = auth.user_id()")
        let continuation = PlanContinuation(of: try plan(config([other, kept])), after: earlier, number: 2)
        #expect(names(continuation.plan) == ["lists|0:2:2", "lists|0:2"])
    }

    /// A stream that takes the name of another one does not take its buckets.
    @Test func namesThatAreSwappedDoNotSwapBuckets() throws {
        let first = TestStream("a", "SELECT * FROM x")
        let second = TestStream("b", "SELECT * FROM y")
        let continuation = try continuation(
            of: [TestStream("a", "SELECT * FROM y"), TestStream("b", "SELECT * FROM x")],
            after: [first, second]
        )
        #expect(continuation.readsNothing)
        #expect(names(continuation.plan) == ["b|0", "a|0"])
    }

    /// Entries are found by the scope of their index, wherever that stands in the plan.
    @Test func lookupsKeepTheirScope() throws {
        let other = TestStream("other", "SELECT * FROM y WHERE k IN (SELECT k FROM z WHERE u = auth.user_id())")
        let earlier = try plan(config([Self.todos]))
        let continuation = PlanContinuation(of: try plan(config([other, Self.todos])), after: earlier, number: 2)
        let row: SourceRow = ["id": "l", "owner": "u"]
        let table = SourceTableName(schema: "main", name: "lists")
        #expect(
            continuation.plan.evaluateParameters(row, of: table).map(\.lookup)
                == earlier.evaluateParameters(row, of: table).map(\.lookup)
        )
        #expect(continuation.streams.map(\.outcome) == [.read, .kept])
        let stored = try SyncPlan(encodedJSON: try continuation.plan.encodedJSON())
        #expect(stored == continuation.plan)
        // A third config has both.
        let third = PlanContinuation(of: try plan(config([Self.todos, other])), after: stored, number: 3)
        #expect(third.readsNothing)
        #expect(third.plan.evaluateParameters(row, of: table) == earlier.evaluateParameters(row, of: table))
    }

    @Test func anOptionThatChangesValuesKeepsNothing() throws {
        let text = config([Self.lists])
        let other = text.replacingOccurrences(of: "{edition: 3}", with: "{edition: 3, timestamps_iso8601: false}")
        let continuation = PlanContinuation(of: try plan(other), after: try plan(text), number: 2)
        #expect(!continuation.keepsParts)
        #expect(names(continuation.plan) == ["lists|0:2"])
        #expect(continuation.streams.map(\.reason) == ["an option that changes values is another one"])
    }

    /// While tables are read, rows are evaluated for both, and a part of both once.
    @Test func rowsAreEvaluatedForBoth() throws {
        let changed = TestStream("todos", "SELECT id FROM todos")
        let earlier = try plan(config([Self.lists, TestStream("todos", "SELECT id, text FROM todos")]))
        let next = PlanContinuation(of: try plan(config([Self.lists, changed])), after: earlier, number: 2).plan
        let both = earlier.writing(next)
        let todo: SourceRow = ["id": "t", "text": "x"]
        #expect(both.bucketNames("todos", todo) == ["1#todos|0[]", "1#todos|0:2[]"])
        let list: SourceRow = ["id": "l", "owner": "u", "archived": 0]
        #expect(both.synced("lists", list) == earlier.synced("lists", list))
        let added = earlier.parts(addedBy: next)
        #expect(added.tablePatterns.map(\.table) == ["todos"])
        #expect(next.bucketNames("todos", todo) == ["1#todos|0:2[]"])
    }
}
