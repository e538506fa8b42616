package import PowerSyncSyncConfig

/// A database whose tables are replicated (docs/service.md "What a source promises").
///
/// What a source promises: transactions are delivered in commit order; positions order like the log; a position that
/// was reported by ``head()`` is reached by the change stream after ``emitMarker()``; a stream that was prepared can be
/// read again from every position that has not been acknowledged.
package protocol ReplicationSource: Sendable {
    /// Checks that the source can be replicated.
    ///
    /// - Throws: ``ReplicationSourceError`` that says what to change.
    func checkConfiguration() async throws

    /// A position that is not before any commit that was confirmed to a client of the database before the call.
    ///
    /// - Parameter known: A position that the source is known to have had, if there is one.
    /// - Returns: A position of the same history as `known` only if the source has that position, too: otherwise it was
    ///   restored or replaced, and has another history.
    /// - Throws: An error of the source.
    func head(having known: SourcePosition?) async throws -> SourcePosition

    /// A position as ``head()``, which the log of the source tells from the same position of another log, if it can.
    ///
    /// For what was read of the source besides its change stream, before it is stored: ``require(_:in:)`` has it looked for.
    func markedHead() async throws -> SourcePosition

    /// Makes every change stream advance beyond what ``head()`` returned before, even if nothing else happens.
    func emitMarker() async throws

    /// Makes the source keep its history for a stream (PostgreSQL: the replication slot). Precedes every snapshot.
    ///
    /// - Parameters:
    ///   - handle: What the source keeps the stream under (``ReplicationStream/sourceHandle``).
    ///   - position: From where changes are needed; `nil` for a stream that has not begun.
    ///   - reached: A later position of the same history that the source is known to have had, if there is one.
    /// - Returns: `position`, or the one from which history is kept now.
    /// - Throws: ``ReplicationSourceError`` with ``ReplicationSourceError/Code/historyLost`` when changes after
    ///   `position` are no longer available, or what the source has before it is not what it had;
    ///   ``ReplicationSourceError/Code/retentionExceeded`` when this process has prepared the stream before.
    func prepareStream(
        _ handle: String,
        resumingAfter position: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition

    /// Lets the next reader of a stream make sure that its log has what is stored of it, beyond the position to go on from.
    ///
    /// A source may be put back to an older state, and be written to since until its log is beyond everything that is known. Its reader
    /// fails with ``ReplicationSourceError/Code/historyLost`` before it comes past the position.
    ///
    /// - Parameters:
    ///   - position: A position of ``markedHead()``, or of a ``SourceMessage/begin(_:committedAt:)``; `nil` for none.
    ///   - handle: A prepared stream.
    func require(_ position: LSN?, in handle: String)

    /// The database whose log is read; `nil` when no storage can be in it.
    func database() async throws -> DatabaseID?

    /// The tables that can be replicated and that a plan reads, in a stable order.
    func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor]

    /// Says once what keeps rows that a stream reads from being synced, or may do so one day: what
    /// `powersync test-connection` says.
    ///
    /// - Throws: An error of the source.
    func warn(about stream: ReplicationStream) async throws

    /// What it means for the rows that were copied of a table that its columns are others, of which some are read.
    ///
    /// - Parameters:
    ///   - table: The table as it is.
    ///   - earlier: The same table with the columns that it had (``SourceTableDescriptor/columns``).
    ///   - handle: The stream.
    /// - Returns: The effect.
    func effect(
        ofColumnsOf table: SourceTableDescriptor,
        after earlier: SourceTableDescriptor,
        in handle: String
    ) -> ColumnEffect

    /// Why a table cannot be read now: asked before it is copied, and before rows of an earlier form of it are removed.
    ///
    /// A change reader that is opened without a table of the plan that has an obstacle asks again and again, and returns
    /// ``SourceMessage/tablesChanged`` when there is none any more.
    ///
    /// - Parameter table: A descriptor from ``tables(for:)``.
    /// - Returns: What is in the way; `nil` when the table can be copied, or is another one by now.
    /// - Throws: An error of the source.
    func obstacle(to table: SourceTableDescriptor) async throws -> TableObstacle?

    /// Starts to copy a table.
    ///
    /// The reader, too, throws ``ReplicationSourceError/Code/tableUnavailable`` when the table has an obstacle.
    ///
    /// - Parameters:
    ///   - table: A descriptor from ``tables(for:)``.
    ///   - key: Where an interrupted copy continues; `nil` for the beginning.
    /// - Returns: A reader of the rows.
    /// - Throws: ``ReplicationSourceError`` with ``ReplicationSourceError/Code/tablesChanged`` when the descriptor is
    ///   outdated.
    func snapshot(of table: SourceTableDescriptor, after key: SnapshotKey?) async throws -> any SnapshotReader

    /// Waits until readers of a table see all of its changes that the change stream has delivered.
    ///
    /// A database may show a transaction later than its log has it, while a replica confirms it for example.
    ///
    /// - Parameter table: A descriptor from ``tables(for:)``.
    /// - Throws: ``ReplicationSourceError`` with ``ReplicationSourceError/Code/tableUnavailable`` when that takes too long.
    func waitUntilShown(_ table: SourceTableDescriptor) async throws

    /// Makes sure that what a stream needs is still kept: called between the chunks of a copy, which may take hours.
    ///
    /// - Parameter handle: A prepared stream.
    /// - Throws: ``ReplicationSourceError`` with ``ReplicationSourceError/Code/retentionExceeded`` when the copy is in vain.
    func checkRetention(for handle: String) async throws

    /// Reads the change stream for as long as `body` runs.
    ///
    /// - Parameters:
    ///   - handle: A prepared stream.
    ///   - position: The position to continue after.
    ///   - tables: The tables to deliver, with what the last chunk of their copies said; changes of others are left out.
    ///   - plan: What the tables are read for: the reader notices other tables that it reads.
    ///   - body: Reads. The reader is closed when it returns or throws.
    /// - Returns: The result of `body`.
    /// - Throws: ``ReplicationSourceError``, with ``ReplicationSourceError/Code/historyLost`` when `position` is not of
    ///   the source's history, or what `body` throws.
    func withChanges<Result>(
        of handle: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result

    /// Whether the source has something to gain from an acknowledgement.
    ///
    /// To acknowledge, the storage waits for its disk; that is worth it only now and then.
    ///
    /// - Parameters:
    ///   - lsn: The position that could be acknowledged.
    ///   - handle: The stream.
    /// - Returns: Whether ``acknowledge(_:of:)`` should follow.
    func wantsAcknowledgement(of lsn: LSN, by handle: String) -> Bool

    /// Whether the source has something to gain from an acknowledgement after which nothing more comes for a while, or no more at all.
    func wantsLastAcknowledgement(of lsn: LSN, by handle: String) -> Bool

    /// Allows the source to forget what a stream has durably stored.
    ///
    /// - Parameters:
    ///   - position: A position that the storage has on disk.
    ///   - handle: The stream.
    /// - Throws: An error of the source.
    func acknowledge(_ position: DurablePosition, of handle: String) async throws

    /// Makes the source forget a stream. Does nothing for an unknown one.
    func dropStream(_ handle: String) async throws

    /// Takes away what was added to the source for its streams, if none is left.
    func uninstall() async throws

    /// Closes the connections to the source. Calls that are running fail.
    func close() throws

    // MARK: What not every source can do

    /// Tells operators which tables the source has; `nil` for a source that cannot tell.
    var described: (any DescribedSource)? { get }

    /// Takes the writes of clients, for development; `nil` for a source that the service does not write to.
    var writable: (any WritableSource)? { get }

    /// Tells what a server keeps of its log for the service; `nil` for a source without a server that keeps one.
    var retainedLog: (any LogRetainingSource)? { get }

    /// Reads rows by their keys; `nil` for a source whose changes are always complete (``SourceMessage/partialUpdates(_:relationID:)``).
    var rowReading: (any RowReadingSource)? { get }

    /// Looks after the files of the source; `nil` for a source without files on this machine.
    var fileBacked: (any FileBacked)? { get }
}

extension ReplicationSource {
    /// A position that is not before any commit that was confirmed to a client of the database before the call.
    package func head() async throws -> SourcePosition {
        try await head(having: nil)
    }

    /// The position of ``head()``, for sources whose positions tell logs apart.
    package func markedHead() async throws -> SourcePosition { try await head() }

    /// Does nothing, for sources that are asked for all positions when a stream is prepared.
    package func require(_ position: LSN?, in handle: String) {}

    /// Does nothing, for sources that say it elsewhere.
    package func warn(about stream: ReplicationStream) async throws {}

    /// ``ColumnEffect/readAgain``, for sources whose log says which columns a row has.
    package func effect(
        ofColumnsOf table: SourceTableDescriptor,
        after earlier: SourceTableDescriptor,
        in handle: String
    ) -> ColumnEffect { .readAgain }

    /// None, for sources of which every table can be read at any time.
    package func obstacle(to table: SourceTableDescriptor) async throws -> TableObstacle? { nil }

    /// `false`, for sources without a process that waits for them.
    package func wantsLastAcknowledgement(of lsn: LSN, by handle: String) -> Bool { false }

    /// Does nothing, for sources that keep everything.
    package func checkRetention(for handle: String) async throws {}
}

/// What other columns mean for the rows that were copied of a table.
package enum ColumnEffect: Sendable, Hashable {
    /// None: the rows have the values that they had.
    case none
    /// Other values, and changes can be read on while the rows are read again beside the change stream.
    case readAgain
    /// The log may have rows that would be read by the wrong columns: the table is copied anew before its changes are read.
    case copyAnew
}

/// A table being copied.
package protocol SnapshotReader: Sendable {
    /// Reads the next rows.
    ///
    /// - Returns: Rows in the order of the key, `nil` at the end.
    /// - Throws: ``ReplicationSourceError`` with ``ReplicationSourceError/Code/tablesChanged`` when the table is no
    ///   longer the one that was described.
    mutating func next() async throws -> SnapshotChunk?
}

/// Rows of a table that is being copied.
package struct SnapshotChunk: Sendable {
    /// The most rows that a chunk should have.
    package static let maximumRows = 10_000
    /// A chunk should end with the row that makes it larger than this.
    package static let maximumBytes = 5 << 20

    /// The rows.
    package var rows: [SourceRow]
    /// Where to continue after these rows.
    package var lastKey: SnapshotKey

    /// Creates a chunk.
    package init(rows: [SourceRow], lastKey: SnapshotKey) {
        self.rows = rows
        self.lastKey = lastKey
    }
}

/// A change stream being read.
package protocol ChangeReader: Sendable {
    /// Waits for changes.
    ///
    /// The first call returns a ``SourceMessage/commit(_:)`` without delay even if nothing has changed. Later calls
    /// wait; after two seconds without news they return an empty array, which lets the caller show that it is alive.
    ///
    /// - Returns: Messages in the order of the log.
    /// - Throws: ``ReplicationSourceError`` with ``ReplicationSourceError/Code/historyLost`` when the source was rolled
    ///   back or replaced since the last call; nothing of another history is ever returned.
    mutating func next() async throws -> [SourceMessage]

    /// How long the source owes the proof that it is heard; `nil` while that is in time.
    ///
    /// What comes from a source that is silent says nothing about how far behind it the stream is.
    var silence: Duration? { get }
}

extension ChangeReader {
    /// `nil`, for sources that are read in this process.
    package var silence: Duration? { nil }
}
