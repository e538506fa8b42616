/// Turns a syntax tree into canonical form: resolves names, inlines request values, and turns `IN (SELECT …)` into joins
/// (docs/sync-config.md "Compilation").
struct QueryLowering {
    /// The text of the query, from which unnamed columns take their name.
    private let text: String
    private var resultSets: [CanonicalQuery.ResultSet] = []
    /// The tables that can be referred to by name, innermost `SELECT` last.
    private var scopes: [Scope] = []
    /// Findings that do not stop the compilation.
    private(set) var warnings: [SQLProblem] = []

    /// The tables of one `SELECT`.
    private struct Scope {
        var tables: [(name: String, set: Int)]
    }

    /// Creates a lowering for one query.
    init(text: String) {
        self.text = text
    }

    /// The canonical form of a query.
    ///
    /// - Throws: The first problem.
    mutating func lower(_ select: SQLSelect) throws(SQLProblem) -> CanonicalQuery {
        pushScope(for: select.table)
        var output: Int?
        var columns: [OutputColumn] = []
        for column in select.columns {
            columns.append(try outputColumn(column, output: &output))
        }
        warnAboutOverwrittenColumns(select.columns)
        guard let output, let table = select.table else {
            throw SQLProblem(
                code: .streamNoTableOutput,
                message: "The query must select at least one column of a table.",
                range: select.range
            )
        }
        let condition = try select.condition.map { condition throws(SQLProblem) in
            try lowerCondition(condition, isNegated: false)
        }
        if let alias = table.alias, !alias.isQuoted, resultSets.count > 1 {
            warnings.append(
                SQLProblem(
                    code: .tableAliasRenames,
                    message: """
                        Rows are synced to a table named “\(alias.text)”. If that is intended, write the alias as \
                        "\(alias.text)"; otherwise refer to the table by its own name.
                        """,
                    range: alias.range
                )
            )
        }
        let pattern = resultSets[output].pattern
        return CanonicalQuery(
            resultSets: resultSets,
            output: output,
            columns: columns,
            outputName: table.alias?.text ?? (pattern.isWildcard ? nil : pattern.table),
            condition: condition
        )
    }

    private mutating func pushScope(for table: SQLTable?) {
        guard let table else {
            scopes.append(Scope(tables: []))
            return
        }
        let pattern = TablePattern(schema: table.schema?.text, table: table.name.text)
        scopes.append(Scope(tables: [((table.alias ?? table.name).text, resultSets.count)]))
        resultSets.append(CanonicalQuery.ResultSet(pattern: pattern, range: table.range))
    }
}

// MARK: - Columns

extension QueryLowering {
    private mutating func outputColumn(_ column: SQLColumn, output: inout Int?) throws(SQLProblem) -> OutputColumn {
        switch column.kind {
        case .star(let table):
            try setOutput(try resolve(table: table, at: column.range), at: column.range, &output)
            return .star
        case .expression(let expression, let alias):
            let scalar = try lower(expression)
            for use in scalar.uses {
                guard case .row(let set) = use.dependency else {
                    throw SQLProblem(
                        code: .streamOutputRequestValue,
                        message: "A value of the request cannot be a column: rows are the same for all clients.",
                        range: use.range
                    )
                }
                try setOutput(set, at: use.range, &output)
            }
            if let alias { return .expression(scalar.expression, name: alias.text) }
            if case .column(_, let name) = expression.kind { return .expression(scalar.expression, name: name.text) }
            let name = String(decoding: Array(text.utf8)[expression.range], as: UTF8.self)
            warnings.append(
                SQLProblem(
                    code: .columnUnnamed,
                    message: "The column is named “\(name)”, as it is written; give it a name with AS.",
                    range: expression.range
                )
            )
            return .expression(scalar.expression, name: name)
        }
    }

    private func setOutput(_ set: Int, at range: Range<Int>, _ output: inout Int?) throws(SQLProblem) {
        guard output == nil || output == set else {
            throw SQLProblem(
                code: .streamMultiTableOutput,
                message: "All columns must come from one table; use one query for each table.",
                range: range
            )
        }
        output = set
    }

    private mutating func warnAboutOverwrittenColumns(_ columns: [SQLColumn]) {
        var alias: SQLName?
        for column in columns {
            switch column.kind {
            case .expression(_, let name):
                alias = alias ?? name
            case .star:
                guard let alias else { continue }
                warnings.append(
                    SQLProblem(
                        code: .columnStarAfterAlias,
                        message: "“*” overwrites “\(alias.text)” if the table has such a column; write “*” first.",
                        range: column.range
                    )
                )
            }
        }
    }

    private func resolve(table: SQLName?, at range: Range<Int>) throws(SQLProblem) -> Int {
        guard let table else {
            guard let scope = scopes.last(where: { !$0.tables.isEmpty }), let first = scope.tables.first else {
                throw SQLProblem(code: .sqlUnknownTable, message: "The query has no table; add FROM.", range: range)
            }
            guard scope.tables.count == 1 else {
                throw SQLProblem(
                    code: .sqlAmbiguousColumn,
                    message: "Several tables are in scope; write the name of the table before the column.",
                    range: range
                )
            }
            return first.set
        }
        for scope in scopes.reversed() {
            if let found = scope.tables.first(where: { $0.name.utf8.elementsEqual(table.text.utf8) }) {
                return found.set
            }
        }
        let legacy: Set<String> = ["token_parameters", "user_parameters", "bucket", "request"]
        let hint =
            legacy.contains(table.text)
            ? "; streams use auth.parameter(), connection.parameter() and subscription.parameter()" : ""
        throw SQLProblem(
            code: .sqlUnknownTable,
            message: "There is no table “\(table.text)” in FROM\(hint).",
            range: table.range
        )
    }
}

// MARK: - Scalars

extension QueryLowering {
    private func lower(_ expression: SQLExpression) throws(SQLProblem) -> Scalar {
        let range = expression.range
        switch expression.kind {
        case .literal(let value):
            return Scalar(expression: .literal(value), uses: [], range: range)
        case .column(let table, let name):
            let set = try resolve(table: table, at: range)
            return Scalar(
                expression: .column(name.text),
                uses: [Scalar.Use(dependency: .row(set), range: range)],
                range: range
            )
        case .call(let qualifier, let name, let arguments):
            return try lowerCall(qualifier, name, arguments, range: range)
        case .not(let operand):
            return try lower(operand).negated
        case .and(let terms):
            return .combining(try lower(terms), range: range) { .conjunction(of: $0) }
        case .or(let terms):
            return .combining(try lower(terms), range: range) { .disjunction(of: $0) }
        case .equal(let lhs, let rhs, let isNegated):
            let equal = Scalar.combining(try lower([lhs, rhs]), range: range) { .equal($0[0], $0[1]) }
            return isNegated ? equal.negated : equal
        case .isNull(let operand, let isNegated):
            let isNull = Scalar.combining([try lower(operand)], range: range) { .isNull($0[0]) }
            return isNegated ? isNull.negated : isNull
        case .inSelect:
            throw SQLProblem(
                code: .sqlUnsupportedExpression,
                message: "IN (SELECT …) can be combined with AND and OR in WHERE only.",
                range: range
            )
        }
    }

    private func lower(_ expressions: [SQLExpression]) throws(SQLProblem) -> [Scalar] {
        var scalars: [Scalar] = []
        for expression in expressions { scalars.append(try lower(expression)) }
        return scalars
    }

    /// `auth.user_id()`, `auth.parameters()`, `auth.parameter(k)` and their siblings.
    private func lowerCall(
        _ qualifier: SQLName,
        _ name: SQLName,
        _ arguments: [SQLExpression],
        range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        guard let part = PlanExpression.RequestPart(rawValue: qualifier.text),
            ["parameters", "parameter"].contains(name.text) || (part == .auth && name.text == "user_id")
        else {
            throw SQLProblem(
                code: .sqlUnknownFunction,
                message: "There is no function \(qualifier.text).\(name.text)().",
                range: qualifier.range.lowerBound..<name.range.upperBound
            )
        }
        let expectedCount = name.text == "parameter" ? 1 : 0
        guard arguments.count == expectedCount else {
            let expected = expectedCount == 1 ? "one argument" : "no arguments"
            throw SQLProblem(
                code: .sqlArity,
                message: "\(qualifier.text).\(name.text)() takes \(expected), not \(arguments.count).",
                range: range
            )
        }
        let request = Scalar(
            expression: .request(part),
            uses: [Scalar.Use(dependency: .request, range: range)],
            range: range,
            clientChosenRange: part == .auth ? nil : range
        )
        switch name.text {
        case "user_id":
            return .combining([request], range: range) { .extract(json: $0[0], key: .literal("$.sub")) }
        case "parameter":
            return .combining([request] + (try lower(arguments)), range: range) { .extract(json: $0[0], key: $0[1]) }
        default:
            return request
        }
    }
}

// MARK: - Conditions

extension QueryLowering {
    /// Lowers a part of the boolean structure of `WHERE`.
    ///
    /// - Parameters:
    ///   - expression: The part.
    ///   - isNegated: Whether an odd number of `NOT`s stands before it.
    /// - Returns: The same structure with joins for subqueries.
    /// - Throws: The first problem.
    private mutating func lowerCondition(
        _ expression: SQLExpression,
        isNegated: Bool
    ) throws(SQLProblem) -> Condition {
        switch expression.kind {
        case .and(let terms):
            return .and(try lowerConditions(terms, isNegated: isNegated))
        case .or(let terms):
            return .or(try lowerConditions(terms, isNegated: isNegated))
        case .not(let operand):
            return .not(try lowerCondition(operand, isNegated: !isNegated))
        case .equal(let lhs, let rhs, let isUnequal):
            let equal = Condition.equal(try lower(lhs), try lower(rhs), range: expression.range)
            return isUnequal ? .not(equal) : equal
        case .inSelect(let value, let select, let isNotIn):
            guard isNegated == isNotIn else {
                throw SQLProblem(
                    code: .sqlUnsupportedExpression,
                    message: "NOT cannot be applied to IN (SELECT …).",
                    range: expression.range
                )
            }
            let membership = try lowerMembership(of: value, in: select)
            return isNotIn ? .not(membership) : membership
        case .literal, .column, .call, .isNull:
            return .filter(try lower(expression))
        }
    }

    private mutating func lowerConditions(
        _ expressions: [SQLExpression],
        isNegated: Bool
    ) throws(SQLProblem) -> [Condition] {
        var conditions: [Condition] = []
        for expression in expressions {
            conditions.append(try lowerCondition(expression, isNegated: isNegated))
        }
        return conditions
    }

    /// `a IN (SELECT e FROM s WHERE f)` is `a = e AND f`, with `s` as a joined table.
    private mutating func lowerMembership(
        of value: SQLExpression,
        in select: SQLSelect
    ) throws(SQLProblem) -> Condition {
        let value = try lower(value)
        guard select.columns.count == 1, let column = select.columns.first else {
            throw SQLProblem(
                code: .sqlSubqueryColumns,
                message: "A subquery after IN has exactly one column, not \(select.columns.count).",
                range: select.range
            )
        }
        guard case .expression(let element, _) = column.kind else {
            throw SQLProblem(
                code: .sqlStarNotAllowed,
                message: "“*” is not allowed in a subquery; name its column.",
                range: column.range
            )
        }
        let set = resultSets.count
        pushScope(for: select.table)
        defer { scopes.removeLast() }
        let result = try lower(element)
        var terms = [Condition.equal(value, result, range: value.range)]
        if let table = select.table, !result.uses.contains(where: { $0.dependency == .row(set) }) {
            // The result says nothing about the table, but the table must have a row all the same.
            let use = Scalar.Use(dependency: .row(set), range: table.range)
            terms.append(.filter(Scalar(expression: .literal(1), uses: [use], range: table.range)))
        }
        if let condition = select.condition {
            terms.append(try lowerCondition(condition, isNegated: false))
        }
        return .and(terms)
    }
}
