import PowerSync

/// Reading rows as types through the public interface, against mappers that are written by hand.
///
/// The rows come out of a view, and out of a plain table, where SQLite does less and the difference shows more. The mapper by
/// names is what an app writes; the one by positions is the fastest that it could write.
enum TypedRowBenchmarks {
    struct Todo: Codable, Sendable {
        let id: String
        let owner: String
        let number: Int
        let title: String?
        let done: Bool
    }

    private static let count = 50_000

    /// Runs all cases.
    static func run() async throws {
        let folder = try TemporaryFolder()
        let columns: [Column] = [.text("owner"), .integer("number"), .text("title"), .integer("done")]
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "todos", columns: columns)),
            dbFilename: folder.path,
            logger: DefaultLogger(minSeverity: .error)
        )
        try await database.writeTransaction { transaction in
            try transaction.execute(
                sql:
                    "CREATE TABLE plain_todos(id TEXT PRIMARY KEY, owner TEXT, number INTEGER, title TEXT, done INTEGER)",
                parameters: []
            )
            for number in 0..<count {
                let title = number % 10 == 0 ? nil : "The title of todo number \(number)"
                try transaction.execute(
                    sql: "INSERT INTO plain_todos VALUES (?, ?, ?, ?, ?)",
                    parameters: ["todo-\(number)", "user-\(number % 100)", number, title, number % 2]
                )
            }
            try transaction.execute(sql: "INSERT INTO todos SELECT * FROM plain_todos", parameters: [])
        }
        for (name, table) in [("view", "todos"), ("plain_table", "plain_todos")] {
            try await compare(
                "typed-rows.50k_rows.\(name)",
                "SELECT id, owner, number, title, done FROM \(table)",
                database
            )
        }
        try await database.close()
    }

    private static func compare(
        _ name: String,
        _ sql: String,
        _ database: any PowerSyncDatabaseProtocol
    ) async throws {
        var (typed, named, placed) = (Measurement.never, Measurement.never, Measurement.never)
        for _ in 0..<7 {
            try await typed.improve { try await database.getAll(sql, as: Todo.self).count }
            try await named.improve {
                try await database.getAll(sql) { cursor in
                    Todo(
                        id: try cursor.getString(name: "id"),
                        owner: try cursor.getString(name: "owner"),
                        number: try cursor.getInt(name: "number"),
                        title: try cursor.getStringOptional(name: "title"),
                        done: try cursor.getBoolean(name: "done")
                    )
                }.count
            }
            try await placed.improve {
                try await database.getAll(sql) { cursor in
                    Todo(
                        id: try cursor.getString(index: 0),
                        owner: try cursor.getString(index: 1),
                        number: try cursor.getInt(index: 2),
                        title: cursor.getStringOptional(index: 3),
                        done: try cursor.getBoolean(index: 4)
                    )
                }.count
            }
        }
        Report.line(
            name,
            ours: typed.rate(of: count),
            floors: [
                ("mapper by names", named.rate(of: count)),
                ("mapper by positions", placed.rate(of: count)),
            ]
        )
    }
}

extension Measurement {
    /// Measures a query once more.
    fileprivate mutating func improve(_ body: () async throws -> Int) async throws {
        let start = ContinuousClock.now
        let rows = try await body()
        best = min(best, ContinuousClock.now - start)
        precondition(rows > 0, "no rows")
    }
}
