import GRDB
import NIOConcurrencyHelpers
import PowerSyncSyncConfig
import PowerSyncSQLite
import PowerSyncServiceCore

/// Reads the log of the embedded source, and the rows it points to.
///
/// A batch is read in one read transaction, up to the highest position in it, so it ends at a transaction boundary. A
/// long one is delivered in chunks that come from one snapshot of the file: only the last chunk has a commit.
struct EmbeddedChangeReader: ChangeReader {
    /// The most log entries of a chunk.
    static let maximumEntries: Int64 = 2000
    /// The size in bytes from which rows of one table end a chunk.
    static let maximumBytes = 8 << 20
    /// How often to poll before telling the caller that there is no news: about two seconds.
    static let maximumPolls = 13

    private let source: EmbeddedSource
    /// The descriptors that the caller knows.
    private let tables: [SourceTableDescriptor]
    /// The history that all positions belong to.
    private let history: SourceHistory
    /// What has been delivered.
    private var position: EmbeddedPosition
    private var hasDeliveredCommit = false
    /// A long batch that is being delivered.
    private var longBatch: LongBatch?

    private struct LongBatch {
        var snapshot: DatabaseSnapshot
        var head: EmbeddedPosition
        /// How much of it has been delivered.
        var delivered: Int64
    }

    /// What one look at the file has found.
    private enum Look: Sendable {
        case schemaChanged
        case historyLost
        case nothing
        case long
        case messages([SourceMessage], head: EmbeddedPosition)
    }

    /// Creates a reader.
    init(
        source: EmbeddedSource,
        tables: [SourceTableDescriptor],
        history: SourceHistory,
        position: EmbeddedPosition
    ) {
        self.source = source
        self.tables = tables
        self.history = history
        self.position = position
    }

    mutating func next() async throws -> [SourceMessage] {
        if let longBatch { return try await nextChunk(of: longBatch) }
        while true {
            let version = source.signal.version
            let dataVersion = try await source.dataVersion()
            let state = source.capture
            guard let watched = Self.find(tables, in: state) else { return [.tablesChanged] }
            let (position, history) = (position, history)
            // Read before the transaction begins, so that the transaction must have it, unless it is not needed any more.
            let known = source.known.withLockedValue { $0 }
            let answersAtOnce = !hasDeliveredCommit
            let look = try await source.pool.uncancelledRead { [source] db in
                guard try Self.isOwn(position, of: history, db), try known?.isPlausible(db) ?? true else {
                    return Look.historyLost
                }
                return try Self.look(
                    db,
                    of: source,
                    after: position,
                    state: state,
                    watched: watched,
                    answersAtOnce: answersAtOnce
                )
            }
            switch look {
            case .messages(let messages, let head):
                return messages + [commit(head)]
            case .historyLost:
                throw try await historyLost()
            case .long:
                if let batch = try await beginLongBatch(state) { return try await nextChunk(of: batch) }
            case .schemaChanged:
                // A new table may be one that the caller wants: only the caller knows.
                if try await source.synchroniseCapture().tables != state.tables { return [.tablesChanged] }
            case .nothing:
                let hasNews = try await source.waitForCommit(
                    after: version,
                    dataVersion: dataVersion,
                    polls: Self.maximumPolls
                )
                if !hasNews { return [] }
            }
        }
    }

    private mutating func commit(_ head: EmbeddedPosition) -> SourceMessage {
        position = head
        hasDeliveredCommit = true
        source.learn(head, of: history)
        return .commit(head.lsn)
    }

    // MARK: Histories

    /// Whether the log goes on from a position.
    private static func isOwn(_ position: EmbeddedPosition, of history: SourceHistory, _ db: Database) throws -> Bool {
        try SourceHistory.current(db) == history && position.isContained(in: db)
    }

    private func historyLost() async throws -> ReplicationSourceError {
        try await source.beginHistory(after: history)
        return ReplicationSourceError(
            .historyLost,
            """
            The embedded source is no longer what was replicated up to position \(position.lsn): the file was replaced or \
            restored while it was open. Its tables are copied again.
            """
        )
    }

    // MARK: Long batches

    /// - Returns: `nil` when the schema has changed meanwhile.
    private mutating func beginLongBatch(_ state: ChangeCapture.State) async throws -> LongBatch? {
        let (position, history) = (position, history)
        let snapshot = try await BlockingWork.run { [pool = source.pool] in try pool.makeSnapshot() }
        let head = try await snapshot.uncancelledRead { db in
            let isSame =
                try ChangeCapture.schemaVersion(db) == state.schemaVersion && Self.isOwn(position, of: history, db)
            return isSame ? try EmbeddedPosition.head(db) : nil
        }
        guard let head else { return nil }
        let batch = LongBatch(snapshot: snapshot, head: head, delivered: position.sequence)
        longBatch = batch
        return batch
    }

    private mutating func nextChunk(of batch: LongBatch) async throws -> [SourceMessage] {
        guard let watched = Self.find(tables, in: source.capture) else { return [.tablesChanged] }
        let limit = min(batch.delivered + Self.maximumEntries, batch.head.sequence)
        let chunk = try await batch.snapshot.uncancelledRead { [source] db in
            try Self.chunk(db, of: source, after: batch.delivered, through: limit, watched: watched)
        }
        longBatch?.delivered = chunk.end
        guard chunk.end == batch.head.sequence else { return chunk.messages }
        longBatch = nil
        return chunk.messages + [commit(batch.head)]
    }

    // MARK: Reading

    /// The captured tables of descriptors, or `nil` when one of them is no longer captured like that.
    private static func find(
        _ descriptors: [SourceTableDescriptor],
        in state: ChangeCapture.State
    ) -> [CapturedTable]? {
        let watched = descriptors.compactMap { descriptor in
            state.tables.first { $0.descriptor == descriptor }
        }
        return watched.count == descriptors.count ? watched : nil
    }

    private static func look(
        _ db: Database,
        of source: EmbeddedSource,
        after position: EmbeddedPosition,
        state: ChangeCapture.State,
        watched: [CapturedTable],
        answersAtOnce: Bool
    ) throws -> Look {
        guard try ChangeCapture.schemaVersion(db) == state.schemaVersion else { return .schemaChanged }
        let head = try EmbeddedPosition.head(db)
        if head.sequence - position.sequence > maximumEntries { return .long }
        if head == position, !answersAtOnce { return .nothing }
        let chunk = try chunk(db, of: source, after: position.sequence, through: head.sequence, watched: watched)
        // What is cut off must not be committed without the rest.
        guard chunk.end >= head.sequence else { return .long }
        return .messages(chunk.messages, head: head)
    }

    /// The changes of a range of the log, one for each key, in the order of the log.
    ///
    /// - Returns: The changes, and how far they reach: `limit`, or less if they are large.
    private static func chunk(
        _ db: Database,
        of source: EmbeddedSource,
        after position: Int64,
        through limit: Int64,
        watched: [CapturedTable]
    ) throws -> (messages: [SourceMessage], end: Int64) {
        var end = limit
        guard end > position else { return ([], end) }
        let touched = Set(
            try Int64.fetchAll(
                db,
                sql: "SELECT DISTINCT table_id FROM _ps_log WHERE seq > ? AND seq <= ?",
                arguments: [position, end]
            )
        )
        var changes: [(sequence: Int64, change: SourceChange, table: CapturedTable)] = []
        for table in watched where touched.contains(table.id) {
            end = try appendChanges(of: table, in: source, db, after: position, through: end, to: &changes)
        }
        changes.removeAll { $0.sequence > end }
        if touched.count > 1 { changes.sort { $0.sequence < $1.sequence } }
        var messages: [SourceMessage] = []
        for run in changes.chunked(by: { $0.table.id == $1.table.id }) {
            messages.append(.changes(run.map(\.change), relationID: String(run[run.startIndex].table.id)))
        }
        return (messages, end)
    }

    /// - Returns: How far the changes reach: `end`, or less if they are large.
    private static func appendChanges(
        of table: CapturedTable,
        in source: EmbeddedSource,
        _ db: Database,
        after position: Int64,
        through end: Int64,
        to changes: inout [(sequence: Int64, change: SourceChange, table: CapturedTable)]
    ) throws -> Int64 {
        let statement = try PreparedStatement(db, sql: table.logQuery)
        defer { statement.reset() }
        statement.bind(position, at: 1)
        statement.bind(end, at: 2)
        let keyIndexes = table.keyIndexes
        let keyColumns = 1...table.key.count
        let firstColumn = CInt(1 + table.key.count)
        var seen: Set<[SQLValue]> = []
        var bytes = 0
        while try statement.step() {
            guard let key = EmbeddedKey(statement, at: keyColumns).readable else {
                source.warnOfUnreadableKeys(table)
                continue
            }
            // All entries of a key find the same row. Keys that are not complete identify nothing.
            guard !key.contains(.null), seen.insert(key).inserted else { continue }
            let found = keyIndexes.map { statement.value(at: firstColumn + CInt($0)) }
            let change: SourceChange =
                found == key ? .update(statement.row(of: table.layout, from: firstColumn)) : .delete(key: key)
            let sequence = statement.integer(at: 0)
            changes.append((sequence, change, table))
            bytes += change.row?.estimatedBytes ?? 0
            if bytes >= Self.maximumBytes { return min(sequence, end) }
        }
        return end
    }
}

extension RandomAccessCollection {
    /// The longest runs of elements of which each belongs together with the next.
    fileprivate func chunked(by belongTogether: (Element, Element) -> Bool) -> [SubSequence] {
        var runs: [SubSequence] = []
        var start = startIndex
        var index = startIndex
        while index < endIndex {
            let next = self.index(after: index)
            if next == endIndex || !belongTogether(self[index], self[next]) {
                runs.append(self[start..<next])
                start = next
            }
            index = next
        }
        return runs
    }
}
