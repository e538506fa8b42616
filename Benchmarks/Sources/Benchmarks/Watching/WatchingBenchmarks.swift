import PowerSync

/// Writes in transactions of their own through the public interface, while queries are watched: none, some on other
/// tables, some on the table that is written.
///
/// What is measured is the time of the writes. Watches fetch meanwhile on other threads, as often as their throttle
/// allows. The floor does the same writes with prepared statements; see ``LocalWriteFloor``.
enum WatchingBenchmarks {
    private static let writes = 1_000

    /// Runs all cases.
    static func run() async throws {
        let rows = Workload(rows: writes, buckets: 1).rows
        let floor = try Measurement.best(
            of: 3,
            prepare: {
                let database = try TemporaryDatabase()
                return (database, try LocalWriteFloor(database.plain()))
            },
            { _, floor in
                for index in rows.indices {
                    try floor.write(.insert, rows[index...index])
                }
            }
        )
        for (watches, table) in [(0, "todos"), (1, "todos"), (100, "todos"), (1, "lists"), (100, "lists")] {
            var best = Duration.seconds(1_000_000)
            for _ in 0..<3 {
                best = min(best, try await time(of: rows, whileWatching: table, times: watches))
            }
            Report.line(
                "watching.1k_writes.\(watches)_watches_of_" + (table == "lists" ? "the_table" : "others"),
                ours: Measurement(best: best).rate(of: writes),
                floors: [("plain statements", floor.rate(of: writes))]
            )
        }
    }

    private static func time(
        of rows: [Workload.Row],
        whileWatching table: String,
        times watches: Int
    ) async throws -> Duration {
        let folder = try TemporaryFolder()
        let columns: [Column] = [.text("owner"), .integer("number"), .text("title"), .integer("done")]
        let schema = Schema(
            Table(name: "lists", columns: columns),
            Table(name: "todos", columns: columns, indexes: [.ascending(name: "by_owner", column: "owner")])
        )
        let database = PowerSyncDatabase(
            schema: schema,
            dbFilename: folder.path,
            logger: DefaultLogger(minSeverity: .error)
        )
        let duration = try await withThrowingTaskGroup(of: Void.self) { group in
            let (started, start) = AsyncStream.makeStream(of: Void.self)
            for watch in 0..<watches {
                let results = try database.watch(
                    sql: "SELECT title FROM \(table) WHERE id = ?",
                    parameters: [rows[watch].id]
                ) { try $0.getString(index: 0) }
                group.addTask {
                    for try await _ in results { start.yield() }
                }
            }
            var starts = started.makeAsyncIterator()
            for _ in 0..<watches { await starts.next() }
            _ = try await database.execute("DELETE FROM todos")
            let begin = ContinuousClock.now
            for row in rows {
                _ = try await database.writeTransaction { transaction in
                    try transaction.execute(
                        sql: "INSERT INTO lists(id, owner, number, title, done) VALUES (?, ?, ?, ?, 0)",
                        parameters: [row.id, "user-1", 1, row.data]
                    )
                }
            }
            let duration = ContinuousClock.now - begin
            group.cancelAll()
            return duration
        }
        try await database.close()
        return duration
    }
}
