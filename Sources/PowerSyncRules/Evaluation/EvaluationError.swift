/// An expression that cannot be evaluated.
///
/// Messages never contain the values.
package enum EvaluationError: Error, Sendable, Hashable {
    /// `->>` was applied to something else than JSON text.
    case notJSON
    /// A path that starts with `$` is malformed.
    case invalidPath
}

extension EvaluationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notJSON: "the value is not JSON text"
        case .invalidPath: "a path is not of the form $.member[0]"
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
        case parameterIndex(Int)
    }

    /// The table of the row.
    package let table: SourceTableName
    /// What the row was evaluated for.
    package let target: Target
    /// What went wrong.
    package let underlyingError: EvaluationError
}

extension RowEvaluationError: CustomStringConvertible {
    package var description: String {
        switch target {
        case .buckets(let names):
            "A row of \(table) was not synced to \(names.joined(separator: ", ")): \(underlyingError)."
        case .parameterIndex(let scope):
            "A row of \(table) was left out of parameter index \(scope): \(underlyingError)."
        }
    }
}
