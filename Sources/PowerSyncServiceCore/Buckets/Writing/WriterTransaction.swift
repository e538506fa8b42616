package import Foundation
package import PowerSyncProtocol

/// A transaction of the writer of a stream: what a database reads and writes.
///
/// What becomes of the stream is decided by the extension and ``BucketWriter``, for every storage.
package protocol WriterTransaction {
    associatedtype Streams: StreamTables

    /// The streams of the storage.
    var streams: Streams { get set }
    /// The record of the stream; ``WriterSession`` stores it at the end of the transaction.
    var stream: StreamChange { get set }
    /// Tells the time for diagnostics.
    var now: Date { get }

    /// Inserts the record of a source table.
    mutating func insert(_ table: SourceTable) throws
    /// Deletes the record of a source table.
    mutating func delete(_ table: SourceTable) throws
    /// Stores what the record of a source table says of columns, copy and fill.
    mutating func update(_ table: SourceTable) throws

    /// Writes records as ``RecordStore`` decides.
    ///
    /// - Returns: The last op id; `nil` when there are none.
    mutating func write(_ records: [PendingRecord]) throws -> OpID?
    /// Removes rows of a table as ``RecordStore`` decides, as many as one transaction should have.
    ///
    /// - Returns: Whether no row is left, and the last op id; `nil` when there are none.
    mutating func removeRows(of table: SourceTable) throws -> (isFinished: Bool, lastOp: OpID?)
}

/// What a transaction makes of the record of its stream.
package struct StreamChange: Sendable {
    /// The record at the beginning of the transaction.
    package let found: StreamRecord
    /// The record at its end.
    package var record: StreamRecord
    /// The checkpoint that the transaction has made.
    package fileprivate(set) var published: StorageCheckpoint?
    /// Whether a record was of a row that the earlier record of its table may have, and that was not found (``RecordStore/hasUnmatched``).
    package var hasUnmatched = false

    /// Begins with what is stored.
    package init(_ record: StreamRecord) {
        found = record
        self.record = record
    }

    /// Whether the record is to be stored.
    package var isChanged: Bool { published != nil || record != found }
}

extension WriterTransaction {
    /// Stores changes and how far copies have come; no checkpoint shows them yet.
    ///
    /// The last op id is recorded, too: the next commit publishes these operations, also when there are no others, and by whichever
    /// process.
    ///
    /// - Parameters:
    ///   - batch: The changes.
    ///   - lsn: The position before which no checkpoint may be made any more.
    /// - Throws: An error of the database.
    package mutating func store(_ batch: PendingChanges.Batch, noCheckpointBefore lsn: LSN? = nil) throws {
        stream.record.forbidCheckpoints(before: lsn)
        for table in batch.progress.values { try update(table) }
        guard !batch.records.isEmpty else { return }
        if let lastOp = try write(batch.records) { stream.record.keepaliveOp = lastOp }
    }

    /// Removes some rows of a table.
    ///
    /// - Returns: Whether no row is left.
    mutating func truncate(_ table: SourceTable, noCheckpointBefore lsn: LSN?) throws -> Bool {
        stream.record.forbidCheckpoints(before: lsn)
        let (isFinished, lastOp) = try removeRows(of: table)
        if let lastOp { stream.record.keepaliveOp = lastOp }
        return isFinished
    }

    /// Makes a checkpoint at a position, unless a rule forbids it.
    ///
    /// - Parameters:
    ///   - lsn: The position.
    ///   - createsEmptyCheckpoints: Whether it is published even if there are no new operations.
    /// - Returns: What became of the commit; `nil` when clients are served from a newer stream, and this one has been stopped.
    /// - Throws: ``BucketStorageError`` with code `unknownStream`, or an error of the database.
    package mutating func publish(_ lsn: LSN, createsEmptyCheckpoints: Bool) throws -> CommitResult? {
        let decision = try CommitDecision(
            record: stream.record,
            lsn: lsn,
            createsEmptyCheckpoints: createsEmptyCheckpoints
        )
        guard case .created(let checkpoint) = decision.result else { return decision.result }
        if decision.activates, try !streams.change({ $0.activate(checkpoint.streamID) }) { return nil }
        if decision.takesNextConfig {
            try streams.takeNextConfig(of: checkpoint.streamID)
            stream.record.versionLabel = stream.record.next?.versionLabel
            stream.record.next = nil
            stream.record.configNumber = checkpoint.configNumber
        }
        stream.record.publish(checkpoint, at: now)
        stream.published = checkpoint
        return decision.result
    }

    /// Records from where the source keeps its history for the stream.
    package mutating func setResumePosition(_ position: SourcePosition) throws {
        stream.record.snapshotLSN = position.lsn
        stream.record.historyID = try streams.number(of: position.history)
    }

    /// Records what has been read for the next config, unless another one has been deployed since.
    ///
    /// - Parameters:
    ///   - table: The record of the source table whose rows have been read; `nil` when everything has been read.
    ///   - number: The number of the config.
    mutating func setFilled(_ table: SourceTable?, forConfig number: Int64) {
        guard stream.record.next != nil, stream.record.lastConfigNumber == number else { return }
        if let table {
            stream.record.next?.filledTables.insert(table.id)
        } else {
            stream.record.next?.isFilled = true
        }
    }

    /// Records that all tables of the stream have been copied.
    package mutating func setSnapshotDone(noCheckpointBefore lsn: LSN) {
        stream.record.isSnapshotDone = true
        stream.record.forbidCheckpoints(before: lsn)
    }
}

/// Runs the transactions of the writer of a stream.
package protocol WriterSession: Sendable {
    associatedtype Transaction: WriterTransaction

    /// Reads the record of the stream, and leaves no trace in the database, whose log may be the one that is replicated.
    ///
    /// - Throws: ``BucketStorageError`` with code `unknownStream` when the stream is not replicated any more, `leaseLost` when another
    ///   process writes it, or an error of the database.
    func record() async throws -> StreamRecord

    /// The history of the source with a number; `nil` for 0.
    func history(_ number: Int64) async throws -> SourceHistory?

    /// Writes in a transaction.
    ///
    /// The record of the stream is read first, so that no other writer changes it, and stored after `body` if it has changed. A checkpoint
    /// is told to the readers of this process right after the end of the transaction, even if the task is cancelled meanwhile.
    ///
    /// - Parameters:
    ///   - activity: What is being done, for errors.
    ///   - purpose: What for.
    ///   - body: Writes; may be repeated if the database has ended the transaction because of another one.
    /// - Returns: The result of `body`.
    /// - Throws: As ``record()``, or what `body` throws.
    func write<Value: Sendable>(
        _ activity: String,
        _ purpose: WritePurpose,
        _ body: @escaping @Sendable (inout Transaction) throws -> Value
    ) async throws -> Value

    /// Waits until the disk has everything that was committed.
    func waitForDisk() async throws
}

/// What a transaction of a writer is for.
package enum WritePurpose: Sendable {
    /// Changes of the source that no checkpoint shows yet: what is lost with the server is read again.
    case storingChanges
    /// Something that is true from the end of the transaction on.
    case recording
    /// A checkpoint; it may be the first one of the stream, which changes which streams there are.
    case publishing(mayActivate: Bool)
}
