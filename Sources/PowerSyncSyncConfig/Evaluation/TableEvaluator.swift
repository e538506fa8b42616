import PowerSyncProtocol

/// What a plan makes of the rows of one table.
///
/// Columns are found by their positions, which are looked up when the layout of rows changes: rows of one source share
/// theirs.
package struct TableEvaluator: Sendable {
    private let table: SourceTableName
    private let evaluators: [(evaluator: DataQuery, bucketNames: [String])]
    private let indexes: [(id: ParameterIndex.ID, index: ParameterIndex)]
    /// The payloads of events.
    private let events: [(id: ParameterIndex.ID, index: ParameterIndex)]

    /// The evaluators and indexes for rows of one layout.
    private var bound: Bound?
    /// Memory for texts that are put together, used again for each row.
    private var text: [UInt8] = []

    /// The most memory that is kept for the next row.
    private static let keptBytes = 64 * 1024

    private struct Bound {
        let layout: RowLayout
        let evaluators: [BoundDataQuery]
        let indexes: [BoundIndex]
        let events: [BoundEvent]
    }

    /// Creates an evaluator from all evaluators and indexes that read a table.
    init(
        table: SourceTableName,
        evaluators: [(evaluator: DataQuery, bucketNames: [String])],
        indexes: [(id: ParameterIndex.ID, index: ParameterIndex)]
    ) {
        self.table = table
        self.evaluators = evaluators
        self.indexes = indexes.filter { $0.index.event == nil }
        events = indexes.filter { $0.index.event != nil }
    }

    /// What reads rows of a layout.
    private mutating func bound(to layout: RowLayout) -> Bound {
        if let bound, bound.layout == layout { return bound }
        let new = Bound(
            layout: layout,
            evaluators: evaluators.map { evaluator, names in
                let binding = RowBinding(layout: layout, table: table, pattern: evaluator.table)
                return BoundDataQuery(evaluator, bucketNames: names, binding: binding)
            },
            indexes: indexes.map { id, index in
                BoundIndex(index, id: id, binding: RowBinding(layout: layout, table: table, pattern: index.table))
            },
            events: events.map { id, index in
                BoundEvent(index, id: id, binding: RowBinding(layout: layout, table: table, pattern: index.table))
            }
        )
        bound = new
        return new
    }

    /// The buckets of a row with what it becomes there.
    ///
    /// - Parameters:
    ///   - row: The values of the row.
    ///   - bucketPrefix: What all bucket names start with, for example `1#`.
    ///   - onError: Called for each evaluator that fails for the row; the row is left out there.
    /// - Returns: The bucket rows in the order of the plan. Of those that clients would take for one row of one bucket, the last one
    ///   counts.
    package mutating func evaluate(
        _ row: SourceRow,
        bucketPrefix: String,
        onError: (RowEvaluationError) -> Void = { _ in }
    ) -> [BucketRow] {
        let input = EvaluationInput.row(row)
        defer { if text.capacity > Self.keptBytes { text = [] } }
        var rows: [BucketRow] = []
        // Many queries select all columns: they share one text.
        var star: OutputRow?
        for evaluator in bound(to: row.layout).evaluators {
            do throws(EvaluationError) {
                let keys = try evaluator.partitions(in: input)
                guard !keys.isEmpty else { continue }
                let output: OutputRow
                if evaluator.selectsAll, let star {
                    output = star
                } else {
                    output = try evaluator.output.row(in: input, writingTo: &text)
                    if evaluator.selectsAll { star = output }
                }
                // Clients would take all such rows for one.
                guard !output.id.isEmpty else { throw .noID }
                for key in keys {
                    for name in evaluator.bucketNames {
                        rows.append(
                            BucketRow(
                                bucket: BucketName(prefix: bucketPrefix, definition: name, key: key, writingTo: &text),
                                table: evaluator.outputName,
                                id: output.id,
                                data: output.data
                            )
                        )
                    }
                }
            } catch {
                let target = RowEvaluationError.Target.buckets(evaluator.bucketNames)
                onError(RowEvaluationError(table: table, target: target, underlyingError: error))
            }
        }
        return rows.areOfDifferentBuckets ? rows : rows.withoutRepetitions
    }

    /// What a row adds to the parameter indexes.
    ///
    /// - Parameters:
    ///   - row: The values of the row.
    ///   - onError: Called for each index that fails for the row; the row is left out there.
    /// - Returns: One entry for each index and key, in the order of the plan.
    package mutating func evaluateParameters(
        _ row: SourceRow,
        onError: (RowEvaluationError) -> Void = { _ in }
    ) -> [ParameterEntry] {
        guard !indexes.isEmpty else { return [] }
        let input = EvaluationInput.row(row)
        var entries: [ParameterEntry] = []
        for index in bound(to: row.layout).indexes {
            do throws(EvaluationError) {
                entries += try index.entries(in: input)
            } catch {
                onError(RowEvaluationError(table: table, target: .parameterIndex(index.id), underlyingError: error))
            }
        }
        return entries
    }

    /// What a row tells of uploads, as an event of the config.
    ///
    /// - Parameters:
    ///   - row: The values of the row.
    ///   - onError: Called for each payload that cannot be evaluated for the row, or in which a column has no usable value; nothing is
    ///     told then.
    /// - Returns: The write checkpoints in the order of the plan.
    package mutating func evaluateWriteCheckpoints(
        _ row: SourceRow,
        onError: (RowEvaluationError) -> Void = { _ in }
    ) -> [ReleasedWriteCheckpoint] {
        guard !events.isEmpty else { return [] }
        let input = EvaluationInput.row(row)
        return bound(to: row.layout).events.compactMap { event in
            do throws(EvaluationError) {
                return try event.release(in: input)
            } catch {
                onError(RowEvaluationError(table: table, target: .event(event.event), underlyingError: error))
                return nil
            }
        }
    }
}

extension [BucketRow] {
    /// Whether no two rows are of one bucket; `false` also for more rows than are worth comparing.
    fileprivate var areOfDifferentBuckets: Bool {
        count <= 8 && indices.allSatisfy { index in self[..<index].allSatisfy { $0.bucket != self[index].bucket } }
    }

    /// Each row of a bucket once, in the place of the first and with the data of the last one.
    fileprivate var withoutRepetitions: [BucketRow] {
        var places: [RowInBucket: Int] = [:]
        var rows: [BucketRow] = []
        for row in self {
            let place = places[RowInBucket(row), default: rows.count]
            if place < rows.count {
                rows[place].data = row.data
            } else {
                places[RowInBucket(row)] = place
                rows.append(row)
            }
        }
        return rows
    }
}

/// What clients take for one row of one bucket: by bytes, because to Swift some texts are equal that are not the same.
private struct RowInBucket: Hashable {
    let bucket: BucketName
    let table: [UInt8]
    let id: [UInt8]

    init(_ row: BucketRow) {
        bucket = row.bucket
        table = Array(row.table.utf8)
        id = Array(row.id.utf8)
    }
}

extension BucketName {
    /// Creates the name of a bucket of a definition.
    init(prefix: String, definition: String, key: [SQLValue]) {
        var text: [UInt8] = []
        self.init(prefix: prefix, definition: definition, key: key, writingTo: &text)
    }

    /// Creates the name of a bucket of a definition in memory that is used again.
    fileprivate init(prefix: String, definition: String, key: [SQLValue], writingTo text: inout [UInt8]) {
        text.removeAll(keepingCapacity: true)
        text.append(contentsOf: prefix.utf8)
        text.append(contentsOf: definition.utf8)
        SQLValue.appendKeyArray(key, to: &text)
        self.init(String(decoding: text, as: UTF8.self))
    }
}
