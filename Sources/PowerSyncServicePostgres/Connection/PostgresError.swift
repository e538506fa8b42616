package import PowerSyncProtocol
import PowerSyncServiceCore

/// Why a PostgreSQL server did not do what it was asked for.
///
/// Says what was being done, and in the server's words what is wrong; never a password, a value of a row, or an argument.
package struct PostgresError: Error, Sendable, Hashable {
    /// What went wrong.
    package struct Code: Sendable, Hashable {
        private enum Value: String { case server, connection, timeout, closed, noSession }
        private let value: Value

        /// The server has refused it; there is a ``PostgresError/sqlState``.
        package static let server = Code(value: .server)
        /// There is no connection, or it was lost.
        package static let connection = Code(value: .connection)
        /// The server has not answered in time.
        package static let timeout = Code(value: .timeout)
        /// The connection was closed on this side.
        package static let closed = Code(value: .closed)
        /// What was set and locked on the connection is not there: a pooler gives its statements to other sessions of the server.
        package static let noSession = Code(value: .noSession)
    }

    /// What went wrong.
    package let code: Code
    /// The server's code of five characters, such as `42P01`; `nil` when the error does not come from the server.
    ///
    /// A connection that the server has ended may have one, too.
    package let sqlState: String?
    /// A sentence, without the details that may have values.
    package let message: String
    /// What was being done: “reading the catalogue”.
    package let activity: String

    /// Creates an error.
    package init(_ code: Code, _ message: String, sqlState: String? = nil, activity: String) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
        self.activity = activity
    }
}

extension PostgresError: ServerError {
    package var isUnanswered: Bool { code != .server }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        "PostgreSQL, while \(activity): \(message)" + (sqlState.map { " (SQLSTATE \($0))" } ?? "")
    }
}

extension PostgresError: CataloguedError {
    package var catalogueCode: ErrorCode? {
        switch (code, sqlState) {
        case (.timeout, _), (.server, SQLState.queryCanceled): .sourceTimeout
        case (.server, _): .sourceQuery
        default: nil
        }
    }
}

extension PostgresError {
    /// The error of a connection that has no session of the server for itself.
    static func noSession(_ activity: String) -> PostgresError {
        PostgresError(.noSession, noSessionMessage, activity: activity)
    }

    /// What is wrong with a connection that has no session, and what to do.
    static let noSessionMessage = """
        The connection goes through a pooler that gives no session: each transaction may run in another session of the server, so \
        locks and settings do not last (PgBouncer with pool_mode = transaction or statement does that). Connect to the server \
        itself, or to a pooler with pool_mode = session.
        """

    /// The error of a commit without an answer.
    var inDoubt: PostgresError {
        // Without a state, so that a statement that may have run is not repeated.
        PostgresError(
            code,
            "\(message) This was at the commit: the transaction may have been committed, or not.",
            activity: activity
        )
    }

    /// The states that are asked for by name.
    enum SQLState {
        static let objectInUse = "55006"
        static let undefinedObject = "42704"
        static let insufficientPrivilege = "42501"
        static let undefinedTable = "42P01"
        static let undefinedColumn = "42703"
        /// A statement has taken longer than it may.
        static let queryCanceled = "57014"
        static let objectNotInPrerequisiteState = "55000"
        static let undefinedFile = "58P01"
        /// A lock was not to be had within `lock_timeout`.
        static let lockNotAvailable = "55P03"
        /// A deadlock, and transactions that cannot be put one after the other: a repetition helps.
        static let ofConflicts: Set<String> = ["40P01", "40001"]
    }
}

extension PostgresError {
    /// How often a transaction is tried that is ended because of another one.
    static let attempts = 5

    /// Repeats a transaction that the server has ended because of another one: because of a deadlock, such as with the one that drops
    /// the tables of a stream, or because they cannot be put one after the other.
    ///
    /// - Parameter transaction: Rolled back when it throws; called ``attempts`` times at most.
    /// - Returns: The result of `transaction`.
    /// - Throws: What `transaction` throws, or `CancellationError` before a repetition.
    static func repeatingConflicts<Value>(_ transaction: () async throws -> Value) async throws -> Value {
        for _ in 1..<attempts {
            do {
                return try await transaction()
            } catch let error as PostgresError where SQLState.ofConflicts.contains(error.sqlState ?? "") {
                try Task.checkCancellation()
            }
        }
        return try await transaction()
    }
}
