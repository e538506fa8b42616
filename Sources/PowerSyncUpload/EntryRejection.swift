/// What a backend says of a write that it does not apply.
///
/// ```json
/// {"op_id":8,"status":403,"code":"forbidden","message":"Only members may rename a list."}
/// ```
///
/// ```swift
/// EntryRejection(operationID: 8, .forbidden, message: "Only members may rename a list.")
/// ```
public struct EntryRejection: Error, Sendable, Hashable {
    /// Why a write is not applied, as a word that apps can compare.
    ///
    /// ```swift
    /// extension EntryRejection.Code {
    ///     static let listIsFull = EntryRejection.Code("list_is_full")
    /// }
    /// ```
    public struct Code: RawRepresentable, Sendable, Hashable {
        /// The word on the wire.
        public let rawValue: String

        /// Creates a code from the word on the wire.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// Creates a code of the app's own.
        public init(_ rawValue: String) {
            self.rawValue = rawValue
        }

        /// The user may not do that.
        public static let forbidden = Code("forbidden")
        /// Clients have no such table to write to.
        public static let unknownTable = Code("unknown_table")
        /// The table has no such column, or it cannot be written.
        public static let unknownColumn = Code("unknown_column")
        /// The values break a rule of the database: a constraint, a type, a trigger.
        public static let constraint = Code("constraint")
        /// The write itself is fine, but another one of its transaction is rejected, and transactions are applied as a whole.
        public static let transactionRejected = Code("transaction_rejected")
        /// The id of the row, the table or the name of a column is no text.
        public static let malformed = Code("malformed")
        /// The number of the write was used so long ago that it is not known whether it is the same write.
        public static let numberForgotten = Code("number_forgotten")
    }

    /// The number of the write, `op_id`.
    public var operationID: Int64
    /// Why, for programs.
    public var code: Code
    /// The HTTP status that the write would have got alone.
    public var status: Int
    /// Why, for people.
    public var message: String

    /// Creates a rejection.
    ///
    /// - Parameters:
    ///   - operationID: The number of the write.
    ///   - code: Why, for programs.
    ///   - status: The HTTP status; `nil` for the one that goes with the code: 403 for ``Code/forbidden``, 404 for what is
    ///     unknown, 409 for ``Code/numberForgotten``, 424 for ``Code/transactionRejected``, else 422.
    ///   - message: Why, for people.
    public init(operationID: Int64, _ code: Code, status: Int? = nil, message: String) {
        self.operationID = operationID
        self.code = code
        self.status = status ?? code.status
        self.message = message
    }

    /// Whether it makes no sense to send the write again: the status is 4xx, and none of those that say "later".
    public var isPermanent: Bool {
        (400..<500).contains(status) && ![401, 408, 425, 429].contains(status)
    }
}

extension EntryRejection.Code {
    /// The HTTP status that goes with the code.
    fileprivate var status: Int {
        switch self {
        case .forbidden: 403
        case .unknownTable, .unknownColumn: 404
        case .numberForgotten: 409
        case .transactionRejected: 424
        default: 422
        }
    }
}

extension EntryRejection.Code: CustomStringConvertible {
    /// The word on the wire.
    public var description: String { rawValue }
}
