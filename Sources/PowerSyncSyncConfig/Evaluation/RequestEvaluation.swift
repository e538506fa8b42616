/// Evaluates what queriers want to know about one request.
///
/// A client may have a thousand subscriptions, and a megabyte of parameters. What does not depend on the parameters of
/// the subscription is evaluated once, and subscriptions share its value.
struct RequestEvaluation {
    /// The request, with the parameters of the subscription that is evaluated.
    private var input: EvaluationInput
    /// Expressions with what all subscriptions have in common filled in.
    private var filled: [PlanExpression: PlanExpression] = [:]
    /// The rows of the functions that are the same for all subscriptions.
    private var sharedRows: [TableFunction: Result<[FunctionRow], EvaluationError>] = [:]
    private var limit = RequestLimit()

    /// Creates an evaluation for the payload of a token and the parameters of a connection.
    init(auth: JSONNode, connection: JSONNode) {
        input = .request(RequestValues(auth: auth, connection: connection))
    }

    /// Goes on to a subscription.
    ///
    /// - Parameter subscription: Its parameters; `nil` for the default one.
    mutating func begin(_ subscription: JSONNode?) {
        input.request?.subscription = subscription
    }

    /// The value of an expression.
    ///
    /// - Throws: ``EvaluationError``.
    mutating func value(of expression: PlanExpression) throws(EvaluationError) -> SQLValue {
        try fill(expression).evaluate(in: input)
    }

    /// Whether all of the expressions hold.
    ///
    /// - Throws: ``EvaluationError``.
    mutating func hold(_ filters: [PlanExpression]) throws(EvaluationError) -> Bool {
        for filter in filters where try !value(of: filter).isTrue { return false }
        return true
    }

    /// The value of an expression as a key, or `nil` when it cannot be one.
    ///
    /// - Throws: ``EvaluationError``.
    mutating func key(_ expression: PlanExpression, keepsNull: Bool) throws(EvaluationError) -> SQLValue? {
        let value = try value(of: expression)
        guard let key = value.normalizedKey else {
            guard keepsNull, value == .null else { return nil }
            return value
        }
        try limit.keep(key)
        return key
    }

    /// The rows that a lookup finds, each once.
    ///
    /// - Throws: ``EvaluationError``.
    mutating func rows(of lookup: FunctionLookup, keepsNull: Bool) throws(EvaluationError) -> [ParameterRow] {
        let found = try rows(of: lookup.function)
        let common = (filters: lookup.filters.map { fill($0) }, outputs: lookup.outputs.map { fill($0) })
        var input = input
        let filters = input.fill(common.filters, unless: \.isOutput)
        let outputs = input.fill(common.outputs, unless: \.isOutput)
        var rows: [ParameterRow] = []
        var known: Set<ParameterRow> = []
        for row in found {
            input.functionRows = [row]
            guard try filters.hold(in: input),
                let values = try outputs.outputValues(in: input, keepsNull: keepsNull)
            else { continue }
            let row = ParameterRow(values: values)
            guard known.insert(row).inserted else { continue }
            try limit.keep(row)
            rows.append(row)
        }
        return rows
    }

    private mutating func rows(of function: TableFunction) throws(EvaluationError) -> [FunctionRow] {
        guard limit.allowsRows else { throw .tooManyRequestRows }
        switch result(of: function) {
        case .success(let rows):
            try limit.evaluated(rows: rows.count)
            return rows
        case .failure(let error):
            throw error
        }
    }

    private mutating func result(of function: TableFunction) -> Result<[FunctionRow], EvaluationError> {
        if let known = sharedRows[function] { return known }
        let result: Result<[FunctionRow], EvaluationError>
        do throws(EvaluationError) {
            result = .success(try function.rows(in: input))
        } catch {
            result = .failure(error)
        }
        if !function.argument.requestParts.contains(.subscription) { sharedRows[function] = result }
        return result
    }

    /// An expression with what all subscriptions have in common filled in.
    private mutating func fill(_ expression: PlanExpression) -> PlanExpression {
        if let known = filled[expression] { return known }
        let new: PlanExpression
        if case .request(let part) = expression, part != .subscription, let node = input.request?[part] {
            new = .literal(.text(node.text))
        } else {
            new = input.fill(expression) { $0.isOutput || $0 == .request(.subscription) }
        }
        filled[expression] = new
        return new
    }
}
