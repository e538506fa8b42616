/// A statement of a raw table failed.
///
/// ``context`` has data of the row. It is for the application, which gets it with the error, and never goes to a log;
/// `description` is without it.
package struct RawTableError: Error, Sendable {
    /// The raw table's name.
    package let table: String
    /// What was being done: `replacing into todos, id = 1, data = {"title":null}`, `deleting from todos, id = 1` or
    /// `Clearing raw table todos`.
    package let context: String
    /// What went wrong: GRDB's `DatabaseError`, or a ``LocalDatabaseError``.
    package let underlyingError: any Error

    init(table: String, context: String, _ underlyingError: any Error) {
        self.table = table
        self.context = context
        self.underlyingError = underlyingError
    }

    /// What stands between a message and the data of a row, for those who have to leave it out.
    package static let contextMark = " (context: "

    /// The extended SQLite result code.
    package var resultCode: Int32 { SQLiteFailureDescription.describe(underlyingError).code }

    /// What went wrong, followed by the context.
    package var message: String {
        "\(SQLiteFailureDescription.describe(underlyingError).message)\(Self.contextMark)\(context))"
    }
}

extension RawTableError: CustomStringConvertible {
    package var description: String { "raw table \(table): \(underlyingError)" }
}
