import GRDB
import PowerSyncCore

/// Reading rows through views, which take every value out of a JSON text, against the same rows in a plain table.
///
/// Two floors: the plain table read in the same way, which shows what the view costs, and the plain table read by
/// prepared statements, which shows what reading with GRDB's rows costs on top.
enum ViewReadBenchmarks {
    private static let columns = "id, owner, number, title, done"

    /// Runs all cases.
    static func run() throws {
        for rows in [10_000, 100_000] {
            let database = try filledDatabase(rows: rows)
            let plain = try database.plain()
            let size = "\(rows / 1_000)k_rows"
            let compare = { (name: String, sql: String, arguments: [[String]], count: Int) in
                try Self.compare("reads.\(size).\(name)", sql, arguments, count: count, database, plain)
            }
            try compare("scan", "SELECT \(columns) FROM todos", [[]], rows)
            try compare("filter_unindexed", "SELECT \(columns) FROM todos WHERE number % 100 = 7", [[]], rows)
            try compare("count", "SELECT count(*) FROM todos", [[]], rows)
            guard rows == 100_000 else { continue }
            let ids = try database.pool.read { db in
                try String.fetchAll(db, sql: "SELECT id FROM ps_data__todos ORDER BY rowid LIMIT 5000")
            }
            try compare("point_by_id", "SELECT \(columns) FROM todos WHERE id = ?", ids.map { [$0] }, ids.count)
            let owners = (0..<100).map { ["user-\($0)"] }
            let owned = "SELECT \(columns) FROM todos WHERE owner = ?"
            try compare("filter_indexed", owned, owners, try count(owned, owners, database))
            let join = "SELECT lists.title, todos.title FROM lists JOIN todos ON todos.owner = lists.owner"
            let joined = join + " WHERE lists.id = ?"
            let lists = (0..<1_000).map { ["list-\($0)"] }
            try compare("join", joined, lists, try count(joined, lists, database))
        }
    }

    /// `rows` todos, and a list for each of 1,000 owners; behind the views and in the tables `plain_…`.
    private static func filledDatabase(rows count: Int) throws -> TemporaryDatabase {
        let database = try TemporaryDatabase()
        let workload = Workload(rows: count, buckets: 1)
        try database.pool.write { db in
            for table in ["lists", "todos"] {
                try db.execute(
                    sql: """
                        CREATE TABLE plain_\(table)(
                            id TEXT PRIMARY KEY NOT NULL, owner TEXT, number INTEGER, title TEXT, done INTEGER
                        )
                        """
                )
            }
            try db.execute(sql: "CREATE INDEX plain_by_owner ON plain_todos(owner)")
            let insert = try db.cachedStatement(sql: "INSERT INTO ps_data__todos(id, data) VALUES (?, ?)")
            for row in workload.rows {
                try insert.execute(arguments: [row.id, row.data])
            }
            let list = try db.cachedStatement(
                sql: "INSERT INTO ps_data__lists(id, data) VALUES (?, json_object('owner', ?, 'title', ?))"
            )
            for index in 0..<1_000 {
                try list.execute(arguments: ["list-\(index)", "user-\(index)", "The list of user \(index)"])
            }
            for table in ["lists", "todos"] {
                try db.execute(sql: "INSERT INTO plain_\(table) SELECT \(columns) FROM \(table)")
            }
        }
        return database
    }

    private static func count(_ sql: String, _ arguments: [[String]], _ database: TemporaryDatabase) throws -> Int {
        try database.pool.read { db in try read(sql, arguments, db) }
    }

    private static func compare(
        _ name: String,
        _ sql: String,
        _ arguments: [[String]],
        count: Int,
        _ database: TemporaryDatabase,
        _ plain: PlainDatabase
    ) throws {
        let plainSQL = sql.replacing("lists", with: "plain_lists").replacing("todos", with: "plain_todos")
        func measure(_ sql: String) throws -> Measurement {
            try Measurement.best(of: 5, prepare: {}) {
                let rows = try database.pool.read { db in try read(sql, arguments, db) }
                precondition(rows > 0, "no rows from \(sql)")
            }
        }
        let statement = try plain.prepare(plainSQL)
        let columns: CInt = sql.contains("count") ? 1 : sql.contains("JOIN") ? 2 : 5
        let floor = try Measurement.best(of: 5, prepare: {}) {
            var bytes = 0
            for values in arguments {
                for (index, value) in values.enumerated() {
                    statement.bind(value, at: CInt(index + 1))
                }
                try statement.run { row in
                    for column in 0..<columns { bytes += row.textLength(at: column) }
                }
            }
            precondition(bytes > 0, "no rows from \(plainSQL)")
        }
        Report.line(
            name,
            ours: try measure(sql).rate(of: count),
            floors: [
                ("plain table", try measure(plainSQL).rate(of: count)),
                ("plain table, plain statements", floor.rate(of: count)),
            ]
        )
    }

    /// Reads all columns of all rows as texts, and counts the rows.
    private static func read(_ sql: String, _ arguments: [[String]], _ db: Database) throws -> Int {
        let statement = try db.cachedStatement(sql: sql)
        var count = 0
        var bytes = 0
        for values in arguments {
            let rows = try Row.fetchCursor(statement, arguments: StatementArguments(values))
            while let row = try rows.next() {
                count += 1
                for index in 0..<row.count {
                    let value: String? = row[index]
                    bytes += value?.utf8.count ?? 0
                }
            }
        }
        return bytes > 0 ? count : 0
    }
}
