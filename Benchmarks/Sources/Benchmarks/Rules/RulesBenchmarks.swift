import PowerSyncProtocol
import PowerSyncSyncConfig

/// What sync configs cost: evaluating a source row, compiling, and finding the buckets of a request.
///
/// The floor of a row is a copy of the JSON text that comes out.
enum RulesBenchmarks {
    private static let table = SourceTableName(schema: "main", name: "items")
    private static let star = "SELECT * FROM items WHERE owner_id = auth.user_id()"
    private static let functions = """
        SELECT id, owner_id, upper(name) AS name, meta ->> 'color' AS color, substring(note, 1, 20) AS note \
        FROM items WHERE owner_id = auth.user_id()
        """

    /// Runs all cases.
    static func run() async throws {
        try rows("rules.row.star_10_columns", config(queries: [star]))
        try rows("rules.row.three_functions", config(queries: [functions]))
        let others = (0..<100).map { "SELECT * FROM other\($0) WHERE owner_id = auth.user_id()" }
        try rows("rules.row.beside_100_streams", config(queries: [star] + others))
        try compilation()
        try await lookups()
    }

    private static func config(queries: [String]) -> String {
        let streams = queries.enumerated().map { "  s\($0.offset): {auto_subscribe: true, query: \"\($0.element)\"}\n" }
        return "config: {edition: 3}\nstreams:\n\(streams.joined())"
    }

    private static func plan(_ yaml: String) throws -> SyncPlan {
        let result = SyncConfig.parse(yaml)
        guard let plan = result.plan else { preconditionFailure("\(result.diagnostics)") }
        return plan
    }

    /// As a source gives rows: all share the names.
    private static let layout = RowLayout([
        "id", "owner_id", "name", "note", "meta", "position", "price", "done", "created_at", "deleted_at",
    ])

    private static func row(_ number: Int) -> SourceRow {
        SourceRow(
            layout: layout,
            values: [
                .text("b0a3c1d2-0000-4000-8000-\(100_000_000_000 + number)"), .text("user-\(number % 100)"),
                "Take out the bins", "Every second Thursday, before seven o'clock", #"{"color":"green","size":3}"#,
                .integer(Int64(number)), 12.5, 0, "2024-03-01T10:00:00.500000Z", nil,
            ]
        )
    }

    /// Rows a second, each into its bucket.
    private static func rows(_ name: String, _ yaml: String) throws {
        let count = 100_000
        var evaluator = try plan(yaml).evaluator(for: table)
        let rows = (0..<count).map(row)
        let ours = Measurement.best(of: 5, prepare: {}) {
            var bytes = 0
            for row in rows {
                for bucketRow in evaluator.evaluate(row, bucketPrefix: "1#") { bytes += bucketRow.data.utf8.count }
            }
            precondition(bytes > count)
        }
        let texts = rows.flatMap { evaluator.evaluate($0, bucketPrefix: "1#") }.map { Array($0.data.utf8) }
        let floor = Measurement.best(of: 5, prepare: {}) {
            var bytes = 0
            for text in texts { bytes += String(decoding: text, as: UTF8.self).utf8.count }
            precondition(bytes > count)
        }
        Report.line(name, ours: ours.rate(of: count), floors: [("copying the JSON", floor.rate(of: count))])
    }

    /// A hundred streams have to compile within 50 ms.
    private static func compilation() throws {
        let queries = (0..<100).map {
            """
            SELECT id, upper(name) AS name FROM t\($0) WHERE list_id IN (SELECT id FROM lists WHERE owner_id = auth.user_id()) \
            AND NOT archived AND (kind = 'a' OR kind = 'b')
            """
        }
        let yaml = config(queries: queries)
        let ours = Measurement.best(of: 5, prepare: {}) { precondition(SyncConfig.parse(yaml).isUsable) }
        Report.time("rules.compile.100_streams", ours: ours, floors: [])
    }

    /// A thousand keys of one request are one call of the storage.
    private static func lookups() async throws {
        let query = "SELECT * FROM items WHERE id IN (SELECT item FROM grants WHERE k IN auth.parameter('keys'))"
        let plan = try plan(config(queries: [query]))
        let keys = (0..<1000).map { ExactJSON.integer(Int64($0)) }
        let request = SyncPlanRequest(tokenPayload: ["sub": "u1", "keys": .array(keys)])
        let row = ParameterRow(values: ["x"])
        var best = Duration.seconds(1_000_000)
        for _ in 0..<5 {
            var calls = 0
            let start = ContinuousClock.now
            let buckets = try await plan.querier(for: request, bucketPrefix: "1#").buckets { lookups in
                calls += 1
                return Dictionary(lookups.map { ($0, [row]) }) { first, _ in first }
            }
            best = min(best, ContinuousClock.now - start)
            precondition(calls == 1 && buckets.count == 1)
        }
        Report.time("rules.request.1000_lookups", ours: Measurement(best: best), floors: [])
    }
}
