public import PowerSyncUpload

/// An error of a database server that has ended a statement of an upload.
public struct UploadServerError: Sendable, Hashable {
    /// The SQLSTATE, five characters; `nil` when the server gave none.
    public let sqlState: String?
    /// The error number of MySQL and MariaDB; `nil` of PostgreSQL.
    public let number: Int?
    /// The server's message, which may quote values of the row.
    public let message: String

    /// Describes an error.
    ///
    /// - Parameters:
    ///   - sqlState: The SQLSTATE.
    ///   - number: The error number of MySQL and MariaDB.
    ///   - message: The server's message.
    public init(sqlState: String?, number: Int? = nil, message: String) {
        self.sqlState = sqlState
        self.number = number
        self.message = message
    }

    /// What an error means for the write whose statement it has ended.
    public struct Meaning: Sendable, Hashable {
        enum Kind: Sendable, Hashable {
            case rejection(EntryRejection.Code, String)
            case again
            case failure
        }

        let kind: Kind

        /// The write will never be applied.
        ///
        /// - Parameters:
        ///   - message: Why, for the user of the app; the client's log has it, too.
        ///   - code: Why, for the app.
        /// - Returns: The meaning.
        public static func reject(_ message: String, code: EntryRejection.Code = .constraint) -> Meaning {
            Meaning(kind: .rejection(code, message))
        }

        /// Another transaction is in the way: the request is begun again, as after a deadlock.
        public static let again = Meaning(kind: .again)
        /// The request fails, and the client sends it again after a while.
        public static let failure = Meaning(kind: .failure)
    }
}

/// A request has taken longer than ``UploadApplierOptions/requestTimeLimit``; the client sends it again.
public struct UploadTimeLimitError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The limit.
    public let limit: Duration

    package init(limit: Duration) {
        self.limit = limit
    }

    /// A sentence.
    public var description: String { "The upload was not applied within \(limit)." }
}
