import Foundation
import GRDB

/// A SQLite file as the source of the demo.
struct EmbeddedDemoSource: DemoSource {
    private let database: DatabaseQueue

    /// Opens the source database of a running service.
    init(path: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        database = try DatabaseQueue(path: path, configuration: configuration)
    }

    private func listIDs(of user: String) async throws -> Set<String> {
        try await database.read { db in
            try Set(String.fetchAll(db, sql: "SELECT id FROM lists WHERE owner_id = ?", arguments: [user]))
        }
    }

    func mayUse(photo: String, user: String) async throws -> Bool {
        try await database.read { db in
            // SQLite compares bytes, and a set of texts does not.
            try Bool.fetchOne(
                db,
                sql: "SELECT count(*) = 0 OR max(owner_id = ?) FROM lists WHERE photo_id = ?",
                arguments: [user, photo]
            ) ?? false
        }
    }

    func rows(of table: String, visibleTo user: String) async throws -> [DemoClient.Row] {
        let lists = try await listIDs(of: user)
        return try await database.read { db in
            try Row.fetchAll(db, sql: DemoClient.select(table))
                .map { row in (0..<row.count).map { String.fromDatabaseValue(row[$0]) ?? Self.number(row[$0]) } }
                .filter { row in
                    // lists: id; todos: list_id.
                    let list = table == "lists" ? row.first : row.dropFirst().first
                    return lists.contains(list.flatMap(\.self) ?? "")
                }
        }
    }

    private static func number(_ value: DatabaseValue) -> String? {
        Int64.fromDatabaseValue(value).map(String.init)
    }

    func bulkLoad(todos: Int, lists: Int, owner user: String) async throws {
        try await database.write { db in
            let insertList = try db.makeStatement(sql: "INSERT INTO lists(id, owner_id, name) VALUES (?, ?, ?)")
            for number in 0..<lists {
                try insertList.execute(arguments: ["bulk-\(number)", user, "Imported list \(number)"])
            }
            let insertTodo = try db.makeStatement(
                sql: "INSERT INTO todos(id, list_id, title, done) VALUES (?, ?, ?, ?)"
            )
            for number in 0..<todos {
                try insertTodo.execute(arguments: [
                    "bulk-todo-\(number)", "bulk-\(number % lists)",
                    "Imported todo number \(number), with a title of a common length", number % 3 == 0 ? 1 : 0,
                ])
            }
        }
    }
}
