import PowerSyncProtocol

/// What an expression reads: a source row with the rows of functions that it is joined with, or a request.
struct EvaluationInput {
    /// The values of the source row; expressions are bound to their positions.
    var cells: [SQLValue] = []
    /// The row of each function.
    var functionRows: [FunctionRow] = []
    /// The request.
    var request: RequestValues?
    /// Why calls cannot be evaluated that were already.
    var failures: [EvaluationError] = []

    /// A source row.
    static func row(_ row: SourceRow) -> EvaluationInput {
        EvaluationInput(cells: row.values)
    }

    /// A request.
    static func request(_ values: RequestValues) -> EvaluationInput {
        EvaluationInput(request: values)
    }
}

/// The JSON values that a request brings along.
struct RequestValues: Sendable {
    /// The payload of the token.
    var auth: JSONNode
    /// The parameters of the connection.
    var connection: JSONNode
    /// The parameters of the subscription; `nil`, which is SQL `NULL`, for the default subscription.
    var subscription: JSONNode?

    /// One of the values.
    subscript(part: PlanExpression.RequestPart) -> JSONNode? {
        switch part {
        case .auth: auth
        case .connection: connection
        case .subscription: subscription
        }
    }
}
