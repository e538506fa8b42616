/// Expressions without joins.
extension QueryBinder {
    /// Binds an expression.
    ///
    /// - Throws: The first problem in it, or `sql.syntax` when its tree is too high with the columns of subqueries.
    mutating func scalar(_ expression: SQLExpression) throws(SQLProblem) -> Scalar {
        let scalar = try unlimitedScalar(expression)
        guard scalar.height <= SQLParser.maximumHeight else {
            throw SQLProblem(
                code: .sqlSyntax,
                message: "The expression has more than \(SQLParser.maximumHeight) levels.",
                hint: "Columns of subqueries are counted as the expressions that they stand for.",
                range: expression.range
            )
        }
        return scalar
    }

    private mutating func unlimitedScalar(_ expression: SQLExpression) throws(SQLProblem) -> Scalar {
        let range = expression.range
        switch expression.kind {
        case .literal(let value):
            return Scalar(expression: .literal(value), range: range)
        case .column(let schema, let table, let name):
            return try column(schema: schema, table: table, name: name, at: range)
        case .call(let name, let arguments):
            return try call(name, arguments, at: range)
        case .qualifiedCall(let qualifier, let name, let arguments):
            return try call(qualifier, name, arguments, at: range)
        case .not(let operand):
            var negation = try scalar(operand).negated
            negation.height += 1
            return negation
        case .and(let terms):
            return try combine(terms, at: range) { .conjunction(of: $0) }
        case .or(let terms):
            return try combine(terms, at: range) { .disjunction(of: $0) }
        case .binary(let binary, let lhs, let rhs):
            return try scalar(binary, lhs, rhs, at: range)
        case .test(let operand, let test, let isNegated):
            let function: PlanFunction =
                switch test {
                case .null: .isNull
                case .true: .isTrue
                case .false: .isFalse
                }
            let scalar = try combine([operand], at: range) { .call(function, $0) }
            return isNegated ? scalar.negated : scalar
        case .between(let value, let low, let high, let isNegated):
            return try negatable(.between, .notBetween, isNegated, [value, low, high], at: range)
        case .choice(let operand, let branches, let otherwise):
            let parts = [operand].compactMap { $0 } + branches.flatMap { [$0.condition, $0.result] }
            let rest = otherwise ?? SQLExpression(kind: .literal(.null), range: range)
            return try combine(parts + [rest], at: range) { .call(operand == nil ? .choice : .choiceOf, $0) }
        case .cast(let operand, let type):
            return try combine([operand], at: range) { .call(type.castFunction, $0) }
        case .membership(let value, let collection, let isNegated):
            return try scalarMembership(value, collection, isNegated, at: range)
        case .overlap:
            throw joinProblem("&&", at: range)
        }
    }

    /// An expression made of some operands.
    mutating func combine(
        _ operands: [SQLExpression],
        at range: Range<Int>,
        isNegated: Bool = false,
        as make: ([PlanExpression]) -> PlanExpression
    ) throws(SQLProblem) -> Scalar {
        var scalars: [Scalar] = []
        for operand in operands { scalars.append(try scalar(operand)) }
        attachFunctions(usedBy: scalars)
        let combined = Scalar.combining(scalars, range: range, as: make)
        try check(combined, of: scalars, isNegated: isNegated)
        return combined
    }

    private mutating func scalar(
        _ binary: SQLOperator,
        _ lhs: SQLExpression,
        _ rhs: SQLExpression,
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        if binary == .unequal {
            return try negatable(.equal, .unequal, true, [lhs, rhs], at: range)
        }
        let function = binary.function(hasFixedJSONExtract: options.hasFixedJSONExtract)
        return try combine([lhs, rhs], at: range) { .call(function, $0) }
    }

    /// A function or its opposite: the negation, which is true for NULL, or in older editions the one that is NULL.
    private mutating func negatable(
        _ function: PlanFunction,
        _ opposite: PlanFunction,
        _ isNegated: Bool,
        _ operands: [SQLExpression],
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        guard isNegated else { return try combine(operands, at: range) { .call(function, $0) } }
        if options.hasOldNullRules { return try combine(operands, at: range) { .call(opposite, $0) } }
        return try combine(operands, at: range, isNegated: true) { .call(function, $0) }.negated
    }

    /// `IN` and `NOT IN` where they are no joins.
    private mutating func scalarMembership(
        _ value: SQLExpression,
        _ collection: SQLExpression.Collection,
        _ isNegated: Bool,
        at range: Range<Int>
    ) throws(SQLProblem) -> Scalar {
        switch collection {
        case .list(let elements):
            return try negatable(.inList, .notInList, isNegated, [value] + elements, at: range)
        case .query:
            throw isNegated ? notInQuery(at: range) : joinProblem("IN (SELECT …)", at: range)
        case .value(let array):
            if commonTableName(array) != nil {
                throw isNegated ? notInQuery(at: range) : joinProblem("IN", at: range)
            }
            guard isNegated || options.dialect != .stream else { throw joinProblem("IN", at: range) }
            return try negatable(.contained, .notContained, isNegated, [value, array], at: range)
        }
    }

    /// The problem with a subquery after `NOT IN`.
    func notInQuery(at range: Range<Int>) -> SQLProblem {
        SQLProblem(
            code: .sqlUnsupportedExpression,
            message: "NOT IN cannot have a subquery.",
            hint: "Rows can only be found by what they have in common with others.",
            range: range
        )
    }

    private func joinProblem(_ what: String, at range: Range<Int>) -> SQLProblem {
        SQLProblem(
            code: .sqlUnsupportedExpression,
            message: "\(what) joins rows: it can be combined with AND and OR in WHERE only.",
            range: range
        )
    }

    /// Functions of constants belong to the first table that they are combined with.
    mutating func attachFunctions(usedBy scalars: [Scalar]) {
        let sets = scalars.flatMap(\.uses).compactMap { use -> ResultSetID? in
            if case .row(let set) = use.dependency { set } else { nil }
        }
        guard sets.count > 1, let table = sets.compactMap(resultSets.table(of:)).first else { return }
        for set in sets {
            if case .function(let kind, let argument, .undecided) = resultSets[set.rawValue].kind {
                resultSets[set.rawValue].kind = .function(kind, argument: argument, home: .table(table))
            }
        }
    }
}

extension SQLOperator {
    /// The function of a plan; `unequal` is the one of older editions.
    fileprivate func function(hasFixedJSONExtract: Bool) -> PlanFunction {
        switch self {
        case .equal: .equal
        case .unequal: .unequal
        case .less: .less
        case .greater: .greater
        case .lessOrEqual: .lessOrEqual
        case .greaterOrEqual: .greaterOrEqual
        case .add: .add
        case .subtract: .subtract
        case .multiply: .multiply
        case .divide: .divide
        case .remainder: .remainder
        case .bitAnd: .bitAnd
        case .bitOr: .bitOr
        case .shiftLeft: .shiftLeft
        case .shiftRight: .shiftRight
        case .concatenate: .concatenate
        case .member: hasFixedJSONExtract ? .member : .splitMember
        case .memberValue: hasFixedJSONExtract ? .memberValue : .splitMemberValue
        }
    }
}

extension SQLType {
    fileprivate var castFunction: PlanFunction {
        switch self {
        case .text: .castText
        case .numeric: .castNumeric
        case .integer: .castInteger
        case .real: .castReal
        case .blob: .castBlob
        }
    }
}
