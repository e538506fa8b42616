/// A scalar expression of a compiled plan.
///
/// Columns carry no table: an expression of a plan reads one source row, or the request, never both.
/// Two expressions are equal when they have the same structure. The NULL rules of an edition are in the functions, so
/// that evaluation needs no edition.
package enum PlanExpression: Sendable, Hashable {
    /// A constant.
    case literal(SQLValue)
    /// A column of the source row; `NULL` when the row has no such column.
    case column(String)
    /// A column by its position; exists only while an expression is bound to a table.
    case cell(Int)
    /// Something about the table of the source row.
    case metadata(TableMetadata)
    /// A column of a table-valued function, by its position among the functions of the evaluator, index or lookup.
    case output(Int, TableFunction.Column)
    /// A part of the request as JSON text.
    case request(RequestPart)
    /// An operator or function.
    case call(PlanFunction, [PlanExpression])
    /// `NOT a`; true for `NULL`
    indirect case not(PlanExpression)
    /// `a AND b AND …`, with `NULL` as false
    case and([PlanExpression])
    /// `a OR b OR …`, with `NULL` as false
    case or([PlanExpression])
    /// A call that was evaluated already and cannot be, by its position among the failures of the input; exists only while
    /// something is evaluated.
    case failure(Int)
    /// A parameter of a legacy bucket definition; exists only while such a definition is compiled.
    case bucketParameter(String)

    /// The JSON objects that a request brings along.
    package enum RequestPart: String, Sendable, Hashable, Codable {
        /// The payload of the verified token.
        case auth
        /// The parameters of the connection.
        case connection
        /// The parameters of the stream subscription.
        case subscription
    }

    /// What is known about the table of a row.
    package enum TableMetadata: String, Sendable, Hashable, Codable {
        /// Its schema.
        case schema
        /// Its name.
        case tableName
        /// What the wildcard of the pattern stands for.
        case tableSuffix
    }
}

extension PlanExpression {
    /// The terms of a conjunction, or the expression itself.
    var conjuncts: [PlanExpression] {
        if case .and(let terms) = self { terms } else { [self] }
    }

    /// The expression that holds when all of `terms` do, without nested conjunctions and repeated terms.
    static func conjunction(of terms: [PlanExpression]) -> PlanExpression {
        let unique = unique(terms.flatMap(\.conjuncts))
        return unique.count == 1 ? unique[0] : .and(unique)
    }

    /// The expression that holds when one of `terms` does, without nested disjunctions and repeated terms.
    static func disjunction(of terms: [PlanExpression]) -> PlanExpression {
        let flat = terms.flatMap { term in
            if case .or(let terms) = term { terms } else { [term] }
        }
        let unique = unique(flat)
        return unique.count == 1 ? unique[0] : .or(unique)
    }

    private static func unique(_ terms: [PlanExpression]) -> [PlanExpression] {
        var seen: Set<PlanExpression> = []
        return terms.filter { seen.insert($0).inserted }
    }

    /// The expressions that the expression is made of.
    package var operands: [PlanExpression] {
        switch self {
        case .literal, .column, .cell, .metadata, .output, .request, .failure, .bucketParameter: []
        case .call(_, let operands), .and(let operands), .or(let operands): operands
        case .not(let operand): [operand]
        }
    }

    /// The parts of the request that the expression reads.
    var requestParts: Set<RequestPart> {
        if case .request(let part) = self { return [part] }
        return operands.reduce(into: []) { $0.formUnion($1.requestParts) }
    }

    /// Whether some part of the expression satisfies a condition.
    func contains(where condition: (PlanExpression) -> Bool) -> Bool {
        condition(self) || operands.contains { $0.contains(where: condition) }
    }

    /// Whether the expression is a column of a table-valued function.
    var isOutput: Bool {
        if case .output = self { true } else { false }
    }

    /// The expression with other operands.
    func mapOperands(_ transform: (PlanExpression) -> PlanExpression) -> PlanExpression {
        switch self {
        case .literal, .column, .cell, .metadata, .output, .request, .failure, .bucketParameter: self
        case .call(let function, let operands): .call(function, operands.map(transform))
        case .not(let operand): .not(transform(operand))
        case .and(let terms): .and(terms.map(transform))
        case .or(let terms): .or(terms.map(transform))
        }
    }

    /// The expression with other positions of table-valued functions.
    func renumberingFunctions(_ position: (Int) -> Int) -> PlanExpression {
        if case .output(let function, let column) = self { return .output(position(function), column) }
        return mapOperands { $0.renumberingFunctions(position) }
    }
}
