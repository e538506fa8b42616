import PowerSyncRules

/// Updates of rows that the change stream does not know completely (docs/service.md "What a source promises").
extension StreamReplicator {
    /// The most rows that are asked for at once; they have large cells.
    private static let maximumRows = 100

    /// Completes updates with what their rows are now, and saves them.
    ///
    /// The answer may be newer than the update, by changes that the stream has yet to deliver. So a row that is saved here
    /// can be a mixture that the source never had, or be missing too early. No checkpoint is made before the stream has
    /// passed the position of the answer: by then these changes have been saved, too. A change of a cell that was left out
    /// is among them, and delivers it.
    func save(
        _ updates: [PartialUpdate],
        of table: SourceTable,
        with writer: inout any BucketStorageWriter,
        history: SourceHistory
    ) async throws {
        let identity = table.descriptor.identity.map(\.name)
        func key(of row: SourceRow) -> [SQLiteValue] { identity.map { row[$0] ?? .null } }

        var rest = updates[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.maximumRows)
            rest = rest.dropFirst(Self.maximumRows)
            let keys = Set(batch.map { key(of: $0.row) })
            let present = try await source.rows(of: table.descriptor, keys: Array(keys))
            guard present.position.history == history else {
                throw ReplicationSourceError(
                    .historyLost,
                    "The source was replaced or restored while its changes were read: its tables are copied again."
                )
            }
            // Before the rows: what is saved may be written at any time.
            try await writer.forbidCheckpoints(before: present.position.lsn)
            let rows = Dictionary(present.rows.map { (key(of: $0), $0) }) { $1 }
            let changes = batch.map { update in
                let key = key(of: update.row)
                guard let row = rows[key] else { return SourceChange.delete(key: update.oldKey ?? key) }
                return .update(update.completed(by: row), oldKey: update.oldKey)
            }
            rejections.report(try await writer.save(changes, of: table, mode: .stream))
            statistics.didSave(changes)
            touch()
        }
        // An idle source would never get beyond the position.
        try await source.emitMarker()
    }
}

extension PartialUpdate {
    /// The row with the cells that were left out taken from what it is now.
    fileprivate func completed(by present: SourceRow) -> SourceRow {
        let values = zip(present.layout.names, present.values).map { name, value in row[name] ?? value }
        return SourceRow(layout: present.layout, values: values)
    }
}
