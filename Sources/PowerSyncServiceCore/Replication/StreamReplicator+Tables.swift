import Logging
import PowerSyncSyncConfig

/// Tables: which ones are followed, which ones are copied, and which ones are left out.
extension StreamReplicator {
    /// The tables of the plan.
    struct FoundTables {
        /// All that the source has.
        var described: [SourceTableDescriptor] = []
        /// The records of those that are copied and followed.
        var read: [SourceTable] = []
    }

    /// Finds the records of the tables that the plan reads, and drops all others.
    ///
    /// A table with an obstacle is left out. Of one that was copied before in another form, clients may keep the rows
    /// (``TableObstacle/keepsRows``); then there are two records of it, and the older one is never followed again.
    func resolveTables(
        _ writer: inout any BucketStorageWriter,
        progress: inout Progress
    ) async throws -> FoundTables {
        let followed = progress.position
        var tables = FoundTables(described: try await source.tables(for: stream.writtenPlan))
        var kept: Set<String> = []
        var obstacles: [TableObstacle] = []
        for descriptor in tables.described {
            var resolved = try await writer.resolveTable(descriptor)
            if resolved.table.isSnapshotDone, !resolved.outdated.isEmpty, resolved.earlier == nil {
                // It was left out in the meantime in another form, and its changes were not followed.
                try await remove([resolved.table] + resolved.outdated, for: tables.described, from: &writer, followed)
                resolved = try await writer.resolveTable(descriptor)
            }
            if resolved.table.descriptor != descriptor {
                resolved = try await takeColumns(of: descriptor, resolved, from: &writer, progress)
            }
            if let earlier = resolved.earlier, try await takeRows(of: earlier, into: &resolved.table, writer: &writer) {
                kept.insert(earlier.id)
            }
            guard !resolved.table.isSnapshotDone, let obstacle = try await source.obstacle(to: descriptor) else {
                tables.read.append(resolved.table)
                kept.insert(resolved.table.id)
                continue
            }
            if obstacle.keepsRows, !progress.isActive, try await storage.activeStream() != nil {
                // Clients are served from another stream, and would lose rows that they have.
                throw ReplicationSourceError(.unavailable, obstacle.message)
            }
            obstacles.append(obstacle)
            if obstacle.keepsRows { kept.formUnion(resolved.outdated.map(\.id)) }
            // What was copied of a table is shown as a whole, or not at all.
            if resolved.table.lastSnapshotKey == nil { kept.insert(resolved.table.id) }
        }
        leaveOut(obstacles, progress: &progress)
        let dropped = writer.sourceTables.filter { !kept.contains($0.id) }
        try await remove(dropped, for: tables.described, from: &writer, followed)
        return tables
    }

    /// Records the columns of a table that has others than it had.
    ///
    /// If rows have other values by that, a copy that is not complete begins anew, and a complete one is read again beside the change
    /// stream. One that cannot be read now is to be copied again, and so is one whose changes cannot be read on (``ColumnEffect``).
    private func takeColumns(
        of descriptor: SourceTableDescriptor,
        _ resolved: ResolvedTable,
        from writer: inout any BucketStorageWriter,
        _ progress: Progress
    ) async throws -> ResolvedTable {
        let earlier = resolved.table.descriptor
        var effect = ColumnEffect.none
        if isOutdated(resolved.table, by: descriptor, progress) {
            effect = source.effect(ofColumnsOf: descriptor, after: earlier, in: stream.sourceHandle)
        }
        guard resolved.table.isSnapshotDone || effect == .none else {
            try await remove([resolved.table], for: [descriptor], from: &writer, progress.position)
            return try await writer.resolveTable(descriptor)
        }
        if effect == .readAgain, try await source.obstacle(to: descriptor) != nil { effect = .copyAnew }
        if effect == .copyAnew { return try await writer.resolveTable(descriptor, hasItsColumns: true) }
        if effect == .readAgain {
            let changed = descriptor.changedColumns(since: earlier).sorted()
            logger.notice(
                "A table of the source has other columns: its rows are read again beside the change stream",
                metadata: [
                    LogKey.table: "\(descriptor.name)", LogKey.changed: "\(changed.joined(separator: ", "))",
                ]
            )
        }
        let columns = descriptor.columns
        let table = try await writer.setColumns(columns, of: resolved.table, outdates: effect == .readAgain)
        return ResolvedTable(table: table, outdated: resolved.outdated, earlier: resolved.earlier)
    }

    /// Keeps the rows of a table that the change stream names by other columns now: they are read beside it, to find what is stored of each.
    ///
    /// - Parameters:
    ///   - earlier: The record of the table as it was.
    ///   - table: The record of the table as it is.
    ///   - writer: The writer.
    /// - Returns: Whether the rows are kept; `false` when the table cannot be read now.
    /// - Throws: An error of the source or the storage, or `CancellationError`.
    private func takeRows(
        of earlier: SourceTable,
        into table: inout SourceTable,
        writer: inout any BucketStorageWriter
    ) async throws -> Bool {
        // It was begun before.
        if table.isSnapshotDone { return true }
        guard try await source.obstacle(to: table.descriptor) == nil else { return false }
        logger.notice(
            "The source names the rows of a table by other columns: they are read beside the change stream, and kept",
            metadata: [
                LogKey.table: "\(table.descriptor.name)",
                LogKey.changed: "\(table.descriptor.changes(since: earlier.descriptor).joined(separator: ", "))",
            ]
        )
        table = try await writer.takeRows(of: earlier, into: table)
        return true
    }

    /// Says which tables are left out, if they are not those that were left out before.
    private func leaveOut(_ obstacles: [TableObstacle], progress: inout Progress) {
        func isSame(_ lhs: TableObstacle, _ rhs: TableObstacle) -> Bool {
            lhs.table == rhs.table && lhs.reason == rhs.reason
        }
        guard obstacles != progress.obstacles else { return }
        let before = progress.obstacles ?? []
        progress.obstacles = obstacles
        progress.lag.lockedSince = obstacles.filter { $0.reason == .locked }.map(\.since).min()
        for obstacle in obstacles where !before.contains(where: { isSame($0, obstacle) }) {
            logger.warning(
                "A table of the source is left out until it can be read; the others are replicated",
                metadata: [
                    LogKey.table: "\(obstacle.table)", LogKey.error: "\(obstacle.message)",
                ]
            )
        }
        for obstacle in before where !obstacles.contains(where: { $0.table == obstacle.table }) {
            logger.notice(
                "A table of the source that was left out is so no longer",
                metadata: [LogKey.table: "\(obstacle.table)"]
            )
        }
        didLeaveOut(obstacles)
    }

    /// Drops tables with their rows, and says why, as far as what the source has now tells.
    private func remove(
        _ dropped: [SourceTable],
        for described: [SourceTableDescriptor] = [],
        from writer: inout any BucketStorageWriter,
        _ followed: SourcePosition
    ) async throws {
        // They are gone now, and the stream may be long before: what took them away may have put their rows elsewhere.
        if !dropped.isEmpty { try await writer.forbidCheckpoints(before: try await head(after: followed)) }
        for outdated in dropped {
            let earlier = outdated.descriptor
            let changes =
                described
                .filter { $0.name == earlier.name && (!$0.sharesName || $0.relationID == earlier.relationID) }
                .flatMap { $0.changes(since: earlier) }
            var metadata: Logger.Metadata = [LogKey.table: "\(earlier.name)"]
            if !changes.isEmpty { metadata[LogKey.changed] = "\(changes.joined(separator: ", "))" }
            logger.notice(
                "A table of the source is gone or has another form: its rows are removed",
                metadata: metadata
            )
            try await writer.drop(outdated, touch: touch)
        }
    }

    // MARK: Copies

    /// Copies the tables that have not been copied yet.
    func copy(
        _ tables: [SourceTable],
        with writer: inout any BucketStorageWriter,
        followed: SourcePosition
    ) async throws {
        // What only the next config reads is read while changes are followed.
        let missing = tables.filter { !$0.isSnapshotDone && stream.plan.readsTable($0.descriptor.name) }
        let estimates = try await announce(missing)
        defer { statistics.didEndCopies(of: stream.id) }
        var pace = CopyPace(clock)
        for (index, table) in missing.enumerated() {
            let name = table.descriptor.name
            statistics.willCopy(
                .init(
                    table: name,
                    // Of a table of which an earlier attempt has read a part, nobody has counted that part.
                    estimatedRows: table.lastSnapshotKey == nil ? estimates[name] : nil,
                    copiedTables: index,
                    tables: missing.count
                ),
                for: stream.id
            )
            let rows: Int
            do {
                rows = try await TracedWork.run(.copy) { work in
                    work.set("table", "\(name)")
                    let rows = try await copy(table, with: &writer, &pace)
                    work.set("rows", rows)
                    return rows
                }
            } catch let error as ReplicationSourceError where error.code == .tableUnavailable {
                // It is left out when the tables are looked at again, and the part of it that was copied is not shown.
                try await remove([table], from: &writer, followed)
                throw ReplicationSourceError(
                    .tablesChanged,
                    error.message,
                    catalogueCode: error.catalogueCode,
                    underlyingError: error
                )
            }
            // Changes made while the table was copied are in the change stream up to this position.
            try await writer.markSnapshotDone(table, noCheckpointBefore: try await head(after: followed))
            logger.notice(
                "A table of the source has been copied",
                metadata: [LogKey.table: "\(name)", LogKey.rows: .stringConvertible(rows)]
            )
        }
        if !missing.isEmpty || !stream.isSnapshotDone {
            try await writer.markSnapshotDone(noCheckpointBefore: try await head(after: followed))
        }
    }

    /// The position of the source, which must still be of the history that the stream follows.
    private func head(after followed: SourcePosition) async throws -> LSN {
        let head = try await source.markedHead()
        guard head.history == followed.history else {
            throw ReplicationSourceError(
                .historyLost,
                "The source was replaced or restored while its tables were read: they are copied again."
            )
        }
        try checkForm(of: head.lsn, after: followed.lsn)
        return head.lsn
    }

    /// When a copy says how far it is: every 10 seconds, however many tables that takes.
    private struct CopyPace {
        static let interval = Duration.seconds(10)
        private var stopwatch: Stopwatch

        init(_ clock: any Clock<Duration>) {
            stopwatch = Stopwatch(clock)
        }

        /// Whether it is time to say something; the next time is an interval later.
        mutating func isDue() -> Bool {
            guard stopwatch.elapsed >= Self.interval else { return false }
            stopwatch.restart()
            return true
        }
    }

    private func copy(
        _ table: SourceTable,
        with writer: inout any BucketStorageWriter,
        _ pace: inout CopyPace
    ) async throws -> Int {
        var rows = 0
        let snapshot = try await source.snapshot(of: table.descriptor, after: table.lastSnapshotKey)
        var (read, reader) = try await Self.step(snapshot)
        while let chunk = read {
            // While these rows are evaluated and written, the next ones are read.
            let rest = reader
            async let next = Self.step(rest)
            rejections.report(try await writer.save(chunk.rows.map { .insert($0) }, of: table, mode: .snapshot))
            writer.recordSnapshotProgress(chunk.lastKey, of: table)
            rows += chunk.rows.count
            try await source.checkRetention(for: stream.sourceHandle)
            statistics.didCopy(chunk.rows, for: stream.id)
            touch()
            if pace.isDue(), let copy = statistics.counts.copies[stream.id] {
                var metadata: Logger.Metadata = [
                    LogKey.table: "\(copy.table)", LogKey.rows: .stringConvertible(copy.rows),
                    LogKey.copiedTables: .stringConvertible(copy.copiedTables),
                    LogKey.copyingTables: .stringConvertible(copy.tables),
                ]
                if let count = copy.estimatedRows { metadata[LogKey.estimatedRows] = .stringConvertible(count) }
                logger.notice("A table of the source is being copied", metadata: metadata)
            }
            (read, reader) = try await next
        }
        return rows
    }

    /// Reads a chunk.
    ///
    /// - Returns: The chunk, and the reader of those that follow.
    private static func step(
        _ reader: any SnapshotReader
    ) async throws -> (SnapshotChunk?, any SnapshotReader) {
        var reader = reader
        return (try await reader.next(), reader)
    }
}
