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
    /// are of the state that was read first, as long as that shows the transaction. Rows are read for updates of later transactions, too, which
    /// have come already, but of these only for those that need no newer state.
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
            let known = ahead.answer(in: table)
            let batch = rest.prefix { known?.tells(of: $0, identity) ?? false }
            guard let answer = known, !batch.isEmpty else {
                var asked = Array(rest.prefix(maximumRows).withinScan(Self.scanLimits.bytes))
                if !isScan, asked.count == rest.count {
                    asked += ahead.following(in: table, maximumRows - asked.count, after: progress.readAt, reading)
                }
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
                if isComplete { ahead.take(RowsAhead.Answer(present, to: asked, identity), in: table) }
                continue
            }
            rest = rest.dropFirst(batch.count)
            // Before the rows: what is saved may be written at any time.
            if progress.readAt.map({ $0 < answer.position }) ?? true {
                try await writer.forbidCheckpoints(before: answer.position)
                progress.readAt = answer.position
            }
            let changes = batch.map { update in
                let key = update.row.key(of: identity)
                guard let row = answer.rows[key] else { return SourceChange.delete(key: update.oldKey ?? key) }
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

    /// What was read of a table.
    fileprivate struct Answer {
        /// What a row was asked for.
        private struct Question: Hashable {
            var key: [SQLValue]
            /// What the answer had to show.
            var moment: SourceMoment?
        }

        /// The rows that there are, by their identities.
        let rows: [[SQLValue]: SourceRow]
        let estimatedBytes: Int
        /// Where everything that they show is in the change stream.
        let position: LSN
        private let questions: Set<Question>

        init(_ present: PresentRows, to updates: [PartialUpdate], _ identity: [String]) {
            rows = Dictionary(present.rows.map { ($0.key(of: identity), $0) }) { $1 }
            estimatedBytes = present.estimatedBytes
            position = present.position.lsn
            questions = Set(updates.map { Question(key: $0.key(of: identity), moment: $0.moment) })
        }

        /// Whether it tells of the row of an update.
        func tells(of update: PartialUpdate, _ identity: [String]) -> Bool {
            questions.contains(Question(key: update.key(of: identity), moment: update.moment))
        }
    }

    /// How many rows are asked for at once, of which one answer has held all.
    fileprivate var maximumRows = Self.mostRows
    /// The last answer of each table, by the ids of their records.
    private var answers: [String: Answer] = [:]
    private var messages: ArraySlice<SourceMessage> = []

    /// A message is worked on.
    ///
    /// - Parameter following: The messages after it that have come.
    mutating func begin(followedBy following: ArraySlice<SourceMessage>) { messages = following }

    /// There are no other messages: what was read may not be what later ones need.
    mutating func end() { (answers, messages) = ([:], []) }

    /// The first updates of a table in the messages that follow, for which rows can be read at once with others.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - count: The most updates.
    ///   - readAt: The position of what was read before; `nil` when the stream has passed it. A checkpoint can be made there: what comes after it
    ///     is left out, and what a newer state would have to be read for, whose position is later.
    ///   - reading: What reads.
    /// - Returns: The updates.
    fileprivate func following(
        in table: SourceTable,
        _ count: Int,
        after readAt: LSN?,
        _ reading: any RowReadingSource
    ) -> [PartialUpdate] {
        var updates: [PartialUpdate] = []
        for message in messages {
            if case .commit(let lsn) = message, let readAt, lsn >= readAt { break }
            guard case .partialUpdates(let more, table.descriptor.relationID) = message,
                more.first?.isFoundByScan != true
            else { continue }
            for update in more {
                if readAt != nil, let moment = update.moment, !reading.shows(moment) { return updates }
                guard updates.count < count else { return updates }
                updates.append(update)
            }
        }
        return updates
    }

    /// The last answer of a table; `nil` when there is none.
    fileprivate func answer(in table: SourceTable) -> Answer? { answers[table.id] }

    /// Keeps an answer, and those of other tables as long as all of them are not larger than one may be.
    fileprivate mutating func take(_ answer: Answer, in table: SourceTable) {
        let others = answers.filter { $0.key != table.id }.values.reduce(0) { $0 + $1.estimatedBytes }
        if others + answer.estimatedBytes > PresentRows.maximumBytes { answers = [:] }
        answers[table.id] = answer
    }
}
