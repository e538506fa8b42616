package import PowerSyncSyncConfig

/// A source whose change stream may leave out cells of changed rows: the rows can be read by their keys.
package protocol RowReadingSource: Sendable {
    /// Reads rows as they are now, or a moment ago.
    ///
    /// - Parameters:
    ///   - table: A descriptor from ``ReplicationSource/tables(for:)``.
    ///   - keys: Values of the identity columns, from rows or ``PartialUpdate/sourceKey``; each is looked up exactly.
    ///   - moments: What the answer has to show (``PartialUpdate/moment``); of the state that shows some moments, rows may be
    ///     read for others that it shows, too. None for the newest state.
    /// - Returns: The rows that exist; of many large ones, some: ``PresentRows/isComplete``.
    /// - Throws: ``ReplicationSourceError`` with ``ReplicationSourceError/Code/tablesChanged`` when the descriptor is
    ///   outdated.
    func rows(
        of table: SourceTableDescriptor,
        keys: [[SQLValue]],
        showing moments: Set<SourceMoment>
    ) async throws -> PresentRows

    /// Whether the state that rows were read of last, and that the source has not let go of, shows a moment: rows are read of the same state
    /// for it.
    func shows(_ moment: SourceMoment) -> Bool

    /// Lets go of the state that rows were read of: the stream has passed it.
    ///
    /// - Throws: An error of the source.
    func releaseRows() async throws
}

/// A moment in the life of a source, as a number that only the source reads: PostgreSQL uses ids of transactions.
///
/// Unlike a ``LSN`` it may be of a transaction whose end the stream has not reached.
package struct SourceMoment: RawRepresentable, Sendable, Hashable {
    /// The number.
    package let rawValue: UInt64

    /// Creates a moment from its number.
    package init(rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Rows that were asked for by their keys.
package struct PresentRows: Sendable {
    /// An answer should end with the row that makes it larger than this.
    package static let maximumBytes = SnapshotChunk.maximumBytes

    /// Those that exist, in no particular order.
    package var rows: [SourceRow]
    /// Whether these are all.
    ///
    /// If not, the rest did not fit, and nothing is known of keys without a row. The answer for one key is always complete.
    package var isComplete: Bool
    /// A position at which the source had exactly these of the rows: not before the last change of any of them.
    ///
    /// The change stream may not have reached it yet. No checkpoint before it may contain the rows, so the earlier it is,
    /// the better.
    package var position: SourcePosition

    /// Creates an answer.
    package init(_ rows: [SourceRow], isComplete: Bool, at position: SourcePosition) {
        self.rows = rows
        self.isComplete = isComplete
        self.position = position
    }
}
