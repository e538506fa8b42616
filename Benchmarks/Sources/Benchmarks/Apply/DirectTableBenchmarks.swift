import GRDB
import PowerSyncCore
import PowerSyncProtocol

/// A first sync into direct tables, and reading all columns of all rows, against the same with views.
///
/// The floors are views, which a direct table is to beat, and plain SQLite: for the sync prepared statements that write what is behind the
/// views, and others that write the columns of direct tables, which are compared with each other, too; for reading a plain table.
enum DirectTableBenchmarks {
    private static let columns = "id, owner, title, number, done"
    /// How many of the columns are texts; the others are integers.
    private static let texts: CInt = 3

    /// Runs all cases.
    static func run() throws {
        for (rows, buckets) in [(10_000, 1), (100_000, 10)] {
            try sync(rows: rows, buckets: buckets)
        }
        try read(rows: 100_000)
    }

    private static var schema: ClientSchema {
        var schema = TemporaryDatabase.schema
        for index in schema.tables.indices { schema.tables[index].isDirect = true }
        return schema
    }

    private static func load(_ lines: [SyncLine], into database: TemporaryDatabase) throws {
        var engine = SyncEngine()
        try ApplyBenchmarks.apply(lines, with: &engine, to: database.pool)
    }

    private static func sync(rows: Int, buckets: Int) throws {
        let workload = Workload(rows: rows, buckets: buckets)
        let lines = workload.lines()
        let rowsByID = workload.rows.sorted { ($0.table, $0.id) < ($1.table, $1.id) }
        var (ours, views) = (Measurement.never, Measurement.never)
        var (plain, plainViews) = (Measurement.never, Measurement.never)
        for _ in 0..<3 {
            try ours.improve(prepare: { try TemporaryDatabase(schema: schema) }) { try load(lines, into: $0) }
            try views.improve(prepare: { try TemporaryDatabase() }) { try load(lines, into: $0) }
            try plain.improve(prepare: { try TemporaryDatabase(schema: schema) }) {
                try ApplyFloor.loadDirectTables(workload, rowsByID, into: $0.pool)
            }
            try plainViews.improve(prepare: { try TemporaryDatabase() }) {
                try ApplyFloor.load(workload, into: $0.pool, grouping: .indexesAfterTheLoad)
            }
        }
        let name = "direct-tables.\(rows / 1_000)k_rows.\(buckets)_buckets.first_sync"
        Report.line(
            name,
            ours: ours.rate(of: rows),
            floors: [("views", views.rate(of: rows)), ("plain SQLite", plain.rate(of: rows))]
        )
        Report.line(
            "\(name).plain_SQLite",
            ours: plain.rate(of: rows),
            floors: [("plain SQLite into views", plainViews.rate(of: rows))]
        )
    }

    private static func read(rows: Int) throws {
        let lines = Workload(rows: rows, buckets: 10).lines()
        let (direct, views) = (try TemporaryDatabase(schema: schema), try TemporaryDatabase())
        try load(lines, into: direct)
        try load(lines, into: views)
        try direct.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE plain(id TEXT PRIMARY KEY NOT NULL, owner TEXT, title TEXT, number INTEGER, done INTEGER);
                    INSERT INTO plain SELECT \(columns) FROM todos
                    """
            )
        }
        func measure(_ table: String, _ database: TemporaryDatabase) throws -> Measurement {
            try Measurement.best(of: 5, prepare: {}) {
                let plain = try database.plain()
                let statement = try plain.prepare("SELECT \(columns) FROM \(table)")
                var bytes = 0
                try statement.run { row in
                    for column in 0..<texts { bytes += row.textLength(at: column) }
                    for column in texts..<texts + 2 { bytes += Int(row.integer(at: column) & 1) }
                }
                precondition(bytes > 0, "no rows in \(table)")
            }
        }
        let count = try direct.pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM todos") ?? 0 }
        Report.line(
            "direct-tables.\(rows / 1_000)k_rows.read_all_columns",
            ours: try measure("todos", direct).rate(of: count),
            floors: [
                ("views", try measure("todos", views).rate(of: count)),
                ("plain table", try measure("plain", direct).rate(of: count)),
            ]
        )
    }
}
