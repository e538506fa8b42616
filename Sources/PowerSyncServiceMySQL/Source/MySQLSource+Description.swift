import Logging
import NIOConcurrencyHelpers
import PowerSyncMySQLConnection
package import PowerSyncServiceCore
package import PowerSyncSyncConfig

/// The source as operators see it.
extension MySQLSource: DescribedSource {
    package var described: (any DescribedSource)? { self }

    package func describeTables() async throws -> [DescribedTable] {
        try await calling { try await pool.withConnection { try await MySQLRelations.tables($0) } }
    }

    package func estimatedRows(
        where isWanted: @escaping @Sendable (SourceTableName) -> Bool
    ) async throws -> [SourceTableName: Int64] {
        try await calling { try await pool.withConnection { try await MySQLRelations.estimatedRows($0) } }
            .filter { isWanted($0.key) }
    }

    package func logSize(from earlier: LSN, to later: LSN) -> Int64? {
        guard let earlier = LogPosition(earlier), let later = LogPosition(later) else { return nil }
        return log.size(from: earlier, to: later)
    }

    package func findings(for plan: SyncPlan) async throws -> [Finding] {
        var plan = plan
        plan.defaultSchema = defaultSchema
        let found = try await calling { [plan] in
            try await pool.withConnection { try await MySQLCheck.findings(settings, on: $0, plan: plan) }
        }
        let failing = obstacles.withLockedValue { Array($0.values) }.filter { plan.readsTable($0.table) }
        return found
            + failing.sorted { "\($0.table)" < "\($1.table)" }
            .map { Finding(.warning, .source, $0.message, leavesTableOut: true).about($0.table) }
    }

    /// What would leave rows stale that are in the log of no reader is an error: a filter of the log, and images without keys.
    package func warn(about stream: ReplicationStream) async throws {
        var plan = stream.writtenPlan
        plan.defaultSchema = defaultSchema
        let found = try await calling { [plan] in
            try await pool.withConnection { connection in
                try await MySQLCheck.findings(
                    settings,
                    on: connection,
                    plan: plan,
                    text: (stream.content, "sync config")
                )
            }
        }
        let errors = found.filter { $0.severity == .error && MySQLCheck.codesOfMissedChanges.contains($0.code) }
        guard errors.isEmpty else {
            throw ReplicationSourceError(
                .configuration,
                errors.map(\.sentence).joined(separator: " "),
                underlyingError: MySQLRefusal()
            )
        }
        for finding in found {
            // Numbers change, such as those of rows.
            let isNew = warnings.withLockedValue { $0.insert(finding.sentence.filter { !$0.isNumber }).inserted }
            guard isNew else { continue }
            var metadata: Logger.Metadata = [LogKey.error: "\(finding.sentence)"]
            if let table = finding.place.table { metadata[LogKey.table] = "\(table)" }
            logger.warning(
                "Something keeps rows of the source from being synced, or may do so one day",
                metadata: metadata
            )
        }
    }

    package func logRetention(for handle: String) async throws -> LogRetention? {
        try await calling { try await log.retention(of: handle) }
    }
}
