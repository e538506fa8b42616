/// A data query that is bound to the layout of the rows of one source.
///
/// A class: it is taken from a list for each row, and a struct would be copied member by member.
final class BoundDataQuery: Sendable {
    /// The names of the bucket definitions that contain it.
    let bucketNames: [String]
    /// The name of the table on clients.
    let outputName: String
    /// Whether the output row is the source row.
    let selectsAll: Bool
    /// The output row.
    let output: OutputTemplate
    private let functions: [TableFunction]
    private let filters: [PlanExpression]
    private let partitionKeys: [PlanExpression]

    /// Binds an evaluator.
    init(_ evaluator: DataQuery, bucketNames: [String], binding: RowBinding) {
        self.bucketNames = bucketNames
        outputName = evaluator.outputName ?? binding.table.name
        selectsAll = evaluator.columns == [.star]
        output = OutputTemplate(evaluator.columns, binding: binding)
        functions = evaluator.functions.bound(to: binding)
        filters = evaluator.filters.bound(to: binding)
        partitionKeys = evaluator.partitionKeys.bound(to: binding)
    }

    /// The normalised partition values of a row, once for each bucket; none when it belongs to no bucket.
    ///
    /// - Throws: ``EvaluationError``.
    func partitions(in input: EvaluationInput) throws(EvaluationError) -> [[SQLValue]] {
        guard !functions.isEmpty else {
            return try filters.hold(in: input) ? try partitionKeys.keyValues(in: input).map { [$0] } ?? [] : []
        }
        var input = input
        // What the row alone decides is evaluated once, and before there is a row for each element of an array.
        guard let filters = input.remainder(of: filters, unless: \.isOutput) else { return [] }
        let partitionKeys = input.fill(partitionKeys, unless: \.isOutput)
        var keys: [[SQLValue]] = []
        var seen: Set<[SQLValue]> = []
        for combination in try functions.combinations(in: input) {
            input.functionRows = combination
            guard try filters.hold(in: input), let key = try partitionKeys.keyValues(in: input) else { continue }
            if seen.insert(key).inserted { keys.append(key) }
        }
        return keys
    }
}

/// A parameter index that is bound to the rows of one layout; a class for the same reason.
final class BoundIndex: Sendable {
    /// Its position in the plan.
    let id: ParameterIndex.ID
    /// What its lookups begin with.
    private let scope: ParameterIndex.ID
    private let functions: [TableFunction]
    private let filters: [PlanExpression]
    private let keys: [PlanExpression]
    private let outputs: [PlanExpression]
    private let keepsNull: Bool

    /// Binds an index.
    init(_ index: ParameterIndex, id: ParameterIndex.ID, binding: RowBinding) {
        self.id = id
        scope = index.scope ?? id
        functions = index.functions.bound(to: binding)
        filters = index.filters.bound(to: binding)
        keys = index.keys.bound(to: binding)
        outputs = index.outputs.bound(to: binding)
        keepsNull = index.keepsNull
    }

    /// The entries of a row: one for each key.
    ///
    /// - Throws: ``EvaluationError``.
    func entries(in input: EvaluationInput) throws(EvaluationError) -> [ParameterEntry] {
        guard !functions.isEmpty else {
            guard let (lookup, row) = try entry(in: input, filters: filters, keys: keys, outputs: outputs) else {
                return []
            }
            return [ParameterEntry(lookup: lookup, rows: [row])]
        }
        var input = input
        guard let filters = input.remainder(of: filters, unless: \.isOutput) else { return [] }
        let keys = input.fill(keys, unless: \.isOutput)
        let outputs = input.fill(outputs, unless: \.isOutput)
        var entries: [ParameterEntry] = []
        var positions: [ParameterLookup: Int] = [:]
        for combination in try functions.combinations(in: input) {
            input.functionRows = combination
            guard let (lookup, row) = try entry(in: input, filters: filters, keys: keys, outputs: outputs) else {
                continue
            }
            if let position = positions[lookup] {
                entries[position].rows.append(row)
            } else {
                positions[lookup] = entries.count
                entries.append(ParameterEntry(lookup: lookup, rows: [row]))
            }
        }
        return entries
    }

    private func entry(
        in input: EvaluationInput,
        filters: [PlanExpression],
        keys: [PlanExpression],
        outputs: [PlanExpression]
    ) throws(EvaluationError) -> (ParameterLookup, ParameterRow)? {
        guard try filters.hold(in: input), let key = try keys.keyValues(in: input),
            let values = try outputs.outputValues(in: input, keepsNull: keepsNull)
        else { return nil }
        return (ParameterLookup(scope: scope, key: key), ParameterRow(values: values))
    }
}

extension [PlanExpression] {
    /// Whether all of the expressions hold.
    func hold(in input: EvaluationInput) throws(EvaluationError) -> Bool {
        for expression in self where try !expression.isTrue(in: input) { return false }
        return true
    }

    /// The normalised values of key expressions, or `nil` when one of them cannot be a key.
    fileprivate func keyValues(in input: EvaluationInput) throws(EvaluationError) -> [SQLValue]? {
        var values: [SQLValue] = []
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
    func outputValues(in input: EvaluationInput, keepsNull: Bool) throws(EvaluationError) -> [SQLValue]? {
        var values: [SQLValue] = []
        values.reserveCapacity(count)
        for expression in self {
            let value = try expression.evaluate(in: input)
            guard value.normalizedKey != nil || (keepsNull && value == .null) else { return nil }
            values.append(value)
        }
        return values
    }
}
