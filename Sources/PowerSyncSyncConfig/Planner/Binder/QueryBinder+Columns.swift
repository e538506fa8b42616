/// The column list of a query.
extension QueryBinder {
    /// The output columns, and the table that they come from.
    mutating func outputColumns(of select: SQLSelect) -> (columns: [OutputColumn], output: ResultSetID?) {
        var output: ResultSetID?
        var columns: [OutputColumn] = []
        for column in select.columns {
            let bound = recovering { binder throws(SQLProblem) in try binder.outputColumn(column, &output) }
            columns += bound ?? []
        }
        return (columns, output)
    }

    private mutating func outputColumn(
        _ column: SQLColumn,
        _ output: inout ResultSetID?
    ) throws(SQLProblem) -> [OutputColumn] {
        switch column.kind {
        case .star(let table):
            let relation = try starRelation(table, at: column.range)
            switch relation.kind {
            case .table(let set):
                try setOutput(set, at: column.range, &output)
                return [options.dialect == .dataQuery ? .legacyStar : .star]
            case .function:
                throw notTable(at: column.range)
            case .derived(let columns):
                var expressions: [OutputColumn] = []
                for column in columns {
                    expressions.append(try outputColumn(column.scalar, named: column.name, &output))
                }
                return expressions
            }
        case .expression(let expression, let alias):
            if let alias { noteFolding(of: alias) }
            let scalar = try scalar(expression)
            let (name, isText) = name(of: expression, alias: alias)
            let column = try outputColumn(scalar, named: name, &output)
            if isText, options.dialect != .stream {
                throw .legacy(
                    .legacyAliasRequired,
                    "An expression needs a name.",
                    "Write “AS name”.",
                    at: expression.range
                )
            }
            if isText {
                report(
                    .columnUnnamed,
                    "The column is named “\(name)”, as it is written.",
                    hint: "Give it a name with AS.",
                    at: expression.range
                )
            }
            return [column]
        }
    }

    /// What `*` or `table.*` stands for; without a name the only table, because rows of a function beside it cannot be
    /// synced.
    private func starRelation(_ name: SQLName?, at range: Range<Int>) throws(SQLProblem) -> Relation {
        let tables = scopes[scopes.count - 1].relations.filter { relation in
            if case .function = relation.kind { false } else { true }
        }
        return name == nil && tables.count == 1 ? tables[0] : try relation(named: name, at: range)
    }

    private func outputColumn(
        _ scalar: Scalar,
        named name: String,
        _ output: inout ResultSetID?
    ) throws(SQLProblem) -> OutputColumn {
        for use in scalar.uses {
            guard case .row(let set) = use.dependency else {
                let message = "A value of the request cannot be a column: rows are the same for all clients."
                guard options.dialect == .stream else {
                    throw .legacy(.legacyUnsupportedFilter, message, at: use.range)
                }
                throw SQLProblem(code: .streamOutputRequestValue, message: message, range: use.range)
            }
            guard case .table = resultSets[set.rawValue].kind else { throw notTable(at: use.range) }
            try setOutput(set, at: use.range, &output)
        }
        return .expression(scalar.expression, name: name)
    }

    private func notTable(at range: Range<Int>) -> SQLProblem {
        SQLProblem(
            code: .streamOutputNotTable,
            message: "Rows of a table-valued function cannot be synced.",
            hint: "Select columns of a table, and use the function in WHERE.",
            range: range
        )
    }

    private func setOutput(
        _ set: ResultSetID,
        at range: Range<Int>,
        _ output: inout ResultSetID?
    ) throws(SQLProblem) {
        guard output == nil || output == set else {
            throw SQLProblem(
                code: .streamMultiTableOutput,
                message: "All columns must come from one table.",
                hint: "Use one query for each table.",
                range: range
            )
        }
        output = set
    }

    /// Warns about `*` behind an aliased column, which it may overwrite.
    mutating func warnAboutOverwrittenColumns(_ columns: [SQLColumn]) {
        guard options.dialect == .stream else { return }
        var alias: SQLName?
        for column in columns {
            switch column.kind {
            case .expression(_, let name):
                alias = alias ?? name
            case .star:
                guard let alias else { continue }
                report(
                    .columnStarAfterAlias,
                    "“*” overwrites “\(alias.text)” if the table has such a column.",
                    hint: "Write “*” first.",
                    at: column.range
                )
            }
        }
    }
}
