extension SyncPlan {
    /// The columns of a table that the plan reads and the table does not have: they are `NULL` in every row.
    ///
    /// Queries over wildcards are left out, because their tables may differ.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - columns: The names of its columns.
    /// - Returns: Names, each once, in the order of the plan.
    package func missingColumns(of table: SourceTableName, among columns: [String]) -> [String] {
        let known = Set(columns)
        var seen: Set<String> = []
        func isRead(_ pattern: TablePattern) -> Bool {
            !pattern.isWildcard && pattern.matches(table, defaultSchema: defaultSchema)
        }
        let expressions =
            evaluators.filter { isRead($0.table) }.flatMap(\.expressions)
            + parameterIndexes.filter { isRead($0.table) }.flatMap(\.expressions)
        return expressions.flatMap(\.columnNames).filter { !known.contains($0) && seen.insert($0).inserted }
    }
}

extension SyncPlan {
    /// The columns of a table that the plan reads, whether the table has them or not; `nil` for all that it has (`SELECT *`).
    package func readColumns(of table: SourceTableName) -> Set<String>? {
        let evaluators = evaluators.filter { $0.table.matches(table, defaultSchema: defaultSchema) }
        if evaluators.contains(where: { $0.columns.contains(.star) || $0.columns.contains(.legacyStar) }) { return nil }
        let indexes = parameterIndexes.filter { $0.table.matches(table, defaultSchema: defaultSchema) }
        return Set((evaluators.flatMap(\.expressions) + indexes.flatMap(\.expressions)).flatMap(\.columnNames))
    }

    /// Whether the plan reads one of some columns of a table.
    package func reads(_ columns: Set<String>, of table: SourceTableName) -> Bool {
        guard !columns.isEmpty, readsTable(table) else { return false }
        return readColumns(of: table).map { !$0.isDisjoint(with: columns) } ?? true
    }
}

extension SyncPlan {
    /// The bucket definitions that rows of a table are not in, because a query gives them no id.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - columns: The names of its columns.
    /// - Returns: The names of bucket definitions, each once, in the order of the plan.
    package func definitionsWithoutID(of table: SourceTableName, among columns: [String]) -> [String] {
        let known = Set(columns)
        var seen: Set<String> = []
        return zip(evaluators, bucketNames)
            .filter { $0.0.table.matches(table, defaultSchema: defaultSchema) && !$0.0.columns.haveID(among: known) }
            .flatMap(\.1).filter { seen.insert($0).inserted }
    }
}

extension DataQuery {
    fileprivate var expressions: [PlanExpression] {
        let outputs = columns.compactMap { column in
            if case .expression(let expression, _) = column { expression } else { nil }
        }
        return functions.map(\.argument) + filters + partitionKeys + outputs
    }
}

extension ParameterIndex {
    fileprivate var expressions: [PlanExpression] { functions.map(\.argument) + filters + keys + outputs }
}

extension PlanExpression {
    fileprivate var columnNames: [String] {
        if case .column(let name) = self { [name] } else { operands.flatMap(\.columnNames) }
    }
}
