/// Conditions: the boolean structure of `WHERE` and `ON`, where rows are joined.
extension QueryBinder {
    /// Binds conditions, without those that have a problem.
    mutating func bindConditions(_ expressions: [SQLExpression]) -> [Condition] {
        expressions.compactMap { expression in
            recovering { binder throws(SQLProblem) in try binder.condition(expression, isNegated: false) }
        }
    }

    /// Binds a part of the boolean structure.
    ///
    /// - Parameters:
    ///   - expression: The part.
    ///   - isNegated: Whether an odd number of `NOT`s stands before it.
    /// - Returns: The same structure with joins for subqueries.
    /// - Throws: A problem in the part.
    private mutating func condition(
        _ expression: SQLExpression,
        isNegated: Bool
    ) throws(SQLProblem) -> Condition {
        switch expression.kind {
        case .and(let terms):
            return .and(conditions(terms, isNegated: isNegated))
        case .or(let terms):
            return .or(conditions(terms, isNegated: isNegated))
        case .not(let operand):
            return .not(try condition(operand, isNegated: !isNegated))
        case .binary(.equal, let lhs, let rhs):
            return try equal(scalar(lhs), scalar(rhs), at: expression.range)
        case .binary(.unequal, let lhs, let rhs) where !options.hasOldNullRules:
            return .not(try equal(scalar(lhs), scalar(rhs), at: expression.range, isNegated: true))
        case .membership(let value, let collection, let isNotIn):
            return try membership(value, collection, isNotIn, at: expression.range)
        case .overlap(let value, let collection):
            return try overlap(value, collection, isNegated: isNegated, at: expression.range)
        default:
            let filter = try scalar(expression)
            checkCondition(filter)
            return .filter(filter)
        }
    }

    private mutating func conditions(_ terms: [SQLExpression], isNegated: Bool) -> [Condition] {
        terms.compactMap { term in
            recovering { binder throws(SQLProblem) in try binder.condition(term, isNegated: isNegated) }
        }
    }

    private mutating func equal(
        _ lhs: Scalar,
        _ rhs: Scalar,
        at range: Range<Int>,
        isNegated: Bool = false
    ) throws(SQLProblem) -> Condition {
        attachFunctions(usedBy: [lhs, rhs])
        try check(.combining([lhs, rhs], range: range) { .call(.equal, $0) }, of: [lhs, rhs], isNegated: isNegated)
        return .equal(lhs, rhs, range: range)
    }

    private mutating func membership(
        _ value: SQLExpression,
        _ collection: SQLExpression.Collection,
        _ isNotIn: Bool,
        at range: Range<Int>
    ) throws(SQLProblem) -> Condition {
        switch collection {
        case .list:
            return .filter(
                try scalar(SQLExpression(kind: .membership(value, in: collection, isNegated: isNotIn), range: range))
            )
        case .query(let select):
            return try queryMembership(scalar(value), isNotIn, at: range) {
                binder throws(SQLProblem) in try binder.onlyColumn(of: select)
            }
        case .value(let array):
            if let name = commonTableName(array) {
                return try queryMembership(scalar(value), isNotIn, at: range) {
                    binder throws(SQLProblem) in try binder.onlyColumn(of: name, at: array.range)
                }
            }
            if isNotIn {
                return .filter(
                    try scalar(SQLExpression(kind: .membership(value, in: collection, isNegated: true), range: range))
                )
            }
            let lhs = try scalar(value)
            let rhs = try scalar(array)
            let uses = lhs.uses + rhs.uses
            let comparesRowAndRequest =
                uses.contains { $0.dependency == .request } && uses.contains { $0.dependency != .request }
            if options.dialect != .stream, !comparesRowAndRequest {
                // Legacy definitions expand no arrays of their own: this is a test, and NOT of it its plain negation.
                attachFunctions(usedBy: [lhs, rhs])
                return .filter(.combining([lhs, rhs], range: range) { .call(.contained, $0) })
            }
            return try equal(lhs, elements(of: rhs), at: range)
        }
    }

    private mutating func queryMembership(
        _ value: Scalar,
        _ isNotIn: Bool,
        at range: Range<Int>,
        _ column: (inout QueryBinder) throws(SQLProblem) -> (Scalar, [Condition])
    ) throws(SQLProblem) -> Condition {
        guard !isNotIn else { throw notInQuery(at: range) }
        guard options.dialect == .stream else {
            throw .legacy(.legacyUnsupportedFilter, "Subqueries are not part of bucket definitions.", at: range)
        }
        let (element, conditions) = try column(&self)
        return .and([try equal(value, element, at: value.range)] + conditions)
    }

    /// `a && b`: the two have an element in common.
    private mutating func overlap(
        _ value: SQLExpression,
        _ collection: SQLExpression.Collection,
        isNegated: Bool,
        at range: Range<Int>
    ) throws(SQLProblem) -> Condition {
        guard !isNegated else {
            throw SQLProblem(code: .sqlUnsupportedExpression, message: "NOT cannot be applied to &&.", range: range)
        }
        guard options.dialect == .stream else {
            throw .legacy(.legacyUnsupportedFilter, "&& is not part of bucket definitions.", at: range)
        }
        let own = try elements(of: try scalar(value))
        switch collection {
        case .query(let select):
            let (element, conditions) = try onlyColumn(of: select)
            return .and([try equal(own, element, at: range)] + conditions)
        case .value(let array):
            if let name = commonTableName(array) {
                let (element, conditions) = try onlyColumn(of: name, at: array.range)
                return .and([try equal(own, element, at: range)] + conditions)
            }
            return try equal(own, elements(of: scalar(array)), at: range)
        case .list:
            throw SQLProblem(code: .sqlUnsupportedExpression, message: "A list cannot follow &&.", range: range)
        }
    }
}

// MARK: - Columns of subqueries

extension QueryBinder {
    /// The name of a common table expression, if an expression is one.
    func commonTableName(_ expression: SQLExpression) -> SQLName? {
        guard case .column(nil, nil, let name) = expression.kind, commonTables[name.text.lowercased()] != nil else {
            return nil
        }
        return name
    }

    /// The column of a subquery after `IN` or `&&`, which sees the tables of this query, with its conditions.
    private mutating func onlyColumn(of select: SQLSelect) throws(SQLProblem) -> (Scalar, [Condition]) {
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
                message: "“*” is not allowed in a subquery.",
                hint: "Name its column.",
                range: column.range
            )
        }
        var conditions = openScope(for: select)
        defer { scopes.removeLast() }
        let result = try scalar(element)
        conditions += bindConditions(select.conditions)
        return (result, conditions)
    }

    /// The column of a common table expression, with its conditions.
    private mutating func onlyColumn(
        of name: SQLName,
        at range: Range<Int>
    ) throws(SQLProblem) -> (Scalar, [Condition]) {
        var conditions: [Condition] = []
        let columns = try commonTable(name, at: range, &conditions) ?? []
        guard columns.count == 1 else {
            throw SQLProblem(
                code: .cteSingleColumn,
                message: "“\(name.text)” has \(columns.count) columns, but IN needs exactly one.",
                hint: "Write “IN (SELECT column FROM \(name.text))”.",
                range: range
            )
        }
        var scalar = columns[0].scalar
        scalar.range = range
        return (scalar, conditions)
    }
}
