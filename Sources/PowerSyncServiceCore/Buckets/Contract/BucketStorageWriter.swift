package import PowerSyncSyncConfig

/// Stores the changes of a source for one replication stream (docs/service.md "Rows and operations").
///
/// A writer belongs to one task, which is why its calls are `mutating`: saved changes are collected, and written in
/// storage transactions of at most 8,000 records or about 5 MB, of 10,000 or 16 MB while a table is copied or read: when there are so
/// many, with the next call. What has been written is durable, but no client sees it before ``commit(_:createsEmptyCheckpoints:)``
/// makes a checkpoint. After an error the writer must be discarded; a new
/// one continues from what is durable.
package protocol BucketStorageWriter {
    /// Where to continue reading the source: the position of the last checkpoint, or of the snapshot when there is no
    /// checkpoint yet. `nil` for a stream that has not begun.
    var resumePosition: SourcePosition? { get }

    /// The newest position of a write checkpoint, if it is of the same history as ``resumePosition`` and after it.
    ///
    /// The source must have it, too: otherwise it was restored to a state between the two.
    var reachedLSN: LSN? { get }

    /// The position before which no checkpoint may be made, if there is one: what is stored was read up to it.
    ///
    /// As when the writer was made.
    var storedLSN: LSN? { get }

    /// The tables that the stream has records of.
    var sourceTables: [SourceTable] { get }

    /// Finds or creates the record of a source table.
    ///
    /// - Parameters:
    ///   - descriptor: The table as the source describes it now.
    ///   - hasItsColumns: Whether a record with other columns does not fit.
    /// - Returns: The record, and the records of the same name or relation id that no longer fit. The caller drops these before it
    ///   snapshots the table.
    /// - Throws: An error of the database.
    mutating func resolveTable(
        _ descriptor: SourceTableDescriptor,
        hasItsColumns: Bool
    ) async throws -> ResolvedTable

    /// Records that columns of a table are others than they were.
    ///
    /// - Parameters:
    ///   - columns: The columns as the source describes them now.
    ///   - table: A record from ``resolveTable(_:)``.
    ///   - outdates: Whether rows that were copied have other values by that: they are to be read again, from the first one on.
    /// - Returns: The record as it is from now on.
    /// - Throws: An error of the database.
    mutating func setColumns(
        _ columns: [String: String],
        of table: SourceTable,
        outdates: Bool
    ) async throws -> SourceTable

    /// Makes the record of a table that has rows of an earlier record (``ResolvedTable/earlier``) one that counts as copied, and whose rows
    /// are to be read again beside the change stream.
    ///
    /// What is stored of a row goes from the earlier record to this one when the row is saved, without an operation if it is the same.
    /// A row that is deleted, or gets another primary key, before it has been read cannot be found: from then on no checkpoint is made
    /// until ``markFilled(_:forConfig:)``, which removes what is left of the earlier record.
    ///
    /// - Parameters:
    ///   - earlier: The earlier record.
    ///   - table: A record from ``resolveTable(_:)``.
    /// - Returns: The record as it is from now on.
    /// - Throws: An error of the database.
    mutating func takeRows(of earlier: SourceTable, into table: SourceTable) async throws -> SourceTable

    /// Adds changes of a table, in the order of the source.
    ///
    /// - Parameters:
    ///   - changes: The changes.
    ///   - table: A record from ``resolveTable(_:)``.
    ///   - mode: Whether rows that are already stored are left alone, as during a snapshot.
    /// - Returns: Rows that are not synced as the config says, and why.
    /// - Throws: An error of the database.
    mutating func save(
        _ changes: [SourceChange],
        of table: SourceTable,
        mode: SaveMode
    ) async throws -> [RejectedRow]

    /// What evaluates rows of a table outside of the task of the writer, for ``save(_:)``: as changes of the change stream.
    ///
    /// - Parameters:
    ///   - table: The record of the table. The builder is of no use any more once the writer has changed that record.
    ///   - parts: The parts of the config that rows are added to, while what is stored of them for other ones stays; `nil` for the whole
    ///     config.
    /// - Returns: A builder for one task.
    func recordBuilder(of table: SourceTable, addingTo parts: SyncPlan?) -> RecordBuilder

    /// Adds rows that were read beside the change stream, and evaluated by ``recordBuilder(of:addingTo:)``.
    ///
    /// Of a row whose key was changed since it was read, there must be no record: what it gave to other parts would stay.
    ///
    /// - Parameter records: The rows.
    /// - Returns: Rows that are not synced as the config says, and why.
    /// - Throws: An error of the database.
    mutating func save(_ records: [PendingRecord]) async throws -> [RejectedRow]

    /// Removes all rows of a table from all buckets and indexes.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - touch: Called after each step; there are many if the table is large.
    /// - Throws: An error of the database.
    mutating func truncate(_ table: SourceTable, touch: @Sendable () -> Void) async throws

    /// Truncates a table and forgets its record.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - touch: As in ``truncate(_:touch:)``.
    /// - Throws: An error of the database.
    mutating func drop(_ table: SourceTable, touch: @Sendable () -> Void) async throws

    /// Says that what is saved from now on belongs to a transaction that ends at a position, or after it.
    ///
    /// What is written of it before its end is recorded with it: no checkpoint may be made before the position, also if another
    /// writer goes on.
    mutating func beginTransaction(endingAt lsn: LSN)

    /// Makes everything saved so far durable, together with the progress of snapshots. Does not publish it.
    mutating func flush() async throws

    /// Flushes, and makes a checkpoint unless a rule forbids it (docs/service.md "Checkpoints"). May be called at
    /// transaction boundaries of the source only. Activates the stream when this is its first checkpoint.
    ///
    /// - Parameters:
    ///   - lsn: The source position of the boundary.
    ///   - createsEmptyCheckpoints: Whether the position is published even if there are no new operations.
    /// - Returns: What became of the commit.
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when the stream has been replaced.
    mutating func commit(_ lsn: LSN, createsEmptyCheckpoints: Bool) async throws -> CommitResult

    /// Records that no checkpoint may be made before a position, because of what is saved next.
    mutating func forbidCheckpoints(before lsn: LSN) async throws

    /// Waits until the disk has everything that was committed.
    ///
    /// - Returns: The position of the last checkpoint; `nil` before the first one.
    /// - Throws: An error of the database.
    mutating func makeDurable() async throws -> DurablePosition?

    /// Records from where the source keeps its history for this stream, before the snapshot begins. All later positions
    /// of the stream belong to the same history.
    mutating func setResumePosition(_ position: SourcePosition) async throws

    /// Records how far the snapshot of a table has come. Durable with the next flush, together with the rows.
    ///
    /// - Parameters:
    ///   - lastKey: The key to continue after, in the form the source chose.
    ///   - table: The table.
    mutating func recordSnapshotProgress(_ lastKey: SnapshotKey, of table: SourceTable)

    /// Records that a table has been copied, and that no checkpoint may be made before a position.
    mutating func markSnapshotDone(_ table: SourceTable, noCheckpointBefore lsn: LSN) async throws

    /// Records how far the rows of a table have been read beside the change stream. Durable with the next flush, together with the rows.
    ///
    /// - Parameters:
    ///   - fill: Where to continue.
    ///   - table: The table.
    mutating func recordFill(_ fill: SourceTable.Fill, of table: SourceTable)

    /// Records that the rows of a table have been read beside the change stream, or that everything has been that the next config of the
    /// stream needs: then the next checkpoint puts that config in the place of the stream's own. Changes nothing of a config with another
    /// number.
    ///
    /// - Parameters:
    ///   - table: The table, which counts as copied from now on and is not outdated; `nil` when everything has been read.
    ///   - number: The number of the newest config of the stream when the writer was made.
    /// - Throws: An error of the database.
    mutating func markFilled(_ table: SourceTable?, forConfig number: Int64) async throws

    /// Records that all tables of the stream have been copied, and that no checkpoint may be made before a position.
    mutating func markSnapshotDone(noCheckpointBefore lsn: LSN) async throws
}

extension BucketStorageWriter {
    /// Finds or creates the record of a source table, whose columns may be others.
    package mutating func resolveTable(_ descriptor: SourceTableDescriptor) async throws -> ResolvedTable {
        try await resolveTable(descriptor, hasItsColumns: false)
    }

    /// Removes all rows of a table from all buckets and indexes.
    package mutating func truncate(_ table: SourceTable) async throws { try await truncate(table, touch: {}) }

    /// Truncates a table and forgets its record.
    package mutating func drop(_ table: SourceTable) async throws { try await drop(table, touch: {}) }
}

/// How ``BucketStorageWriter/save(_:of:mode:)`` treats rows that are already stored.
package enum SaveMode: Sendable {
    /// Changes of the change stream: they replace what is stored.
    case stream
    /// Rows of a snapshot: a row that is already stored is newer, and stays.
    case snapshot
}

/// What became of a commit.
package enum CommitResult: Sendable, Hashable {
    /// A checkpoint is not allowed at this position; the operations wait for a later commit.
    case blocked
    /// There was nothing to publish.
    case unchanged
    /// A checkpoint was made.
    case created(StorageCheckpoint)
}

/// The result of ``BucketStorageWriter/resolveTable(_:)``.
package struct ResolvedTable: Sendable {
    /// The record of the table.
    package var table: SourceTable
    /// Records of earlier tables, to be dropped.
    package var outdated: [SourceTable]
    /// The one of ``outdated`` whose rows ``table`` takes, or may take from now on: the record of the same rows under another replica
    /// identity; `nil` when there is none.
    ///
    /// There is none either when its changes may not have been followed.
    package var earlier: SourceTable?

    /// Creates a result.
    package init(table: SourceTable, outdated: [SourceTable], earlier: SourceTable? = nil) {
        self.table = table
        self.outdated = outdated
        self.earlier = earlier
    }

    /// Finds the record of a source table among those of a stream, or makes one that is to be stored.
    ///
    /// - Parameters:
    ///   - descriptor: The table as the source describes it now.
    ///   - tables: The records of the stream.
    ///   - hasItsColumns: Whether a record with other columns does not fit.
    ///   - makeID: Makes the id of a new record.
    package init(
        _ descriptor: SourceTableDescriptor,
        among tables: some Sequence<SourceTable>,
        hasItsColumns: Bool = false,
        makeID: () -> String
    ) {
        let candidates = tables.filter { table in
            table.descriptor.relationID == descriptor.relationID
                || !descriptor.sharesName && table.descriptor.name == descriptor.name
        }
        let same = candidates.filter { $0.descriptor == descriptor }
        // Beside one with the present columns, one with others is of a time before, and was not followed since.
        let compatible =
            same.isEmpty && !hasItsColumns ? candidates.filter { $0.descriptor.isSame(as: descriptor) } : same
        let kept = compatible.first(where: \.isSnapshotDone) ?? compatible.first
        table = kept ?? SourceTable(id: makeID(), descriptor: descriptor)
        outdated = candidates.filter { $0.id != kept?.id }
        // A record that was stored and not copied is of a table that was left out: the changes of the earlier one were not followed.
        let mayTakeRows = kept.map { $0.isSnapshotDone && $0.isOutdated } ?? true
        guard mayTakeRows, outdated.count == 1, let last = outdated.first, last.isSnapshotDone, !last.isOutdated,
            descriptor.hasSameRows(as: last.descriptor)
        else { return }
        earlier = last
        if kept != nil { table.earlier = SourceTable.Earlier(last) }
    }
}
