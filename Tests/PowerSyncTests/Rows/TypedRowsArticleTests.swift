import Foundation
import PowerSync
import Testing

/// The code of the article *Typed rows*, as an app would write it.
@Suite(.timeLimit(.minutes(1))) struct TypedRowsArticleTests {
    struct Todo: Codable, Identifiable, Equatable {
        var id: String
        var title: String
        var done: Bool
        var due: Date?
        var tags: [String]
    }

    @Test func theExampleOfTheArticleCompilesAndWorks() async throws {
        let columns: [Column] = [.text("title"), .integer("done"), .text("due"), .text("tags")]
        try await withMemoryDatabase(Schema(Table(name: "todos", columns: columns))) { database in
            let due = Date(timeIntervalSince1970: 1_800_000_000)
            let todo = Todo(id: "1", title: "Read", done: false, due: due, tags: ["book"])
            try await database.writeTransaction { transaction in
                var todo = todo
                try transaction.insert(todo, into: "todos")
                todo.done = true
                try transaction.update(todo, in: "todos")
            }
            let todos = try await database.getAll("SELECT * FROM todos ORDER BY title", as: Todo.self)
            let open = try await database.get("SELECT count(*) FROM todos WHERE done = 0", as: Int.self)
            #expect(todos == [Todo(id: "1", title: "Read", done: true, due: due, tags: ["book"])])
            #expect(open == 0)
            let error = await #expect(throws: TypedRowError.self) {
                try await database.getAll("SELECT id, title, 'yes' AS done, tags FROM todos", as: Todo.self)
            }
            #expect(error?.description.hasPrefix("Row 1, column 'done': text 'yes' is no Bool (") == true)
        }
    }
}
