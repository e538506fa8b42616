import PowerSyncProtocol

extension SyncPlan {
    /// The buckets of a source row with what it becomes there.
    ///
    /// The result depends on the arguments only. Storage keeps it per source row, to know which buckets a row leaves.
    ///
    /// - Parameters:
    ///   - row: The values of the row.
    ///   - table: Its table.
    ///   - bucketPrefix: What all bucket names start with, for example `1#`.
    ///   - onError: Called for each evaluator that fails for the row; the row is left out there.
    /// - Returns: The bucket rows in the order of the plan, without repetitions.
    package func evaluate(
        _ row: SourceRow,
        of table: SourceTableName,
        bucketPrefix: String,
        onError: (RowEvaluationError) -> Void = { _ in }
    ) -> [BucketRow] {
        var rows: [BucketRow] = []
        for (index, evaluator) in evaluators.enumerated()
        where evaluator.table.matches(table, defaultSchema: defaultSchema) {
            do throws(EvaluationError) {
                guard let key = try evaluator.partition(of: row) else { continue }
                let output = try evaluator.output(of: row)
                for name in bucketNames[index] {
                    rows.append(
                        BucketRow(
                            bucket: BucketName(prefix: bucketPrefix, definition: name, key: key),
                            table: evaluator.outputName ?? table.name,
                            id: output.id,
                            data: output.data
                        )
                    )
                }
            } catch {
                onError(
                    RowEvaluationError(table: table, target: .buckets(bucketNames[index]), underlyingError: error)
                )
            }
        }
        return rows
    }

    /// What a source row adds to the parameter indexes.
    ///
    /// - Parameters:
    ///   - row: The values of the row.
    ///   - table: Its table.
    ///   - onError: Called for each index that fails for the row; the row is left out there.
    /// - Returns: One entry for each index and key, in the order of the plan.
    package func evaluateParameters(
        _ row: SourceRow,
        of table: SourceTableName,
        onError: (RowEvaluationError) -> Void = { _ in }
    ) -> [ParameterEntry] {
        var entries: [ParameterEntry] = []
        for (scope, index) in parameterIndexes.enumerated()
        where index.table.matches(table, defaultSchema: defaultSchema) {
            do throws(EvaluationError) {
                guard let entry = try index.entry(for: row, scope: scope) else { continue }
                entries.append(entry)
            } catch {
                onError(RowEvaluationError(table: table, target: .parameterIndex(scope), underlyingError: error))
            }
        }
        return entries
    }
}

extension RowEvaluator {
    /// The normalised partition values of a row, or `nil` when it belongs to no bucket.
    fileprivate func partition(of row: SourceRow) throws(EvaluationError) -> [SQLiteValue]? {
        let input = EvaluationInput.row(row)
        for filter in filters where try !filter.isTrue(in: input) { return nil }
        return try partitionKeys.keyValues(in: input)
    }

    /// The id and the data of the output row.
    fileprivate func output(of row: SourceRow) throws(EvaluationError) -> (id: String, data: String) {
        var members = OutputMembers(mayRepeatNames: columns.count > 1)
        for column in columns {
            switch column {
            case .star:
                for column in row.columns { members.set(column.name, to: column.value) }
            case .expression(let expression, let name):
                members.set(name, to: try expression.evaluate(in: .row(row)))
            }
        }
        return (members.id, members.json)
    }
}

extension ParameterIndex {
    /// The entry of a row, or `nil` when it does not enter the index.
    fileprivate func entry(for row: SourceRow, scope: Int) throws(EvaluationError) -> ParameterEntry? {
        let input = EvaluationInput.row(row)
        for filter in filters where try !filter.isTrue(in: input) { return nil }
        guard let key = try keys.keyValues(in: input) else { return nil }
        var values: [SQLiteValue] = []
        for output in outputs {
            let value = try output.evaluate(in: input)
            // The value keeps its type; it is normalised where it is used as a key.
            guard value.normalizedKey != nil else { return nil }
            values.append(value)
        }
        return ParameterEntry(lookup: ParameterLookup(scope: scope, key: key), rows: [ParameterRow(values: values)])
    }
}

extension [PlanExpression] {
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
