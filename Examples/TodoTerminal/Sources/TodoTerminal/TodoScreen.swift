import Foundation
import Observation
import PowerSync

/// What the screen shows, and what somebody can do on it.
@MainActor
@Observable
final class TodoScreen {
    let lists: ObservedQuery<TodoList>
    let todos: ObservedQuery<ShownTodo>
    private(set) var list: TodoList?
    private let database: any PowerSyncDatabaseProtocol

    init(_ database: any PowerSyncDatabaseProtocol) {
        self.database = database
        lists = ObservedQuery(database, sql: "SELECT id, name FROM lists ORDER BY name, id", as: TodoList.self)
        todos = ObservedQuery(database, sql: ShownTodo.sql, parameters: [""], throttle: 0, as: ShownTodo.self)
    }

    func open(_ name: String) async throws {
        let sql = "SELECT id, name FROM lists WHERE name = ? ORDER BY id"
        let stored = try await database.getOptional(sql: sql, parameters: [name], as: TodoList.self)
        let list = stored ?? TodoList(id: UUID().uuidString.lowercased(), name: name)
        if stored == nil { try await database.insert(list, into: "lists") }
        self.list = list
        todos.follow(parameters: [list.id])
    }

    func add(_ title: String) async throws {
        guard let list else { throw Mistake("Open a list first: list NAME") }
        let todo = Todo(id: UUID().uuidString.lowercased(), listID: list.id, title: title, done: false)
        try await database.insert(todo, into: "todos")
    }

    func toggle(_ todo: ShownTodo) async throws {
        try await database.execute(sql: "UPDATE todos SET done = ? WHERE id = ?", parameters: [!todo.done, todo.id])
    }

    func delete(_ todo: ShownTodo) async throws {
        try await database.execute(sql: "DELETE FROM todos WHERE id = ?", parameters: [todo.id])
    }
}
