import PowerSyncProtocol

/// What an expression reads: a source row with the rows of functions that it is joined with, or a request.
struct EvaluationInput {
    /// The source row.
    var row: SourceRow?
    /// Its table, and the pattern that found it.
    var table: (name: SourceTableName, pattern: TablePattern)?
    /// The row of each function.
    var functionRows: [FunctionRow] = []
    /// The request.
    var request: RequestValues?

    /// A source row.
    static func row(_ row: SourceRow, of table: SourceTableName, pattern: TablePattern) -> EvaluationInput {
        EvaluationInput(row: row, table: (table, pattern))
    }

    /// A request.
    static func request(_ values: RequestValues) -> EvaluationInput {
        EvaluationInput(request: values)
    }

    /// Something about the table.
    subscript(metadata: PlanExpression.TableMetadata) -> SQLiteValue {
        guard let table else { return .null }
        return switch metadata {
        case .schema: .text(table.name.schema)
        case .tableName: .text(table.name.name)
        case .tableSuffix: .text(table.pattern.suffix(of: table.name.name))
        }
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
