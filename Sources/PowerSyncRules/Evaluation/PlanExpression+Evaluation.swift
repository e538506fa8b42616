import PowerSyncProtocol

/// What an expression reads.
enum EvaluationInput {
    /// A source row.
    case row(SourceRow)
    /// The values of a request.
    case request(RequestValues)
}

/// The JSON values that a request brings along.
struct RequestValues: Sendable {
    /// The payload of the token.
    var auth: JSONValue
    /// The parameters of the connection.
    var connection: JSONValue
    /// The parameters of the subscription; `nil`, which is SQL `NULL`, for the default subscription.
    var subscription: JSONValue?

    /// One of the values.
    subscript(part: PlanExpression.RequestPart) -> JSONValue? {
        switch part {
        case .auth: auth
        case .connection: connection
        case .subscription: subscription
        }
    }
}

extension PlanExpression {
    /// The value of the expression, by the rules of the default engine.
    func evaluate(in input: EvaluationInput) throws(EvaluationError) -> SQLiteValue {
        switch self {
        case .literal(let value):
            return value
        case .column(let name):
            guard case .row(let row) = input else { return .null }
            return row[name] ?? .null
        case .request(let part):
            guard case .request(let values) = input, let value = values[part] else { return .null }
            return .text(value.text)
        case .extract(let json, let key):
            guard let document = try json.evaluateJSON(in: input) else { return .null }
            let key = try key.evaluate(in: input)
            guard let path = try JSONPath(key), let value = path.value(in: document) else { return .null }
            return SQLiteValue(value)
        case .equal(let lhs, let rhs):
            let isEqual = try lhs.evaluate(in: input).isEqual(to: try rhs.evaluate(in: input))
            return isEqual.map(SQLiteValue.boolean) ?? .null
        case .isNull(let operand):
            return .boolean(try operand.evaluate(in: input) == .null)
        case .not(let operand):
            return .boolean(try !operand.isTrue(in: input))
        case .and(let terms):
            for term in terms where try !term.isTrue(in: input) { return .boolean(false) }
            return .boolean(true)
        case .or(let terms):
            for term in terms where try term.isTrue(in: input) { return .boolean(true) }
            return .boolean(false)
        }
    }

    /// Whether the expression holds; `NULL` does not.
    func isTrue(in input: EvaluationInput) throws(EvaluationError) -> Bool {
        try evaluate(in: input).isTrue
    }

    /// The JSON value of a JSON text, `nil` for `NULL`.
    ///
    /// Parts of the request are not turned into text and back.
    private func evaluateJSON(in input: EvaluationInput) throws(EvaluationError) -> JSONValue? {
        if case .request(let part) = self, case .request(let values) = input {
            return values[part]
        }
        switch try evaluate(in: input) {
        case .null:
            return nil
        case .text(let text):
            guard let value = try? JSONValue(parsing: text) else { throw .notJSON }
            return value
        case .integer, .real, .blob:
            throw .notJSON
        }
    }
}

extension SQLiteValue {
    /// The result of `->>` for what it found: booleans are 1 and 0, arrays and objects JSON text.
    init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let isTrue): self = .boolean(isTrue)
        case .integer(let integer): self = .integer(integer)
        case .double(let number): self = .real(number)
        case .string(let text): self = .text(text)
        case .array, .object: self = .text(json.text)
        }
    }
}
