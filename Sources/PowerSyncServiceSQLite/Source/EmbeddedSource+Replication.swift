import GRDB
import Logging
import NIOConcurrencyHelpers
package import PowerSyncSyncConfig
import PowerSyncSQLite
package import PowerSyncServiceCore

/// The embedded source as the replicator sees it.
extension EmbeddedSource: ReplicationSource {
    package var retainedLog: (any LogRetainingSource)? { nil }
    package var fileBacked: (any FileBacked)? { self }
    package var rowReading: (any RowReadingSource)? { nil }

    package func checkConfiguration() async throws {
        for table in try await synchroniseCapture().unkeyedTables {
            warnOnce(
                "A table of the source cannot be synced: it needs a primary key of 1 to 8 columns",
                [LogKey.table: "\(table)"]
            )
        }
    }

    package func head(having published: SourcePosition?) async throws -> SourcePosition {
        let known = known.withLockedValue { $0 }
        // The uploads of a client must not be dated by a log that is not the one that is replicated.
        if let known, try await !pool.uncancelledRead({ db in try known.isPlausible(db) }) {
            try await beginHistory(after: known.history)
        }
        if let published, try await pool.uncancelledRead({ db in try Self.contradicts(published, db) }) {
            try await beginHistory(after: published.history)
        }
        let (position, history) = try await pool.uncancelledRead { db in
            (try EmbeddedPosition.head(db), try SourceHistory.current(db))
        }
        learn(position, of: history)
        return SourcePosition(position.lsn, of: history)
    }

    package func emitMarker() async throws {
        try await pool.uncancelledWrite { db in try db.execute(sql: "INSERT INTO _ps_log (table_id) VALUES (0)") }
        signal.advance()
    }

    package func prepareStream(
        _ handle: String,
        resumingAfter resumePosition: SourcePosition?,
        reached: LSN?
    ) async throws -> SourcePosition {
        let now = now()
        let prepared = try await pool.uncancelledWrite { db in
            let history = try SourceHistory.current(db)
            let kept = try Int64.fetchOne(
                db,
                sql: "SELECT acknowledged FROM _ps_streams WHERE name = ?",
                arguments: [handle]
            )
            if let resumePosition {
                guard let position = EmbeddedPosition(resumePosition.lsn), resumePosition.history == history else {
                    return nil as (position: EmbeddedPosition, history: SourceHistory)?
                }
                let reached = reached.flatMap { EmbeddedPosition($0) } ?? position
                guard try position.isContained(in: db), try reached.isContained(in: db) else {
                    try SourceHistory.replace(history, db)
                    return nil
                }
                guard let kept else { return nil }
                guard position.sequence >= kept else {
                    throw ReplicationSourceError(
                        .historyLost,
                        """
                        The bucket storage is at position \(resumePosition), and stream \(handle) of the embedded source was read further: \
                        the storage was restored. The tables are copied again.
                        """,
                        isOfOlderStorage: true
                    )
                }
                return (position, history)
            }
            // An entry of its own: a backup from before does not have it.
            try db.execute(sql: "INSERT INTO _ps_log (table_id) VALUES (0)")
            let head = try EmbeddedPosition.head(db)
            try db.execute(
                sql: """
                    INSERT INTO _ps_streams (name, acknowledged, seen) VALUES (?, ?, ?)
                    ON CONFLICT (name) DO UPDATE SET acknowledged = excluded.acknowledged, seen = excluded.seen
                    """,
                arguments: [handle, head.sequence, now]
            )
            return (head, history)
        }
        guard let prepared else {
            throw ReplicationSourceError(
                .historyLost,
                """
                The embedded source has no changes after position \(resumePosition?.description ?? "") for stream \
                \(handle): the file was replaced or restored, or the stream was not replicated for long. \
                Its tables are copied again.
                """
            )
        }
        acknowledged.withLockedValue { $0[handle] = Acknowledgement(sequence: prepared.position.sequence, at: 0) }
        learn(prepared.position, of: prepared.history)
        return SourcePosition(prepared.position.lsn, of: prepared.history)
    }

    /// None: a storage has a file of its own.
    package func database() -> DatabaseID? { nil }

    package func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] {
        let state = try await synchroniseCapture()
        let descriptors = state.tables.map(\.descriptor)
        for pattern in plan.tablePatterns where !pattern.isWildcard {
            let isFound = descriptors.contains { pattern.matches($0.name, defaultSchema: plan.defaultSchema) }
            if !isFound {
                warnOnce(
                    "The sync config reads a table that the source does not have, or cannot sync",
                    [LogKey.table: "\(pattern)"]
                )
            }
        }
        for table in state.tables {
            let name = table.descriptor.name
            for column in plan.missingColumns(of: name, among: table.columns) {
                // A name without quotes is folded: “userId” is not the column userId.
                warnOnce(
                    "The sync config reads a column that its table does not have",
                    [LogKey.table: "\(name)", LogKey.column: "\(column)"]
                )
            }
            for definition in plan.definitionsWithoutID(of: name, among: table.columns) {
                warnOnce(
                    "The sync config gives the rows of a table no id: they are not sent",
                    [
                        LogKey.table: "\(name)", LogKey.target: "buckets of \(definition)",
                        LogKey.code: "stream.no_id",
                        LogKey.remedy: .remedyOfMissingID,
                    ]
                )
            }
        }
        return descriptors.filter { plan.readsTable($0.name) }
    }

    package func snapshot(
        of table: SourceTableDescriptor,
        after key: SnapshotKey?
    ) async throws -> any SnapshotReader {
        let state = capture
        return EmbeddedSnapshotReader(
            source: self,
            table: try captured(table, in: state).0,
            schemaVersion: state.schemaVersion,
            lastKey: try key.map { EmbeddedKey(try $0.values()) }
        )
    }

    /// Changes are read of the database itself, where they are committed with their rows.
    package func waitUntilShown(_ table: SourceTableDescriptor) async throws {}

    /// The captured table of a descriptor, and the error for a file in which it is another one.
    private func captured(
        _ table: SourceTableDescriptor,
        in state: ChangeCapture.State
    ) throws -> (CapturedTable, ReplicationSourceError) {
        let outdated = ReplicationSourceError(
            .tablesChanged,
            "Table “\(table.name)” has changed since it was described."
        )
        guard let captured = state.tables.first(where: { $0.descriptor == table }) else { throw outdated }
        return (captured, outdated)
    }

    package func withChanges<Result>(
        of handle: String,
        after position: SourcePosition,
        tables: [SourceTable],
        plan: SyncPlan,
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        guard let start = EmbeddedPosition(position.lsn) else {
            throw ReplicationSourceError(.historyLost, "“\(position)” is not a position of an embedded source.")
        }
        var reader: any ChangeReader = EmbeddedChangeReader(
            source: self,
            tables: tables.map(\.descriptor),
            history: position.history,
            position: start
        )
        return try await body(&reader)
    }

    /// Logs a warning that was not logged before with the same metadata.
    func warnOnce(_ message: Logger.Message, _ metadata: Logger.Metadata) {
        let values = metadata.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        let isNew = warnings.withLockedValue { $0.insert("\(message) \(values)").inserted }
        if isNew { logger.warning(message, metadata: metadata) }
    }
}
