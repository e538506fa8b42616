/// An expression that cannot be evaluated.
///
/// Messages never contain the values.
package enum EvaluationError: Error, Sendable, Hashable {
    /// JSON text was expected.
    case notJSON
    /// The JSON text of an array was expected.
    case notJSONArray
    /// The JSON text of an object was expected.
    case notJSONObject
    /// A path is malformed.
    case invalidPath
    /// Two values that are bytes were compared.
    case bytesCompared
    /// A text is not a UUID.
    case invalidUUID
    /// Neither bytes nor hexadecimal digits of a geometry.
    case invalidGeometry
    /// A row has no id: its column `id` is missing, NULL, bytes or an empty text.
    case noID
    /// Table-valued functions give too many rows for one source row.
    case tooManyRows
    /// Table-valued functions give too many rows for one request.
    case tooManyRequestRows
    /// The keys of one request are too long together.
    case tooManyRequestBytes
    /// A column of an event's payload is NULL, or has another type than it must have.
    case noEventValue(column: String)
}

extension EvaluationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notJSON: "the value is not JSON text"
        case .notJSONArray: "the value is not the JSON text of an array"
        case .notJSONObject: "the value is not the JSON text of an object"
        case .invalidPath: "a path is not of the form $.member[0]"
        case .bytesCompared: "bytes cannot be compared with bytes"
        case .invalidUUID: "the value is not a UUID"
        case .invalidGeometry: "the value is not a geometry in well-known binary form"
        case .noID: "it has no id"
        case .tooManyRows: "json_each gives more than \(FunctionRow.maximumCombinations) rows for one source row"
        case .tooManyRequestRows:
            "json_each gives more than \(RequestLimit.maximumKeptRows) different rows for one request, "
                + "or \(RequestLimit.maximumRows) that repeat each other"
        case .tooManyRequestBytes:
            "the keys of one request have more than \(RequestLimit.maximumKeyBytes) bytes together"
        case .noEventValue("checkpoint"): "the column checkpoint is not a positive integer"
        case .noEventValue(let column): "the column \(column) is neither a text nor an integer"
        }
    }
}

/// A source row that could not be evaluated for one evaluator or index, and is left out there.
package struct RowEvaluationError: Error, Sendable, Hashable {
    /// What the row was evaluated for.
    package enum Target: Sendable, Hashable {
        /// Buckets of these definitions.
        case buckets([String])
        /// The parameter index with this scope.
        case parameterIndex(ParameterIndex.ID)
        /// An event.
        case event(ParameterIndex.Event)
    }

    /// The table of the row.
    package let table: SourceTableName
    /// What the row was evaluated for.
    package let target: Target
    /// What went wrong.
    package let underlyingError: EvaluationError
}

extension RowEvaluationError.Target: CustomStringConvertible {
    package var description: String {
        switch self {
        case .buckets(let names): "buckets of \(names.joined(separator: ", "))"
        case .parameterIndex(let scope): "parameter index \(scope)"
        case .event(let event): "event \(event.rawValue)"
        }
    }
}

extension RowEvaluationError: CustomStringConvertible {
    package var description: String {
        switch target {
        case .buckets(let names):
            "A row of \(table) was not synced to \(names.joined(separator: ", ")): \(underlyingError)."
        case .parameterIndex(let scope):
            "A row of \(table) was left out of parameter index \(scope): \(underlyingError)."
        case .event(let event):
            "A row of \(table) was left out of the event \(event.rawValue): \(underlyingError)."
        }
    }
}
