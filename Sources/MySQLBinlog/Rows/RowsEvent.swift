import NIOCore

/// Rows of one table that one statement has inserted, updated or deleted.
package struct RowsEvent: Sendable {
    /// What the statement did to them.
    package enum Kind: Sendable, Hashable {
        case insert
        case update
        case delete
    }

    /// What the statement did to them.
    package var kind: Kind
    /// The number of the table.
    package var tableID: UInt64
    /// The server's flags.
    package var flags: UInt16
    /// What was said of the table; `nil` for the event without rows that ends a statement, whose number is 0x00FFFFFF.
    package var map: TableMap?
    /// Whether cascades of foreign keys are in the log as rows of their own (MySQL from 9.6).
    package var hasCascades: Bool { flags & 0x10 != 0 }
    /// The place, for errors.
    var context: EventContext
    /// The number of columns.
    var columnCount: Int
    /// The columns that images before a change have: of updates and deletes.
    var presentBefore: ColumnSet?
    /// The columns that images after a change have: of inserts and updates.
    var presentAfter: ColumnSet?
    /// Whether images after a change begin with options: documents of JSON may be there as differences.
    var hasOptions: Bool
    /// The rows, one after another.
    var images: ByteBuffer
    /// Whether ``images`` is compressed, as MariaDB does it.
    var isCompressed: Bool

    /// The rows, which are read one by one.
    ///
    /// - Parameter layout: How they are read; made of ``map``.
    /// - Returns: The reader, which is before the first row.
    /// - Throws: ``BinlogError`` if the rows are compressed and damaged, or have another number of columns.
    package func rows(_ layout: RowLayout) throws(BinlogError) -> RowsReader { try RowsReader(self, layout) }
}

/// A row that was inserted, updated or deleted.
///
/// An image has a cell for each column of the table, `nil` for one that is not in the log or that is not read. That a column of an
/// update is only in ``before`` says that it was not changed.
package struct RowChange: Sendable, Hashable {
    /// The row before; `nil` for an insert.
    package var before: [MySQLCell?]?
    /// The row after; `nil` for a delete.
    package var after: [MySQLCell?]?

    /// A change.
    package init(before: [MySQLCell?]? = nil, after: [MySQLCell?]? = nil) {
        self.before = before
        self.after = after
    }
}
