import Foundation
import Observation
import PowerSync
import Testing

/// The code of the article *Queries in views*, as an app would write it; what is SwiftUI's compiles elsewhere.
@MainActor @Suite(.timeLimit(.minutes(1))) struct QueriesInViewsArticleTests {
    struct Todo: Codable, Identifiable, Equatable {
        var id: String
        var title: String
        var done: Bool
    }

    @MainActor
    @Observable
    final class TodoList {
        let todos: ObservedQuery<Todo>
        let open: ObservedQuery<Int>

        init(_ database: any PowerSyncDatabaseProtocol, list: String) {
            todos = ObservedQuery(
                database,
                sql: "SELECT * FROM todos WHERE list_id = ? ORDER BY title",
                parameters: [list],
                as: Todo.self
            )
            open = ObservedQuery(database, sql: "SELECT count(*) FROM todos WHERE done = 0", as: Int.self)
        }

        func show(list: String) {
            todos.follow(parameters: [list])
        }

        var title: String { "\(open.row ?? 0) open" }
    }

    @Test func theExampleOfTheArticleCompilesAndWorks() async throws {
        let columns: [Column] = [.text("list_id"), .text("title"), .integer("done")]
        try await withMemoryDatabase(Schema(Table(name: "todos", columns: columns))) { database in
            try await database.execute(
                "INSERT INTO todos (id, list_id, title, done) VALUES ('1', 'a', 'Read', 0), ('2', 'b', 'Write', 0)"
            )
            let list = TodoList(database, list: "a")
            #expect(list.title == "0 open")
            await until { list.todos.rows.map(\.title) == ["Read"] && list.title == "2 open" }
            list.show(list: "b")
            await until { list.todos.rows.map(\.title) == ["Write"] }
            let sql = "SELECT * FROM todos"
            let urgent = ObservedQuery(database, sql: sql, as: Todo.self, synced: .priority(BucketPriority(1)))
            #expect(!urgent.hasSynced && urgent.rows.isEmpty)
        }
    }
}
