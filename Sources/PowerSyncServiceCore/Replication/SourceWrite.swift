package import PowerSyncProtocol

/// A source that the service may write to, for development.
package protocol WritableSource: ReplicationSource {
    /// Applies writes in one transaction, and wakes the replicator.
    ///
    /// There is no authorisation per row: whoever may call this may write everything.
    ///
    /// - Parameter writes: The writes, in order.
    /// - Throws: ``SourceWriteError`` for the first write that cannot be applied; then nothing is.
    func apply(_ writes: [SourceWrite]) async throws
}

/// A write that a client has uploaded.
package struct SourceWrite: Sendable, Hashable {
    /// The kinds of writes.
    package enum Kind: Sendable, Hashable {
        /// Inserts the row, or replaces the given columns of the row with this id.
        case put
        /// Updates the given columns. Does nothing when there is no row.
        case patch
        /// Deletes the row. Does nothing when there is none.
        case delete
    }

    /// What to do.
    package var kind: Kind
    /// The table.
    package var table: String
    /// The value of the table's `id` column.
    package var id: String
    /// The columns to write.
    ///
    /// `id` in it is ignored. Booleans become 1 and 0, arrays and objects JSON texts.
    package var values: JSONObject

    /// Creates a write.
    package init(_ kind: Kind, table: String, id: String, values: JSONObject = JSONObject()) {
        self.kind = kind
        self.table = table
        self.id = id
        self.values = values
    }
}

/// Why writes were not applied.
///
/// None of them was.
package struct SourceWriteError: Error, Sendable, CustomStringConvertible {
    /// What is wrong with a write.
    package struct Code: Sendable, Hashable, CustomStringConvertible {
        private enum Value: String, Sendable {
            case unknownTable, unknownColumn, unsupportedTable, rejected
        }

        private let value: Value

        /// The source has no such table.
        package static let unknownTable = Code(value: .unknownTable)
        /// The table has no such column.
        package static let unknownColumn = Code(value: .unknownColumn)
        /// The table's primary key is not a single column `id`.
        package static let unsupportedTable = Code(value: .unsupportedTable)
        /// The database refused the row, for example because of a constraint.
        package static let rejected = Code(value: .rejected)

        package var description: String { value.rawValue }
    }

    /// What is wrong.
    package let code: Code
    /// The position of the write in the batch, counted from 0.
    package let index: Int
    /// The table that the write names.
    package let table: String
    /// For the developer of the app; names table and column.
    package let message: String

    /// Creates an error.
    package init(code: Code, index: Int, table: String, message: String) {
        self.code = code
        self.index = index
        self.table = table
        self.message = message
    }

    package var description: String { message }
}
