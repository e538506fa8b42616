extension PlanExpression {
    /// The value of the expression, by the rules of the default engine (docs/sync-config.md "Values").
    ///
    /// Only an expression that is bound to a table reads rows.
    ///
    /// - Throws: ``EvaluationError``.
    func evaluate(in input: EvaluationInput) throws(EvaluationError) -> SQLValue {
        switch self {
        case .literal(let value):
            return value
        case .cell(let position):
            let value = input.cells[position]
            // NaN is NULL from its first use.
            if case .real(let number) = value, number.isNaN { return .null }
            return value
        case .output(let function, let column):
            return function < input.functionRows.count ? input.functionRows[function][column] : .null
        case .request(let part):
            guard let value = input.request?[part] else { return .null }
            return .text(value.text)
        case .call(let function, let operands):
            return try function.evaluate(operands, in: input)
        case .failure(let position):
            throw input.failures[position]
        case .not(let operand):
            return .boolean(try !operand.isTrue(in: input))
        case .and(let terms):
            for term in terms where try !term.isTrue(in: input) { return .boolean(false) }
            return .boolean(true)
        case .or(let terms):
            for term in terms where try term.isTrue(in: input) { return .boolean(true) }
            return .boolean(false)
        case .column, .metadata, .bucketParameter:
            return .null
        }
    }

    /// Whether the expression holds; `NULL` does not.
    ///
    /// - Throws: ``EvaluationError``.
    func isTrue(in input: EvaluationInput) throws(EvaluationError) -> Bool {
        try evaluate(in: input).isTrue
    }

    /// The JSON value of a JSON text whose elements are read, `nil` for `NULL`.
    ///
    /// Parts of the request are not turned into text and back.
    ///
    /// - Throws: ``EvaluationError/notJSON``, or what the evaluation throws.
    func evaluateJSON(in input: EvaluationInput) throws(EvaluationError) -> JSONNode? {
        if case .request(let part) = self { return input.request?[part] }
        switch try evaluate(in: input) {
        case .null:
            return nil
        case .text(let text):
            guard let node = JSONNode(parsing: text) else { throw .notJSON }
            return node
        case .integer, .real, .blob:
            throw .notJSON
        }
    }
}
