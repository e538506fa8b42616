import PowerSyncProtocol
package import PowerSyncSyncConfig

/// A change that has been evaluated and waits to be written.
package struct PendingRecord: Sendable {
    /// What a row has become.
    package struct Content: Sendable {
        /// Its identity after the change.
        package var key: ReplicaID
        /// What it becomes in buckets; a row is once in each of them.
        package var rows: [(row: BucketRow, hash: ContentHash)]
        /// What it adds to parameter indexes; there is one entry for each lookup.
        package var entries: [(entry: ParameterEntry, hash: ContentHash)]
        /// Where it is too large, without the data: what is stored of it there stays.
        package var withheld: [BucketRow]
        /// The identity by the primary key, if the row is known by other columns.
        package var primaryKey: ReplicaID?
        /// Whether what else is stored of the row stays: it was evaluated for some parts of the config only.
        package var isAddition = false
    }

    /// Where a row may be stored that its table has of an earlier record (``SourceTable/earlier``).
    package struct Earlier: Sendable {
        /// The id of that record.
        package var tableID: String
        /// The row's identity there; `nil` when it is not known.
        package var key: ReplicaID?
        /// Whether nothing is stored of the row if it is not found there.
        package var isKnown: Bool
    }

    /// What happened.
    package var kind: SourceChange.Kind
    /// The id of the table's record.
    package var tableID: String
    /// The identity before the change.
    package var beforeKey: ReplicaID
    /// The row; `nil` for a delete.
    package var content: Content?
    /// Whether a row that is already stored is left alone.
    package var skipsStoredRow: Bool
    /// Whether the record is a write checkpoint that a row has told, and what is stored stays if its number is not smaller: the numbers
    /// are those of the hashes of ``Content/entries``.
    package var keepsLargerNumber = false
    /// Where the row may be stored if it is not stored by its identity; `nil` when it is nowhere else.
    package var earlier: Earlier?
    /// The estimated bytes of the operations.
    package var size: Int
    /// Why the row is not stored as it should be.
    package var rejections: [RejectedRow] = []
    /// The write checkpoints that the row tells; each is stored as a record of its own.
    package var releases: [ReleasedWriteCheckpoint] = []
}

extension PendingRecord {
    /// The id of the table that all write checkpoints seem to be rows of, which is none of the source: they stay when the rows that have
    /// told them are gone.
    package static let writeCheckpointTable = "write checkpoints"

    /// What a write checkpoint is stored as: the entry of a row of its own, which is found by its lookup.
    package init(_ release: ReleasedWriteCheckpoint) {
        let key = ReplicaID(names: ["lookup"], values: [.text(release.lookup.rawValue)])
        let number = release.number.rawValue
        let entry = ParameterEntry(lookup: release.lookup, rows: [ParameterRow(values: [.integer(number)])])
        self.init(
            kind: .update,
            tableID: Self.writeCheckpointTable,
            beforeKey: key,
            content: Content(
                key: key,
                rows: [],
                entries: [(entry, ContentHash(checksum: .zero, keyed: UInt64(number)))],
                withheld: []
            ),
            skipsStoredRow: false,
            keepsLargerNumber: true,
            size: 164
        )
    }
}
