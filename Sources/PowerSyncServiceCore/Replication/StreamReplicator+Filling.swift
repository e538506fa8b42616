import Logging
import PowerSyncSyncConfig

/// Reading tables while changes are followed (``TableFill``).
extension StreamReplicator {
    /// After how long a table that cannot be read is tried again.
    private static let fillPause = Duration.seconds(30)

    /// What has to be read for the next config, and because columns are others than they were.
    ///
    /// - Parameters:
    ///   - tables: The records of the tables that are followed.
    ///   - progress: What was read since the job began, and which tables are left out.
    /// - Returns: `nil` when there is nothing, and no next config.
    func fill(of tables: [SourceTable], _ progress: Progress) -> TableFill? {
        guard let next = stream.next else {
            let outdated = tables.filter(\.isOutdated)
            guard !outdated.isEmpty else { return nil }
            return TableFill(number: stream.configNumber, tables: outdated, added: nil, isWhole: false)
        }
        let added = stream.plan.parts(addedBy: next.plan)
        let missing = tables.filter { table in
            table.isOutdated
                || !next.isFilled && !isFilled(table, progress) && added.readsTable(table.descriptor.name)
        }
        // A table that is locked or damaged for now would be missing in the config; when it can be read, there is another fill.
        let isWhole = !(progress.obstacles ?? []).contains { $0.keepsRows && added.readsTable($0.table) }
        return TableFill(number: next.number, tables: missing, added: added, isWhole: isWhole)
    }

    /// Whether the rows of a table have been read for the next config.
    private func isFilled(_ table: SourceTable, _ progress: Progress) -> Bool {
        stream.next?.filledTables.contains(table.id) == true || progress.filledTables.contains(table.id)
    }

    /// Whether rows that were read of a table have other values for a part of a config, now that columns are others.
    ///
    /// - Parameters:
    ///   - table: The record of the table, with the columns that it had.
    ///   - descriptor: The table as it is now.
    ///   - progress: What was read since the job began.
    /// - Returns: `false` when all parts that have rows read other columns.
    func isOutdated(_ table: SourceTable, by descriptor: SourceTableDescriptor, _ progress: Progress) -> Bool {
        let changed = descriptor.changedColumns(since: table.descriptor)
        if stream.plan.reads(changed, of: descriptor.name) { return true }
        // Columns that only the next config reads are not in the record before its first look at the table.
        guard let next = stream.next, isFilled(table, progress) || table.fill?.configNumber == next.number else {
            return false
        }
        return stream.plan.parts(addedBy: next.plan).reads(changed, of: descriptor.name)
    }

    // MARK: Reading

    /// Says which tables are read from now on, with about how many rows, as far as the source knows.
    ///
    /// - Returns: These counts; a table of which nothing is known is not there.
    /// - Throws: `CancellationError`.
    @discardableResult
    func announce(_ tables: [SourceTable]) async throws -> [SourceTableName: Int64] {
        guard !tables.isEmpty else { return [:] }
        let names = Set(tables.map(\.descriptor.name))
        let rows = try await source.knownRows { names.contains($0) }
        for table in tables {
            let name = table.descriptor.name
            var metadata: Logger.Metadata = [LogKey.table: "\(name)"]
            if let count = rows[name] { metadata[LogKey.estimatedRows] = .stringConvertible(count) }
            logger.notice("A table of the source is about to be read", metadata: metadata)
        }
        return rows
    }

    /// Reads all tables.
    ///
    /// - Parameters:
    ///   - fill: What they are, and where their rows go.
    ///   - builders: What evaluates the rows of each of them.
    ///   - history: The history that is followed.
    func read(for fill: TableFill, with builders: [RecordBuilder], in history: SourceHistory) async {
        do {
            try await announce(fill.tables)
            for (table, builder) in zip(fill.tables, builders) {
                var key = table.fill.flatMap { $0.configNumber == fill.number ? $0.lastKey : nil }
                var builder = builder
                while try await !readRows(of: table, after: &key, with: &builder, for: fill, in: history) { touch() }
                // Rows that went away while it was read are gone for the follower, too.
                try await hand(.table, to: fill, at: try await head(in: history))
            }
            try await hand(.everything, to: fill, at: nil)
        } catch {
            fill.fail(error)
        }
    }

    /// Reads rows of a table until there are no more, or they have to be read once more.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - key: Where the rows begin; that of the last rows that were saved, afterwards.
    ///   - builder: What evaluates them.
    ///   - fill: Where the rows go.
    ///   - history: The history that is followed.
    /// - Returns: Whether there are no more.
    /// - Throws: An error of the source, or `CancellationError`.
    private func readRows(
        of table: SourceTable,
        after key: inout SnapshotKey?,
        with builder: inout RecordBuilder,
        for fill: TableFill,
        in history: SourceHistory
    ) async throws -> Bool {
        let low = try await head(in: history)
        try await ask(for: low, fill)
        try await fill.waitUntilReached(low)
        // Keys are noted from here on only: what was saved before must be in the rows. It may have been of the columns that were before.
        fill.begin(table)
        do {
            try await source.waitUntilShown(table.descriptor)
            var reader = try await source.snapshot(of: table.descriptor, after: key)
            var read = try await next(of: &reader, after: nil, with: &builder, for: fill, in: history)
            while let chunk = read {
                fill.offer(.rows(chunk.records, upTo: chunk.lastKey), at: chunk.high)
                if let high = chunk.high { try await ask(for: high, fill) }
                // While these rows are saved, the next ones are read. Whatever comes of that, nothing begins before these are taken.
                let following: Result<EvaluatedChunk?, any Error>
                do {
                    following = .success(
                        try await next(of: &reader, after: chunk, with: &builder, for: fill, in: history)
                    )
                } catch {
                    following = .failure(error)
                }
                guard try await fill.waitUntilTaken() else { return false }
                statistics.didCopy(rows: chunk.records.count, bytes: chunk.bytes)
                key = chunk.lastKey ?? key
                touch()
                read = try following.get()
            }
            return true
        } catch let error as ReplicationSourceError where error.code == .tableUnavailable {
            logger.warning(
                "A table cannot be read beside the change stream, and is tried again; clients keep what they have",
                metadata: [LogKey.table: "\(table.descriptor.name)", LogKey.error: "\(error.message)"]
            )
            try await clock.sleep(for: Self.fillPause)
            return false
        }
    }

    /// Rows that were read and evaluated, at most as many as are saved in one storage transaction.
    private struct EvaluatedChunk {
        var records: [PendingRecord] = []
        /// The estimated bytes of the operations.
        var size = 0
        /// The bytes of the rows.
        var bytes = 0
        /// Rows of the last chunk of the source that are still to be evaluated, and where those after them begin.
        var rest: (rows: ArraySlice<SourceRow>, endKey: SnapshotKey)?
        /// Where the rows begin that are not among these; `nil` when that is in the first chunk of the source.
        var lastKey: SnapshotKey?
        /// A position that shows all that the rows show.
        var high: LSN?

        /// Whether no other row belongs to them, if the follower waits for them or is busy.
        func isFull(_ isAwaited: @autoclosure () -> Bool) -> Bool {
            size >= PendingChanges.Limits.tables.bytes || records.count >= PendingChanges.Limits.tables.records
                || records.count >= SnapshotChunk.maximumRows && isAwaited()
        }
    }

    /// The next rows; `nil` when there are no more.
    ///
    /// Chunks of the source are joined while the follower is busy with the rows before: the states of rows lie everywhere in their table,
    /// so the fewer storage transactions there are, the fewer pages are written.
    private func next(
        of reader: inout any SnapshotReader,
        after last: EvaluatedChunk?,
        with builder: inout RecordBuilder,
        for fill: TableFill,
        in history: SourceHistory
    ) async throws -> EvaluatedChunk? {
        var chunk = EvaluatedChunk()
        chunk.rest = last?.rest
        while !chunk.isFull(fill.isTaken) {
            guard let rest = chunk.rest else {
                if !chunk.records.isEmpty, fill.isTaken { break }
                guard let read = try await reader.next() else { break }
                touch()
                chunk.rest = (read.rows[...], read.lastKey)
                continue
            }
            chunk.rest = nil
            var rows = rest.rows
            while !chunk.isFull(fill.isTaken), let row = rows.popFirst() {
                let record = builder.evaluate(.update(row))
                chunk.records.append(record)
                chunk.size += record.size
                chunk.bytes += row.byteCount
            }
            if rows.isEmpty { chunk.lastKey = rest.endKey } else { chunk.rest = (rows, rest.endKey) }
        }
        guard !chunk.records.isEmpty || chunk.lastKey != nil else { return nil }
        chunk.high = try await head(in: history)
        return chunk
    }

    /// Makes the follower come to a position, also if nothing else happens at the source.
    private func ask(for lsn: LSN, _ fill: TableFill) async throws {
        if !fill.hasReached(lsn) { try await source.emitMarker() }
    }

    /// Tells the follower of an end, which it looks at with the marker that follows: the checkpoint there shows what it has saved.
    ///
    /// - Parameters:
    ///   - end: The end.
    ///   - fill: Where it goes.
    ///   - high: A position that shows it.
    /// - Throws: An error of the source, or `CancellationError`.
    private func hand(_ end: TableFill.Offer, to fill: TableFill, at high: LSN?) async throws {
        fill.offer(end, at: high)
        try await source.emitMarker()
        _ = try await fill.waitUntilTaken()
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

    /// Saves what was read, if the follower has come to where it was read.
    func save(_ fill: TableFill, with writer: inout any BucketStorageWriter, progress: inout Progress) async throws {
        guard let taken = try fill.take() else { return }
        switch taken {
        case .rows(let records, let key, let table):
            rejections.report(try await writer.save(records))
            if let key { writer.recordFill(SourceTable.Fill(configNumber: fill.number, lastKey: key), of: table) }
        case .table(let table):
            try await writer.markFilled(table, forConfig: fill.number)
            progress.filledTables.insert(table.id)
            logger.notice(
                "A table of the source has been read beside the change stream",
                metadata: [LogKey.table: "\(table.descriptor.name)"]
            )
        case .everything:
            progress.fill = nil
            progress.isAwaited = true
            if fill.isWhole { try await writer.markFilled(nil, forConfig: fill.number) }
            // An idle source would make no checkpoint.
            try await source.emitMarker()
        }
        fill.didTake()
        touch()
        guard case .rows = taken else { return }
        // Not with the next commit, which comes when the reader has evaluated the next rows.
        try await writer.flush()
        touch()
    }
}
