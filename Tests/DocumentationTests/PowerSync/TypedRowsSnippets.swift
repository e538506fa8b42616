import Foundation
import PowerSync

enum TypedRowsPage {
    struct Todo: Codable, Identifiable, Equatable {
        var id: String
        var title: String
        var done: Bool
        var due: Date?
        var tags: [String]
    }

    static func checked() -> Schema {
        let schema = Schema(
            Table(name: "todos", columns: [.text("title"), .boolean("done"), .date("due"), .json("tags")])
        )
        .checkingRows(of: "todos", as: Todo.self)
        return schema
    }

    static func read(_ database: any PowerSyncDatabaseProtocol) async throws -> ([Todo], Int) {
        let todos = try await database.getAll("SELECT * FROM todos ORDER BY title", as: Todo.self)
        let open = try await database.get("SELECT count(*) FROM todos WHERE done = 0", as: Int.self)
        return (todos, open)
    }

    static func dictionary(_ database: any PowerSyncDatabaseProtocol) async throws {
        let todos = Table(name: "todos", columns: [.text("title"), .boolean("done"), .date("due"), .json("tags")])
        let format = RowFormat(of: todos)
        var row = try await database.get("SELECT * FROM todos LIMIT 1", as: [String: JsonValue].self, format: format)
        row["done"] = .bool(true)
        try await database.update(row, in: "todos", format: format)
    }

    static func write(_ new: Todo, _ database: any PowerSyncDatabaseProtocol) async throws {
        try await database.writeTransaction { transaction in
            var todo = new
            try transaction.insert(todo, into: "todos")
            todo.done = true
            try transaction.update(todo, in: "todos")
        }
    }
}
