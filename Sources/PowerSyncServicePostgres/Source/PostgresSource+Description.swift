import Logging
import NIOConcurrencyHelpers
package import PowerSyncSyncConfig
package import PowerSyncServiceCore

/// The source as operators see it.
extension PostgresSource: DescribedSource {
    package var described: (any DescribedSource)? { self }

    package func describeTables() async throws -> [DescribedTable] {
        try await pool.withConnection { try await PostgresRelations.tables($0) }
    }

    package func estimatedRows(
        where isWanted: @escaping @Sendable (SourceTableName) -> Bool
    ) async throws -> [SourceTableName: Int64] {
        try await pool.withConnection { try await PostgresRelations.estimatedRows($0) }.filter { isWanted($0.key) }
    }

    package func logSize(from earlier: LSN, to later: LSN) -> Int64? {
        guard let earlier = WALPosition(earlier), let later = WALPosition(later) else { return nil }
        return Int64(clamping: later.rawValue >= earlier.rawValue ? later.rawValue - earlier.rawValue : 0)
    }

    package func findings(for plan: SyncPlan) async throws -> [Finding] {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
        let found = try await pool.withConnection { try await check.findings(on: $0, plan: plan) }
        let failing = knownObstacles.filter { obstacle in
            obstacle.reason == .failing
                && plan.tablePatterns.contains { $0.matches(obstacle.table, defaultSchema: Self.defaultSchema) }
        }
        // Of other obstacles, the server tells itself.
        return found
            + failing.map { Finding(.warning, .source, $0.message, leavesTableOut: true).about($0.table) }
    }

    package func warn(about stream: ReplicationStream) async throws {
        let check = PostgresCheck(publication: settings.publication, slotNamePrefix: settings.slotNamePrefix)
        let found = try await pool.withConnection { connection in
            try await check.lastingFindings(on: connection, plan: stream.plan, text: (stream.content, "sync config"))
        }
        for finding in found {
            // Numbers change, such as that of free slots.
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

    package func logRetention(for slotName: String) async throws -> LogRetention? {
        let slots = try await pool.withConnection { try await $0.slots(withPrefix: slotName) }
        guard let slot = slots.first(where: { $0.name == slotName }) else { return nil }
        return LogRetention(
            status: slot.walStatus,
            safeBytes: slot.safeBytes,
            maximumBytes: slot.maximumBytes,
            setting: "max_slot_wal_keep_size"
        )
    }
}
