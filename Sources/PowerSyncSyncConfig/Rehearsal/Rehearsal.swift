package import PowerSyncProtocol

/// What a plan makes of source rows and requests, without a source, a storage or a network
/// (docs/config-tests.md "What is evaluated").
///
/// ```swift
/// var rehearsal = Rehearsal(plan)
/// rehearsal.add(["id": "l1", "owner_id": "u1"], of: SourceTableName(schema: "main", name: "lists"))
/// let reply = await rehearsal.reply(to: SyncPlanRequest(tokenPayload: ["sub": "u1"]))
/// ```
package struct Rehearsal: Sendable {
    /// What all bucket names start with: those of the first config that is deployed.
    package static let bucketPrefix = "1#"

    /// A source row and what becomes of it.
    package struct Row: Sendable {
        /// The table.
        package let table: SourceTableName
        /// The row in sentences: `lists/l1`, or `lists row 3` when it has no id.
        package let label: String
        /// What it becomes, in the order of the plan.
        package let bucketRows: [BucketRow]
    }

    /// A source row that cannot be evaluated everywhere.
    package struct Problem: Sendable, CustomStringConvertible {
        /// The row as ``Row/label`` has it.
        package let row: String
        /// What went wrong.
        package let error: RowEvaluationError

        package var description: String { "\(row): \(error)" }
    }

    /// The plan.
    package let plan: SyncPlan
    /// The rows in the order in which they came.
    package private(set) var rows: [Row] = []
    /// What could not be evaluated.
    package private(set) var problems: [Problem] = []

    private var index: [ParameterLookup: [(values: ParameterRow, source: Int)]] = [:]
    private var evaluators: [SourceTableName: TableEvaluator] = [:]
    private var counts: [SourceTableName: Int] = [:]

    /// Begins without rows.
    package init(_ plan: SyncPlan) {
        self.plan = plan
    }

    /// Adds a source row: one of its own, even if another one has the same id.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - table: Its table.
    ///   - keepsContent: Whether clients receive the row. If not, it only leads to buckets, and takes less memory.
    package mutating func add(_ row: SourceRow, of table: SourceTableName, keepsContent: Bool = true) {
        var evaluator = evaluators[table] ?? plan.evaluator(for: table)
        defer { evaluators[table] = evaluator }
        counts[table, default: 0] += 1
        let id = (row["id"] ?? .null).idText
        let label = id.isEmpty ? "\(table.name) row \(counts[table, default: 0])" : "\(table.name)/\(id)"
        var errors: [RowEvaluationError] = []
        let bucketRows =
            keepsContent ? evaluator.evaluate(row, bucketPrefix: Self.bucketPrefix) { errors.append($0) } : []
        let entries = evaluator.evaluateParameters(row) { errors.append($0) }
        for entry in entries {
            for values in entry.rows { index[entry.lookup, default: []].append((values, rows.count)) }
        }
        problems += errors.map { Problem(row: label, error: $0) }
        guard keepsContent || !entries.isEmpty else { return }
        rows.append(Row(table: table, label: label, bucketRows: bucketRows))
    }

    /// The rows of parameter lookups.
    private func parameterRows(_ lookups: [ParameterLookup]) -> [ParameterLookup: [ParameterRow]] {
        var found: [ParameterLookup: [ParameterRow]] = [:]
        for lookup in lookups { found[lookup] = index[lookup]?.map(\.values) }
        return found
    }
}

// MARK: - Requests

extension Rehearsal {
    /// What a client gets that makes a request.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - limits: Limits of its connection.
    /// - Returns: Its buckets and rows, or the error that its request ends with.
    package func reply(
        to request: SyncPlanRequest,
        limits: BucketLimits = BucketLimits()
    ) async -> RehearsedReply {
        let querier = plan.querier(for: request, bucketPrefix: Self.bucketPrefix)
        var reply = RehearsedReply(streams: querier.streams)
        do {
            let found = try await querier.buckets(limits: limits) { parameterRows($0) }
            (reply.buckets, reply.streams) = (found.buckets, found.streams)
        } catch let error as BucketLimitError {
            reply.error = error
        } catch {
            // Lookups in memory do not fail.
            preconditionFailure("unexpected error of a lookup: \(error)")
        }
        reply.rows = received(in: reply.buckets)
        return reply
    }

    /// Why a client that makes a request gets its buckets: `stream todos, lookup lists/l1` for each way to one.
    package func reasons(for request: SyncPlanRequest) async -> [BucketName: [String]] {
        let querier = plan.querier(for: request, bucketPrefix: Self.bucketPrefix)
        let ways = (try? await querier.ways { parameterRows($0) }) ?? [:]
        return ways.mapValues { ways in
            var seen: Set<String> = []
            return ways.map(reason).filter { seen.insert($0).inserted }
        }
    }

    private func reason(_ way: BucketWay) -> String {
        let lookups = way.places.compactMap { place in
            index[place.lookup].map { ", lookup \(rows[$0[place.position].source].label)" }
        }
        let subscription = if case .subscription(let index) = way.reason { ", subscription \(index)" } else { "" }
        return "stream `\(way.stream)`\(subscription)\(lookups.joined())"
    }

    /// The rows of some buckets as a client shows them.
    ///
    /// A row of a table with an id is there once, whatever buckets it is in: with the content that was written last, and
    /// at the priority of the most urgent bucket.
    private func received(in buckets: [ResolvedBucket]) -> [ReceivedRow] {
        let priorities = Dictionary(buckets.map { ($0.name, $0.priority) }) { first, _ in first }
        var received: [ReceivedRow] = []
        var positions: [RowKey: Int] = [:]
        for row in rows {
            for bucketRow in row.bucketRows {
                guard let priority = priorities[bucketRow.bucket] else { continue }
                let key = RowKey(table: .text(bucketRow.table), id: .text(bucketRow.id))
                if let position = positions[key] {
                    received[position].add(bucketRow, priority: priority)
                } else {
                    positions[key] = received.count
                    received.append(ReceivedRow(bucketRow, priority: priority))
                }
            }
        }
        return received
    }
}

/// What identifies a row on clients, compared by bytes.
private struct RowKey: Hashable {
    var table: SQLValue
    var id: SQLValue
}
