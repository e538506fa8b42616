package import PowerSyncServiceCore
import GRDB
import Logging
package import PowerSyncRules
import Synchronization

/// The embedded source as the replicator sees it. A position is a `seq` of the log, as 16 hexadecimal digits.
extension EmbeddedSource: ReplicationSource {
    package func checkConfiguration() async throws {
        for table in try await synchroniseCapture().unkeyedTables {
            warnOnce("A table of the source cannot be synced: it needs a primary key of 1 to 8 columns.", table)
        }
    }

    package func head() async throws -> LSN {
        LSN(sequence: try await pool.read { db in try ChangeCapture.head(db) })
    }

    package func emitMarker() async throws {
        try await pool.write { db in try db.execute(sql: "INSERT INTO _ps_log (table_id) VALUES (0)") }
        signal.advance()
    }

    package func prepareStream(_ slotName: String, resumeLSN: LSN?) async throws -> LSN {
        let position = try await pool.write { db in
            let head = try ChangeCapture.head(db)
            let kept = try Int64.fetchOne(
                db,
                sql: "SELECT acknowledged FROM _ps_streams WHERE name = ?",
                arguments: [slotName]
            )
            if let resumeLSN {
                guard let position = resumeLSN.sequence, let kept, position >= kept, position <= head else {
                    throw ReplicationSourceError(
                        .historyLost,
                        """
                        The embedded source has no changes after position \(resumeLSN) for stream \(slotName): \
                        the file was replaced or restored. Its tables are copied again.
                        """
                    )
                }
                return position
            }
            // A stream that was prepared, but whose position was not stored before the service ended.
            if let kept { return kept }
            try db.execute(
                sql: "INSERT INTO _ps_streams (name, acknowledged) VALUES (?, ?)",
                arguments: [slotName, head]
            )
            return head
        }
        acknowledged.withLock { $0[slotName] = position }
        return LSN(sequence: position)
    }

    package func tables(for plan: SyncPlan) async throws -> [SourceTableDescriptor] {
        let state = try await synchroniseCapture()
        let descriptors = state.tables.map(\.descriptor)
        for pattern in plan.tablePatterns where !pattern.isWildcard {
            let isFound = descriptors.contains { pattern.matches($0.name, defaultSchema: plan.defaultSchema) }
            if !isFound {
                warnOnce("The sync config reads a table that the source does not have, or cannot sync.", "\(pattern)")
            }
        }
        for table in state.tables {
            let name = table.descriptor.name
            for column in plan.missingColumns(of: name, among: table.columns) {
                // A name without quotes is folded: “userId” is not the column userId.
                warnOnce("The sync config reads a column that its table does not have.", "\(name).\(column)")
            }
        }
        return descriptors.filter { plan.readsTable($0.name) }
    }

    package func snapshot(
        of table: SourceTableDescriptor,
        after key: SnapshotKey?
    ) async throws -> any SnapshotReader {
        let state = capture
        guard let captured = state.tables.first(where: { $0.descriptor == table }) else {
            throw ReplicationSourceError(.tablesChanged, "Table “\(table.name)” has changed since it was described.")
        }
        return EmbeddedSnapshotReader(
            pool: pool,
            table: captured,
            schemaVersion: state.schemaVersion,
            lastKey: try key?.values()
        )
    }

    package func withChanges<Result>(
        of slotName: String,
        after lsn: LSN,
        tables: [SourceTableDescriptor],
        _ body: (inout any ChangeReader) async throws -> Result
    ) async throws -> Result {
        guard let position = lsn.sequence else {
            throw ReplicationSourceError(.historyLost, "“\(lsn)” is not a position of an embedded source.")
        }
        var reader: any ChangeReader = EmbeddedChangeReader(source: self, tables: tables, position: position)
        return try await body(&reader)
    }

    package func acknowledge(_ lsn: LSN, of slotName: String) async throws {
        guard let position = lsn.sequence else { return }
        let isWorthWriting = acknowledged.withLock { acknowledged in
            guard position - (acknowledged[slotName] ?? 0) >= Self.acknowledgementStep else { return false }
            acknowledged[slotName] = position
            return true
        }
        guard isWorthWriting else { return }
        try await pool.write { db in
            try db.execute(
                sql: "UPDATE _ps_streams SET acknowledged = ? WHERE name = ? AND acknowledged < ?",
                arguments: [position, slotName, position]
            )
            try db.execute(sql: "DELETE FROM _ps_log WHERE seq <= (SELECT min(acknowledged) FROM _ps_streams)")
        }
    }

    package func dropStream(_ slotName: String) async throws {
        try await pool.write { db in
            try db.execute(sql: "DELETE FROM _ps_streams WHERE name = ?", arguments: [slotName])
        }
        acknowledged.withLock { _ = $0.removeValue(forKey: slotName) }
    }

    private func warnOnce(_ message: Logger.Message, _ table: String) {
        let isNew = warnings.withLock { $0.insert("\(message) \(table)").inserted }
        if isNew { logger.warning(message, metadata: [ReplicationLogKey.table: "\(table)"]) }
    }

    /// Log entries that are kept before the acknowledged position is written: every write is synced to the disk.
    private static let acknowledgementStep: Int64 = 1000
}

extension LSN {
    /// A position of the embedded source.
    init(sequence: Int64) {
        let digits = String(sequence, radix: 16)
        self.init(String(repeating: "0", count: 16 - digits.count) + digits)
    }

    /// The number of a position of the embedded source; `nil` for a position of another source.
    var sequence: Int64? {
        rawValue.utf8.count == 16 ? Int64(rawValue, radix: 16) : nil
    }
}
