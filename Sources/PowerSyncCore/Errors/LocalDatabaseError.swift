/// An error of the local database that SQLite itself does not report.
///
/// Errors of statements stay GRDB's `DatabaseError`. SQL functions turn this type into a SQLite error with
/// ``resultCode`` and ``message`` (docs/database.md "Errors of SQL functions").
package struct LocalDatabaseError: Error, Sendable {
    /// The kinds of errors.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Kind: String {
            case invalidArgument, invalidState, notInTransaction, missingClientID, downMigrationFailed
            case corruptLocalData, malformedSQL, internalError
        }

        private let kind: Kind

        private init(_ kind: Kind) {
            self.kind = kind
        }

        /// A value given by the caller has the wrong type or form.
        package static let invalidArgument = Code(.invalidArgument)
        /// The call is not allowed now.
        package static let invalidState = Code(.invalidState)
        /// The call needs an open transaction.
        package static let notInTransaction = Code(.notInTransaction)
        /// `ps_kv` has no `client_id`.
        package static let missingClientID = Code(.missingClientID)
        /// The statements that lead from a newer internal schema version to ours are missing, had no effect, or failed.
        package static let downMigrationFailed = Code(.downMigrationFailed)
        /// Internal tables hold something that no implementation writes.
        package static let corruptLocalData = Code(.corruptLocalData)
        /// A name contains a NUL byte, which SQL text cannot hold.
        package static let malformedSQL = Code(.malformedSQL)
        /// A defect of this library.
        package static let internalError = Code(.internalError)

        package var description: String { kind.rawValue }

        /// The SQLite result code under which SQL callers see the error.
        fileprivate var resultCode: Int32 {
            switch kind {
            case .invalidArgument: 3091
            case .invalidState, .notInTransaction: 21
            case .missingClientID, .downMigrationFailed: 4
            case .corruptLocalData: 11
            case .malformedSQL: 24
            case .internalError: 2
            }
        }
    }

    /// What kind of error it is.
    package let code: Code
    /// What happened, naming the table, key or argument.
    package let message: String
    /// The error that led to this one.
    package let underlyingError: (any Error)?

    /// The extended SQLite result code.
    package var resultCode: Int32 { code.resultCode }

    init(_ code: Code, _ message: String, underlyingError: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.underlyingError = underlyingError
    }
}

extension LocalDatabaseError {
    /// An argument error in the form that all implementations use.
    static func invalidArgument(_ description: String, cause: String = "unknown") -> LocalDatabaseError {
        LocalDatabaseError(.invalidArgument, "invalid argument: \(description). cause: \(cause)")
    }

    /// A state error in the form that all implementations use.
    static func invalidState(_ description: String) -> LocalDatabaseError {
        LocalDatabaseError(.invalidState, "invalid state: \(description)")
    }

    static let notInTransaction = LocalDatabaseError(
        .notInTransaction,
        "This function may only be called in transactions."
    )

    static let missingClientID = LocalDatabaseError(.missingClientID, "No client_id found in ps_kv")
}

extension LocalDatabaseError: CustomStringConvertible {
    package var description: String {
        guard let underlyingError else { return message }
        return "\(message) (\(underlyingError))"
    }
}
