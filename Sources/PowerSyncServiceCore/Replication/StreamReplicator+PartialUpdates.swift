import PowerSyncSyncConfig

/// Updates of rows that the change stream does not know completely (docs/service.md "What a source promises").
extension StreamReplicator {
    /// The most that are looked for among all rows of a table, and their bytes.
    private static let scanLimits = (rows: 10_000, bytes: PresentRows.maximumBytes / 2)

    /// Completes updates with what their rows are now, and saves them.
    ///
    /// The answer may be newer than the update, by changes that the stream has yet to deliver. So a row that is saved here
    /// can be a mixture that the source never had, or be missing too early. No checkpoint is made before the stream has
    /// passed the position of the answer: by then these changes have been saved, too. A change of a cell that was left out
    /// is among them, and delivers it.
    ///
    /// While such updates go on, the position must not go on with each of them, or no checkpoint would ever be made: the answers
    /// are of the state that was read first, as long as that shows the transaction. And rows are read for updates of later transactions, too,
    /// if these have come already.
    ///
    /// - Parameters:
    ///   - updates: Updates of one message.
    ///   - table: Their table.
    ///   - ahead: What was read for messages before, and which messages follow.
    ///   - writer: Saves them.
    ///   - progress: How far the change stream has been followed.
    /// - Throws: An error of the source or the storage, or `CancellationError`.
    func save(
        _ updates: [PartialUpdate],
        of table: SourceTable,
        _ ahead: inout RowsAhead,
        with writer: inout any BucketStorageWriter,
        progress: inout Progress
    ) async throws {
        guard let reading = source.rowReading else {
            throw ReplicationSourceError(
                .unavailable,
                "The source leaves out cells of \(table.descriptor.name), and its rows cannot be read by their keys."
            )
        }
        let identity = table.descriptor.identity.map(\.name)

        var rest = updates[...]
        let isScan = updates.first?.isFoundByScan == true
        var maximumRows = isScan ? Self.scanLimits.rows : ahead.maximumRows
        let readBefore = progress.readAt
        while !rest.isEmpty {
            let batch = rest.prefix { ahead.hasRow(of: $0, identity, in: table) }
            guard let position = ahead.position, !batch.isEmpty else {
                var asked = Array(rest.prefix(maximumRows).withinScan(Self.scanLimits.bytes))
                if !isScan, asked.count == rest.count { asked += ahead.following(in: table, maximumRows - asked.count) }
                let keys = Set(asked.map { $0.key(of: identity) })
                let present = try await reading.rows(
                    of: table.descriptor,
                    keys: Array(keys),
                    showing: Set(asked.compactMap(\.moment))
                )
                guard present.position.history == progress.position.history else {
                    throw ReplicationSourceError(
                        .historyLost,
                        "The source was replaced or restored while its changes were read: its tables are copied again."
                    )
                }
                // The updates keep their order, so these are asked for again, as many as one answer holds.
                let isComplete = present.isComplete || keys.count == 1
                if !isComplete {
                    maximumRows = max(min(present.rows.count, asked.count / 2), 1)
                } else if present.estimatedBytes < PresentRows.maximumBytes / 2 {
                    maximumRows = min(maximumRows * 2, isScan ? Self.scanLimits.rows : RowsAhead.mostRows)
                }
                if !isScan { ahead.maximumRows = maximumRows }
                if isComplete { ahead.take(present, for: asked, identity, in: table) }
                continue
            }
            rest = rest.dropFirst(batch.count)
            // Before the rows: what is saved may be written at any time.
            if progress.readAt.map({ $0 < position }) ?? true {
                try await writer.forbidCheckpoints(before: position)
                progress.readAt = position
            }
            let changes = batch.map { update in
                let key = update.row.key(of: identity)
                guard let row = ahead.rows[key] else { return SourceChange.delete(key: update.oldKey ?? key) }
                return .update(update.completed(by: row), oldKey: update.oldKey, isNew: update.isNew)
            }
            rejections.report(try await writer.save(changes, of: table, mode: .stream))
            statistics.didSave(changes)
            touch()
        }
        // An idle source would never get beyond the position.
        if progress.readAt != readBefore { try await source.emitMarker() }
    }
}

extension ArraySlice<PartialUpdate> {
    /// The first of them whose keys have so many bytes, one at least; all when they are found by an index.
    fileprivate func withinScan(_ limit: Int) -> ArraySlice {
        guard first?.isFoundByScan == true else { return self }
        var bytes = 0
        let end = firstIndex { update in
            bytes += update.row.estimatedBytes
            return bytes > limit
        }
        return prefix(upTo: Swift.max(end ?? endIndex, index(after: startIndex)))
    }
}

extension PresentRows {
    fileprivate var estimatedBytes: Int { rows.reduce(0) { $0 + $1.estimatedBytes } }
}

extension PartialUpdate {
    /// The key by which the source is asked for the row.
    fileprivate func key(of identity: [String]) -> [SQLValue] { sourceKey ?? row.key(of: identity) }

    /// The row with the cells that were left out taken from what it is now.
    fileprivate func completed(by present: SourceRow) -> SourceRow {
        guard row.layout.names != present.layout.names else { return row }
        let values = zip(present.layout.names, present.values).map { name, value in row[name] ?? value }
        return SourceRow(layout: present.layout, values: values, key: row.key)
    }
}

/// Rows that are read by their keys, for all messages that have come together: those that follow each other in a change stream are often
/// transactions of one row each.
struct RowsAhead {
    /// The most rows that are asked for at once.
    static let mostRows = 100

    /// What rows were asked for.
    private struct Question: Hashable {
        var tableID: String
        var key: [SQLValue]
        /// What the answer had to show.
        var moment: SourceMoment?
    }

    /// How many rows are asked for at once, of which one answer has held all.
    var maximumRows = Self.mostRows
    /// The last answer, by the identities of rows.
    private(set) var rows: [[SQLValue]: SourceRow] = [:]
    /// Where everything that it shows is in the change stream; `nil` when there is none.
    private(set) var position: LSN?
    private var questions: Set<Question> = []
    private var messages: ArraySlice<SourceMessage> = []

    /// A message is worked on.
    ///
    /// - Parameter following: The messages after it that have come.
    mutating func begin(followedBy following: ArraySlice<SourceMessage>) { messages = following }

    /// There are no other messages: what was read may not be what later ones need.
    mutating func end() { self = RowsAhead(maximumRows: maximumRows) }

    /// Creates what knows nothing yet.
    init(maximumRows: Int = Self.mostRows) {
        self.maximumRows = maximumRows
    }

    /// The first updates of a table in the messages that follow.
    fileprivate func following(in table: SourceTable, _ count: Int) -> [PartialUpdate] {
        var updates: [PartialUpdate] = []
        for message in messages {
            guard updates.count < count else { break }
            guard case .partialUpdates(let more, table.descriptor.relationID) = message,
                more.first?.isFoundByScan != true
            else { continue }
            updates += more.prefix(count - updates.count)
        }
        return updates
    }

    fileprivate mutating func take(
        _ present: PresentRows,
        for updates: [PartialUpdate],
        _ identity: [String],
        in table: SourceTable
    ) {
        rows = Dictionary(present.rows.map { ($0.key(of: identity), $0) }) { $1 }
        position = present.position.lsn
        questions = Set(updates.map { Question(tableID: table.id, key: $0.key(of: identity), moment: $0.moment) })
    }

    /// Whether the last answer tells of the row of an update.
    fileprivate func hasRow(of update: PartialUpdate, _ identity: [String], in table: SourceTable) -> Bool {
        guard !questions.isEmpty else { return false }
        return questions.contains(Question(tableID: table.id, key: update.key(of: identity), moment: update.moment))
    }
}
