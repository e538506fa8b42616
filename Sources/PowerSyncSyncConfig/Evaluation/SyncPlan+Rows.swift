import PowerSyncProtocol

extension SyncPlan {
    /// The buckets of a source row with what it becomes there.
    ///
    /// The result depends on the arguments only. Storage keeps it per source row, to know which buckets a row leaves. For
    /// many rows of one table, ``evaluator(for:)`` finds what reads the table once.
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
        var evaluator = evaluator(for: table)
        return evaluator.evaluate(row, bucketPrefix: bucketPrefix, onError: onError)
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
        var evaluator = evaluator(for: table)
        return evaluator.evaluateParameters(row, onError: onError)
    }

    /// What reads a table: rows cost nothing for the streams that do not.
    ///
    /// - Complexity: O(number of evaluators and indexes that read the table or a wildcard).
    package func evaluator(for table: SourceTableName) -> TableEvaluator {
        TableEvaluator(
            table: table,
            evaluators: readers.evaluators(of: table, defaultSchema: defaultSchema).map {
                (evaluators[$0], bucketNames[$0])
            },
            indexes: readers.indexes(of: table, defaultSchema: defaultSchema).map {
                (ParameterIndex.ID(rawValue: $0), parameterIndexes[$0])
            }
        )
    }
}
