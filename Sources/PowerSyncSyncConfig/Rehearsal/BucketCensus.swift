package import PowerSyncProtocol

/// Counts the rows of a client's buckets without keeping them.
package struct BucketCensus: Sendable {
    /// How many rows each bucket has.
    package private(set) var bucketCounts: [BucketName: Int]
    /// How many rows the client shows of each table, ordered by name.
    package var tableCounts: [(table: String, count: Int)] {
        ids.map { ($0.key, $0.value.count) }.sorted { $0.table < $1.table }
    }

    /// Why rows are left out, each reason once for a table.
    package private(set) var problems: [RowEvaluationError] = []

    private let plan: SyncPlan
    private var ids: [String: Set<SQLValue>] = [:]
    private var evaluators: [SourceTableName: TableEvaluator] = [:]

    /// Begins without rows.
    ///
    /// - Parameters:
    ///   - plan: The plan.
    ///   - buckets: The client's buckets.
    package init(_ plan: SyncPlan, buckets: [ResolvedBucket]) {
        self.plan = plan
        bucketCounts = Dictionary(buckets.map { ($0.name, 0) }) { first, _ in first }
    }

    /// Counts a source row.
    package mutating func add(_ row: SourceRow, of table: SourceTableName) {
        var evaluator = evaluators[table] ?? plan.evaluator(for: table)
        defer { evaluators[table] = evaluator }
        var errors: [RowEvaluationError] = []
        for bucketRow in evaluator.evaluate(row, bucketPrefix: Rehearsal.bucketPrefix, onError: { errors.append($0) }) {
            guard let count = bucketCounts[bucketRow.bucket] else { continue }
            bucketCounts[bucketRow.bucket] = count + 1
            ids[bucketRow.table, default: []].insert(.text(bucketRow.id))
        }
        for error in errors where !problems.contains(error) { problems.append(error) }
    }
}
