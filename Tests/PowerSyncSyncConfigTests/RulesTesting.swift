import PowerSyncProtocol
import PowerSyncSyncConfig
import Testing

/// A stream of a test config.
struct TestStream {
    var name = "s"
    var queries: [String]
    /// Lines of YAML such as `priority: 1`.
    var options: [String] = ["auto_subscribe: true"]

    init(_ name: String = "s", _ queries: String..., options: [String] = ["auto_subscribe: true"]) {
        self.name = name
        self.queries = queries
        self.options = options
    }
}

/// The YAML of an edition 3 config.
///
/// The first query of the first stream begins in line 7, column 9, when the stream has one option.
func config(_ streams: TestStream...) -> String {
    config(streams)
}

/// The YAML of an edition 3 config with any number of streams.
func config(_ streams: [TestStream]) -> String {
    var lines = ["config: {edition: 3}", "streams:"]
    for stream in streams {
        lines.append("  \(stream.name):")
        lines += stream.options.map { "    \($0)" }
        lines.append("    queries:")
        for query in stream.queries {
            lines.append("      - |")
            lines += query.split(separator: "\n", omittingEmptySubsequences: false).map { "        \($0)" }
        }
    }
    return lines.joined(separator: "\n") + "\n"
}

/// The plan of a config without errors.
func plan(_ yaml: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> SyncPlan {
    let result = SyncConfig.parse(yaml)
    let errors = result.diagnostics.filter { $0.severity == .error }
    #expect(errors.isEmpty, sourceLocation: sourceLocation)
    return try #require(result.plan, sourceLocation: sourceLocation)
}

/// The plan of an auto-subscribed stream `s` with one query.
func plan(query: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> SyncPlan {
    try plan(config(TestStream("s", query)), sourceLocation: sourceLocation)
}

/// Findings as `7:9 sql.syntax`.
func findings(_ yaml: String) -> [String] {
    SyncConfig.parse(yaml).diagnostics.map { "\($0.line):\($0.column) \($0.code)" }
}

extension SyncPlan {
    /// What a row of a table of the default schema becomes, as `bucket table/id data`.
    func synced(_ table: String, _ row: SourceRow, schema: String = "main") -> [String] {
        evaluate(row, of: SourceTableName(schema: schema, name: table), bucketPrefix: "1#")
            .map { "\($0.bucket) \($0.table)/\($0.id) \($0.data)" }
    }

    /// The buckets of a row of a table.
    func bucketNames(_ table: String, _ row: SourceRow) -> [String] {
        evaluate(row, of: SourceTableName(schema: "main", name: table), bucketPrefix: "1#").map(\.bucket.rawValue)
    }

    /// The buckets of a client, in order.
    func buckets(
        token: JSONObject = ["sub": "u1"],
        parameters: JSONObject = [:],
        streams: StreamingSyncRequest.Streams = StreamingSyncRequest.Streams(),
        index: ParameterStore = ParameterStore(),
        limits: BucketLimits = BucketLimits()
    ) async throws -> [ResolvedBucket] {
        try await found(token: token, parameters: parameters, streams: streams, index: index, limits: limits).buckets
    }

    /// What a client gets.
    func found(
        token: JSONObject = ["sub": "u1"],
        parameters: JSONObject = [:],
        streams: StreamingSyncRequest.Streams = StreamingSyncRequest.Streams(),
        index: ParameterStore = ParameterStore(),
        limits: BucketLimits = BucketLimits()
    ) async throws -> FoundBuckets {
        let request = SyncPlanRequest(tokenPayload: token, parameters: parameters, streams: streams)
        return try await querier(for: request, bucketPrefix: "1#").buckets(limits: limits) { index.rows(for: $0) }
    }

    /// The names of the buckets of a client, sorted.
    func bucketNames(
        token: JSONObject = ["sub": "u1"],
        parameters: JSONObject = [:],
        streams: StreamingSyncRequest.Streams = StreamingSyncRequest.Streams(),
        index: ParameterStore = ParameterStore()
    ) async throws -> [String] {
        try await buckets(token: token, parameters: parameters, streams: streams, index: index)
            .map(\.name.rawValue).sorted()
    }
}

extension SyncPlan {
    /// The table that a lookup reads; `json_each` for a function of the request.
    func table(of lookup: Lookup) -> String {
        switch lookup {
        case .index(let index, _): parameterIndexes[index.rawValue].table.table
        case .function(let lookup): lookup.function.kind.rawValue
        }
    }
}

/// A parameter index in memory.
struct ParameterStore {
    private var entries: [ParameterLookup: [ParameterRow]] = [:]

    init() {}

    /// An index of the rows of some tables of the default schema.
    init(_ plan: SyncPlan, _ tables: KeyValuePairs<String, [SourceRow]>) {
        for (table, rows) in tables { add(rows, of: table, plan) }
    }

    /// Adds rows of a table of the default schema.
    mutating func add(_ rows: [SourceRow], of table: String, _ plan: SyncPlan) {
        for row in rows {
            for entry in plan.evaluateParameters(row, of: SourceTableName(schema: "main", name: table)) {
                entries[entry.lookup, default: []] += entry.rows
            }
        }
    }

    /// The rows of lookups; lookups without rows are left out.
    func rows(for lookups: [ParameterLookup]) -> [ParameterLookup: [ParameterRow]] {
        entries.filter { lookups.contains($0.key) }
    }
}

/// A text as a YAML scalar in double quotes.
func yamlQuoted(_ text: String) -> String {
    let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
    return "\"\(escaped)\""
}
