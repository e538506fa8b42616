import PowerSyncProtocol

/// What a plan makes of the rows of one table.
package struct TableEvaluator: Sendable {
    private let table: SourceTableName
    private let evaluators: [(evaluator: RowEvaluator, bucketNames: [String])]
    private let indexes: [(id: ParameterIndex.ID, index: ParameterIndex)]

    /// Creates an evaluator from all evaluators and indexes that read a table.
    init(
        table: SourceTableName,
        evaluators: [(evaluator: RowEvaluator, bucketNames: [String])],
        indexes: [(id: ParameterIndex.ID, index: ParameterIndex)]
    ) {
        self.table = table
        self.evaluators = evaluators
        self.indexes = indexes
    }

    /// The buckets of a row with what it becomes there.
    ///
    /// - Parameters:
    ///   - row: The values of the row.
    ///   - bucketPrefix: What all bucket names start with, for example `1#`.
    ///   - onError: Called for each evaluator that fails for the row; the row is left out there.
    /// - Returns: The bucket rows in the order of the plan, without repetitions.
    package func evaluate(
        _ row: SourceRow,
        bucketPrefix: String,
        onError: (RowEvaluationError) -> Void = { _ in }
    ) -> [BucketRow] {
        var rows: [BucketRow] = []
        // Many queries select all columns: they share one text.
        var star: OutputRow?
        for (evaluator, names) in evaluators {
            do throws(EvaluationError) {
                let keys = try evaluator.partitions(of: row, in: table)
                guard !keys.isEmpty else { continue }
                let output: OutputRow
                if evaluator.columns == [.star] {
                    output = star ?? OutputRow(star: row)
                    star = output
                } else {
                    output = try evaluator.output(of: row, in: table)
                }
                for key in keys {
                    for name in names {
                        rows.append(
                            BucketRow(
                                bucket: BucketName(prefix: bucketPrefix, definition: name, key: key),
                                table: evaluator.outputName ?? table.name,
                                id: output.id,
                                data: output.data
                            )
                        )
                    }
                }
            } catch {
                onError(RowEvaluationError(table: table, target: .buckets(names), underlyingError: error))
            }
        }
        guard rows.count > 1 else { return rows }
        var seen: Set<BucketRow> = []
        return rows.filter { seen.insert($0).inserted }
    }

    /// What a row adds to the parameter indexes.
    ///
    /// - Parameters:
    ///   - row: The values of the row.
    ///   - onError: Called for each index that fails for the row; the row is left out there.
    /// - Returns: One entry for each index and key, in the order of the plan.
    package func evaluateParameters(
        _ row: SourceRow,
        onError: (RowEvaluationError) -> Void = { _ in }
    ) -> [ParameterEntry] {
        var entries: [ParameterEntry] = []
        for (id, index) in indexes {
            do throws(EvaluationError) {
                entries += try index.entries(for: row, in: table, scope: id)
            } catch {
                onError(RowEvaluationError(table: table, target: .parameterIndex(id), underlyingError: error))
            }
        }
        return entries
    }
}

/// The id and the data of an output row.
private struct OutputRow {
    var id: String
    var data: String

    init(_ members: OutputMembers) {
        id = members.id
        data = members.json
    }

    /// All columns of a row.
    init(star row: SourceRow) {
        var members = OutputMembers(mayRepeatNames: false)
        for column in row.columns { members.set(column.name, to: column.value) }
        self.init(members)
    }
}

extension RowEvaluator {
    /// The normalised partition values of a row, once for each bucket; none when it belongs to no bucket.
    fileprivate func partitions(
        of row: SourceRow,
        in table: SourceTableName
    ) throws(EvaluationError) -> [[SQLiteValue]] {
        var input = EvaluationInput.row(row, of: table, pattern: self.table)
        guard !functions.isEmpty else {
            return try filters.hold(in: input) ? try partitionKeys.keyValues(in: input).map { [$0] } ?? [] : []
        }
        var keys: [[SQLiteValue]] = []
        var seen: Set<[SQLiteValue]> = []
        for combination in try functions.combinations(in: input) {
            input.functionRows = combination
            guard try filters.hold(in: input), let key = try partitionKeys.keyValues(in: input) else { continue }
            if seen.insert(key).inserted { keys.append(key) }
        }
        return keys
    }

    /// The output row.
    fileprivate func output(of row: SourceRow, in table: SourceTableName) throws(EvaluationError) -> OutputRow {
        let input = EvaluationInput.row(row, of: table, pattern: self.table)
        var members = OutputMembers(mayRepeatNames: columns.count > 1)
        for column in columns {
            switch column {
            case .star:
                for column in row.columns { members.set(column.name, to: column.value) }
            case .legacyStar:
                for column in row.columns where column.name.utf8.first != UInt8(ascii: "_") {
                    members.setIfMissing(column.name, to: column.value)
                }
            case .expression(.column(let source), let name):
                // A column that the row lacks is left out.
                if let value = row[source] { members.set(name, to: value) }
            case .expression(let expression, let name):
                members.set(name, to: try expression.evaluate(in: input))
            }
        }
        return OutputRow(members)
    }
}

extension ParameterIndex {
    /// The entries of a row: one for each key.
    fileprivate func entries(
        for row: SourceRow,
        in table: SourceTableName,
        scope: ParameterIndex.ID
    ) throws(EvaluationError) -> [ParameterEntry] {
        var input = EvaluationInput.row(row, of: table, pattern: self.table)
        var entries: [ParameterEntry] = []
        var positions: [ParameterLookup: Int] = [:]
        for combination in try functions.combinations(in: input) {
            input.functionRows = combination
            guard try filters.hold(in: input), let key = try keys.keyValues(in: input),
                let values = try outputs.outputValues(in: input, keepsNull: keepsNull)
            else { continue }
            let lookup = ParameterLookup(scope: scope, key: key)
            if let position = positions[lookup] {
                entries[position].rows.append(ParameterRow(values: values))
            } else {
                positions[lookup] = entries.count
                entries.append(ParameterEntry(lookup: lookup, rows: [ParameterRow(values: values)]))
            }
        }
        return entries
    }
}

extension [PlanExpression] {
    /// Whether all of the expressions hold.
    func hold(in input: EvaluationInput) throws(EvaluationError) -> Bool {
        for expression in self where try !expression.isTrue(in: input) { return false }
        return true
    }

    /// The normalised values of key expressions, or `nil` when one of them cannot be a key.
    fileprivate func keyValues(in input: EvaluationInput) throws(EvaluationError) -> [SQLiteValue]? {
        var values: [SQLiteValue] = []
        values.reserveCapacity(count)
        for expression in self {
            guard let value = try expression.evaluate(in: input).normalizedKey else { return nil }
            values.append(value)
        }
        return values
    }

    /// The values of outputs, or `nil` when one of them is none.
    ///
    /// They keep their type, and are normalised where they are used as keys.
    func outputValues(in input: EvaluationInput, keepsNull: Bool) throws(EvaluationError) -> [SQLiteValue]? {
        var values: [SQLiteValue] = []
        values.reserveCapacity(count)
        for expression in self {
            let value = try expression.evaluate(in: input)
            guard value.normalizedKey != nil || (keepsNull && value == .null) else { return nil }
            values.append(value)
        }
        return values
    }
}

extension BucketName {
    /// Creates the name of a bucket of a definition.
    init(prefix: String, definition: String, key: [SQLiteValue]) {
        var text = [UInt8](prefix.utf8)
        text.append(contentsOf: definition.utf8)
        SQLiteValue.appendKeyArray(key, to: &text)
        self.init(String(decoding: text, as: UTF8.self))
    }
}
