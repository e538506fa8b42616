package import GRDB

/// Why an event could not be handled.
///
/// The transaction is to be rolled back. Unless the error is retriable, the iteration is over.
package struct SyncEngineError: Error, Sendable {
    /// The classes of errors.
    package enum Code: Sendable {
        /// The service sent something that it must not send at this point.
        case `protocol`
        /// The event is not possible in the current state.
        case state
        /// The application passed something invalid.
        case argument
        /// The database holds something that cannot be used.
        case localData
        /// SQLite reported an error; see ``SyncEngineError/databaseError``.
        case database
    }

    /// The class of the error.
    package let code: Code
    /// What happened, for people.
    package let message: String
    /// The SQLite error behind it.
    package let databaseError: DatabaseError?
    /// Which row was at hand, with its data, when a statement of the application failed; see ``RawTableError/context``.
    ///
    /// For the application only: it does not belong in a log, and is not part of `description`.
    package let context: String?

    /// Creates an error.
    package init(_ code: Code, _ message: String, databaseError: DatabaseError? = nil, context: String? = nil) {
        self.code = code
        self.message = message
        self.databaseError = databaseError
        self.context = context
    }

    /// Adds the context of the engine to an error, unless it has it.
    init(wrapping error: any Error) {
        switch error {
        case let error as SyncEngineError:
            self = error
        case let error as DatabaseError:
            self.init(.database, "The local database failed while sync events were handled", databaseError: error)
        case let error as RawTableError:
            self.init(wrapping: error)
        default:
            self.init(.localData, "Sync events could not be handled: \(error)")
        }
    }

    private init(wrapping error: RawTableError) {
        let message = "Synced rows could not be written to the raw table \(error.table)"
        switch error.underlyingError {
        case let cause as DatabaseError:
            self.init(.database, message, databaseError: cause, context: error.context)
        case let cause as LocalDatabaseError where cause.code == .invalidArgument:
            self.init(.argument, "\(message): \(cause)", context: error.context)
        case let cause:
            self.init(.localData, "\(message): \(cause)", context: error.context)
        }
    }

    /// Whether the same events may be submitted again with the same engine value.
    package var isRetriable: Bool {
        databaseError.map(Self.isRetriable) ?? false
    }

    /// Whether an error says that another connection holds a lock, wherever it was thrown: by the engine, or GRDB when it began
    /// or committed the transaction.
    package static func isRetriable(_ error: any Error) -> Bool {
        switch error {
        case let error as SyncEngineError: error.isRetriable
        case let error as DatabaseError: isRetriable(error)
        default: false
        }
    }

    private static func isRetriable(_ error: DatabaseError) -> Bool {
        error.resultCode == .SQLITE_BUSY || error.resultCode == .SQLITE_LOCKED
    }
}

extension SyncEngineError: CustomStringConvertible {
    package var description: String {
        databaseError.map { "\(message): \($0)" } ?? message
    }
}
