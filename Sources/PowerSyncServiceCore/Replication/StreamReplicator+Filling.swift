import Logging
import PowerSyncSyncConfig

/// Reading tables for the next config while changes are followed (``ConfigFill``).
extension StreamReplicator {
    /// After how long a table that cannot be read is tried again.
    private static let fillPause = Duration.seconds(30)

    /// What has to be read for the next config.
    ///
    /// - Parameters:
    ///   - tables: The records of the tables that are followed.
    ///   - progress: What was read for it since the job began, and which tables are left out.
    /// - Returns: `nil` when there is no next config.
    func fill(of tables: [SourceTable], _ progress: Progress) -> ConfigFill? {
        guard let next = stream.next else { return nil }
        let added = stream.plan.parts(addedBy: next.plan)
        let missing = tables.filter { table in
            !next.isFilled && !next.filledTables.contains(table.id) && !progress.filledTables.contains(table.id)
                && added.readsTable(table.descriptor.name)
        }
        // A table that is locked for now would be missing in the config; when it can be read, there is another fill.
        let isWhole = !(progress.obstacles ?? []).contains { $0.reason == .locked && added.readsTable($0.table) }
        return ConfigFill(number: next.number, tables: missing, isWhole: isWhole)
    }

    // MARK: Reading

    /// Reads all tables.
    ///
    /// - Parameters:
    ///   - fill: What they are, and where their rows go.
    ///   - history: The history that is followed.
    func read(for fill: ConfigFill, in history: SourceHistory) async {
        do {
            for table in fill.tables {
                var key: SnapshotKey?
                while try await !readChunk(of: table, after: &key, for: fill, in: history) { touch() }
                _ = try await hand(.table, at: nil, to: fill)
            }
            if fill.isWhole { _ = try await hand(.everything, at: nil, to: fill) }
        } catch {
            fill.fail(error)
        }
    }

    /// Reads the next rows of a table.
    ///
    /// - Returns: Whether there are no more.
    private func readChunk(
        of table: SourceTable,
        after key: inout SnapshotKey?,
        for fill: ConfigFill,
        in history: SourceHistory
    ) async throws -> Bool {
        fill.begin(table)
        let low = try await head(in: history)
        try await source.emitMarker()
        try await fill.waitUntilReached(low)
        do {
            // Keys are noted from here on only: what was saved before must be in the rows.
            try await source.waitUntilShown(table.descriptor)
            var reader = try await source.snapshot(of: table.descriptor, after: key)
            while let chunk = try await reader.next() {
                let high = try await head(in: history)
                guard try await hand(.rows(chunk.rows), at: high, to: fill) else { return false }
                statistics.didCopy(chunk.rows)
                let goesOn = chunk.lastKey != key && !chunk.rows.isEmpty
                key = chunk.lastKey
                // The keys of changes are noted for one chunk. A table without an order of its rows is read as a whole: another reader
                // would begin again.
                if goesOn { return false }
            }
            return true
        } catch let error as ReplicationSourceError where error.code == .tableUnavailable {
            logger.warning(
                "A table cannot be read for the next sync config, and is tried again; clients are served the present one",
                metadata: [LogKey.table: "\(table.descriptor.name)", LogKey.error: "\(error.message)"]
            )
            try await clock.sleep(for: Self.fillPause)
            return false
        }
    }

    /// Hands something to the follower, which looks at it with the marker that follows.
    private func hand(_ offer: ConfigFill.Offer, at high: LSN?, to fill: ConfigFill) async throws -> Bool {
        fill.offer(offer, at: high)
        try await source.emitMarker()
        return try await fill.waitUntilTaken()
    }

    /// The position of the source.
    private func head(in history: SourceHistory) async throws -> LSN {
        let head = try await source.markedHead()
        guard head.history == history else {
            throw ReplicationSourceError(
                .historyLost,
                "The source was replaced or restored while its tables were read: they are copied again."
            )
        }
        return head.lsn
    }

    // MARK: Saving

    /// Saves what was read, if the change stream has come to where it was read.
    func save(_ fill: ConfigFill, with writer: inout any BucketStorageWriter, progress: inout Progress) async throws {
        try fill.reached(progress.position.lsn)
        guard let (offer, table) = fill.take() else { return }
        switch (offer, table) {
        case (.rows(let rows), let table?):
            let changes = rows.map { SourceChange.update($0) }
            rejections.report(try await writer.save(changes, of: table, mode: .stream))
        case (.table, let table?):
            try await writer.markFilled(table, forConfig: fill.number)
            progress.filledTables.insert(table.id)
            logger.notice(
                "A table of the source has been read for the next sync config",
                metadata: [LogKey.table: "\(table.descriptor.name)"]
            )
        case (.everything, _):
            try await writer.markFilled(nil, forConfig: fill.number)
            progress.fill = nil
            progress.isAwaited = true
            // An idle source would make no checkpoint.
            try await source.emitMarker()
        default: break
        }
        fill.didTake()
        touch()
    }
}
