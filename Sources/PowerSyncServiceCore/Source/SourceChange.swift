package import PowerSyncSyncConfig

/// One changed row of a source table.
package struct SourceChange: Sendable {
    /// The kinds of changes.
    package enum Kind: Sendable, Hashable {
        /// A row that did not exist. What is stored for its key does not count.
        case insert
        /// A row that may be stored, under the same or another key.
        case update
        /// A row that is gone.
        case delete
    }

    /// What happened to the row.
    package var kind: Kind
    /// The values of the identity columns before the change, when they are known to differ from those in `row`, and for
    /// a delete.
    package var oldKey: [SQLValue]?
    /// The complete row after the change; `nil` for a delete.
    package var row: SourceRow?
    /// Whether an update is known to have made the row: it is stored only if the change has been delivered before.
    package var isNew = false

    private init(kind: Kind, oldKey: [SQLValue]?, row: SourceRow?) {
        self.kind = kind
        self.oldKey = oldKey
        self.row = row
    }

    /// A new row.
    package static func insert(_ row: SourceRow) -> SourceChange {
        SourceChange(kind: .insert, oldKey: nil, row: row)
    }

    /// A changed row.
    ///
    /// - Parameters:
    ///   - row: The row after the change.
    ///   - oldKey: Its identity before the change, if that was another one.
    ///   - isNew: Whether the change has made the row.
    /// - Returns: The change.
    package static func update(_ row: SourceRow, oldKey: [SQLValue]? = nil, isNew: Bool = false) -> SourceChange {
        var change = SourceChange(kind: .update, oldKey: oldKey, row: row)
        change.isNew = isNew
        return change
    }

    /// A deleted row.
    package static func delete(key: [SQLValue]) -> SourceChange {
        SourceChange(kind: .delete, oldKey: key, row: nil)
    }
}

/// A changed row of which the change stream does not say everything: the source is asked for it
/// (``RowReadingSource/rows(of:keys:showing:)``).
///
/// Cells are left out that are large, and that the change has left as they were: the row is never stored without them. Or nothing is left
/// out, and the change does not tell whether the source still has the row, since several rows of the table may be equal.
package struct PartialUpdate: Sendable {
    /// The row after the change, without the cells that are left out; all identity columns are there.
    package var row: SourceRow
    /// The values of the identity columns before the change, when they are known to differ from those in `row`.
    package var oldKey: [SQLValue]?
    /// The identity after the change in the source's own form, if that is another one than in `row`.
    package var sourceKey: [SQLValue]?
    /// When its transaction took effect; `nil` for a source that shows each state from the moment on when it delivers it.
    package var moment: SourceMoment?
    /// Whether rows of the table are looked for among all of them: the fewer questions there are, the better.
    package var isFoundByScan: Bool
    /// As ``SourceChange/isNew``.
    package var isNew: Bool

    /// Creates an update.
    package init(
        _ row: SourceRow,
        oldKey: [SQLValue]? = nil,
        sourceKey: [SQLValue]? = nil,
        moment: SourceMoment? = nil,
        isFoundByScan: Bool = false,
        isNew: Bool = false
    ) {
        self.row = row
        self.oldKey = oldKey
        self.sourceKey = sourceKey
        self.moment = moment
        self.isFoundByScan = isFoundByScan
        self.isNew = isNew
    }
}

/// One element of a source's change stream (docs/service.md "What a source promises").
package enum SourceMessage: Sendable {
    /// Changes of one table, in the order of the source. `relationID` is that of the table's descriptor.
    case changes([SourceChange], relationID: String)
    /// Changes as in ``changes(_:relationID:)`` that the source does not know completely; all of one transaction.
    ///
    /// Only of a source that has ``ReplicationSource/rowReading``. One of which such changes may never cease delivers a boundary
    /// before their transaction: when that is beyond what was read of rows before, a checkpoint can be made there.
    case partialUpdates([PartialUpdate], relationID: String)
    /// Rows that may have changed with those of the changes before, of the same transaction. Only of a source that has
    /// ``ReplicationSource/rowReading``.
    case cascade(Cascade)
    /// All rows of a table were removed at once.
    case truncate(relationID: String)
    /// What follows belongs to a transaction whose boundary is not before this position: nothing of it may be published at
    /// an earlier one. It may have been stored in part before, by a run that did not come to its end. `committedAt` is in
    /// seconds since 1970, by the source's clock.
    case begin(LSN, committedAt: Double)
    /// A write checkpoint waits for the boundary that follows, also if nothing has changed: see ``ReplicationSource/emitMarker()``. Only a
    /// source that a storage may be written to says so.
    case marker
    /// A transaction boundary: everything up to this position has been delivered.
    case commit(LSN)
    /// The descriptors of tables are no longer those that the reader was opened with. The last message of a reader: the
    /// caller resolves tables again, and opens another reader.
    case tablesChanged
}
