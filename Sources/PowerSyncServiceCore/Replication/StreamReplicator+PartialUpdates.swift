import PowerSyncSyncConfig

/// Updates of rows that the change stream does not know completely (docs/service.md "What a source promises").
extension StreamReplicator {
    /// The most rows that are asked for at once.
    private static let maximumRows = 100
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
    /// are of the state that was read first, as long as that shows the transaction.
    func save(
        _ updates: [PartialUpdate],
        of table: SourceTable,
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
        let most = updates.first?.isFoundByScan == true ? Self.scanLimits.rows : Self.maximumRows
        var maximumRows = most
        let readBefore = progress.readAt
        while !rest.isEmpty {
            let batch = rest.prefix(maximumRows).withinScan(Self.scanLimits.bytes)
            let keys = Set(batch.map { $0.sourceKey ?? $0.row.key(of: identity) })
            let present = try await reading.rows(
                of: table.descriptor,
                keys: Array(keys),
                showing: batch.first?.moment
            )
            guard present.position.history == progress.position.history else {
                throw ReplicationSourceError(
                    .historyLost,
                    "The source was replaced or restored while its changes were read: its tables are copied again."
                )
            }
            // The updates keep their order, so these are asked for again, as many as one answer holds.
            guard present.isComplete || keys.count == 1 else {
                maximumRows = max(min(present.rows.count, batch.count / 2), 1)
                continue
            }
            if present.estimatedBytes < PresentRows.maximumBytes / 2 {
                maximumRows = min(maximumRows * 2, most)
            }
            rest = rest.dropFirst(batch.count)
            // Before the rows: what is saved may be written at any time.
            if progress.readAt.map({ $0 < present.position.lsn }) ?? true {
                try await writer.forbidCheckpoints(before: present.position.lsn)
                progress.readAt = present.position.lsn
            }
            let rows = Dictionary(present.rows.map { ($0.key(of: identity), $0) }) { $1 }
            let changes = batch.map { update in
                let key = update.row.key(of: identity)
                guard let row = rows[key] else { return SourceChange.delete(key: update.oldKey ?? key) }
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
    /// The row with the cells that were left out taken from what it is now.
    fileprivate func completed(by present: SourceRow) -> SourceRow {
        guard row.layout.names != present.layout.names else { return row }
        let values = zip(present.layout.names, present.values).map { name, value in row[name] ?? value }
        return SourceRow(layout: present.layout, values: values, key: row.key)
    }
}
